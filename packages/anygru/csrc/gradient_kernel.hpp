// Gradients of the weights, the biases and the input of one direction, where a call has few rows: nothing is packed,
// since it would be read but once.
#pragma once

#include "call.hpp"
#include "tile.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

template <class Real>
struct GradientKernel {
    using V = Vector<Real>;
    static constexpr int L = lanes<Real>;

    const Gradients<Real>& call;
    const Index hidden;
    const Index width;       // values a row of gates
    const Real* from_input;  // where the gradients of r, z, n begin in a row: those that the input's product gets ...
    const Real* from_state;  // ... and of r, z, those that the state's gets
    const Real* candidate;   // and of the candidate's share of the state

    explicit GradientKernel(const Gradients<Real>& gradients)
        : call(gradients),
          hidden(gradients.hidden),
          width(gate_columns(gradients.reset_before, gradients.norm) * hidden),
          from_input(gradients.gates + width - 3 * hidden),
          from_state(gradients.reset_before ? gradients.gates : gradients.gates + hidden),
          candidate(gradients.reset_before ? gradients.gates + 2 * hidden : gradients.gates) {}

    void of_weights() const {
        if (call.weight_ih_gradient)
            outer(from_input, 3 * hidden, call.input, call.input_size, call.input_size, call.weight_ih_gradient);
        if (call.weight_hh_gradient) {
            outer(from_state, 2 * hidden, call.previous, hidden, hidden, call.weight_hh_gradient);
            const Real* state = call.reset_before ? call.kept + 3 * hidden : call.previous;
            outer(candidate, hidden, state, call.reset_before ? 4 * hidden : hidden, hidden,
                  call.weight_hh_gradient + 2 * hidden * hidden);
        }
        if (call.bias_ih_gradient) sum(from_input, 3 * hidden, call.bias_ih_gradient);
        if (call.bias_hh_gradient) {
            sum(from_state, 2 * hidden, call.bias_hh_gradient);
            sum(candidate, hidden, call.bias_hh_gradient + 2 * hidden);
        }
    }

    // out [count, size] = the sum over rows of gates [count] times values [size].
    void outer(const Real* gates, Index count, const Real* values, Index pitch, Index size, Real* out) const {
        static_assert(few_rows == 4, "one case for each number of rows");
        if (call.rows == 1) return outer_of<1>(gates, count, values, pitch, size, out);
        if (call.rows == 2) return outer_of<2>(gates, count, values, pitch, size, out);
        if (call.rows == 3) return outer_of<3>(gates, count, values, pitch, size, out);
        if (call.rows == 4) return outer_of<4>(gates, count, values, pitch, size, out);
        outer_of<0>(gates, count, values, pitch, size, out);  // of an empty batch
    }

    // With the number of rows known, the loop over whole vectors has no branches, and is as fast as its results can be
    // written.
    template <Index Rows>
    void outer_of(const Real* gates, Index count, const Real* values, Index pitch, Index size, Real* out) const {
        const Index whole = call.adds ? 0 : size / L * L;
        for (Index m = 0; m < count; ++m, out += size) {
            V own[Rows + 1];  // an array has an element
            for (Index row = 0; row < Rows; ++row) own[row] = broadcast(gates[row * width + m]);
            const auto total = [&](Index j, Index left) ANYGRU_INLINED {
                V sum{};
                for (Index row = 0; row < Rows; ++row) sum = fused(own[row], load(values + row * pitch + j, left), sum);
                return sum;
            };
            for (Index j = 0; j < whole; j += L) store(out + j, total(j, L));
            for (Index j = whole; j < size; j += L) put(out + j, total(j, size - j), size - j);
        }
    }

    // out [count] = the sum over rows of gates [count].
    void sum(const Real* gates, Index count, Real* out) const {
        for (Index j = 0; j < count; j += L) {
            V total{};
            for (Index row = 0; row < call.rows; ++row) total += load(gates + row * width + j, count - j);
            put(out + j, total, count - j);
        }
    }

    void put(Real* out, V sum, Index count) const { store(out, call.adds ? load(out, count) + sum : sum, count); }

    // Rows of gates [3H] times weight_ih [3H, I].
    void of_input() const {
        for (Index row = 0; row < call.rows; ++row) {
            const Real* gates = from_input + row * width;
            Real* out = call.input_gradient + row * call.input_size;
            alignas(64) Real sums[4 * L];
            for (Index j = 0; j < call.input_size;) {
                const Index left = call.input_size - j;
                const int panels = left >= 4 * L ? 4 : left >= 2 * L ? 2 : 1;
                if (left >= L)
                    product_of_columns<Real>(&gates, 1, 0, 3 * hidden, call.weight_ih + j, call.input_size, panels,
                                             sums, true);
                else
                    last_columns(gates, j, left, sums);
                for (int s = 0; s < panels; ++s, j += L) {
                    const V sum = load(sums + s * L);
                    const Index count = call.input_size - j;
                    store(out + j, call.adds_input ? load(out + j, count) + sum : sum, count);
                }
            }
        }
    }

    void last_columns(const Real* gates, Index j, Index count, Real* sums) const {
        V total{};
        for (Index m = 0; m < 3 * hidden; ++m)
            total = fused(broadcast(gates[m]), load(call.weight_ih + m * call.input_size + j, count), total);
        store(sums, total);
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
