// The matrix product at the heart of every step: some rows times some panels of packed weights.
//
// A panel holds, for every k, W vectors of adjacent outputs: panel[k][W][lanes]. A tile multiplies M rows with S panels
// and keeps M * S * W accumulators in registers while it walks over k.
//
// Each output is a sum of chains of at most `chain_length` multiply-adds. A block of k has `ways` chains, each of every
// ways-th k, and they are added in order. That does not depend on M, on S or on the vector width, so a row has the same
// bits in every batch; and since sixteen bytes of a row of weights hold one value for each chain, weights that are not
// packed can be multiplied in the same order (panels.hpp).
#pragma once

#include "bfloat.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Short chains keep rounding errors small: they grow with the root of the length.
constexpr Index chain_length = 64;

template <class Real>
constexpr int ways = 16 / sizeof(Real);

// Values of k a block: the panel of one block (24 KiB with 32-byte vectors, 48 KiB with 64) stays in the first or
// second level of the cache while all rows pass over it.
template <class Real>
constexpr Index depth_block = chain_length* ways<Real>;

constexpr Index deepest_block = depth_block<float>;

#if defined(__AVX512F__) || defined(__aarch64__) || ANYGRU_VECTOR_BYTES == 64
constexpr int registers = 32;
constexpr int tile_rows = 8;  // 8 x 3 accumulators, 3 weights, 1 broadcast
constexpr int tile_vectors = 24;
#else
constexpr int registers = 16;
constexpr int tile_rows = 4;  // 4 x 3 accumulators, 3 weights, 1 broadcast
constexpr int tile_vectors = 12;
#endif

// Accumulators that keep the multipliers busy: their latency times their number. With AVX-512 a row alone, of which
// every multiply-add waits for a load, makes do with fewer.
constexpr int busy_vectors([[maybe_unused]] int rows) {
#if defined(__AVX512F__)
    return rows == 1 ? 6 : 12;
#else
    return 12;
#endif
}

// How many panels a tile of M rows takes at once: few rows need more panels to hide the latency of an addition.
// More than that only makes the parts larger of which the last one is still cached when the next step begins; but
// panels of one vector, as a candidate alone has them, are worth three, so that each value of a row is loaded for three
// multiply-adds.
constexpr int panels_at_once(int rows, int width) {
    if (width == 1 && rows > tile_rows / 2) return 3;
    const int fit = tile_vectors / (rows * width);
    const int busy = (busy_vectors(rows) + rows * width - 1) / (rows * width);
    const int panels = fit < busy ? fit : busy;
    return panels >= 4 ? 4 : panels >= 2 ? 2 : 1;
}

// Weights that are multiplied next. The tiles fetch them into the second-level cache, a few bytes with each k:
// otherwise the first of several tiles, which alone reads a panel from further away, would wait for it.
struct Ahead {
    const void* at;
    Index bytes;
};

// Packed: panels in the order of the chains, panel[k] behind panel[k - ways]. Otherwise `pitch` lies from one k to the
// next, as in a matrix whose rows are the k, and a chain is of `chain_length` neighbouring k. Stored: the elements of
// panels.
template <class Real, int M, int S, int W, bool Packed = true, class Stored = Real>
struct Tile {
    using V = Vector<Real>;
    static constexpr int L = lanes<Real>;

    // Few enough accumulators that the sums of the chains stay in registers, too.
    static constexpr bool holds_sums = M == 1 && 2 * S * W + 2 <= registers;

    // rows: M pointers; panel: the first of S panels, `panel_stride` apart; sums: [M][S][W][lanes]; ahead: what to
    // fetch, so many bytes with each k.
    static void run(const Real* const* rows, Index offset, const Stored* panel, Index panel_stride, Index pitch,
                    Index depth, Real* sums, bool first, const char* ahead, Index ahead_step) {
        const Real* row[M];
        for (int m = 0; m < M; ++m) row[m] = rows[m] + offset;
        V total[M][S][W];
        if (holds_sums && !first) each(sums, [&](int m, int s, int w, Real* at) { total[m][s][w] = load(at); });
        const Index chains = Packed ? ways<Real> : (depth + chain_length - 1) / chain_length;
        for (Index number = 0; number < chains; ++number) {
            V chain[M][S][W];
            each(sums, [&](int m, int s, int w, Real*) { chain[m][s][w] = V{}; });
            const Index start = Packed ? number : number * chain_length;
            const Index end = Packed || depth - start < chain_length ? depth : start + chain_length;
            for (Index k = start; k < end; k += Packed ? ways<Real> : 1) {
                V weight[S][W];
#pragma GCC unroll 4
                for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                    for (int w = 0; w < W; ++w) weight[s][w] = widened(panel + s * panel_stride + w * L);
                panel += Packed ? W * L : pitch;
                if constexpr (M > 1) {  // a single row reads everything itself
                    __builtin_prefetch(ahead, 0, 2);
                    ahead += ahead_step;
                }
#pragma GCC unroll 8
                for (int m = 0; m < M; ++m) {
                    const V value = broadcast(row[m][k]);
#pragma GCC unroll 4
                    for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                        for (int w = 0; w < W; ++w) chain[m][s][w] = fused(value, weight[s][w], chain[m][s][w]);
                }
            }
            const bool begins = first && number == 0;
            each(sums, [&](int m, int s, int w, Real* at) {
                if constexpr (holds_sums)
                    total[m][s][w] = begins ? chain[m][s][w] : total[m][s][w] + chain[m][s][w];
                else
                    store(at, begins ? chain[m][s][w] : load(at) + chain[m][s][w]);
            });
        }
        if constexpr (holds_sums) each(sums, [&](int m, int s, int w, Real* at) { store(at, total[m][s][w]); });
    }

    template <class Work>
    static ANYGRU_INLINE void each(Real* sums, const Work& work) {
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) work(m, s, w, sums + ((m * S + s) * W + w) * L);
    }
};

template <class Real, class Stored>
using TileFunction = void (*)(const Real* const*, Index, const Stored*, Index, Index, Index, Real*, bool, const char*,
                              Index);

template <class Real, int S, int W, bool Packed, class Stored>
ANYGRU_INLINE TileFunction<Real, Stored> tile_of(Index rows) {
    // Only shapes that fit the registers exist.
#define ANYGRU_TILE(M)                                                         \
    case M:                                                                    \
        if constexpr (M <= tile_rows && (S == 1 || M * S * W <= tile_vectors)) \
            return &Tile<Real, M, S, W, Packed, Stored>::run;                  \
        break;
    switch (rows) {
        ANYGRU_TILE(1)
        ANYGRU_TILE(2)
        ANYGRU_TILE(3)
        ANYGRU_TILE(4)
        ANYGRU_TILE(5)
        ANYGRU_TILE(6)
        ANYGRU_TILE(7)
        ANYGRU_TILE(8)
    }
#undef ANYGRU_TILE
    return nullptr;
}

template <class Real, int W, bool Packed, class Stored>
inline TileFunction<Real, Stored> find_tile(Index rows, int panels) {
    if (panels == 4) return tile_of<Real, 4, W, Packed, Stored>(rows);
    if constexpr (W == 1)
        if (panels == 3) return tile_of<Real, 3, W, Packed, Stored>(rows);
    if (panels == 2) return tile_of<Real, 2, W, Packed, Stored>(rows);
    return tile_of<Real, 1, W, Packed, Stored>(rows);
}

// sums [count][S][W][lanes] (+)= rows [count][offset : offset + depth] times S panels, for any number of rows and a
// depth of one block.
template <class Real, int W, bool Packed = true, class Stored = Real>
inline void product_block(const Real* const* rows, Index count, Index offset, Index depth, const Stored* panel,
                          Index panel_stride, Index pitch, int panels, Real* sums, bool first, Ahead ahead = {}) {
    const Index tiles = (count + tile_rows - 1) / tile_rows;
    const Index width = Index(panels) * W * lanes<Real>;
    const Index steps = tiles * depth, step = steps > 0 ? (ahead.bytes + steps - 1) / steps : 0;
    const char* fetched = static_cast<const char*>(ahead.at ? ahead.at : panel);
    for (Index tile = 0, row = 0; tile < tiles; ++tile) {
        const Index height = (count - row + (tiles - tile) - 1) / (tiles - tile);  // tiles of nearly equal height
        find_tile<Real, W, Packed, Stored>(height, panels)(rows + row, offset, panel, panel_stride, pitch, depth,
                                                           sums + row * width, first, fetched, step);
        row += height;
        fetched += depth * step;
    }
}

// sums [count][S][lanes] (+)= rows [count][offset : offset + depth] times columns of `matrix` [depth][pitch], from its
// first on, as they lie; S * lanes columns must be there.
template <class Real>
inline void product_of_columns(const Real* const* rows, Index count, Index offset, Index depth, const Real* matrix,
                               Index pitch, int panels, Real* sums, bool first) {
    for (Index k = 0; k < depth; k += depth_block<Real>) {
        const Index block = depth - k < depth_block<Real> ? depth - k : depth_block<Real>;
        product_block<Real, 1, false>(rows, count, offset + k, block, matrix + k * pitch, lanes<Real>, pitch, panels,
                                      sums, first && k == 0);
    }
}

// The largest number of panels that every tile of `count` rows can take, and of which `available` are left.
template <int W>
ANYGRU_INLINE int panels_for(Index count, Index available) {
    const Index tiles = (count + tile_rows - 1) / tile_rows;
    const int highest = tiles > 0 ? int((count + tiles - 1) / tiles) : 1;
    const int most = panels_at_once(highest, W);
    return available >= most ? most : available >= 2 && most >= 2 ? 2 : 1;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
