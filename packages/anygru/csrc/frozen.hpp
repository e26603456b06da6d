// Included by one file for each instruction set that has dot products of its own: the table of kernels for frozen
// layers.
#pragma once

#include "gru_kernel.hpp"
#include "int8_format.hpp"
#include "variants.hpp"

// frozen_name: of the table; kernels_name: of the kernels that it goes with.
#define ANYGRU_DEFINE_FROZEN(frozen_name, kernels_name)                                                  \
    namespace anygru {                                                                                   \
    extern const FrozenKernels frozen_name##_frozen = {                                                  \
        #frozen_name, #kernels_name,                                                                     \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::InFull<float, ANYGRU_VARIANT::Bfloat>>(2), \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::Int8>(1)};                                 \
    }
