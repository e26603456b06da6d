// Rows of the input and the state as they are multiplied with int8 weights.
//
// With m the greatest magnitude of a row x, its values are v = round(x * (32512 / m)), integers of sixteen bits,
// rounded to nearest even. A row that holds an infinity or NaN is marked, and multiplied as floats.
#pragma once

#include "dot.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// So that v, rounded to a multiple of 256, still has an upper byte within 127.
constexpr float quantized_greatest = 127 * 256;

// k whose products are summed as integers.
constexpr Index int8_block = 512;

// A row in memory: this, then for every block of k their values: all upper bytes and, `plane` further on, all lower
// ones; or all values as int16.
struct QuantizedRow {
    float scale;  // x is about v * scale
    bool finite;
    const float* given;
    const char* values() const { return reinterpret_cast<const char*>(this) + 64; }
};

constexpr Index group_bytes = 4;               // of a group's values, or their upper bytes
constexpr Index block_bytes = 2 * int8_block;  // of a block's values

// Bytes from the upper to the lower ones in a row of so many values.
constexpr Index plane_bytes(Index width) { return width >= int8_block ? int8_block : (width + 63) / 64 * 64; }

ANYGRU_INLINE Index quantized_bytes(Index width) {
    const Index before = width > 0 ? (width - 1) / int8_block * block_bytes : 0;
    return 64 + before + 2 * plane_bytes(width);
}

ANYGRU_INLINE std::int32_t greatest_lane(Ints values) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_epi32((__m512i)values);
#else
    std::int32_t result = values[0];
    for (int lane = 1; lane < lanes<float>; ++lane) result = values[lane] > result ? values[lane] : result;
    return result;
#endif
}

typedef std::uint16_t QuantizedWords __attribute__((vector_size(ANYGRU_VECTOR_BYTES / 2)));
typedef std::uint8_t QuantizedBytes __attribute__((vector_size(ANYGRU_VECTOR_BYTES / 2)));

// The upper bytes, then the lower ones.
ANYGRU_INLINE QuantizedBytes parted(QuantizedBytes from) {
#if ANYGRU_VECTOR_BYTES == 64
    return __builtin_shufflevector(from, from, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 0, 2, 4, 6, 8,
                                   10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif ANYGRU_VECTOR_BYTES == 32
    return __builtin_shufflevector(from, from, 1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14);
#else
    return __builtin_shufflevector(from, from, 1, 3, 5, 7, 0, 2, 4, 6);
#endif
}

// One vector of values.
ANYGRU_INLINE void store_values(Ints v, char* to, Index plane) {
    if constexpr (Dot::bytes) {
        // v + 128 has the low byte, 128 more than it stands for, and the rounded upper one.
        const Ints both = (v + (128 + 32768)) ^ (Dot::offset ? 0 : 0x8080);
        const QuantizedBytes sorted = parted((QuantizedBytes) __builtin_convertvector(both, QuantizedWords));
        std::memcpy(to, &sorted, sizeof sorted / 2);
        std::memcpy(to + plane, reinterpret_cast<const char*>(&sorted) + sizeof sorted / 2, sizeof sorted / 2);
    } else {
        const QuantizedWords words = __builtin_convertvector(v, QuantizedWords);
        std::memcpy(to, &words, sizeof words);
    }
}

// Values of the rows that follow in memory, which are usually next, on their way to the cache: nothing else of this
// loop is long enough to wait for them.
constexpr Index fetched_ahead = 1024;

inline const QuantizedRow* quantize_row(const float* row, Index width, char* memory) {
    constexpr Index L = lanes<float>, step = Dot::bytes ? 1 : 2;
    constexpr std::int32_t infinity = 0x7f800000;
    const Index whole = width / L * L;
    Ints greatest{};
    const auto look = [&](Vector<float> x) ANYGRU_INLINED {
        const Ints magnitude = (Ints)x & 0x7fffffff;  // in order also as integers, NaN above infinity
        greatest = magnitude > greatest ? magnitude : greatest;
    };
    for (Index k = 0; k < whole; k += L) {
        __builtin_prefetch(row + k + fetched_ahead);
        look(load(row + k));
    }
    if (whole < width) look(load(row + whole, width - whole));
    const std::int32_t bits = greatest_lane(greatest);
    QuantizedRow* const head = reinterpret_cast<QuantizedRow*>(memory);
    float most;
    std::memcpy(&most, &bits, sizeof most);
    constexpr float least = 1e-30f;  // below it, the quotients leave the range of floats
    head->finite = bits < infinity;
    head->given = row;
    most = !head->finite || most < least ? least : most;
    head->scale = most / quantized_greatest;
    const Vector<float> inverse = broadcast(quantized_greatest / most);
    const Vector<float> magic = broadcast(SimdOf<float>::to_integer);
    const Index plane = plane_bytes(width);
    const auto put = [&](Vector<float> x, Index k) ANYGRU_INLINED {
        char* const block = memory + 64 + k / int8_block * block_bytes;
        store_values((Ints)(x * inverse + magic) - (Ints)magic, block + k % int8_block * step, plane);
    };
    for (Index k = 0; k < whole; k += L) put(load(row + k), k);
    if (whole < width) put(load(row + whole, width - whole), whole);
    return head;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
