// Gradients of the input of one direction, in the format of the weights: rows of gates [3H] times weight_ih [3H, I].
#pragma once

#include "formats.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Lines that are multiplied at once, so that their sums stay in the first-level cache.
constexpr Index lines_at_once = 64;
template <class Real>
constexpr Index sums_at_once = lines_at_once* ColumnGroups::most* lanes<Real>;

// `count` lines, `lines_at_once` at a time, times `blocks` panels; finish(first line, number of them, first block,
// panels) follows for each.
template <class Format, class Real, class Finish>
inline void multiply_lines(typename Format::Tools& tools, const typename Format::Operand* const* lines, Index count,
                           const typename Format::Columns& matrix, Index blocks, Real* sums, const Finish& finish) {
    const ColumnGroups groups{blocks};
    for (Index line = 0; line < count; line += lines_at_once) {
        const Index some = count - line < lines_at_once ? count - line : lines_at_once;
        for (Index group = 0; group < groups.count(); ++group) {
            const Index block = groups.first(group), after = groups.first(group + 1);
            const int panels = groups.panels(group);
            Format::product_of_columns(tools, lines + line, some, matrix, block, panels, after < blocks ? after : 0,
                                       sums);
            finish(line, some, block, panels);
        }
    }
}

// A thread owns some columns, and some rows where there are too few columns for all threads.
template <class Real, class Format>
struct InputGradient {
    static constexpr Index L = lanes<Real>;

    const Gradients<Real>& call;
    const Index depth, all_blocks;
    const int parts;  // of the columns
    const Index first, blocks;  // own blocks of columns
    typename Format::Tools tools;
    Real* sums;
    char* panels;
    const typename Format::Operand** pointers;
    char* lines;

    InputGradient(const Gradients<Real>& gradients, int member)
        : call(gradients),
          depth(3 * call.hidden),
          all_blocks((call.input_size + L - 1) / L),
          parts(parts_of_columns()),
          first(all_blocks * (member % parts) / parts),
          blocks(all_blocks * (member % parts + 1) / parts - first),
          tools(call.terms) {
        lay_out(reinterpret_cast<std::uintptr_t>(call.scratch + member * call.scratch_size));
    }

    int parts_of_columns() const {
        int found = call.members;
        while (found > 1 && (call.members % found || found * ColumnGroups::most > all_blocks)) --found;
        return found;
    }

    // Deals out the memory; returns its elements.
    Index lay_out(std::uintptr_t memory) {
        const Index panels_at = sums_at_once<Real> * Index(sizeof(Real));
        const Index lines_at = panels_at + Format::column_bytes(blocks, depth, call.terms);
        const Index pointers_at = lines_at + lines_at_once * Format::operand_bytes(depth, call.terms);
        const auto at = [&](Index offset) { return reinterpret_cast<char*>(memory + std::uintptr_t(offset)); };
        sums = reinterpret_cast<Real*>(at(0));
        panels = at(panels_at);
        lines = at(lines_at);
        pointers = reinterpret_cast<const typename Format::Operand**>(at(pointers_at));
        return (pointers_at + lines_at_once * Index(sizeof(void*)) + 63) / 64 * 64 / Index(sizeof(Real));
    }

    void compute(int member) {
        const Index size = call.input_size, start = first * L;
        const auto matrix = Format::columns(panels, depth, call.terms);
        Format::pack_columns(
            matrix, 0, {blocks}, size - start, [&](Index k) { return call.weight_ih + k * size + start; }, 0, 1);
        const Index width = gate_columns(call.reset_before, call.norm) * call.hidden;
        const Real* const gates = call.gates + width - depth;
        const Index part = member / parts, row_parts = call.members / parts, last = call.rows * (part + 1) / row_parts;
        for (Index row = call.rows * part / row_parts; row < last; row += lines_at_once) {
            const Index count = last - row < lines_at_once ? last - row : lines_at_once;
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

    void put(Index row, Index column, Vector<Real> sum) const {
        Real* const to = call.input_gradient + row * call.input_size + column;
        const Index left = call.input_size - column;
        store(to, call.adds_input ? load(to, left) + sum : sum, left);
    }
};

// One thread's part of all gradients of more than a few rows; Weights: what makes those of the weights.
template <class Weights, class Real, class Format>
void gradients_of_rows(const Gradients<Real>& call, int member) {
    Weights(call, member).compute();
    if (call.input_gradient) InputGradient<Real, Format>(call, member).compute(member);
}

// Elements that a thread needs for it, and not less than `weights`.
template <class Real, class Format>
Index scratch_with_input(const Gradients<Real>& call, Index weights) {
    Index most = weights;
    for (int member = 0; call.input_gradient && member < call.members; ++member) {
        const Index own = InputGradient<Real, Format>(call, member).lay_out(0);
        most = own > most ? own : most;
    }
    return most;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
