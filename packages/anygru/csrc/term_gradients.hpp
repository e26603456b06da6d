// Gradients of the weights and biases of one direction, as products of bfloat16 terms.
#pragma once

#include "input_gradient.hpp"
#include "weight_gradient_kernel.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// The gates' gradients of a unit are a line over the rows, and the values of some columns a panel.
template <class Format>
struct TermGradientKernel : WeightSums<float, TermGradientKernel<Format>> {
    using V = Vector<float>;
    using Base = WeightSums<float, TermGradientKernel<Format>>;
    using Base::call, Base::hidden, Base::gates, Base::first, Base::units;
    using typename Base::Product;
    using Operand = typename Format::Operand;
    using Matrix = typename Format::Columns;
    static constexpr Index L = lanes<float>, widest = 3;  // panels that are packed at once

    typename Format::Tools tools;
    float* sums;               // [lines][panels][L]
    float* turned;             // [L][gradient_depth]
    float* totals;             // [gates][units] of the piece, for the biases
    char* panels;              // of `widest` blocks of columns
    const Operand** pointers;  // [gates][units]
    char* lines;

    TermGradientKernel(const Gradients<float>& gradients, int member) : Base(gradients, member), tools(call.terms) {
        lay_out(reinterpret_cast<std::uintptr_t>(call.scratch) + std::uintptr_t(member * call.scratch_size) * 4);
    }

    // Deals out the memory; returns its elements.
    Index lay_out(std::uintptr_t memory) {
        Index used = 0;
        const auto take = [&](Index bytes) {
            char* const found = reinterpret_cast<char*>(memory + std::uintptr_t(used));
            used += (bytes + 63) / 64 * 64;
            return found;
        };
        sums = reinterpret_cast<float*>(take(sums_at_once<float> * 4));
        turned = reinterpret_cast<float*>(take(L * gradient_depth * 4));
        totals = reinterpret_cast<float*>(take(gates * (units + L) * 4));
        panels = take(widest * Matrix::panel_bytes(gradient_depth, call.terms.weight));
        pointers = reinterpret_cast<const Operand**>(take(gates * units * Index(sizeof(void*))));
        lines = take(gates * units * line_size());
        return used / 4;
    }

    Index line_size() const { return Format::operand_bytes(gradient_depth, call.terms); }

    void pack_gates(Index row, Index depth) {
        const float* const from = call.gates + row * gates * hidden + first;
        for (int gate = 0; gate < gates; ++gate)
            for (Index unit = 0; unit < units; unit += L) {
                const Index count = units - unit < L ? units - unit : L;
                V total[4] = {};  // additions that do not wait for each other
                for (Index k = 0; k < depth; ++k) {
                    const V values = load(from + (k * gates + gate) * hidden + unit, count);
                    total[k & 3] += values;
                    for (Index lane = 0; lane < L; ++lane) turned[lane * gradient_depth + k] = values[lane];
                }
                store(totals + gate * (units + L) + unit, (total[0] + total[1]) + (total[2] + total[3]));
                for (Index lane = 0; lane < count; ++lane) {
                    const Index line = gate * units + unit + lane;
                    pointers[line] =
                        Format::operand(tools, turned + lane * gradient_depth, depth, lines + line * line_size());
                }
            }
    }

    void sum_gate(int gate, Index, bool adds) const {
        const auto to = this->biases(gate);
        for (Index unit = 0; unit < units; ++unit) to.put(unit, totals[gate * (units + L) + unit], adds);
    }

    void multiply(const Product& product, Index depth, bool adds) {
        const Matrix matrix(panels, depth, call.terms.weight);
        for (Index column = 0; column < product.size; column += widest * L) {
            const Index left = product.size - column, all = (left + L - 1) / L;
            const Index blocks = all < widest ? all : widest;
            Format::pack_columns(
                matrix, 0, {blocks}, left, [&](Index k) { return product.values + k * product.pitch + column; }, 0, 1);
            for (int gate = 0; gate < product.count; ++gate) {
                float* const out = product.out + (gate * hidden + first) * product.size + column;
                multiply_lines<Format>(tools, pointers + product.gates[gate] * units, units, matrix, blocks, sums,
                                       [&](Index line, Index count, Index block, int panels) {
                                           for (Index m = 0; m < count; ++m)
                                               for (int s = 0; s < panels; ++s) {
                                                   const Index at = (block + s) * L;
                                                   float* const to = out + (line + m) * product.size + at;
                                                   const V sum = load(sums + (m * panels + s) * L);
                                                   store(to, adds ? load(to, left - at) + sum : sum, left - at);
                                               }
                                       });
            }
        }
    }
};

// Elements that a thread needs for these and the gradient of the input.
template <class Format>
Index scratch_of_terms(const Gradients<float>& call) {
    Index most = 0;
    for (int member = 0; member < call.members; ++member) {
        const Index own = TermGradientKernel<Format>(call, member).lay_out(0);
        most = own > most ? own : most;
    }
    return scratch_with_input<float, Format>(call, most);
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
