// Included by one file for each instruction set that has products of narrow numbers of its own: the table of kernels
// for frozen layers and for lower precisions.
#pragma once

#include "backward_kernel.hpp"
#include "gru_kernel.hpp"
#include "int8_format.hpp"
#include "term_gradients.hpp"
#include "tiled_format.hpp"
#include "variants.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// With vectors: bfloat16 is widened.
constexpr FrozenKernels frozen_table(const char* name, const char* kernels) {
    return {name, kernels, format_kernels<float, InFull<float, Bfloat>>(2), format_kernels<float, Int8<>>(1), {}, {}, {}};
}

template <class Format>
constexpr FormatKernels<float> both_passes(Terms terms) {
    return with_backward<float, Format>(format_kernels<float, Format>(2, terms),
                                        &gradients_of_rows<TermGradientKernel<Format>, float, Format>,
                                        &scratch_of_terms<Format>);
}

// With a matrix unit: frozen bfloat16 and all lower precisions are one set of kernels.
template <class Tiles, class Lines>
constexpr FrozenKernels tiled_table(const char* name, const char* kernels) {
    using Format = Tiled<Tiles, Lines>;
    return {name,
            kernels,
            format_kernels<float, Format>(2, {2, 1}),
            format_kernels<float, Int8<Tiles>>(1),
            both_passes<Format>({3, 3}),
            both_passes<Format>({2, 2}),
            both_passes<Format>({1, 1})};
}

// Products of bfloat16 only; frozen layers have the kernels of another set.
template <class Lines>
constexpr FrozenKernels half_table(const char* name, const char* kernels) {
    return {name, kernels, {}, {}, {}, {}, both_passes<Tiled<NoTiles, Lines>>({1, 1})};
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru

// name: of the table; kernels: the name of the kernels that it goes with; the rest: a function as above.
#define ANYGRU_DEFINE_FROZEN(name, kernels, ...)                                             \
    namespace anygru {                                                                       \
    extern const FrozenKernels name##_frozen = ANYGRU_VARIANT::__VA_ARGS__(#name, #kernels); \
    }
