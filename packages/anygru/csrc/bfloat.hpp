// Weights of half the width: the upper sixteen bits of a float, widened as they are loaded.
#pragma once

#include "simd.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace anygru {
namespace ANYGRU_VARIANT {

struct Bfloat {
    std::uint16_t bits;
};

ANYGRU_INLINE float widened(Bfloat value) {
    const std::uint32_t bits = std::uint32_t(value.bits) << 16;
    float wide;
    std::memcpy(&wide, &bits, sizeof wide);
    return wide;
}

template <class Real>
ANYGRU_INLINE Vector<Real> widened(const Real* from) {
    return load(from);
}

// With the intrinsics where compilers do not find these instructions by themselves.
ANYGRU_INLINE Vector<float> widened(const Bfloat* from) {
#if defined(__AVX512F__)
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return (Vector<float>)_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
#elif defined(__AVX2__) && ANYGRU_VECTOR_BYTES == 32
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return (Vector<float>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
#elif defined(__SSE2__) && ANYGRU_VECTOR_BYTES == 16
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return (Vector<float>)_mm_unpacklo_epi16(_mm_setzero_si128(), halves);
#else
    typedef std::uint16_t Halves __attribute__((vector_size(ANYGRU_VECTOR_BYTES / 2)));
    typedef std::uint32_t Words __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return (Vector<float>)(__builtin_convertvector(halves, Words) << 16);
#endif
}

// Of a value that has no more than these bits.
ANYGRU_INLINE Bfloat narrowed(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return {std::uint16_t(bits >> 16)};
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
