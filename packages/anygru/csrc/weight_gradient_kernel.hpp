// Gradients of the weights and biases of one direction: sums over many rows, of the gates' gradients times inputs or
// states.
//
// Both factors lie row by row, which here is the depth of the product. So a tile takes some values of a row of the one,
// each as a broadcast, times some vectors of the same row of the other, and walks from row to row; both are packed so
// that it finds them one after the other. A thread owns some hidden units, with all of their gates, and needs nothing
// of the other threads: their number changes no bit.
#pragma once

#include "call.hpp"
#include "partition.hpp"
#include "tile.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// What the kernels have in common: `Own` has pack_gates(row, depth), multiply(product, depth, adds) and sum_gate(gate,
// depth, adds).
template <class Real, class Own>
struct WeightSums {
    // Gradient `out` [count, hidden, size] of the weights of some gates, from values [rows, size].
    struct Product {
        const int* gates;  // their places in a row of the gates' gradients
        int count;
        const Real* values;
        Index pitch, size;
        Real* out;
    };

    const Gradients<Real>& call;
    const Index hidden;
    const int gates;
    const Index first, units;  // own hidden units
    const int* from_input;     // gates that the product with the input gets its gradients from ...
    const int* from_state;     // ... and that with the state

    WeightSums(const Gradients<Real>& gradients, int member)
        : call(gradients),
          hidden(gradients.hidden),
          gates(int(gate_columns(gradients.reset_before, gradients.norm))),
          first(first_unit(hidden, call.members, member)),
          units(first_unit(hidden, call.members, member + 1) - first) {
        static constexpr int order[] = {0, 1, 2, 3, 4, 5}, order_of_state[] = {1, 2, 0};
        from_input = order + gates - 3;
        from_state = call.reset_before ? order : order_of_state;
    }

    void compute() {
        Own& own = *static_cast<Own*>(this);
        const Index pieces = (call.rows + gradient_depth - 1) / gradient_depth;
        for (Index piece = 0; piece < pieces; ++piece) {
            const Index row = call.rows * piece / pieces, depth = call.rows * (piece + 1) / pieces - row;
            const bool adds = call.adds || piece > 0;
            own.pack_gates(row, depth);
            for (int gate = 0; gate < gates; ++gate) own.sum_gate(gate, depth, adds);
            if (call.weight_ih_gradient)
                own.multiply({from_input, 3, call.input + row * call.input_size, call.input_size, call.input_size,
                              call.weight_ih_gradient},
                             depth, adds);
            if (!call.weight_hh_gradient) continue;
            own.multiply({from_state, call.reset_before ? 2 : 3, call.previous + row * hidden, hidden, hidden,
                          call.weight_hh_gradient},
                         depth, adds);
            if (call.reset_before)
                own.multiply({from_state + 2, 1, call.kept + (row * 4 + 3) * hidden, 4 * hidden, hidden,
                              call.weight_hh_gradient + 2 * hidden * hidden},
                             depth, adds);
        }
    }

    // A gate's places in the biases of input and state, for the own unit number `unit`; null where none is wanted.
    struct Biases {
        Real *of_input, *of_state;
        void put(Index unit, Real sum, bool adds) const {
            if (of_input) of_input[unit] = adds ? of_input[unit] + sum : sum;
            if (of_state) of_state[unit] = adds ? of_state[unit] + sum : sum;
        }
    };

    Biases biases(int gate) const {
        const int input = place_of(gate, from_input), state = place_of(gate, from_state);
        return {call.bias_ih_gradient && input >= 0 ? call.bias_ih_gradient + input * hidden + first : nullptr,
                call.bias_hh_gradient && state >= 0 ? call.bias_hh_gradient + state * hidden + first : nullptr};
    }

    // The place of a gate among r, z, n where a product gets its gradients from it, or -1.
    static int place_of(int gate, const int* own) {
        for (int place = 0; place < 3; ++place)
            if (own[place] == gate) return place;
        return -1;
    }
};

// With vectors, as the numbers are.
template <class Real>
struct WeightGradientKernel : WeightSums<Real, WeightGradientKernel<Real>> {
    using V = Vector<Real>;
    using Base = WeightSums<Real, WeightGradientKernel<Real>>;
    using Base::call, Base::hidden, Base::gates, Base::first, Base::units;
    using typename Base::Product;
    static constexpr int L = lanes<Real>;
    static constexpr int M = tile_rows;  // units a tile
    static constexpr Index group_size = gradient_depth * M + 64 / sizeof(Real);
    static constexpr int widest = tile_vectors / M;  // vectors a tile

    const Index groups;  // of M own units
    Real* panel;         // [depth][widest][L] of a product's values
    Real* sums;          // [M][widest][L] of a tile
    Real* packed;        // [gates][groups][depth][M]

    WeightGradientKernel(const Gradients<Real>& gradients, int member)
        : Base(gradients, member), groups((units + M - 1) / M) {
        panel = call.scratch + member * call.scratch_size;
        sums = panel + gradient_depth * widest * L;
        packed = sums + tile_vectors * L;
    }

    Real* group_of(int gate, Index group) const { return packed + (gate * groups + group) * group_size; }

    void pack_gates(Index row, Index depth) {
        const Index width = gates * hidden;
        for (Index k = 0; k < depth; ++k) {
            const Real* from = call.gates + (row + k) * width + first;
            for (int gate = 0; gate < gates; ++gate, from += hidden) {
                Real* to = group_of(gate, 0) + k * M;
                Index unit = 0;
                for (; unit + M <= units; unit += M, to += group_size) std::memcpy(to, from + unit, sizeof(Real) * M);
                for (Index m = 0; unit < units && m < M; ++m) to[m] = unit + m < units ? from[unit + m] : Real(0);
            }
        }
    }

    // One gate's share of both biases.
    void sum_gate(int gate, Index depth, bool adds) const {
        const auto to = this->biases(gate);
        if (!to.of_input && !to.of_state) return;
        for (Index group = 0; group < groups; ++group) {
            const Index unit = group * M, count = units - unit < M ? units - unit : M;
            const Real* from = group_of(gate, group);
            Real total[4][M] = {};  // additions that do not wait for each other
            for (Index k = 0; k < depth; ++k, from += M)
                for (int m = 0; m < M; ++m) total[k & 3][m] += from[m];
            for (Index m = 0; m < count; ++m)
                to.put(unit + m, (total[0][m] + total[1][m]) + (total[2][m] + total[3][m]), adds);
        }
    }

    void multiply(const Product& product, Index depth, bool adds) {
        for (Index column = 0; column < product.size;) {
            // As many vectors as a tile takes, but none left alone.
            const Index left = (product.size - column + L - 1) / L;
            const int vectors = left == 4 || left == 2 ? 2 : left == 1 ? 1 : widest;
            if (vectors == 1)
                multiply_columns<1>(product, column, depth, adds);
            else if (vectors == 2)
                multiply_columns<2>(product, column, depth, adds);
            else
                multiply_columns<widest>(product, column, depth, adds);
            column += vectors * L;
        }
    }

    template <int W>
    void multiply_columns(const Product& product, Index column, Index depth, bool adds) {
        const Index left = product.size - column;
        const Real* from = product.values + column;
        for (Index k = 0; k < depth; ++k, from += product.pitch)
            for (int w = 0; w < W; ++w) store(panel + (k * W + w) * L, load(from + w * L, left - w * L));
        const Index columns = left < W * L ? left : W * L;
        for (int gate = 0; gate < product.count; ++gate)
            for (Index group = 0; group < groups; ++group) {
                const Index unit = group * M, count = units - unit < M ? units - unit : M;
                Real* out = product.out + (gate * hidden + first + unit) * product.size + column;
                for (Index m = 0; m < count; ++m)
                    for (Index at = 0; at < columns; at += L) __builtin_prefetch(out + m * product.size + at, 1);
                const Real* lines = group_of(product.gates[gate], group);
                if (count == M && columns == W * L) {
                    tile<W>(lines, panel, depth, out, product.size, adds);
                    continue;
                }
                tile<W>(lines, panel, depth, sums, W * L, false);
                put(sums, count, W * L, columns, out, product.size, adds);
            }
    }

    // out [M, pitch], the first W * L of each, = or += the sum over k of lines [depth][M] times panel [depth][W][L].
    template <int W>
    static __attribute__((noinline)) void tile(const Real* lines, const Real* panel, Index depth, Real* out,
                                               Index pitch, bool adds) {
        V total[M][W] = {};
        for (Index k = 0; k < depth; ++k, lines += M, panel += W * L) {
            V value[W];
#pragma GCC unroll 3
            for (int w = 0; w < W; ++w) value[w] = load(panel + w * L);
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m) {
                const V line = broadcast(lines[m]);
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) total[m][w] = fused(line, value[w], total[m][w]);
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m, out += pitch)
#pragma GCC unroll 3
            for (int w = 0; w < W; ++w) store(out + w * L, adds ? load(out + w * L) + total[m][w] : total[m][w]);
    }

    // Lines of `width` values from sums to out, or added to it.
    static void put(const Real* sums, Index count, Index width, Index columns, Real* out, Index pitch, bool adds) {
        for (Index m = 0; m < count; ++m, sums += width, out += pitch)
            for (Index at = 0; at < columns; at += L) {
                V value = load(sums + at);
                if (adds) value += load(out + at, columns - at);
                store(out + at, value, columns - at);
            }
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
