// int8 weights with a scale for each row (a gate's unit), multiplied with quantized rows.
//
// A panel of L hidden units and W gates is their scales [W][L], then for each block of at most 512 k the offsets [W][L]
// that make up for unsigned bytes (where Dot has those), then the weights [k / group][W][L][group].
//
// A sum over a block of k is an integer and exact: 32512 * 127 * 512 < 2^31. Sums of blocks are added as floats, in
// order; the total is multiplied by the weights' scale, then by the row's. So it is the same whatever the instruction
// set, the number of rows and the width of the vectors.
#pragma once

#include "formats.hpp"
#include "int8_pairs.hpp"
#include "int8_rows.hpp"
#include "tiles.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Vectors of sums for one of the outputs: of upper and of lower bytes, or of words.
constexpr int int8_parts = Dot::bytes ? 2 : 1;

constexpr int int8_rows = registers == 32 ? 4 : 2;

// Panels of a tile of M rows: as few as keep the multipliers busy, and no more than the registers hold.
constexpr int int8_panels(int M, int W) {
    const int sums = M * W * int8_parts, most = registers * 3 / 4;
    const int fit = most / sums, busy = (12 + sums - 1) / sums;
    const int panels = fit < busy ? fit : busy;
    return panels >= 4 ? 4 : panels >= 2 ? 2 : 1;
}

// Multiple: of how many k the weights of a block are, filled up with zeros.
template <int W, Index Multiple = Dot::group>
struct Int8Matrix {
    static constexpr Index width = W * lanes<float>;  // weights of one k in a panel

    const char* panels;
    Index depth, stride;

    Int8Matrix() = default;
    Int8Matrix(const char* at, Index rows) : panels(at), depth(rows), stride(panel_bytes(rows)) {}

    // Of the blocks of k before k, and the scales.
    static Index bytes_before(Index k) {
        const Index blocks = (k + int8_block - 1) / int8_block;
        return (1 + (Dot::offset ? blocks : 0)) * width * 4 + (k + Multiple - 1) / Multiple * Multiple * width;
    }
    static Index panel_bytes(Index depth) { return bytes_before(depth); }

    const float* scales(Index block) const { return reinterpret_cast<const float*>(panels + block * stride); }

    // Where the weights of a block of k begin, behind their offsets.
    static Index weights_at(Index k) { return bytes_before(k) + (Dot::offset ? width * 4 : 0); }
    // Where the weight of k for the w-th gate of a lane lies in a panel.
    static Index place(Index k, int w, Index lane) {
        const Index start = k / int8_block * int8_block, group = (k - start) / Dot::group;
        return weights_at(start) + (group * width + w * lanes<float> + lane) * Dot::group + (k - start) % Dot::group;
    }
};

// What a tile needs to know about its block of k.
struct Int8Block {
    Index start, groups;  // the first k; groups of k
    Index plane;          // from upper to lower bytes of a row
    bool first, last;
};

// The sum over a block, and after the last one the total.
ANYGRU_INLINE void finish_int8(Ints sum, float row_scale, const char* scales, const Int8Block& block, float* at) {
    Vector<float> value = __builtin_convertvector(sum, Vector<float>);
    if (!block.first) value = load(at) + value;
    if (block.last) value = value * load(reinterpret_cast<const float*>(scales)) * broadcast(row_scale);
    store(at, value);
}

template <int M, int S, int W>
struct Int8Tile {
    static constexpr int L = lanes<float>;

    // rows: M of them; panel: the first of S, `stride` apart; sums [M][S][W][L].
    static void run(const QuantizedRow* const* rows, const char* panel, Index stride, const Int8Block& block,
                    float* sums) {
        using Matrix = Int8Matrix<W>;
        Ints sum[M][S][W][int8_parts];
        const char* value[M];
        for (int m = 0; m < M; ++m) value[m] = rows[m]->values() + block.start / int8_block * block_bytes;
        const char* weights = panel + Matrix::weights_at(block.start);
        each([&](int m, int s, int w) ANYGRU_INLINED {
            Ints begin{};
            if constexpr (Dot::offset)
                std::memcpy(&begin, weights - Matrix::width * 4 + s * stride + w * L * 4, sizeof begin);
            for (int part = 0; part < int8_parts; ++part) sum[m][s][w][part] = begin;
        });
        Index group = 0;
#if defined(__ARM_FEATURE_MATMUL_INT8)
        if constexpr (M % 2 == 0) {
            group = add_pairs<M, S, W>(value, block.plane, weights, stride, block.groups, sum);
            weights += group * Matrix::width * Dot::group;
        }
#endif
        for (; group < block.groups; ++group) {
            typename Dot::Weight weight[S][W];
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) weight[s][w] = Dot::weight(weights + s * stride + w * L * Dot::group);
#pragma GCC unroll 4
            for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
                for (int part = 0; part < int8_parts; ++part) {
                    const Ints own = repeated(value[m] + (group * group_bytes + part * block.plane));
#pragma GCC unroll 4
                    for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                        for (int w = 0; w < W; ++w)
                            sum[m][s][w][part] = Dot::add(sum[m][s][w][part], own, weight[s][w]);
                }
            weights += Matrix::width * Dot::group;
        }
        each([&](int m, int s, int w) ANYGRU_INLINED {
            Ints total = sum[m][s][w][0];
            if constexpr (Dot::bytes) total = (total << 8) + sum[m][s][w][1];
            finish_int8(total, rows[m]->scale, panel + s * stride + w * L * 4, block, sums + ((m * S + s) * W + w) * L);
        });
    }

    template <class Work>
    static ANYGRU_INLINE void each(const Work& work) {
#pragma GCC unroll 4
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) work(m, s, w);
    }
};

using Int8TileFunction = void (*)(const QuantizedRow* const*, const char*, Index, const Int8Block&, float*);

template <int M, int W>
ANYGRU_INLINE Int8TileFunction int8_tile(int panels) {
    constexpr int most = int8_panels(M, W);
    if constexpr (M > int8_rows) return nullptr;
    if (most >= 4 && panels == 4) return &Int8Tile < M, most >= 4 ? 4 : 1, W > ::run;
    if (most >= 2 && panels == 2) return &Int8Tile < M, most >= 2 ? 2 : 1, W > ::run;
    return &Int8Tile<M, 1, W>::run;
}

template <int W>
inline Int8TileFunction int8_tile(Index rows, int panels) {
    return rows == 1   ? int8_tile<1, W>(panels)
           : rows == 2 ? int8_tile<2, W>(panels)
           : rows == 3 ? int8_tile<(int8_rows > 2 ? 3 : 1), W>(panels)
                       : int8_tile<(int8_rows > 2 ? 4 : 1), W>(panels);
}

template <class Tiles = NoTiles>
struct Int8 {
    using Operand = QuantizedRow;
    template <int W>
    using Matrix = Int8Matrix<W, Tiles::present ? Index(tile_bytes) : Index(Dot::group)>;
    struct Tools : Tiles {
        explicit Tools(Terms) {}
    };
    static constexpr int L = lanes<float>;

    static MatricesOf<Int8> matrices(const Forward<float>& call, Index blocks, float*) {
        const char* packed = reinterpret_cast<const char*>(call.packed);
        const Index hidden = call.hidden;
        MatricesOf<Int8> result;
        result.input = Matrix<3>(packed, call.input_size);
        packed += blocks * result.input.stride;
        result.after = Matrix<3>(packed, hidden);
        result.gates = Matrix<2>(packed, hidden);
        result.candidate = Matrix<1>(packed + blocks * result.gates.stride, hidden);
        return result;
    }

    // Of what `matrices` finds.
    static Index packed_bytes(const Forward<float>& call) {
        const Index blocks = (call.hidden + L - 1) / L, hidden = call.hidden;
        const Index recurrent = call.reset_before ? Matrix<2>::panel_bytes(hidden) + Matrix<1>::panel_bytes(hidden)
                                                  : Matrix<3>::panel_bytes(hidden);
        return blocks * (Matrix<3>::panel_bytes(call.input_size) + recurrent);
    }

    // call.weight_ih and weight_hh point to int8.
    static void pack(const Forward<float>& call, Index first, Index last) {
        const auto* weight_ih = reinterpret_cast<const std::int8_t*>(call.weight_ih);
        const auto* weight_hh = reinterpret_cast<const std::int8_t*>(call.weight_hh);
        const MatricesOf<Int8> to = matrices(call, (call.hidden + L - 1) / L, nullptr);
        for (Index block = first; block < last; ++block) {
            pack_bias(call, block);
            pack_panel(to.input, block, call.hidden, 0, weight_ih, call.scale_ih);
            if (!call.reset_before) {
                pack_panel(to.after, block, call.hidden, 0, weight_hh, call.scale_hh);
            } else {
                pack_panel(to.gates, block, call.hidden, 0, weight_hh, call.scale_hh);
                pack_panel(to.candidate, block, call.hidden, 2, weight_hh, call.scale_hh);
            }
        }
    }

    // Calls work(gate, row of that gate, k, place in the panel) for the weights of a panel.
    template <int W, class Work>
    static ANYGRU_INLINE void for_weights(const Matrix<W>& matrix, Index block, Index hidden, const Work& work) {
        const Index units = hidden - block * L < L ? hidden - block * L : L;
        for (int w = 0; w < W; ++w)
            for (Index lane = 0; lane < units; ++lane)
                for (Index k = 0; k < matrix.depth; ++k) work(w, block * L + lane, k, matrix.place(k, w, lane));
    }

    template <int W>
    static void pack_panel(const Matrix<W>& matrix, Index block, Index hidden, int gate, const std::int8_t* weight,
                           const float* scale) {
        char* const panel = const_cast<char*>(matrix.panels) + block * matrix.stride;
        std::memset(panel, 0, matrix.stride);
        const auto add = [&](Index at, std::int32_t value) ANYGRU_INLINED {
            std::int32_t sum;
            std::memcpy(&sum, panel + at, sizeof sum);
            sum += value;
            std::memcpy(panel + at, &sum, sizeof sum);
        };
        for_weights(matrix, block, hidden, [&](int w, Index row, Index k, Index place) ANYGRU_INLINED {
            const std::int8_t value = weight[((gate + w) * hidden + row) * matrix.depth + k];
            panel[place] = value;
            const Index start = k / int8_block * int8_block;
            if (Dot::offset)
                add(Matrix<W>::weights_at(start) - Matrix<W>::width * 4 + (w * L + row - block * L) * 4, -128 * value);
        });
        float* const scales = reinterpret_cast<float*>(panel);
        for (int w = 0; w < W; ++w)
            for (Index row = block * L; row < (block + 1) * L && row < hidden; ++row)
                scales[w * L + row - block * L] = scale[(gate + w) * hidden + row];
    }

    // What `pack` was given, without biases.
    static void unpack(const Forward<float>& call, void* weight_ih, void* weight_hh, float* scale_ih, float* scale_hh) {
        const Index blocks = (call.hidden + L - 1) / L;
        const MatricesOf<Int8> from = matrices(call, blocks, nullptr);
        for (Index block = 0; block < blocks; ++block) {
            unpack_panel(from.input, block, call.hidden, 0, weight_ih, scale_ih);
            if (!call.reset_before) {
                unpack_panel(from.after, block, call.hidden, 0, weight_hh, scale_hh);
            } else {
                unpack_panel(from.gates, block, call.hidden, 0, weight_hh, scale_hh);
                unpack_panel(from.candidate, block, call.hidden, 2, weight_hh, scale_hh);
            }
        }
    }

    template <int W>
    static void unpack_panel(const Matrix<W>& matrix, Index block, Index hidden, int gate, void* weight, float* scale) {
        const char* const panel = matrix.panels + block * matrix.stride;
        char* const to = static_cast<char*>(weight);
        for_weights(matrix, block, hidden, [&](int w, Index row, Index k, Index place) ANYGRU_INLINED {
            to[((gate + w) * hidden + row) * matrix.depth + k] = panel[place];
        });
        for (int w = 0; w < W; ++w)
            for (Index row = block * L; row < (block + 1) * L && row < hidden; ++row)
                scale[(gate + w) * hidden + row] = matrix.scales(block)[w * L + row - block * L];
    }

    static Index operand_bytes(Index width, Terms) { return quantized_bytes(width); }

    static ANYGRU_INLINE const QuantizedRow* operand(const Tools&, const float* row, Index width, char* memory) {
        return quantize_row(row, width, memory);
    }

    template <int W>
    static ANYGRU_INLINE int panels_for(Index count, Index available) {
        if (Tiles::present && count > few_lines) return W == 1 && available >= 3 ? 3 : 1;
        const Index tiles = (count + int8_rows - 1) / int8_rows;
        const int highest = tiles > 0 ? int((count + tiles - 1) / tiles) : 1;
        const int most = int8_panels(highest, W);
        return available >= most ? most : available >= 2 && most >= 2 ? 2 : 1;
    }

    template <int W>
    static void product(Tools& tools, const QuantizedRow* const* rows, Index count, const Matrix<W>& matrix,
                        Index first, int panels, Index following, float* sums) {
        const Index width = Index(panels) * Matrix<W>::width;
        if (matrix.depth == 0) std::memset(sums, 0, sizeof(float) * count * width);
        const char* const panel = matrix.panels + first * matrix.stride;
        for (Index k = 0; k < matrix.depth; k += int8_block) {
            const Index depth = matrix.depth - k < int8_block ? matrix.depth - k : int8_block;
            const Int8Block block{k, (depth + Dot::group - 1) / Dot::group, plane_bytes(matrix.depth), k == 0,
                                  k + depth == matrix.depth};
            if constexpr (Tiles::present)
                if (count > few_lines) {
                    const auto tiles = panels * W == 3   ? &on_tiles<3, W>
                                       : panels * W == 2 ? &on_tiles<2, W>
                                                         : &on_tiles<1, W>;
                    tiles(tools, rows, count, matrix, first, following, block, depth, sums);
                    continue;
                }
            const Index tiles = (count + int8_rows - 1) / int8_rows;
            for (Index tile = 0, row = 0; tile < tiles; ++tile) {
                const Index height = (count - row + (tiles - tile) - 1) / (tiles - tile);
                int8_tile<W>(height, panels)(rows + row, panel, matrix.stride, block, sums + row * width);
                row += height;
            }
        }
        for (Index row = 0; row < count; ++row)
            if (!rows[row]->finite) product_as_floats(rows[row]->given, matrix, first, panels, sums + row * width);
    }

    // C columns of tiles, as many as the panels from `first` on have gates, over a block of k.
    template <int C, int W>
    static void on_tiles(Tools& tools, const QuantizedRow* const* rows, Index count, const Matrix<W>& matrix,
                         Index first, Index following, const Int8Block& block, Index depth, float* sums) {
        static_assert(!Tiles::present || (Dot::bytes && Dot::offset && Dot::group == 4));
        constexpr Index pitch = C * tile_bytes;
        const Index height = count < tile_lines ? count : tile_lines;
        const Index weights = matrix.weights_at(block.start);
        Walk way{};
        way.row_pitch = reinterpret_cast<const char*>(rows[1]) - reinterpret_cast<const char*>(rows[0]);
        const char* panels[C];
        for (int c = 0; c < C; ++c) {
            panels[c] = matrix.panels + (first + c / W) * matrix.stride + c % W * tile_bytes;
            way.columns[c] = panels[c] + weights;
        }
        way.column_pitch = matrix.width * 4;
        way.blocks = (depth + tile_bytes - 1) / tile_bytes;
        way.row_step = tile_bytes;
        way.column_step = tile_bytes * matrix.width;
        way.passes = 1;
        if (following != first)
            way.fetch(matrix.panels + following * matrix.stride + weights, way.blocks * way.column_step,
                      (count + height - 1) / height);
        tools.shape(int(height));
        for (Index start = 0; start < count; start += height) {
            const Index row = start + height <= count ? start : count - height;
            // The tiles of rows are the upper and the lower bytes. The last one begins where it is whole: the rows that
            // two tiles have are finished once.
            way.rows[0] = rows[row]->values() + block.start / int8_block * block_bytes;
            way.rows[1] = way.rows[0] + block.plane;
            walk<Product::bytes, C, true>(tools, way);
            alignas(64) char parts[2][tile_lines * pitch];
            store_sums<C, 0>(tools, parts[0], pitch);
            store_sums<C, 3>(tools, parts[1], pitch);
            for (Index line = start - row; line < height; ++line)
                for (int c = 0; c < C; ++c) {
                    Ints upper, lower, offset;
                    std::memcpy(&upper, parts[0] + line * pitch + c * tile_bytes, sizeof upper);
                    std::memcpy(&lower, parts[1] + line * pitch + c * tile_bytes, sizeof lower);
                    std::memcpy(&offset, panels[c] + weights - matrix.width * 4, sizeof offset);
                    finish_int8(((upper + offset) << 8) + (lower + offset), rows[row + line]->scale, panels[c], block,
                                sums + ((row + line) * C + c) * L);
                }
        }
    }

    // Of a row with an infinity or NaN: slow, as a sum that is one of them has no use for speed.
    template <int W>
    static void product_as_floats(const float* row, const Matrix<W>& matrix, Index first, int panels, float* sums) {
        for (int s = 0; s < panels; ++s, sums += Matrix<W>::width) {
            const char* const panel = matrix.panels + (first + s) * matrix.stride;
            const float* const scales = matrix.scales(first + s);
            for (int i = 0; i < Matrix<W>::width; ++i) sums[i] = 0;
            for (Index k = 0; k < matrix.depth; ++k)
                for (int w = 0; w < W; ++w)
                    for (Index lane = 0; lane < L; ++lane)
                        sums[w * L + lane] +=
                            row[k] * (float(std::int8_t(panel[matrix.place(k, w, lane)])) * scales[w * L + lane]);
        }
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
