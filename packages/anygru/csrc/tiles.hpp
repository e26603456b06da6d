// Tiles of a matrix unit: registers of up to 16 rows of 64 bytes, and products of them.
//
// Tile number 6 holds rows, number 7 weights, 0 to 5 hold sums. A tile type has
//   present                     false where there is no matrix unit
//   shape(rows)                 says how many rows the tiles of rows and of sums have
//   zero<T>(), load<T>(at, pitch), store<T>(at, pitch)
//   multiply<Product, T>()      sums T += rows times weights
// A product of bfloat16 takes 32 k, its weights lie in pairs of neighbouring k; one of bytes (unsigned rows, signed
// weights) takes 64 k, four neighbours at a time. With `even` the sum over the even k and `odd` that over the odd k,
// each begun at zero and made by fused multiply-adds in the order of k, a product of bfloat16 is
//   sum = sum + (even + odd)
// where denormal numbers count as zero, given ones and results. AMX does so, which its `PortableTiles` repeats.
#pragma once

#include "lines.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

constexpr int tile_lines = 16, tile_bytes = 64;

// Of so few rows the tiles would be mostly empty: vectors multiply them.
constexpr Index few_lines = 4;

constexpr int row_tile = 6, weight_tile = 7;

enum class Product { bfloats, bytes };

struct NoTiles {
    static constexpr bool present = false;
};

#if defined(__SSE2__)
// In memory, with vectors: what gives every machine the bits of a matrix unit, for tests.
struct PortableTiles {
    static constexpr bool present = true;

    void shape(int rows) { lines_ = rows; }

    template <int T>
    void zero() {
        std::memset(tile_[T], 0, sizeof tile_[T]);
    }
    template <int T>
    void load(const void* at, Index pitch) {
        for (int line = 0; line < (T == weight_tile ? tile_lines : lines_); ++line)
            std::memcpy(tile_[T] + line * tile_bytes, static_cast<const char*>(at) + line * pitch, tile_bytes);
    }
    template <int T>
    void store(void* at, Index pitch) const {
        for (int line = 0; line < lines_; ++line)
            std::memcpy(static_cast<char*>(at) + line * pitch, tile_[T] + line * tile_bytes, tile_bytes);
    }
    template <Product product, int T>
    void multiply() {
        const char* const weights = tile_[weight_tile];
        const DenormalsAreZero mode;
        for (int line = 0; line < lines_; ++line) {
            const char* const row = tile_[row_tile] + line * tile_bytes;
            char* const at = tile_[T] + line * tile_bytes;
            if constexpr (product == Product::bfloats) {
                float* const sums = reinterpret_cast<float*>(at);
                LineTile<1, 1>::run(&row, &weights, tile_bytes, &sums);
            } else {
                Ints sum;
                std::memcpy(&sum, at, sizeof sum);
                for (int group = 0; group < tile_bytes / 4; ++group)
                    sum = Dot::add(sum, repeated(row + 4 * group), Dot::weight(weights + group * tile_bytes));
                std::memcpy(at, &sum, sizeof sum);
            }
        }
    }

private:
    alignas(64) char tile_[8][tile_lines * tile_bytes];
    int lines_ = 0;
};
#endif

#if defined(ANYGRU_AMX)
// The registers of Advanced Matrix Extensions, in a file that defines ANYGRU_AMX: compilers differ in the names of
// theirs. The compiler's own functions for them want numbers that are written out, so the instructions are here, with
// the numbers that templates know.
struct AmxTiles {
    static constexpr bool present = true;

    AmxTiles() = default;
    AmxTiles(const AmxTiles&) = delete;
    ~AmxTiles() {
        if (lines_) _tile_release();
    }

    void shape(int rows) {
        if (rows == lines_) return;
        struct {
            std::uint8_t palette = 1, start = 0, reserved[14] = {};
            std::uint16_t bytes[16] = {};
            std::uint8_t rows[16] = {};
        } config;
        for (int tile = 0; tile < 8; ++tile) {
            config.bytes[tile] = tile_bytes;
            config.rows[tile] = std::uint8_t(tile == weight_tile ? tile_lines : rows);
        }
        static_assert(sizeof config == 64);
        _tile_loadconfig(&config);
        lines_ = rows;
    }

    template <int T>
    ANYGRU_INLINED void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(T));
    }
    template <int T>
    ANYGRU_INLINED void load(const void* at, Index pitch) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(at), "r"(pitch), "i"(T) : "memory");
    }
    template <int T>
    ANYGRU_INLINED void store(void* at, Index pitch) const {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(at), "r"(pitch), "i"(T) : "memory");
    }
    template <Product product, int T>
    ANYGRU_INLINED void multiply() {
        if constexpr (product == Product::bfloats)
            asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(T), "i"(row_tile), "i"(weight_tile));
        else
            asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(T), "i"(row_tile), "i"(weight_tile));
    }

private:
    int lines_ = 0;
};
#endif

// Two tiles of rows, or one, times a few columns of tiles of weights, over some blocks of k: sums 0, 1, ... are those
// of the first, 3, 4, ... those of the second. A block is gone through in passes, each with its own part of rows and
// weights.
struct Walk {
    const char* rows[2];
    Index row_pitch;
    const char* columns[3];
    Index column_pitch;
    Index blocks, row_step, column_step;  // bytes from a block to the next
    int passes;
    Index row_part[6], column_part[6];  // where the part of a pass begins in a block
    const char* ahead;                  // what to fetch into the second-level cache next
    Index ahead_lines;                  // so many lines of the cache with each block

    // Fetches the weights that are next during so many walks over the present ones, which come from a cache further
    // away where they have not been fetched: while tiles wait for them, nothing is multiplied.
    void fetch(const char* next, Index bytes, Index walks) {
        const Index lines = (bytes + 63) / 64, steps = walks * blocks;
        ahead = next;
        ahead_lines = steps > 0 ? (lines + steps - 1) / steps : 0;
    }
};

template <Product product, int C, bool Two, class Tiles>
inline void walk(Tiles& tiles, Walk& way) {
    constexpr bool second = C > 1, third = C > 2;
    tiles.template zero<0>();
    if constexpr (second) tiles.template zero<1>();
    if constexpr (third) tiles.template zero<2>();
    if constexpr (Two) tiles.template zero<3>();
    if constexpr (Two && second) tiles.template zero<4>();
    if constexpr (Two && third) tiles.template zero<5>();
    for (Index block = 0; block < way.blocks; ++block) {
        for (Index line = 0; line < way.ahead_lines; ++line, way.ahead += 64) __builtin_prefetch(way.ahead, 0, 2);
        for (int pass = 0; pass < way.passes; ++pass) {
            const Index row = block * way.row_step + way.row_part[pass];
            const Index column = block * way.column_step + way.column_part[pass];
            const auto add = [&](auto number, auto sum) ANYGRU_INLINED {
                tiles.template load<weight_tile>(way.columns[number.value] + column, way.column_pitch);
                tiles.template multiply<product, sum.value>();
            };
            tiles.template load<row_tile>(way.rows[0] + row, way.row_pitch);
            add(Number<0>{}, Number<0>{});
            if constexpr (second) add(Number<1>{}, Number<1>{});
            if constexpr (third) add(Number<2>{}, Number<2>{});
            if constexpr (Two) {  // backwards: the last weights are still in their tile
                tiles.template load<row_tile>(way.rows[1] + row, way.row_pitch);
                tiles.template multiply<product, C + 2>();
                if constexpr (third) add(Number<1>{}, Number<4>{});
                if constexpr (second) add(Number<0>{}, Number<3>{});
            }
        }
    }
}

// The sums of the first or the second tile of rows to [rows][pitch], 64 bytes for each column.
template <int C, int First, class Tiles>
inline void store_sums(Tiles& tiles, void* at, Index pitch) {
    char* const to = static_cast<char*>(at);
    tiles.template store<First>(to, pitch);
    if constexpr (C > 1) tiles.template store<First + 1>(to + tile_bytes, pitch);
    if constexpr (C > 2) tiles.template store<First + 2>(to + 2 * tile_bytes, pitch);
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
