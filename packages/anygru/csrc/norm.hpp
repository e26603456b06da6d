// Layer norm of products with weights: over all hidden units, for the reset and update gates together and for the
// candidate (Ba et al. 2016). One thread has all units of a row.
#pragma once

#include "call.hpp"
#include "partition.hpp"
#include "simd.hpp"
#include "tile.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// A number that the compiler knows.
template <Index N>
struct Constant {
    static constexpr Index value = N;
    constexpr operator Index() const { return N; }
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

    ANYGRU_INLINE Real total() const {
        Real all[buckets];
        std::memcpy(all, parts, sizeof all);
        for (int half = buckets / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) all[i] += all[i + half];
        return all[0];
    }
};

// Calls work(block, its part of a UnitSum, units left from there on) for each block of hidden units. The compiler knows
// the part, and that whole blocks are whole.
template <class Real, class Work>
ANYGRU_INLINE void for_blocks(Index hidden, const Work& work) {
    constexpr Index L = lanes<Real>, together = UnitSum<Real>::vectors;
    Index block = 0;
    for (; (block + together) * L <= hidden; block += together)
#pragma GCC unroll 4
        for (Index part = 0; part < together; ++part) work(block + part, part, Constant<L>{});
#pragma GCC unroll 4
    for (Index part = 0; part < together; ++part)
        if ((block + part) * L < hidden) work(block + part, part, hidden - (block + part) * L);
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

// Normalises the values of some gates in each of R rows, and multiplies them with their gain [Gates, hidden];
// at(block) tells where the vectors of the first row lie, gate by gate, and how far apart rows are, with zeros past the
// last unit. What is normalised goes to `kept`, [Gates, hidden] for each row, norm_width(hidden) apart, if given. Puts
// the factors into scales [R].
template <Index R, Index Gates, class Real, class At>
ANYGRU_INLINE void normalise(Index hidden, const At& at, const Real* gain, Real* kept, Real* scales) {
    using V = Vector<Real>;
    constexpr Index L = lanes<Real>;
    const Real count = Real(Gates * hidden);
    const Index width = norm_width(hidden);
    // Calls work(row, place in [Gates, hidden], vector, part of a sum, units left) for each of their vectors.
    const auto for_all = [&](const auto& work) ANYGRU_INLINED {
        for_blocks<Real>(hidden, [&](Index block, Index part, auto left) ANYGRU_INLINED {
            const Place<Real> own = at(block);
#pragma GCC unroll 2
            for (Index gate = 0; gate < Gates; ++gate)
#pragma GCC unroll 4
                for (Index r = 0; r < R; ++r)
                    work(r, gate * hidden + block * L, own.at + r * own.pitch + gate * L, part, left);
        });
    };
    UnitSum<Real> sums[R], squares[R];
    for_all([&](Index r, Index place, const Real* values, Index part, auto) ANYGRU_INLINED {
        if (kept) __builtin_prefetch(kept + r * width + place, 1);
        sums[r].parts[part] += load(values);
    });
    Real means[R];
    for (Index r = 0; r < R; ++r) means[r] = sums[r].total() / count;
    for_all([&](Index r, Index, const Real* values, Index part, auto left) ANYGRU_INLINED {
        V distance = load(values) - means[r];
        for (Index lane = left; lane < L; ++lane) distance[lane] = 0;
        squares[r].parts[part] = fused(distance, distance, squares[r].parts[part]);
    });
    for (Index r = 0; r < R; ++r) scales[r] = 1 / root(squares[r].total() / count + Real(norm_epsilon));
    for_all([&](Index r, Index place, Real* values, Index, auto left) ANYGRU_INLINED {
        const V normal = (load(values) - means[r]) * scales[r];
        if (kept) store(kept + r * width + place, normal, left);
        store(values, normal * load(gain + place, left));
    });
}

// Back through `normalise`: from the gradients [Gates, hidden] of its results to those of its values, in rows that are
// `pitch` apart; `out` may be where the gradients lie. normal: what was kept; scales: the factors of the rows. Adds to
// the gradients of gain and bias, row by row.
template <Index R, Index Gates, class Real>
ANYGRU_INLINE void through_norm(Index hidden, Index pitch, const Real* gradient, const Real* gain, const Real* normal,
                                const Real* scales, Real* grad_gain, Real* grad_bias, Real* out) {
    using V = Vector<Real>;
    constexpr Index L = lanes<Real>;
    const Real count = Real(Gates * hidden);
    const Index width = norm_width(hidden);
    UnitSum<Real> sums[R], shares[R];
    for_blocks<Real>(hidden, [&](Index block, Index part, auto left) ANYGRU_INLINED {
#pragma GCC unroll 2
        for (Index place = block * L, gate = 0; gate < Gates; ++gate, place += hidden) {
            const V factor = load(gain + place, left);
            V of_gain = load(grad_gain + place, left), of_bias = load(grad_bias + place, left);
#pragma GCC unroll 4
            for (Index r = 0; r < R; ++r) {
                const V given = load(gradient + r * pitch + place, left), own = given * factor;
                const V values = load(normal + r * width + place, left);
                sums[r].parts[part] += own;
                shares[r].parts[part] = fused(own, values, shares[r].parts[part]);
                of_gain = fused(given, values, of_gain);
                of_bias += given;
            }
            store(grad_gain + place, of_gain, left);
            store(grad_bias + place, of_bias, left);
        }
    });
    Real means[R], along[R], factors[R];
    for (Index r = 0; r < R; ++r) {
        means[r] = sums[r].total() / count, along[r] = shares[r].total() / count;
        factors[r] = scales[r * width];
    }
    for_blocks<Real>(hidden, [&](Index block, Index, auto left) ANYGRU_INLINED {
#pragma GCC unroll 2
        for (Index place = block * L, gate = 0; gate < Gates; ++gate, place += hidden) {
            const V factor = load(gain + place, left);
#pragma GCC unroll 4
            for (Index r = 0; r < R; ++r) {
                const V own = load(gradient + r * pitch + place, left) * factor;
                const V values = load(normal + r * width + place, left);
                store(out + r * pitch + place, (own - means[r] - values * along[r]) * factors[r], left);
            }
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
        some<R, 2>(places, place, 0, 0, call.norm.gain_ih, kept.input, kept.scales);
        some<R, 1>(places, place, 2 * lanes<Real>, 2, call.norm.gain_ih, kept.input, kept.scales);
    }

    // Those with the state, of the gates from `first` to `last`.
    template <Index R>
    void products(const Place<Real>* places, Index place, Index row, int first, int last) const {
        const NormRow<Real> kept(call.norm_kept, row, call.hidden);
        Real* const scales = kept.scales ? kept.scales + 2 : nullptr;
        if (first == 0) some<R, 2>(places, place, 0, 0, call.norm.gain_hh, kept.state, scales);
        if (last == 2) some<R, 1>(places, place, (2 - first) * lanes<Real>, 2, call.norm.gain_hh, kept.state, scales);
    }

private:
    // Both update gates (Gates = 2, from `gate` 0 on), or the candidate (1, 2).
    template <Index R, Index Gates>
    void some(const Place<Real>* places, Index place, Index skip, Index gate, const Real* gain, Real* kept,
              Real* kept_scales) const {
        const Index hidden = call.hidden;
        const auto at = [&](Index block) ANYGRU_INLINED {
            const Place<Real> own = places[block];
            return Place<Real>{own.at + place * own.pitch + skip, own.pitch};
        };
        Real scales[R];
        normalise<R, Gates>(hidden, at, gain + gate * hidden, kept ? kept + gate * hidden : nullptr, scales);
        for (Index r = 0; kept_scales && r < R; ++r) kept_scales[r * norm_width(hidden) + gate / 2] = scales[r];
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
