// Weights of half the width: the upper sixteen bits of a float, widened as they are loaded.
#pragma once

#include "simd.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

struct Bfloat {
    std::uint16_t bits;
};

template <class Real>
ANYGRU_INLINE Vector<Real> widened(const Real* from) {
    return load(from);
}

ANYGRU_INLINE Vector<float> widened(const Bfloat* from) {
    typedef std::uint16_t Halves __attribute__((vector_size(ANYGRU_VECTOR_BYTES / 2)));
    typedef std::uint32_t Words __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return (Vector<float>)(__builtin_convertvector(halves, Words) << 16);
}

// Of a value that has no more than these bits.
ANYGRU_INLINE Bfloat narrowed(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return {std::uint16_t(bits >> 16)};
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
