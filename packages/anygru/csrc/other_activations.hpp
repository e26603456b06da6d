// The activations besides sigmoid and tanh, as torch defines them, and derivatives. One function for each vector, not
// one kernel for each activation: a switch takes less time than the products around it, and the library stays small.
//
// Backward gets what forward kept: the activation's value where the derivative follows from it, or the argument.
#pragma once

#include <cstddef>

#include "activations.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Whether forward keeps the argument: these two have two arguments with the same value.
constexpr bool keeps_argument(Activation which) { return which == Activation::gelu || which == Activation::silu; }

// Coefficients, the last one first.
template <class Real>
struct OtherSeries;

template <>
struct OtherSeries<float> {
    // (log(1 + u) - 2 s) / s^3 in s^2, with s = u / (2 + u) and u in [0, 1]
    static constexpr float logarithm[] = {0.232243292f, 0.217065758f, 0.28592358f, 0.399997063f, 0.666666673f};
    // e^(a^2 / 2) (1 + 0.3 a) times the share of the normal distribution below -a, with 1 / (1 + 0.3 a) moved to [-1, 1]
    static constexpr float share[] = {-5.97569102e-6f,  1.29238533e-6f,  7.75389047e-5f, -3.79902026e-5f,
                                      -9.76120947e-4f,  -3.21031325e-4f, 0.0148559869f,  0.0670540774f,
                                      0.162331652f,     0.257020568f};
    static constexpr float stretch = 2.47619048f, move = -1.47619048f;
};

template <>
struct OtherSeries<double> {
    static constexpr double logarithm[] = {
        0.161640456119435322, 0.0880073848614467388, 0.120010728095907125, 0.133141442096549362, 0.153855700649586231,
        0.181817894361328582, 0.22222222717427863,   0.285714285671087572, 0.400000000000145827, 0.666666666666666586};
    static constexpr double share[] = {
        4.71476014893820876e-10, -4.6485381463308442e-10, -3.93792851289545216e-9, 7.19914144540593384e-9,
        1.21664861183602722e-8,  -5.2819238950133984e-8,  2.2103744582701814e-8,   2.41360354285001675e-7,
        -5.1049265254148713e-7,  -6.36235397568928837e-7, 3.99690484465476651e-6,  -8.36215613389702674e-7,
        -2.60016399929163248e-5, 2.68531873386752253e-5,  1.84085131815941689e-4,  -2.45237857959140374e-4,
        -1.75553103498439787e-3, 5.75253142465291575e-4,  0.021966419267942613,    0.0789749012964318417,
        0.164648879306093346,    0.23564813916048648};
    static constexpr double stretch = 2.17316017316017316, move = -1.17316017316017316;
};

template <class Real, std::size_t N>
ANYGRU_INLINE Vector<Real> series(const Real (&coefficients)[N], Vector<Real> x) {
    Vector<Real> sum = broadcast<Real>(coefficients[0]);
#pragma GCC unroll 32
    for (std::size_t i = 1; i < N; ++i) sum = fused(sum, x, broadcast<Real>(coefficients[i]));
    return sum;
}

template <class Real>
ANYGRU_INLINE Vector<Real> power_m1(Vector<Real> y) {  // e^y - 1 for y <= 0
    const Exponential<Real> e = exponential<Real>(y);
    return fused(e.scale, e.fraction_m1, e.scale - broadcast<Real>(Real(1)));
}

template <class Real>
ANYGRU_INLINE Vector<Real> power(Vector<Real> y) {  // e^y for y <= 0
    const Exponential<Real> e = exponential<Real>(y);
    return fused(e.scale, e.fraction_m1, e.scale);
}

template <class Real>
ANYGRU_INLINE Vector<Real> clamp(Vector<Real> x, Real least, Real most) {  // keeps NaN
    const Vector<Real> low = broadcast<Real>(least), high = broadcast<Real>(most);
    x = x < low ? low : x;
    return x > high ? high : x;
}

// From here on torch's softplus is its argument.
constexpr int straight = 20;

template <class Real>
ANYGRU_INLINE Vector<Real> softplus(Vector<Real> x) {
    const Vector<Real> u = power<Real>(minus_magnitude<Real>(x)), s = u / (Real(2) + u);
    const Vector<Real> logarithm = fused(s * s * s, series<Real>(OtherSeries<Real>::logarithm, s * s), s + s);
    return x > Real(straight) ? x : x < 0 ? logarithm : x + logarithm;
}

// Of the normal distribution: the share below x, and the density.
template <class Real>
struct Normal {
    Vector<Real> share, density;

    explicit ANYGRU_INLINE Normal(Vector<Real> x) {
        const Vector<Real> one = broadcast<Real>(Real(1)), a = minus_magnitude<Real>(x);
        const Vector<Real> middle = power<Real>(Real(-0.5) * a * a);
        const Vector<Real> t = one / fused(a, broadcast<Real>(Real(-0.3)), one);
        using Series = OtherSeries<Real>;
        const Vector<Real> place = fused(t, broadcast<Real>(Series::stretch), broadcast<Real>(Series::move));
        const Vector<Real> tail = middle * t * series<Real>(Series::share, place);
        share = x < 0 ? tail : one - tail;
        density = middle * broadcast<Real>(Real(0.39894228040143267794));
    }
};

template <class Real>
ANYGRU_APART Vector<Real> activated(Activation which, Vector<Real> x) {
    const Vector<Real> one = broadcast<Real>(Real(1));
    switch (which) {
        case Activation::sigmoid:
            return sigmoid<Real>(x);
        case Activation::tanh:
            return tanh<Real>(x);
        case Activation::relu:
            return x < 0 ? Vector<Real>{} : x;
        case Activation::identity:
            return x;
        case Activation::hardsigmoid:
            return clamp<Real>(x + Real(3), 0, 6) / Real(6);
        case Activation::hardtanh:
            return clamp<Real>(x, -1, 1);
        case Activation::softsign:
            return x / (one - minus_magnitude<Real>(x));
        case Activation::softplus:
            return softplus<Real>(x);
        case Activation::elu:
            return x > 0 ? x : power_m1<Real>(minus_magnitude<Real>(x));
        case Activation::gelu:
            return x * Normal<Real>(x).share;
        case Activation::silu:
            return x * sigmoid<Real>(x);
    }
    __builtin_unreachable();
}

template <class Real>
ANYGRU_INLINE Vector<Real> value_of(Activation which, Vector<Real> kept) {
    return keeps_argument(which) ? activated<Real>(which, kept) : kept;
}

// The derivative times a gradient; `kept`: what forward kept.
template <class Real>
ANYGRU_APART Vector<Real> through(Activation which, Vector<Real> gradient, Vector<Real> kept) {
    const Vector<Real> one = broadcast<Real>(Real(1)), none{};
    switch (which) {
        case Activation::sigmoid:
            return gradient * kept * (one - kept);
        case Activation::tanh:
            return gradient * (one - kept * kept);
        case Activation::relu:
            return kept <= 0 ? none : gradient;
        case Activation::identity:
            return gradient;
        case Activation::hardsigmoid:
            return ((kept <= 0) | (kept >= 1)) ? none : gradient / Real(6);
        case Activation::hardtanh:
            return ((kept <= -1) | (kept >= 1)) ? none : gradient;
        case Activation::softsign: {
            const Vector<Real> distance = one + minus_magnitude<Real>(kept);
            return gradient * distance * distance;
        }
        case Activation::softplus:
            return kept > Real(straight) ? gradient : gradient * -power_m1<Real>(minus_magnitude<Real>(kept));
        case Activation::elu:
            return kept > 0 ? gradient : gradient * (kept + one);
        case Activation::gelu: {
            const Normal<Real> normal(kept);
            return gradient * fused(kept, normal.density, normal.share);
        }
        case Activation::silu: {
            const Vector<Real> open = sigmoid<Real>(kept);
            return gradient * open * fused(kept, one - open, one);
        }
    }
    __builtin_unreachable();
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
