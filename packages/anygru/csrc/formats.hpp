// How the forward kernel's weights are stored, and what of a row of the input or the state is multiplied with them.
//
// A format has
//   Operand                       what the pointers to rows point to
//   Tools                         what a thread holds while it multiplies, made from Terms
//   Matrix<W>                     weights of W gates
//   matrices(call, blocks, ...)   those of a direction
//   pack(call, first, last)       packs the weights and biases of blocks first .. last - 1, where they are to be packed
//   unpack(call, ...)             the other way, without biases
//   packed_bytes(call)            of all that `pack` packs
//   operand_bytes(width, terms)   the memory that `operand` needs
//   operand(tools, row, width, memory)   a row of so many values as an Operand, in `memory` unless it is one already
//   panels_for<W>(count, ...)     how many blocks are multiplied with `count` rows at once
//   product<W>(tools, ...)        as `product` in panels.hpp
//
// and, if there is a backward pass in it,
//   in_place                      whether columns of weights can be multiplied as they lie
//   Columns                       columns of weights, by which the gradients of gates are multiplied
//   columns(memory, depth, terms) those that are packed there
//   column_bytes(blocks, depth, terms)   the memory that they need
//   pack_columns(matrix, first, groups, columns, from, part, parts)   a thread's part of the blocks from `first` on, of
//                                 a matrix [depth][columns] whose row k is at from(k); zero past the last column
//   product_of_columns(tools, ...)   as `product`, for a group of blocks
#pragma once

#include "panels.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Of a format that needs none.
struct NoTools {
    explicit NoTools(Terms) {}
};

template <class Format>
struct MatricesOf {
    typename Format::template Matrix<3> input;
    typename Format::template Matrix<3> after;      // all gates of W_hh
    typename Format::template Matrix<2> gates;      // reset before: r and z ...
    typename Format::template Matrix<1> candidate;  // ... and n
};

// [4][L]: b_ir + b_hr, b_iz + b_hz, b_in, b_hn; b_in + b_hn and zero when the reset comes before the product.
template <class Real>
inline void pack_bias(const Forward<Real>& call, Index block) {
    using V = Vector<Real>;
    constexpr int L = lanes<Real>;
    Real* bias = call.bias + block * 4 * L;
    const auto part = [&](const Real* given, int gate) ANYGRU_INLINED {
        return given ? load(given + gate * call.hidden + block * L, call.hidden - block * L) : V{};
    };
    const V in = part(call.bias_ih, 2), out = part(call.bias_hh, 2);
    for (int gate = 0; gate < 2; ++gate) store(bias + gate * L, part(call.bias_ih, gate) + part(call.bias_hh, gate));
    store(bias + 2 * L, call.reset_before ? in + out : in);
    store(bias + 3 * L, call.reset_before ? V{} : out);
}

// Blocks of columns that are packed and multiplied together: three, so that each value of a row serves three
// multiply-adds, and at the end two or, of a single block, one.
struct ColumnGroups {
    static constexpr int most = 3;
    const Index blocks;

    ANYGRU_INLINED Index count() const { return (blocks + most - 1) / most; }
    ANYGRU_INLINED Index first(Index group) const {
        const Index block = group * most;
        return block >= blocks ? blocks : block + 1 == blocks && group > 0 ? block - 1 : block;
    }
    ANYGRU_INLINED int panels(Index group) const { return int(first(group + 1) - first(group)); }
};

// Panels of numbers that are multiplied as Real, with Stored for each of them.
template <class Real, class Stored = Real>
struct InFull {
    using Operand = Real;
    using Tools = NoTools;
    template <int W>
    using Matrix = Weights<Real, W, Stored>;
    static constexpr int L = lanes<Real>;

    static MatricesOf<InFull> matrices(const Forward<Real>& call, Index blocks, Real* scratch) {
        const Index hidden = call.hidden;
        const Stored* packed = reinterpret_cast<const Stored*>(call.packed);
        const Stored* recurrent = packed ? packed + recurrent_at(call, blocks) : nullptr;
        const auto raw = [&](const Real* weights, Index first) {
            const Real* from = nullptr;
            as_given(weights, call.halves, [&](const auto* at) { from = reinterpret_cast<const Real*>(at + first); });
            return from;
        };
        return {{call.packs_input ? packed : nullptr, call.weight_ih, hidden, call.input_size, scratch, call.halves},
                {recurrent, call.weight_hh, hidden, hidden, scratch, call.halves},
                {recurrent, call.weight_hh, hidden, hidden, scratch, call.halves},
                {packed ? recurrent + blocks * 2 * L * hidden : nullptr, raw(call.weight_hh, 2 * hidden * hidden),
                 hidden, hidden, scratch, call.halves}};
    }

    // Where the recurrent weights begin in `packed`.
    static Index recurrent_at(const Forward<Real>& call, Index blocks) {
        return call.packs_input ? blocks * 3 * L * call.input_size : 0;
    }

    static void pack(const Forward<Real>& call, Index first, Index last) {
        const Index hidden = call.hidden;
        const Index blocks = (hidden + L - 1) / L;
        Stored* const packed = reinterpret_cast<Stored*>(call.packed);
        for (Index block = first; block < last; ++block) {
            pack_bias(call, block);
            if (!packed) continue;
            as_given(call.weight_ih, call.halves, [&](const auto* weight) {
                if (call.packs_input)
                    pack_rows<Real>(weight, hidden, 3, block * L, call.input_size, call.input_size,
                                    packed + block * 3 * L * call.input_size);
            });
            Stored* const recurrent = packed + recurrent_at(call, blocks);
            as_given(call.weight_hh, call.halves, [&](const auto* weight) {
                const int gates = call.reset_before ? 2 : 3;
                pack_rows<Real>(weight, hidden, gates, block * L, hidden, hidden,
                                recurrent + block * gates * L * hidden);
                if (call.reset_before)
                    pack_rows<Real>(weight + 2 * hidden * hidden, hidden, 1, block * L, hidden, hidden,
                                    recurrent + (blocks * 2 + block) * L * hidden);
            });
        }
    }

    static void unpack(const Forward<Real>& call, void* weight_ih, void* weight_hh, float*, float*) {
        const Index blocks = (call.hidden + L - 1) / L;
        const MatricesOf<InFull> from = matrices(call, blocks, nullptr);
        for (Index block = 0; block < blocks; ++block) {
            unpack_rows(from.input, block, 0, static_cast<Stored*>(weight_ih));
            if (!call.reset_before) {
                unpack_rows(from.after, block, 0, static_cast<Stored*>(weight_hh));
            } else {
                unpack_rows(from.gates, block, 0, static_cast<Stored*>(weight_hh));
                unpack_rows(from.candidate, block, 2, static_cast<Stored*>(weight_hh));
            }
        }
    }

    // One panel into rows of the gates from `gate` on.
    template <int W>
    static void unpack_rows(const Matrix<W>& matrix, Index block, int gate, Stored* weight) {
        const Index depth = matrix.depth, hidden = matrix.hidden;
        const Stored* panel = matrix.packed + block * depth * W * L;
        for (Index k = 0; k < depth; ++k) {
            const Index start = k / depth_block<Real> * depth_block<Real>;
            const Index length = depth - start < depth_block<Real> ? depth - start : depth_block<Real>;
            const Stored* at = panel + (start + place_in_block<Real>(k - start, length)) * W * L;
            for (int w = 0; w < W; ++w)
                for (Index lane = 0; lane < L && block * L + lane < hidden; ++lane)
                    weight[((gate + w) * hidden + block * L + lane) * depth + k] = at[w * L + lane];
        }
    }

    static Index packed_bytes(const Forward<Real>& call) {
        const Index blocks = (call.hidden + L - 1) / L;
        return blocks * 3 * L * (call.input_size + call.hidden) * Index(sizeof(Stored));
    }

    static constexpr bool in_place = true;

    using Columns = Matrix<1>;

    static Columns columns(const void* memory, Index depth, Terms) {
        return {static_cast<const Stored*>(memory), nullptr, 0, depth, nullptr};
    }

    static Index column_bytes(Index blocks, Index depth, Terms) { return blocks * depth * L * Index(sizeof(Stored)); }

    template <class From>
    static void pack_columns(const Columns& matrix, Index first, ColumnGroups groups, Index columns, const From& from,
                             Index part, Index parts) {
        const Index depth = matrix.depth;
        // Row by row: the rows of a group alone lie too far apart for the CPU to foresee them.
        for (Index k = depth * part / parts; k < depth * (part + 1) / parts; ++k) {
            const Index start = k - k % depth_block<Real>;
            const Index length = depth - start < depth_block<Real> ? depth - start : depth_block<Real>;
            const Index place = start + place_in_block<Real>(k - start, length);
            const Real* const row = from(k);
            for (Index group = 0; group < groups.count(); ++group) {
                const Index block = first + groups.first(group);
                const int panels = groups.panels(group);
                Real* const to = const_cast<Real*>(matrix.packed) + (block * depth + place * panels) * L;
                for (int s = 0; s < panels; ++s)
                    store(to + s * L, load(row + (block + s) * L, columns - (block + s) * L));
            }
        }
    }

    static void product_of_columns(Tools&, const Real* const* rows, Index count, const Columns& matrix, Index block,
                                   int panels, Index following, Real* sums) {
        const auto of = panels == 3 ? &group_product<3> : panels == 2 ? &group_product<2> : &group_product<1>;
        of(rows, count, matrix, block, following, sums);
    }

    // The vectors of a group are adjacent, as those of gates are.
    template <int W>
    static void group_product(const Real* const* rows, Index count, const Columns& matrix, Index block, Index following,
                              Real* sums) {
        const Matrix<W> group{matrix.packed + block * matrix.depth * L, nullptr, 0, matrix.depth, nullptr};
        ANYGRU_VARIANT::product<Real, W, Stored>(rows, count, group, 0, 1, (following - block) / W, sums);
    }

    static Index operand_bytes(Index, Terms) { return 0; }

    static ANYGRU_INLINE const Real* operand(const Tools&, const Real* row, Index, char*) { return row; }

    template <int W>
    static ANYGRU_INLINE int panels_for(Index count, Index available) {
        return ANYGRU_VARIANT::panels_for<W>(count, available);
    }

    template <int W>
    static void product(Tools&, const Real* const* rows, Index count, const Matrix<W>& weights, Index first, int panels,
                        Index following, Real* sums) {
        ANYGRU_VARIANT::product<Real, W, Stored>(rows, count, weights, first, panels, following, sums);
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
