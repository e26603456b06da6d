// Sigmoid and tanh for one vector, without tables and without branches.
//
// Both rest on e^y - 1 for y <= 0: y = n ln 2 + f with |f| <= ln(2) / 2, e^f - 1 = f + f^2 q(f) with q the Chebyshev
// fit over that interval, then scaled by 2^n. The tests hold both to 2.5 ulp over all magnitudes.
#pragma once

#include "simd.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// One step of Horner's scheme for each coefficient, the last one first.
template <class Real>
ANYGRU_INLINE Vector<Real> exponential_series(Vector<Real> f);

template <>
ANYGRU_INLINE Vector<float> exponential_series<float>(Vector<float> f) {
    Vector<float> q = broadcast(0.00019891080463998842f);
    q = fused(q, f, broadcast(0.0013933730715792082f));
    q = fused(q, f, broadcast(0.0083333108446478629f));
    q = fused(q, f, broadcast(0.041666464197405692f));
    q = fused(q, f, broadcast(0.16666666681704215f));
    return fused(q, f, broadcast(0.50000000135387299f));
}

template <>
ANYGRU_INLINE Vector<double> exponential_series<double>(Vector<double> f) {
    Vector<double> q = broadcast(2.09147553258932022e-9);
    q = fused(q, f, broadcast(2.5105312729622101787e-8));
    q = fused(q, f, broadcast(2.7557273478718580474e-7));
    q = fused(q, f, broadcast(2.7557255170000887438e-6));
    q = fused(q, f, broadcast(0.0000248015873256774619));
    q = fused(q, f, broadcast(0.00019841269875002278793));
    q = fused(q, f, broadcast(0.0013888888888883711167));
    q = fused(q, f, broadcast(0.0083333333333260831202));
    q = fused(q, f, broadcast(0.041666666666666669783));
    q = fused(q, f, broadcast(0.1666666666666667103));
    return fused(q, f, broadcast(0.5));
}

template <class Real>
struct Exponential {
    Vector<Real> scale;        // 2^n
    Vector<Real> fraction_m1;  // e^f - 1
};

// y in [limit, 0]; below the limit 2^n would not be a normal number, and e^y counts as 0.
template <class Real>
ANYGRU_INLINE Exponential<Real> exponential(Vector<Real> y) {
    using V = Vector<Real>;
    using I = typename SimdOf<Real>::integers;
    constexpr bool single = sizeof(Real) == 4;
    const V limit = broadcast<Real>(single ? Real(-87.0) : Real(-708.0));
    const auto vanishes = y < limit;
    y = vanishes ? limit : y;  // keeps NaN
    const V magic = broadcast<Real>(SimdOf<Real>::to_integer);
    const V shifted = fused(y, broadcast<Real>(Real(1.4426950408889634)), magic);
    const V n = shifted - magic;
    // ln 2 in two parts, the first with so few bits that n times it is exact
    V f = fused(n, broadcast<Real>(single ? Real(-0.693145751953125) : Real(-0.69314718036912381649)), y);
    f = fused(n, broadcast<Real>(single ? Real(-1.42860682030941723e-6) : Real(-1.9082149292705877e-10)), f);
    Exponential<Real> result;
    result.fraction_m1 = fused(f * f, exponential_series<Real>(f), f);
    const I one = (I)broadcast<Real>(Real(1));
    const V scale = (V)(((I)shifted << SimdOf<Real>::mantissa_bits) + one);
    result.scale = vanishes ? V{} : scale;  // an infinite state times a closed gate is NaN, as in torch
    return result;
}

template <class Real>
ANYGRU_INLINE Vector<Real> minus_magnitude(Vector<Real> x) {
    return x < 0 ? x : -x;  // keeps NaN
}

// 1 / (1 + e^-x), written so that the tail at the left keeps its digits.
template <class Real>
ANYGRU_INLINE Vector<Real> sigmoid(Vector<Real> x) {
    const Exponential<Real> e = exponential<Real>(minus_magnitude<Real>(x));
    const Vector<Real> power = fused(e.scale, e.fraction_m1, e.scale);
    const Vector<Real> one = broadcast<Real>(Real(1));
    return (x < 0 ? power : one) / (one + power);
}

// With e = e^-2|x|, the magnitude is (1 - e) / (1 + e); but where e is small, 1 - 2 e / (1 + e) loses less in rounding.
// One division serves both.
template <class Real>
ANYGRU_INLINE Vector<Real> tanh(Vector<Real> x) {
    const Vector<Real> y = Real(2) * minus_magnitude<Real>(x);
    const Exponential<Real> e = exponential<Real>(y);
    const Vector<Real> one = broadcast<Real>(Real(1));
    const auto near = y > Real(-1.1);
    const Vector<Real> power = fused(e.scale, e.fraction_m1, e.scale);
    const Vector<Real> power_m1 = fused(e.scale, e.fraction_m1, e.scale - one);
    const Vector<Real> ratio = (near ? -power_m1 : power + power) / (near ? Real(2) + power_m1 : one + power);
    const Vector<Real> magnitude = near ? ratio : one - ratio;
    return x < 0 ? -magnitude : magnitude;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
