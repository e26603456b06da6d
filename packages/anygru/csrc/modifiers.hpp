// What changes a step besides its weights: decay and masks of the state, masks of the candidate, zoneout.
#pragma once

#include "call.hpp"
#include "simd.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// The factors of hidden units at .. at + L - 1 (of which `left` are there) in a row.
template <class Real>
ANYGRU_INLINE Vector<Real> factors_at(const Factors<Real>& factors, Index row, Index at, Index left) {
    if (factors.width <= 1) return broadcast<Real>(factors.data[row * factors.width]);
    return load(factors.data + row * factors.width + at, left);
}

// Fetches the factors of units first .. last - 1 into the cache.
template <class Real>
ANYGRU_INLINE void fetch(const Factors<Real>& factors, Index row, Index first, Index last) {
    if (!factors.data || factors.width <= 1) return;
    const Real* const from = factors.data + row * factors.width;
    if (last > factors.width) last = factors.width;
    for (Index at = first; at < last; at += 64 / Index(sizeof(Real))) __builtin_prefetch(from + at);
}

// The state h of these units times its decay.
template <class Real>
ANYGRU_INLINE Vector<Real> decayed(const Factors<Real>& decay, Index row, Index at, Index left, Vector<Real> h) {
    const Vector<Real> factor = factors_at(decay, row, at, left);
    return factor == 0 ? Vector<Real>{} : factor * h;
}

// What a step reads of the state h: decayed, and from where a reset goes.
template <class Real>
ANYGRU_INLINE Vector<Real> started(const Modifiers<Real>& modifiers, Index row, Index at, Index left, Vector<Real> h) {
    h = decayed(modifiers.decay, row, at, left, h);
    return modifiers.offset.data ? h + factors_at(modifiers.offset, row, at, left) : h;
}

// The rows of the step that follows another, if the state is decayed before it.
struct NextRows {
    Index first_row, size;
};

template <class Real>
NextRows next_rows(const Forward<Real>& call, Index t) {
    const Index next = call.reverse ? t - 1 : t + 1;
    if (!call.modifiers.decay.data || next < 0 || next >= call.sequence.steps) return {0, 0};
    return {call.sequence.first_row(next), call.sequence.size(next)};
}

// Stores the state h of sequence b as the step that follows reads it.
template <class Real>
ANYGRU_INLINE void hand_on(const Forward<Real>& call, const NextRows& ahead, Real* next, Index b, Index at,
                           Vector<Real> h) {
    const Index left = call.hidden - at;
    if (b < ahead.size) h = started(call.modifiers, ahead.first_row + b, at, left, h);
    if (call.held) {
        store(call.held + b * call.pitch + at, h);
        h *= load(call.modifiers.mask + b * call.state_stride + at, left);
    }
    store(next + b * call.pitch + at, h);
}

// Update gate and candidate as they blend, from those that the gates gave.
template <class Real>
struct Blend {
    using V = Vector<Real>;
    V z, n;
    V kept;    // 1 - zoneout: the derivative of this z is so many times that of the gate
    V masked;  // the candidate's mask: likewise

    ANYGRU_INLINE Blend(const Modifiers<Real>& modifiers, Index row, Index at, Index left, V gate, V candidate)
        : z(gate), n(candidate), kept(broadcast<Real>(1)), masked(broadcast<Real>(1)) {
        if (modifiers.zoneout.data) {
            const V share = factors_at(modifiers.zoneout, row, at, left);
            kept = Real(1) - share;
            z = fused(share, Real(1) - gate, gate);
        }
        if (modifiers.candidate.data) {
            masked = factors_at(modifiers.candidate, row, at, left);
            n = masked * candidate;
        }
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
