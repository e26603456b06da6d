// Included by one file for each instruction set that has products of narrow numbers of its own: the table of kernels
// for frozen layers and for lower precisions.
#pragma once

#include "gru_kernel.hpp"
#include "int8_format.hpp"
#include "tiled_format.hpp"
#include "variants.hpp"

// frozen_name: of the table; kernels_name: of the kernels that it goes with.
#define ANYGRU_DEFINE_FROZEN(frozen_name, kernels_name)                                                  \
    namespace anygru {                                                                                   \
    extern const FrozenKernels frozen_name##_frozen = {                                                  \
        #frozen_name,                                                                                    \
        #kernels_name,                                                                                   \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::InFull<float, ANYGRU_VARIANT::Bfloat>>(2), \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::Int8<>>(1),                                \
        {},                                                                                              \
        {}};                                                                                             \
    }

// The same with tiles of a matrix unit: frozen bfloat16 and both lower precisions are one set of kernels.
#define ANYGRU_DEFINE_TILED(frozen_name, kernels_name, Tiles)                                  \
    namespace anygru {                                                                         \
    namespace ANYGRU_VARIANT {                                                                 \
    using Own = Tiled<Tiles, LineProduct>;                                                     \
    }                                                                                          \
    extern const FrozenKernels frozen_name##_frozen = {                                        \
        #frozen_name,                                                                          \
        #kernels_name,                                                                         \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::Own>(2, {2, 1}),                 \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::Int8<ANYGRU_VARIANT::Tiles>>(1), \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::Own>(2, {2, 2}),                 \
        ANYGRU_VARIANT::format_kernels<float, ANYGRU_VARIANT::Own>(2, {1, 1})};                \
    }
