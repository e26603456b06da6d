// Layer norm of products with weights: over all hidden units, for the reset and update gates together and for the
// candidate (Ba et al. 2016). One thread has all units of a row.
#pragma once

#include "call.hpp"
#include "partition.hpp"
#include "simd.hpp"
#include "tile.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

template <Index N>
struct Constant {
    static constexpr Index value = N;
};

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

// Rows that are normalised together: their sums do not wait for each other.
constexpr Index rows_at_once = 4;
static_assert(norm_tile % rows_at_once == 0 && tile_rows % norm_tile == 0);

// Calls work(first, constant number of rows) for rows first .. last - 1, a few at a time.
template <class Work>
ANYGRU_INLINE void for_few_rows(Index first, Index last, const Work& work) {
    for (; first + rows_at_once <= last; first += rows_at_once) work(first, Constant<rows_at_once>{});
    for (; first < last; ++first) work(first, Constant<1>{});
}

// Normalises the values of some gates in each of R rows, and multiplies them with their gain [gates, hidden];
// at(r, gate, block) tells where a vector of row r lies, with zeros past the last unit. What is normalised goes to
// `kept`, [gates, hidden] for each row, norm_width(hidden) apart, if given. Puts the factors into scales [R].
template <Index R, class Real, class At>
ANYGRU_INLINE void normalise(int gates, Index hidden, const At& at, const Real* gain, Real* kept, Real* scales) {
    using V = Vector<Real>;
    const Real count = Real(gates * hidden);
    const Index width = norm_width(hidden);
    UnitSum<Real> sums[R], squares[R];
    for_units<Real>(gates, hidden, [&](int gate, Index block, Index, Index) ANYGRU_INLINED {
#pragma GCC unroll 4
        for (Index r = 0; r < R; ++r) sums[r].add(block, load(at(r, gate, block)));
    });
    Real means[R];
    for (Index r = 0; r < R; ++r) means[r] = sums[r].total() / count;
    for_units<Real>(gates, hidden, [&](int gate, Index block, Index, Index left) ANYGRU_INLINED {
#pragma GCC unroll 4
        for (Index r = 0; r < R; ++r) {
            V distance = load(at(r, gate, block)) - means[r];
            for (Index lane = left; lane < lanes<Real>; ++lane) distance[lane] = 0;
            squares[r].add(block, distance * distance);
        }
    });
    for (Index r = 0; r < R; ++r) scales[r] = 1 / root(squares[r].total() / count + Real(norm_epsilon));
    for_units<Real>(gates, hidden, [&](int gate, Index block, Index place, Index left) ANYGRU_INLINED {
        const V factor = load(gain + place, left);
#pragma GCC unroll 4
        for (Index r = 0; r < R; ++r) {
            Real* const values = at(r, gate, block);
            const V normal = (load(values) - means[r]) * scales[r];
            if (kept) store(kept + r * width + place, normal, left);
            store(values, normal * factor);
        }
    });
}

// R rows of a gradient, so far apart.
template <class Real>
struct GradientRows {
    Real* data;
    Index pitch;
};

// Back through `normalise`: from the gradients [gates, hidden] of its results to those of its values; `out` may be
// where the gradients lie. normal: what was kept; scale(r): the factor of row r. Adds to the gradients of gain and
// bias, row by row.
template <Index R, class Real, class Scale>
ANYGRU_INLINE void through_norm(int gates, Index hidden, const GradientRows<Real>& gradient, const Real* gain,
                                const Real* normal, const Scale& scale, Real* grad_gain, Real* grad_bias,
                                const GradientRows<Real>& out) {
    using V = Vector<Real>;
    const Real count = Real(gates * hidden);
    const Index width = norm_width(hidden);
    UnitSum<Real> sums[R], shares[R];
    for_units<Real>(gates, hidden, [&](int, Index block, Index place, Index left) ANYGRU_INLINED {
        const V factor = load(gain + place, left);
        V of_gain = load(grad_gain + place, left), of_bias = load(grad_bias + place, left);
#pragma GCC unroll 4
        for (Index r = 0; r < R; ++r) {
            const V given = load(gradient.data + r * gradient.pitch + place, left), own = given * factor;
            const V values = load(normal + r * width + place, left);
            sums[r].add(block, own);
            shares[r].add(block, own * values);
            of_gain = fused(given, values, of_gain);
            of_bias += given;
        }
        store(grad_gain + place, of_gain, left);
        store(grad_bias + place, of_bias, left);
    });
    Real means[R], along[R], scales[R];
    for (Index r = 0; r < R; ++r) {
        means[r] = sums[r].total() / count, along[r] = shares[r].total() / count;
        scales[r] = scale(r);
    }
    for_units<Real>(gates, hidden, [&](int, Index, Index place, Index left) ANYGRU_INLINED {
        const V factor = load(gain + place, left);
#pragma GCC unroll 4
        for (Index r = 0; r < R; ++r) {
            const V own = load(gradient.data + r * gradient.pitch + place, left) * factor;
            const V values = load(normal + r * width + place, left);
            store(out.data + r * out.pitch + place, (own - means[r] - values * along[r]) * scales[r], left);
        }
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

    // The products of R rows with the input, in `places`.
    template <Index R>
    void inputs(const Place<Real>* places, Index place, Index row) const {
        const NormRow<Real> kept(call.norm_kept, row, call.hidden);
        for (int gate = 0; gate <= 2; gate += 2)
            some<R>(places, place, gate * lanes<Real>, gate, call.norm.gain_ih, kept.input, kept.scales);
    }

    // Those with the state, of the gates from `first` to `last`.
    template <Index R>
    void products(const Place<Real>* places, Index place, Index row, int first, int last) const {
        const NormRow<Real> kept(call.norm_kept, row, call.hidden);
        for (int gate = first; gate <= last; gate += 2)
            some<R>(places, place, (gate - first) * lanes<Real>, gate, call.norm.gain_hh, kept.state,
                    kept.scales ? kept.scales + 2 : nullptr);
    }

private:
    // Both update gates (gate = 0), or the candidate (2).
    template <Index R>
    void some(const Place<Real>* places, Index place, Index skip, int gate, const Real* gain, Real* kept,
              Real* kept_scales) const {
        const Index hidden = call.hidden;
        const auto at = [&](Index r, int next, Index block) ANYGRU_INLINED {
            return places[block].at + (place + r) * places[block].pitch + skip + next * lanes<Real>;
        };
        Real scales[R];
        normalise<R>(gate ? 1 : 2, hidden, at, gain + gate * hidden, kept ? kept + gate * hidden : nullptr, scales);
        for (Index r = 0; kept_scales && r < R; ++r) kept_scales[r * norm_width(hidden) + gate / 2] = scales[r];
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
