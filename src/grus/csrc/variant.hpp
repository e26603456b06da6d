// Included by one file for each instruction set: the table of its kernels.
#pragma once

#include "backward_kernel.hpp"
#include "gradient_kernel.hpp"
#include "gru_kernel.hpp"
#include "variants.hpp"

namespace grus {
namespace GRUS_VARIANT {

template <class Real>
constexpr KernelsOf<Real> kernels_of() {
    return {&ForwardKernel<Real>::run, &BackwardKernel<Real>::run, &GradientKernel<Real>::run,
            &ForwardKernel<Real>::pack, lanes<Real>};
}

}  // namespace GRUS_VARIANT
}  // namespace grus

#define GRUS_DEFINE_VARIANT(variant_name)                                                                        \
    namespace grus {                                                                                             \
    extern const Kernels variant_name##_kernels = {#variant_name, variant_name::tile_rows, variant_name::depth_block, \
                                                   variant_name::kernels_of<float>(),                            \
                                                   variant_name::kernels_of<double>()};                          \
    }
