// Calls in bfloat16 that the kernels compute in float32.
#pragma once

#include <cstring>

#include "engine.hpp"
#include "tensors.hpp"
#include "workspace.hpp"

namespace anygru {

// A call in bfloat16. The kernels read its matrices as they lie, and float32 copies of the rest; results are rounded at
// the end. Of a call in another type it does nothing.
template <class Real>
class InHalves {
public:
    // The arguments are complete; `view`: of the input.
    InHalves(ForwardArguments<Real>& call, const TensorView& view) : call_(call) {
        if constexpr (sizeof(Real) == sizeof(float)) {
            if (view.bits == 16) widen();
        }
    }

    void finish() {
        if (output_) narrow(call_.output.data, outputs_, output_);
        if (h_n_) narrow(call_.h_n, states_, h_n_);
        memory().trim();
    }

private:
    using Half = std::uint16_t;

    static Workspace& memory() {
        thread_local Workspace own;
        return own;
    }

    void widen() {
        const Shape& shape = call_.shape;
        const Index each = shape.weights_a_direction(), width = 3 * shape.hidden;
        const Index vectors = Index(shape.layers) * shape.directions * (each - 2);
        states_ = shape.layers * shape.directions * shape.batch * shape.hidden;
        outputs_ = shape.rows * shape.directions * shape.hidden;
        output_ = reinterpret_cast<Half*>(call_.output.data);
        if (call_.h_n != call_.output.data) h_n_ = reinterpret_cast<Half*>(call_.h_n);
        const Index inputs = shape.rows * shape.input_size;
        const Index all = inputs + 2 * states_ + outputs_ + vectors * width;
        Real* free = reinterpret_cast<Real*>(memory().reserve(sizeof(Real) * std::size_t(all)));
        const auto take = [&](Index count) { return free += count, free - count; };
        Real* const input = take(inputs);
        for (Index row = 0; row < shape.rows; ++row)
            widen(reinterpret_cast<const Half*>(call_.input.data) + row / shape.batch * call_.input.step_stride +
                      row % shape.batch * call_.input.row_stride,
                  shape.input_size, input + row * shape.input_size);
        call_.input = {input, shape.batch * shape.input_size, shape.input_size};
        if (call_.h_0) call_.h_0 = widened(call_.h_0, states_, take(states_));
        for (std::size_t i = 0; i < call_.weights.size(); ++i)
            if (Index(i) % each > 1) call_.weights[i] = widened(call_.weights[i], width, take(width));
        call_.output.data = take(outputs_);
        call_.h_n = h_n_ ? take(states_) : call_.output.data;
    }

    static const Real* widened(const Real* from, Index count, Real* to) {
        widen(reinterpret_cast<const Half*>(from), count, to);
        return to;
    }

    static void widen(const Half* from, Index count, Real* to) {
        for (Index i = 0; i < count; ++i) {
            const std::uint32_t bits = std::uint32_t(from[i]) << 16;
            std::memcpy(to + i, &bits, sizeof bits);
        }
    }

    // To the nearest, of two the even one, as torch rounds.
    static void narrow(const Real* from, Index count, Half* to) {
        for (Index i = 0; i < count; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, from + i, sizeof bits);
            to[i] = from[i] != from[i] ? 0x7fc0 : Half((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
    }

    ForwardArguments<Real>& call_;
    Half *output_ = nullptr, *h_n_ = nullptr;
    Index outputs_ = 0, states_ = 0;
};

}  // namespace anygru
