// Weights and rows as bfloat16 terms, multiplied by a matrix unit or by instructions for products of bfloat16.
//
// One set of kernels serves every number of terms (Terms in call.hpp):
//   row 2, weight 1   frozen bfloat16: weights as they are, two products
//   row 3, weight 3   precision high: six products, as exact as float32
//   row 2, weight 2   precision float16: three products
//   row 1, weight 1   precision bfloat16
#pragma once

#include "formats.hpp"
#include "tiles.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Tiles: of a matrix unit, or NoTiles. Lines: the product of a few rows, or of any number where there are no tiles.
template <class Tiles, class Lines>
struct Tiled {
    using Operand = Bfloat;
    static constexpr int group = Lines::group;
    template <int W>
    using Matrix = TermMatrix<W, group>;
    static constexpr Index L = lanes<float>;

    struct Tools : Tiles {
        const Terms terms;
        explicit Tools(Terms given) : terms(given) {}
    };

    static MatricesOf<Tiled> matrices(const Forward<float>& call, Index blocks, float*) {
        const char* packed = reinterpret_cast<const char*>(call.packed);
        const Index hidden = call.hidden;
        const int terms = call.terms.weight;
        MatricesOf<Tiled> result;
        result.input = Matrix<3>(packed, call.input_size, terms);
        packed += blocks * result.input.stride;
        result.after = Matrix<3>(packed, hidden, terms);
        result.gates = Matrix<2>(packed, hidden, terms);
        result.candidate = Matrix<1>(packed + blocks * result.gates.stride, hidden, terms);
        return result;
    }

    static Index packed_bytes(const Forward<float>& call) {
        const Index blocks = (call.hidden + L - 1) / L;
        const int terms = call.terms.weight;
        // Two gates and one take as much as three.
        return blocks * (Matrix<3>::panel_bytes(call.input_size, terms) + Matrix<3>::panel_bytes(call.hidden, terms));
    }

    static void pack(const Forward<float>& call, Index first, Index last) {
        const MatricesOf<Tiled> to = matrices(call, (call.hidden + L - 1) / L, nullptr);
        for (Index block = first; block < last; ++block) {
            pack_bias(call, block);
            to.input.pack(block, call.weight_ih, call.hidden, 0);
            if (!call.reset_before) {
                to.after.pack(block, call.weight_hh, call.hidden, 0);
            } else {
                to.gates.pack(block, call.weight_hh, call.hidden, 0);
                to.candidate.pack(block, call.weight_hh, call.hidden, 2);
            }
        }
    }

    // Of one term.
    static void unpack(const Forward<float>& call, void* weight_ih, void* weight_hh, float*, float*) {
        const Index blocks = (call.hidden + L - 1) / L;
        const MatricesOf<Tiled> from = matrices(call, blocks, nullptr);
        for (Index block = 0; block < blocks; ++block) {
            unpack_panel(from.input, block, call.hidden, 0, weight_ih);
            if (!call.reset_before) {
                unpack_panel(from.after, block, call.hidden, 0, weight_hh);
            } else {
                unpack_panel(from.gates, block, call.hidden, 0, weight_hh);
                unpack_panel(from.candidate, block, call.hidden, 2, weight_hh);
            }
        }
    }

    template <int W>
    static void unpack_panel(const Matrix<W>& matrix, Index block, Index hidden, int gate, void* weight) {
        const char* const panel = matrix.panels + block * matrix.stride;
        Bfloat* const to = static_cast<Bfloat*>(weight);
        for (int w = 0; w < W; ++w)
            for (Index lane = 0; lane < L && block * L + lane < hidden; ++lane)
                for (Index k = 0; k < matrix.depth; ++k)
                    std::memcpy(to + ((gate + w) * hidden + block * L + lane) * matrix.depth + k,
                                panel + matrix.place(k, w, lane), sizeof(Bfloat));
    }

    static constexpr bool in_place = false;

    using Columns = Matrix<1>;

    static Columns columns(const void* memory, Index depth, Terms terms) { return {memory, depth, terms.weight}; }

    static Index column_bytes(Index blocks, Index depth, Terms terms) {
        return blocks * Columns::panel_bytes(depth, terms.weight);
    }

    template <class From>
    static void pack_columns(const Columns& matrix, Index first, ColumnGroups groups, Index columns, const From& from,
                             Index part, Index parts) {
        for (Index s = part; s < groups.blocks; s += parts) matrix.pack_columns(first + s, columns, from);
    }

    static void product_of_columns(Tools& tools, const Bfloat* const* rows, Index count, const Columns& matrix,
                                   Index first, int panels, Index following, float* sums) {
        product<1>(tools, rows, count, matrix, first, panels, following, sums);
    }

    static Index operand_bytes(Index width, Terms terms) { return terms_bytes(width, terms.row); }

    static ANYGRU_INLINE const Bfloat* operand(const Tools& tools, const float* row, Index width, char* memory) {
        return split_row(row, width, tools.terms.row, memory);
    }

    template <int W>
    static ANYGRU_INLINE int panels_for(Index count, Index available) {
        if (!Tiles::present || count <= few_lines) return Lines::template panels_for<W>(count, available);
        return W == 1 && available >= 3 ? 3 : 1;
    }

    // The rows are as far apart as the first two of them.
    template <int W>
    static void product(Tools& tools, const Bfloat* const* rows, Index count, const Matrix<W>& matrix, Index first,
                        int panels, Index following, float* sums) {
        if constexpr (Tiles::present) {
            const auto tiles = panels * W == 3 ? &on_tiles<3, W> : panels * W == 2 ? &on_tiles<2, W> : &on_tiles<1, W>;
            if (count > few_lines) return tiles(tools, rows, count, matrix, first, following, sums);
        }
        Lines::template product<W>(rows, tools.terms.row, count, matrix, first, panels, sums);
    }

    // C columns of tiles, as many as the panels from `first` on have gates.
    template <int C, int W>
    static void on_tiles(Tools& tools, const Bfloat* const* rows, Index count, const Matrix<W>& matrix, Index first,
                         Index following, float* sums) {
        constexpr Index width = C * L, pitch = width * Index(sizeof(float));
        const Index height = count < tile_lines ? count : tile_lines, line = line_bytes(matrix.depth);
        Walk way{};
        way.row_pitch = reinterpret_cast<const char*>(rows[1]) - reinterpret_cast<const char*>(rows[0]);
        for (int c = 0; c < C; ++c)
            way.columns[c] = matrix.panels + (first + c / W) * matrix.stride + c % W * tile_bytes;
        way.column_pitch = Matrix<W>::group_bytes;
        way.blocks = term_blocks(matrix.depth);
        way.row_step = term_block * 2;
        way.column_step = matrix.terms * Matrix<W>::part_bytes;
        for (int term = 0; term < matrix.terms; ++term)
            for (int own = 0; own < terms_with(term, tools.terms.row, matrix.terms); ++own) {
                way.row_part[way.passes] = own * line;
                way.column_part[way.passes++] = term * Matrix<W>::part_bytes;
            }
        if (following != first)
            way.fetch(matrix.panels + following * matrix.stride, C / W * matrix.stride,
                      (count + 2 * height - 1) / (2 * height));
        tools.shape(int(height));
        // The last tile begins where it is whole: rows that two tiles have get the same bits twice.
        const auto begin = [&](Index row) { return row + height <= count ? row : count - height; };
        for (Index row = 0; row < count; row += 2 * height) {
            const Index start = begin(row), next = begin(row + height);
            way.rows[0] = reinterpret_cast<const char*>(rows[start]);
            if (row + height >= count) {
                walk<Product::bfloats, C, false>(tools, way);
                store_sums<C, 0>(tools, sums + start * width, pitch);
            } else {
                way.rows[1] = reinterpret_cast<const char*>(rows[next]);
                walk<Product::bfloats, C, true>(tools, way);
                store_sums<C, 0>(tools, sums + start * width, pitch);
                store_sums<C, 3>(tools, sums + next * width, pitch);
            }
        }
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
