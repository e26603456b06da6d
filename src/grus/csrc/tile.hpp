// The matrix product at the heart of every step: some rows times some panels of packed weights.
//
// A panel holds, for every k, W vectors of adjacent outputs: panel[k][W][lanes]. A tile multiplies M rows with S panels and
// keeps M * S * W accumulators in registers while it walks over k. Each output is one chain of multiply-adds over a block
// of `depth_block` values of k, and the blocks are added up in order. The chain does not depend on M, on S or on the
// vector width, so a row has the same bits in every batch.
#pragma once

#include "simd.hpp"

namespace grus {
namespace GRUS_VARIANT {

// Values of k a block: the panel of one block (12 KiB with eight lanes, 24 KiB with sixteen) stays in the first-level
// cache while all rows pass over it, and short chains keep rounding errors small.
constexpr Index depth_block = 128;

#if defined(__AVX512F__) || defined(__aarch64__) || GRUS_VECTOR_BYTES == 64
constexpr int tile_rows = 8;      // 32 registers: 8 x 3 accumulators, 3 weights, 1 broadcast
constexpr int tile_vectors = 24;
#else
constexpr int tile_rows = 4;      // 16 registers: 4 x 3 accumulators, 3 weights, 1 broadcast
constexpr int tile_vectors = 12;
#endif

// How many panels a tile of M rows takes at once: few rows need more panels to hide the latency of an addition.
constexpr int panels_at_once(int rows, int width) {
    int panels = tile_vectors / (rows * width);
    return panels >= 4 ? 4 : panels >= 2 ? 2 : 1;
}

template <class Quad>
GRUS_INLINE void transpose(Quad (&in)[4]) {
    const Quad a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
    const Quad b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
    const Quad c = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
    const Quad d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    in[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    in[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    in[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    in[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

template <class Pair>
GRUS_INLINE void transpose(Pair (&in)[2]) {
    const Pair a = __builtin_shufflevector(in[0], in[1], 0, 2);
    in[1] = __builtin_shufflevector(in[0], in[1], 1, 3);
    in[0] = a;
}

// panel[k][gate][lane] = weight[(gate * hidden + first + lane) * stride + k] for k < depth; zero where first + lane is past
// `hidden`. Sixteen bytes of four rows (two for double) at a time are transposed in registers.
template <class Real>
inline void pack_rows(const Real* weight, Index hidden, int gates, Index first, Index stride, Index depth,
                      Real* panel) {
    using Q = typename SimdOf<Real>::quad;
    constexpr int L = lanes<Real>;
    constexpr int N = 16 / sizeof(Real);
    const Index step = Index(gates) * L;
    for (int gate = 0; gate < gates; ++gate) {
        for (Index lane = 0; lane < L; lane += N) {
            const Real* from = weight + (gate * hidden + first + lane) * stride;
            Real* to = panel + gate * L + lane;
            Index k = 0;
            if (first + lane + N <= hidden) {
                for (; k + N <= depth; k += N, to += N * step) {
                    Q in[N];
                    for (int i = 0; i < N; ++i) std::memcpy(&in[i], from + i * stride + k, sizeof(Q));
                    transpose(in);
                    for (int i = 0; i < N; ++i) std::memcpy(to + i * step, &in[i], sizeof(Q));
                }
            }
            for (; k < depth; ++k, to += step)
                for (int i = 0; i < N; ++i) to[i] = first + lane + i < hidden ? from[i * stride + k] : Real(0);
        }
    }
}

// panel[k][lane] = weight[k * columns + first + lane], zero past the last column.
template <class Real>
inline void pack_columns(const Real* weight, Index columns, Index first, Index depth, Real* panel) {
    for (Index k = 0; k < depth; ++k)
        store(panel + k * lanes<Real>, load(weight + k * columns + first, columns - first));
}

template <class Real, int M, int S, int W>
struct Tile {
    // rows: M pointers; panel: the first of S panels, `panel_stride` apart; sums: [M][S][W][lanes].
    static void run(const Real* const* rows, Index offset, const Real* panel, Index panel_stride, Index depth, Real* sums,
                    bool first) {
        using V = Vector<Real>;
        constexpr int L = lanes<Real>;
        const Real* row[M];
        for (int m = 0; m < M; ++m) row[m] = rows[m] + offset;
        V total[M][S][W];
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) total[m][s][w] = V{};
        for (Index k = 0; k < depth; ++k) {
            V weight[S][W];
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) weight[s][w] = load(panel + s * panel_stride + w * L);
            panel += W * L;
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m) {
                const V value = broadcast(row[m][k]);
#pragma GCC unroll 4
                for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                    for (int w = 0; w < W; ++w) total[m][s][w] = fused(value, weight[s][w], total[m][s][w]);
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) {
                    Real* to = sums + ((m * S + s) * W + w) * L;
                    store(to, first ? total[m][s][w] : load(to) + total[m][s][w]);
                }
    }
};

template <class Real>
using TileFunction = void (*)(const Real* const*, Index, const Real*, Index, Index, Real*, bool);

template <class Real, int S, int W>
GRUS_INLINE TileFunction<Real> tile_of(Index rows) {
    // Only shapes that fit the registers exist.
#define GRUS_TILE(M)                                                                   \
    case M:                                                                            \
        if constexpr (M <= tile_rows && (S == 1 || M * S * W <= tile_vectors)) return &Tile<Real, M, S, W>::run; \
        break;
    switch (rows) {
        GRUS_TILE(1)
        GRUS_TILE(2)
        GRUS_TILE(3)
        GRUS_TILE(4)
        GRUS_TILE(5)
        GRUS_TILE(6)
        GRUS_TILE(7)
        GRUS_TILE(8)
    }
#undef GRUS_TILE
    return nullptr;
}

template <class Real, int W>
inline TileFunction<Real> find_tile(Index rows, int panels) {
    if (panels == 4) return tile_of<Real, 4, W>(rows);
    if (panels == 2) return tile_of<Real, 2, W>(rows);
    return tile_of<Real, 1, W>(rows);
}

// sums [count][S][W][lanes] (+)= rows [count][offset : offset + depth] times S panels, for any number of rows and a depth
// of one block.
template <class Real, int W>
inline void product_block(const Real* const* rows, Index count, Index offset, Index depth, const Real* panel,
                          Index panel_stride, int panels, Real* sums, bool first) {
    const Index tiles = (count + tile_rows - 1) / tile_rows;
    const Index pitch = Index(panels) * W * lanes<Real>;
    for (Index tile = 0, row = 0; tile < tiles; ++tile) {
        const Index height = (count - row + (tiles - tile) - 1) / (tiles - tile);  // tiles of nearly equal height
        find_tile<Real, W>(height, panels)(rows + row, offset, panel, panel_stride, depth, sums + row * pitch, first);
        row += height;
    }
}

// Weights of W gates, [W * hidden, depth], packed or as they lie.
template <class Real, int W>
struct Weights {
    const Real* packed;  // [blocks][depth][W][lanes], or null
    const Real* raw;     // row of the first gate
    Index hidden;        // rows from one gate to the next
    Index depth;
    Real* scratch;       // room for four panels of one depth block, used where nothing is packed
};

// sums [count][S][W][lanes] = rows [count][depth] times the S panels from block `first` on.
template <class Real, int W>
inline void product(const Real* const* rows, Index count, const Weights<Real, W>& weights, Index first, int panels,
                    Real* sums) {
    constexpr Index width = W * lanes<Real>;
    if (count <= 0) return;
    if (weights.depth == 0) std::memset(sums, 0, sizeof(Real) * count * panels * width);
    for (Index k = 0; k < weights.depth; k += depth_block) {
        const Index block = weights.depth - k < depth_block ? weights.depth - k : depth_block;
        const Real* panel = weights.scratch;
        Index stride = depth_block * width;
        if (weights.packed) {
            stride = weights.depth * width;
            panel = weights.packed + first * stride + k * width;
        } else {
            for (int s = 0; s < panels; ++s)
                pack_rows(weights.raw + k, weights.hidden, W, (first + s) * lanes<Real>, weights.depth, block,
                          weights.scratch + s * stride);
        }
        product_block<Real, W>(rows, count, k, block, panel, stride, panels, sums, k == 0);
    }
}

// The largest number of panels that every tile of `count` rows can take, and of which `available` are left.
template <int W>
GRUS_INLINE int panels_for(Index count, Index available) {
    const Index tiles = (count + tile_rows - 1) / tile_rows;
    const int highest = tiles > 0 ? int((count + tiles - 1) / tiles) : 1;
    const int most = panels_at_once(highest, W);
    return available >= most ? most : available >= 2 && most >= 2 ? 2 : 1;
}

}  // namespace GRUS_VARIANT
}  // namespace grus
