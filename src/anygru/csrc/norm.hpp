// Layer norm of products with weights: over all hidden units, for the reset and update gates together and for the
// candidate (Ba et al. 2016). One thread has all units of a row.
#pragma once

#include "call.hpp"
#include "partition.hpp"
#include "simd.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// As in torch.nn.LayerNorm and in the code of Ba et al.
constexpr double norm_epsilon = 1e-5;

ANYGRU_INLINE float root(float value) { return __builtin_sqrtf(value); }
ANYGRU_INLINE double root(double value) { return __builtin_sqrt(value); }

// A sum over hidden units, in an order that does not depend on the vector width.
template <class Real>
struct UnitSum {
    static constexpr int L = lanes<Real>, buckets = 64 / sizeof(Real), vectors = buckets / L;
    Vector<Real> parts[vectors] = {};

    ANYGRU_INLINE void add(Index block, Vector<Real> value) { parts[block % vectors] += value; }

    ANYGRU_INLINE Real total() const {
        Real all[buckets];
        std::memcpy(all, parts, sizeof all);
        for (int half = buckets / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) all[i] += all[i + half];
        return all[0];
    }
};

// Calls work(gate, block, place of the block in [gates, hidden], units left from there on).
template <class Real, class Work>
ANYGRU_INLINE void for_units(int gates, Index hidden, const Work& work) {
    constexpr Index L = lanes<Real>;
    for (int gate = 0; gate < gates; ++gate)
        for (Index block = 0; block * L < hidden; ++block)
            work(gate, block, gate * hidden + block * L, hidden - block * L);
}

// Normalises the values of some gates in a row, and multiplies them with their gain [gates, hidden]; at(gate, block)
// tells where a vector of them lies, with zeros past the last unit. What is normalised goes to `kept` [gates, hidden],
// if given. Returns the factor.
template <class Real, class At>
ANYGRU_INLINE Real normalise(int gates, Index hidden, const At& at, const Real* gain, Real* kept) {
    using V = Vector<Real>;
    const Real count = Real(gates * hidden);
    UnitSum<Real> sum, squares;
    for_units<Real>(gates, hidden,
                    [&](int gate, Index block, Index, Index) ANYGRU_INLINED { sum.add(block, load(at(gate, block))); });
    const Real mean = sum.total() / count;
    for_units<Real>(gates, hidden, [&](int gate, Index block, Index, Index left) ANYGRU_INLINED {
        V distance = load(at(gate, block)) - mean;
        for (Index lane = left; lane < lanes<Real>; ++lane) distance[lane] = 0;
        squares.add(block, distance * distance);
    });
    const Real scale = 1 / root(squares.total() / count + Real(norm_epsilon));
    for_units<Real>(gates, hidden, [&](int gate, Index block, Index place, Index left) ANYGRU_INLINED {
        Real* const values = at(gate, block);
        const V normal = (load(values) - mean) * scale;
        if (kept) store(kept + place, normal, left);
        store(values, normal * load(gain + place, left));
    });
    return scale;
}

// Back through `normalise`: from the gradient [gates, hidden] of its result to that of its values; `out` may be where
// the gradient lies. Adds to the gradients of gain and bias.
template <class Real>
ANYGRU_INLINE void through_norm(int gates, Index hidden, const Real* gradient, const Real* gain, const Real* normal,
                                Real scale, Real* grad_gain, Real* grad_bias, Real* out) {
    using V = Vector<Real>;
    const Real count = Real(gates * hidden);
    UnitSum<Real> sum, share;
    for_units<Real>(gates, hidden, [&](int, Index block, Index place, Index left) ANYGRU_INLINED {
        const V given = load(gradient + place, left), own = given * load(gain + place, left);
        const V values = load(normal + place, left);
        sum.add(block, own);
        share.add(block, own * values);
        store(grad_gain + place, fused(given, values, load(grad_gain + place, left)), left);
        store(grad_bias + place, load(grad_bias + place, left) + given, left);
    });
    const Real mean = sum.total() / count, along = share.total() / count;
    for_units<Real>(gates, hidden, [&](int, Index, Index place, Index left) ANYGRU_INLINED {
        const V own = load(gradient + place, left) * load(gain + place, left);
        store(out + place, (own - mean - load(normal + place, left) * along) * scale, left);
    });
}

// The normalised values of a row that forward keeps for backward: of the product with the input, r, z, n; of that with
// the state; then the factors of the four norms.
template <class Value>
struct NormRow {
    Value *input = nullptr, *state = nullptr, *scales = nullptr;

    ANYGRU_INLINE NormRow(Value* kept, Index row, Index hidden) {
        if (!kept) return;
        input = kept + row * norm_width(hidden);
        state = input + 3 * hidden;
        scales = state + 3 * hidden;
    }
};

// The norms of a forward pass.
template <class Real>
struct ForwardNorm {
    const Forward<Real>& call;

    // The product of one row with the input, in `places`.
    void inputs(const Place<Real>* places, Index place, Index row) const {
        const NormRow<Real> kept(call.norm_kept, row, call.hidden);
        for (int gate = 0; gate <= 2; gate += 2)
            one(places, place, gate * lanes<Real>, gate, call.norm.gain_ih, kept.input, kept.scales);
    }

    // That with the state, of the gates from `first` to `last`.
    void products(const Place<Real>* places, Index place, Index row, int first, int last) const {
        const NormRow<Real> kept(call.norm_kept, row, call.hidden);
        for (int gate = first; gate <= last; gate += 2)
            one(places, place, (gate - first) * lanes<Real>, gate, call.norm.gain_hh, kept.state,
                kept.scales ? kept.scales + 2 : nullptr);
    }

private:
    // Both update gates (gate = 0), or the candidate (2).
    void one(const Place<Real>* places, Index place, Index skip, int gate, const Real* gain, Real* kept,
             Real* scales) const {
        const Index hidden = call.hidden;
        const auto at = [&](int next, Index block) ANYGRU_INLINED {
            return places[block].at + place * places[block].pitch + skip + next * lanes<Real>;
        };
        const Real scale =
            normalise(gate ? 1 : 2, hidden, at, gain + gate * hidden, kept ? kept + gate * hidden : nullptr);
        if (scales) scales[gate / 2] = scale;
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
