// Integer products of a row's values with int8 weights: each lane of a vector of sums adds those of a few neighbouring
// k.
//
// Sums of integers are exact, so the instructions may differ in how they get there:
//   bytes    a row's int16 value v is two bytes, v = 256 * high + low; their products with the weights are summed apart
//   words    it is multiplied as it is, with weights that are widened to int16
// A file that defines ANYGRU_SOFT_BYTES gets bytes in the order of AVX-512 VNNI and of tiles, on any CPU.
#pragma once

#include "simd.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace anygru {
namespace ANYGRU_VARIANT {

using Ints = typename SimdOf<float>::integers;

// Four bytes, in all lanes.
ANYGRU_INLINE Ints repeated(const char* from) {
    std::int32_t value;
    std::memcpy(&value, from, sizeof value);
    return value - Ints{};
}

#if defined(ANYGRU_SOFT_BYTES)
struct Dot {
    static constexpr int group = 4;
    static constexpr bool bytes = true, offset = true;
    using Weight = Ints;
    static ANYGRU_INLINE Weight weight(const char* from) {
        Weight result;
        std::memcpy(&result, from, sizeof result);
        return result;
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
        typedef std::uint32_t Words __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
        for (int byte = 0; byte < 4; ++byte)
            sum += (Ints)((Words)value >> (8 * byte) & 255) * ((Ints)((Words)weight << (24 - 8 * byte)) >> 24);
        return sum;
    }
};
#elif defined(__AVX512VNNI__)
struct Dot {
    static constexpr int group = 4;       // neighbouring k that a lane has in one vector of weights
    static constexpr bool bytes = true;   // or words
    static constexpr bool offset = true;  // bytes of a row are unsigned, 128 more than what they stand for
    using Weight = __m512i;
    static ANYGRU_INLINE Weight weight(const char* from) {
        Weight result = _mm512_loadu_si512(from);
        // Kept in a register: the compiler would read it again for the second byte of a row, and a row alone would
        // wait.
        asm("" : "+v"(result));
        return result;
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
        return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)value, weight);
    }
};
#elif defined(__AVXVNNI__)
struct Dot {
    static constexpr int group = 4;
    static constexpr bool bytes = true, offset = true;
    using Weight = __m256i;
    static ANYGRU_INLINE Weight weight(const char* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
        return (Ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)value, weight);
    }
};
#elif defined(__ARM_FEATURE_DOTPROD)
struct Dot {
    static constexpr int group = 4;
    static constexpr bool bytes = true, offset = false;
    using Weight = int8x16_t;
    static ANYGRU_INLINE Weight weight(const char* from) {
        return vld1q_s8(reinterpret_cast<const std::int8_t*>(from));
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
        return (Ints)vdotq_s32((int32x4_t)sum, weight, (int8x16_t)value);
    }
};
#elif defined(__aarch64__)
struct Dot {
    static constexpr int group = 2;
    static constexpr bool bytes = false, offset = false;
    using Weight = int16x8_t;
    static ANYGRU_INLINE Weight weight(const char* from) {
        return vmovl_s8(vld1_s8(reinterpret_cast<const std::int8_t*>(from)));
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
        const int16x8_t values = (int16x8_t)value;
        const int32x4_t low = vmull_s16(vget_low_s16(values), vget_low_s16(weight));
        const int32x4_t high = vmull_high_s16(values, weight);
        return sum + (Ints)vpaddq_s32(low, high);
    }
};
#elif defined(__AVX512BW__)
struct Dot {
    static constexpr int group = 2;
    static constexpr bool bytes = false, offset = false;
    using Weight = __m512i;
    static ANYGRU_INLINE Weight weight(const char* from) {
        return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
        return sum + (Ints)_mm512_madd_epi16((__m512i)value, weight);
    }
};
#elif defined(__AVX2__)
// One or, in the wide tiles, two vectors.
struct Dot {
    static constexpr int group = 2;
    static constexpr bool bytes = false, offset = false;
    static constexpr int parts = ANYGRU_VECTOR_BYTES / 32;
    struct Weight {
        __m256i part[parts];
    };
    static ANYGRU_INLINE Weight weight(const char* from) {
        Weight result;
        for (int i = 0; i < parts; ++i)
            result.part[i] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * 16)));
        return result;
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, const Weight& weight) {
        __m256i values[parts], products[parts];
        std::memcpy(values, &value, sizeof value);
        for (int i = 0; i < parts; ++i) products[i] = _mm256_madd_epi16(values[i], weight.part[i]);
        Ints product;
        std::memcpy(&product, products, sizeof product);
        return sum + product;
    }
};
#else
struct Dot {
    static constexpr int group = 2;
    static constexpr bool bytes = false, offset = false;
    typedef std::int8_t Bytes __attribute__((vector_size(ANYGRU_VECTOR_BYTES / 2)));
    typedef std::int16_t Words __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    using Weight = Words;
    static ANYGRU_INLINE Weight weight(const char* from) {
        Bytes given;
        std::memcpy(&given, from, sizeof given);
        return __builtin_convertvector(given, Words);
    }
    static ANYGRU_INLINE Ints add(Ints sum, Ints value, Weight weight) {
#if defined(__SSE2__)
        return sum + (Ints)_mm_madd_epi16((__m128i)value, (__m128i)weight);
#else
        const Words values = (Words)value;
        Ints product;
        for (int lane = 0; lane < lanes<float>; ++lane)
            product[lane] = std::int32_t(values[2 * lane]) * weight[2 * lane] +
                            std::int32_t(values[2 * lane + 1]) * weight[2 * lane + 1];
        return sum + product;
#endif
    }
};
#endif

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
