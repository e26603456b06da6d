// Gradients of the weights, biases and input of one direction, as products of bfloat16 terms.
#pragma once

#include "formats.hpp"
#include "weight_gradient_kernel.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Lines that are multiplied at once, so that their sums stay in the first-level cache.
constexpr Index lines_at_once = 64;
constexpr Index sums_at_once = lines_at_once * 4 * lanes<float>;

// `count` lines, `lines_at_once` at a time, times `blocks` panels; finish(first line, number of them, first block,
// panels, sums) follows for each.
template <class Format, class Finish>
inline void multiply_lines(typename Format::Tools& tools, const typename Format::Operand* const* lines, Index count,
                           const typename Format::template Matrix<1>& matrix, Index blocks, float* sums,
                           const Finish& finish) {
    for (Index line = 0; line < count; line += lines_at_once) {
        const Index some = count - line < lines_at_once ? count - line : lines_at_once;
        for (Index block = 0; block < blocks;) {
            const int panels = Format::template panels_for<1>(some, blocks - block);
            const Index next = block + panels < blocks ? block + panels : 0;
            Format::template product<1>(tools, lines + line, some, matrix, block, panels, next, sums);
            finish(line, some, block, panels);
            block += panels;
        }
    }
}

// The gates' gradients of a unit are a line over the rows, and the values of some columns a panel.
template <class Format>
struct TermGradientKernel : WeightSums<float, TermGradientKernel<Format>> {
    using V = Vector<float>;
    using Base = WeightSums<float, TermGradientKernel<Format>>;
    using Base::call, Base::hidden, Base::gates, Base::first, Base::units;
    using typename Base::Product;
    using Operand = typename Format::Operand;
    using Matrix = typename Format::template Matrix<1>;
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
        sums = reinterpret_cast<float*>(take(sums_at_once * 4));
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
            for (Index block = 0; block < blocks; ++block)
                Format::pack_columns(matrix, block, left,
                                     [&](Index k) { return product.values + k * product.pitch + column; });
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

// Rows of gates [3H] times weight_ih [3H, I]; a thread owns some columns.
template <class Format>
struct TermInputGradient {
    using Matrix = typename Format::template Matrix<1>;
    static constexpr Index L = lanes<float>;

    const Gradients<float>& call;
    const Index depth, first, blocks;  // own blocks of columns
    typename Format::Tools tools;
    float* sums;
    char* panels;
    const typename Format::Operand** pointers;
    char* lines;

    TermInputGradient(const Gradients<float>& gradients, int member)
        : call(gradients),
          depth(3 * call.hidden),
          first(all_blocks() * member / call.members),
          blocks(all_blocks() * (member + 1) / call.members - first),
          tools(call.terms) {
        lay_out(reinterpret_cast<std::uintptr_t>(call.scratch) + std::uintptr_t(member * call.scratch_size) * 4);
    }

    Index all_blocks() const { return (call.input_size + L - 1) / L; }

    Index lay_out(std::uintptr_t memory) {
        const Index line = Format::operand_bytes(depth, call.terms);
        const Index panels_at = sums_at_once * 4,
                    lines_at = panels_at + blocks * Matrix::panel_bytes(depth, call.terms.weight);
        const Index pointers_at = lines_at + lines_at_once * line;
        const auto at = [&](Index offset) { return reinterpret_cast<char*>(memory + std::uintptr_t(offset)); };
        sums = reinterpret_cast<float*>(at(0));
        panels = at(panels_at);
        lines = at(lines_at);
        pointers = reinterpret_cast<const typename Format::Operand**>(at(pointers_at));
        return (pointers_at + lines_at_once * Index(sizeof(void*)) + 63) / 64 * 16;
    }

    void compute() {
        const Index size = call.input_size, start = first * L;
        const Matrix matrix(panels, depth, call.terms.weight);
        for (Index block = 0; block < blocks; ++block)
            Format::pack_columns(matrix, block, size - start,
                                 [&](Index k) { return call.weight_ih + k * size + start; });
        const Index width = gate_columns(call.reset_before, call.norm) * call.hidden;
        const float* const gates = call.gates + width - depth;
        for (Index row = 0; row < call.rows; row += lines_at_once) {
            const Index count = call.rows - row < lines_at_once ? call.rows - row : lines_at_once;
            for (Index m = 0; m < count; ++m)
                pointers[m] = Format::operand(tools, gates + (row + m) * width, depth,
                                              lines + m * Format::operand_bytes(depth, call.terms));
            multiply_lines<Format>(tools, pointers, count, matrix, blocks, sums,
                                   [&](Index, Index, Index block, int panels) {
                                       for (Index m = 0; m < count; ++m)
                                           for (int s = 0; s < panels; ++s)
                                               put(row + m, (first + block + s) * L, load(sums + (m * panels + s) * L));
                                   });
        }
    }

    void put(Index row, Index column, Vector<float> sum) const {
        float* const to = call.input_gradient + row * call.input_size + column;
        const Index left = call.input_size - column;
        store(to, call.adds_input ? load(to, left) + sum : sum, left);
    }
};

// One thread's part; of more than a few rows.
template <class Format>
void gradients_of_terms(const Gradients<float>& call, int member) {
    TermGradientKernel<Format>(call, member).compute();
    if (call.input_gradient) TermInputGradient<Format>(call, member).compute();
}

// Elements that a thread needs for it.
template <class Format>
Index scratch_of_terms(const Gradients<float>& call) {
    Index most = 0;
    Gradients<float> alone = call;
    alone.scratch = nullptr;
    alone.scratch_size = 0;
    for (int member = 0; member < call.members; ++member) {
        const Index weights = TermGradientKernel<Format>(alone, member).lay_out(0);
        const Index input = TermInputGradient<Format>(alone, member).lay_out(0);
        const Index both = weights > input ? weights : input;
        most = both > most ? both : most;
    }
    return most;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
