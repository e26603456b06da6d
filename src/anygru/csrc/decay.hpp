// The decay of a state before a step; a reset is a decay of 0.
#pragma once

#include "call.hpp"
#include "simd.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// The state h of hidden units at .. at + L - 1 (of which `left` are there) in a row, times its decay.
template <class Real>
ANYGRU_INLINE Vector<Real> decayed(const Decay<Real>& decay, Index row, Index at, Index left, Vector<Real> h) {
    const Vector<Real> factor =
        decay.width == 1 ? broadcast<Real>(decay.data[row]) : load(decay.data + row * decay.width + at, left);
    return factor == 0 ? Vector<Real>{} : factor * h;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
