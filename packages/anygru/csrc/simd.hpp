// Vectors of one width, chosen by the file that includes this one.
//
// ANYGRU_VARIANT        the namespace of this instruction set: every function here is compiled once for each, and equal
//                     names would let the linker keep the copy that an older CPU cannot execute
// ANYGRU_VECTOR_BYTES   16, 32 or 64
//
// For the same reason nothing of the standard library that could be emitted as a function is used in these headers.
#pragma once

#include <cstdint>
#include <cstring>

#include "call.hpp"

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace anygru {
namespace ANYGRU_VARIANT {

template <class Real>
struct SimdOf;

template <>
struct SimdOf<float> {
    typedef float vector __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    typedef std::int32_t integers __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    typedef float quad __attribute__((vector_size(16)));
    static constexpr int mantissa_bits = 23;
    static constexpr float to_integer =
        12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
};

template <>
struct SimdOf<double> {
    typedef double vector __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    typedef std::int64_t integers __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    typedef double quad __attribute__((vector_size(16)));
    static constexpr int mantissa_bits = 52;
    static constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52
};

template <class Real>
using Vector = typename SimdOf<Real>::vector;

template <class Real>
constexpr int lanes = ANYGRU_VECTOR_BYTES / sizeof(Real);

template <class Real>
ANYGRU_INLINE Vector<Real> broadcast(Real value) {
    return value - Vector<Real>{};  // x - 0 is x for every x, signed zeros included, so this is one broadcast
}

template <class Real>
ANYGRU_INLINE Vector<Real> load(const Real* from) {
    Vector<Real> value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class Real>
ANYGRU_INLINE Vector<Real> load(const Real* from, Index count) {
    if (count >= lanes<Real>) return load(from);
    Vector<Real> value{};
    for (Index lane = 0; lane < count; ++lane) value[lane] = from[lane];
    return value;
}

template <class Real>
ANYGRU_INLINE void store(Real* to, Vector<Real> value) {
    std::memcpy(to, &value, sizeof value);
}

template <class Real>
ANYGRU_INLINE void store(Real* to, Vector<Real> value, Index count) {
    if (count >= lanes<Real>) return store(to, value);
    for (Index lane = 0; lane < count; ++lane) to[lane] = value[lane];
}

// a * b + c, in one rounding where the instruction set has it. Contraction by the compiler is switched off, so that
// every tile shape computes the same bits.
#if defined(__FMA__) || defined(__AVX512F__)
ANYGRU_INLINE __m128 fused(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
ANYGRU_INLINE __m128d fused(__m128d a, __m128d b, __m128d c) { return _mm_fmadd_pd(a, b, c); }
ANYGRU_INLINE __m256 fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
ANYGRU_INLINE __m256d fused(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
#if defined(__AVX512F__)
ANYGRU_INLINE __m512 fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
ANYGRU_INLINE __m512d fused(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
#elif ANYGRU_VECTOR_BYTES == 64
// Sixteen lanes on a CPU with eight: two halves. This is how machines without AVX-512 test the wide tiles.
template <class Wide, class Half>
ANYGRU_INLINE Wide fused_halves(Wide a, Wide b, Wide c) {
    Half x[2], y[2], z[2];
    std::memcpy(x, &a, sizeof a);
    std::memcpy(y, &b, sizeof b);
    std::memcpy(z, &c, sizeof c);
    z[0] = fused(x[0], y[0], z[0]);
    z[1] = fused(x[1], y[1], z[1]);
    std::memcpy(&c, z, sizeof c);
    return c;
}
ANYGRU_INLINE Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) {
    return fused_halves<Vector<float>, __m256>(a, b, c);
}
ANYGRU_INLINE Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) {
    return fused_halves<Vector<double>, __m256d>(a, b, c);
}
#endif
#elif defined(__aarch64__)
ANYGRU_INLINE float32x4_t fused(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
ANYGRU_INLINE float64x2_t fused(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }
#else
template <class V>
ANYGRU_INLINE V fused(V a, V b, V c) {
    return a * b + c;
}
#endif

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
