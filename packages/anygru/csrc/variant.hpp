// Included by one file for each instruction set: the table of its kernels.
#pragma once

#include "backward_kernel.hpp"
#include "gradient_kernel.hpp"
#include "gru_kernel.hpp"
#include "input_gradient.hpp"
#include "lstm_kernel.hpp"
#include "variants.hpp"
#include "weight_gradient_kernel.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// One thread's part of the sums over rows.
template <class Real>
void gradients(const Gradients<Real>& call, int member) {
    if (call.rows > few_rows) return gradients_of_rows<WeightGradientKernel<Real>, Real, InFull<Real>>(call, member);
    if (member > 0) return;
    GradientKernel<Real>(call).of_weights();
    if (call.input_gradient) GradientKernel<Real>(call).of_input();
}

template <class Real>
Index scratch_of_gradients(const Gradients<Real>& call) {
    const int gates = int(gate_columns(call.reset_before, call.norm));
    const Index weights = gradient_scratch(call.hidden, call.members, gates, lanes<Real>);
    return call.rows > few_rows ? scratch_with_input<Real, InFull<Real>>(call, weights) : weights;
}

template <class Real>
Real sum(const Real* values, Index count) {
    constexpr Index L = lanes<Real>;
    Vector<Real> sums[8] = {};
    Index i = 0;
    for (; i + 8 * L <= count; i += 8 * L) {
#pragma GCC unroll 8
        for (int s = 0; s < 8; ++s) sums[s] += load(values + i + s * L);
    }
    Real total = 0;
    for (; i < count; ++i) total += values[i];
    for (const Vector<Real>& vector : sums)
        for (Index lane = 0; lane < L; ++lane) total += vector[lane];
    return total;
}

template <class Real>
constexpr KernelsOf<Real> kernels_of() {
    using Format = InFull<Real>;
    return {with_backward<Real, Format>(format_kernels<Real, Format>(Index(sizeof(Real))), &gradients<Real>,
                                        &scratch_of_gradients<Real>),
            &sum<Real>, &lstm<Real>, &lstm_gradients<Real>, lanes<Real>};
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru

#define ANYGRU_DEFINE_VARIANT(variant_name)                                                                        \
    namespace anygru {                                                                                             \
    extern const Kernels variant_name##_kernels = {#variant_name, variant_name::tile_rows,                         \
                                                   variant_name::deepest_block, variant_name::kernels_of<float>(), \
                                                   variant_name::kernels_of<double>()};                            \
    }
