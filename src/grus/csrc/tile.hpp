// The matrix product at the heart of every step: some rows times some panels of packed weights.
//
// A panel holds, for every k, W vectors of adjacent outputs: panel[k][W][lanes]. A tile multiplies M rows with S panels and
// keeps M * S * W accumulators in registers while it walks over k. Each output is a sum of chains of `chain_length`
// multiply-adds, in order. That does not depend on M, on S or on the vector width, so a row has the same bits in every batch.
#pragma once

#include "simd.hpp"

namespace grus {
namespace GRUS_VARIANT {

// Values of k a block: the panel of one block (12 KiB with eight lanes, 24 KiB with sixteen) stays in the first-level
// cache while all rows pass over it.
constexpr Index depth_block = 128;

// Short chains keep rounding errors small: they grow with the root of the length.
constexpr Index chain_length = 32;
static_assert(depth_block % chain_length == 0);

#if defined(__AVX512F__) || defined(__aarch64__) || GRUS_VECTOR_BYTES == 64
constexpr int tile_rows = 8;      // 32 registers: 8 x 3 accumulators, 3 weights, 1 broadcast
constexpr int tile_vectors = 24;
#else
constexpr int tile_rows = 4;      // 16 registers: 4 x 3 accumulators, 3 weights, 1 broadcast
constexpr int tile_vectors = 12;
#endif

// Accumulators that keep the multipliers busy: their latency times their number.
#if defined(__AVX512F__)
constexpr int busy_vectors = 6;
#else
constexpr int busy_vectors = 12;
#endif

// How many panels a tile of M rows takes at once: few rows need more panels to hide the latency of an addition.
// More than that only makes the parts larger of which the last one is still cached when the next step begins.
constexpr int panels_at_once(int rows, int width) {
    const int fit = tile_vectors / (rows * width);
    const int busy = (busy_vectors + rows * width - 1) / (rows * width);
    const int panels = fit < busy ? fit : busy;
    return panels >= 4 ? 4 : panels >= 2 ? 2 : 1;
}

// Row-major weights are turned sixteen bytes of each row at a time, in vectors of at most 32 bytes: wider shuffles cost more
// than they save.
constexpr int narrow_bytes = GRUS_VECTOR_BYTES < 32 ? GRUS_VECTOR_BYTES : 32;

template <class Real>
struct NarrowOf;
template <>
struct NarrowOf<float> {
    typedef float vector __attribute__((vector_size(narrow_bytes)));
};
template <>
struct NarrowOf<double> {
    typedef double vector __attribute__((vector_size(narrow_bytes)));
};
template <class Real>
using Narrow = typename NarrowOf<Real>::vector;

template <class Real>
constexpr int narrow_lanes = narrow_bytes / sizeof(Real);

template <class Real>
constexpr int turned = 16 / sizeof(Real);  // values of k that one turn gives

// The sixteen bytes at `from` and, in 32-byte vectors, those at `upper` behind them.
template <class Real>
GRUS_INLINE Narrow<Real> load_pieces(const Real* from, const Real* upper) {
    typename SimdOf<Real>::quad low, high;
    std::memcpy(&low, from, sizeof low);
    if constexpr (narrow_bytes == 16) {
        return low;
    } else {
        std::memcpy(&high, upper, sizeof high);
        if constexpr (sizeof(Real) == 4) return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
        else return __builtin_shufflevector(low, high, 0, 1, 2, 3);
    }
}

// out[i][lane] = weight[lane * stride + i] for i < turned.
template <class Real>
GRUS_INLINE void turn(const Real* weight, Index stride, Narrow<Real>* out) {
    constexpr int N = turned<Real>;
    Narrow<Real> in[N];
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) in[i] = load_pieces(weight + i * stride, weight + (i + N) * stride);
    if constexpr (N == 2 && narrow_bytes == 16) {
        out[0] = __builtin_shufflevector(in[0], in[1], 0, 2);
        out[1] = __builtin_shufflevector(in[0], in[1], 1, 3);
    } else if constexpr (N == 2) {
        out[0] = __builtin_shufflevector(in[0], in[1], 0, 4, 2, 6);
        out[1] = __builtin_shufflevector(in[0], in[1], 1, 5, 3, 7);
    } else if constexpr (narrow_bytes == 16) {
        const auto a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5), b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
        const auto c = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7), d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
        out[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
        out[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
        out[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
        out[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
    } else {
        const auto a = __builtin_shufflevector(in[0], in[1], 0, 8, 1, 9, 4, 12, 5, 13);
        const auto b = __builtin_shufflevector(in[2], in[3], 0, 8, 1, 9, 4, 12, 5, 13);
        const auto c = __builtin_shufflevector(in[0], in[1], 2, 10, 3, 11, 6, 14, 7, 15);
        const auto d = __builtin_shufflevector(in[2], in[3], 2, 10, 3, 11, 6, 14, 7, 15);
        out[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
        out[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        out[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
        out[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
    }
}

// panel[k][gate][lane] = weight[(gate * hidden + first + lane) * stride + k] for k < depth; zero where first + lane is past
// `hidden`.
template <class Real>
inline void pack_rows(const Real* weight, Index hidden, int gates, Index first, Index stride, Index depth, Real* panel) {
    constexpr int L = lanes<Real>, N = turned<Real>, P = narrow_lanes<Real>;
    const Index step = Index(gates) * L;
    for (int gate = 0; gate < gates; ++gate) {
        for (Index lane = 0; lane < L; lane += P) {
            const Real* from = weight + (gate * hidden + first + lane) * stride;
            Real* to = panel + gate * L + lane;
            Index k = 0;
            if (first + lane + P <= hidden) {
                for (; k + N <= depth; k += N, to += N * step) {
                    Narrow<Real> columns[N];
                    turn(from + k, stride, columns);
#pragma GCC unroll 4
                    for (int i = 0; i < N; ++i) std::memcpy(to + i * step, &columns[i], narrow_bytes);
                }
            }
            for (; k < depth; ++k, to += step)
                for (int i = 0; i < P; ++i) to[i] = first + lane + i < hidden ? from[i * stride + k] : Real(0);
        }
    }
}

// sums[W][lanes] = row[0 : depth] times the weights of one block as they lie: a panel that is used once is not worth
// storing. The chains are those of the tiles. The block must be whole.
template <class Real, int W>
inline void product_in_place(const Real* row, const Real* weight, Index hidden, Index depth, Real* sums) {
    constexpr int L = lanes<Real>, N = turned<Real>, P = narrow_lanes<Real>;
    using V = Narrow<Real>;
    // Gates take turns at every few values of k, which keeps the adders busy, unless rows lie so that they compete for the same
    // few places in the cache: then each line is used up before the next gate comes.
    constexpr Index line = 64 / sizeof(Real);
    const Index step = depth * Index(sizeof(Real)) % 2048 == 0 ? line : N;
    for (Index lane = 0; lane < L; lane += P) {
        const Real* from = weight + lane * depth;
        V total[W] = {};
        for (Index start = 0; start < depth; start += chain_length) {
            const Index end = depth - start < chain_length ? depth : start + chain_length;
            V chain[W] = {};
            Index k = start;
            for (; k + step <= end; k += step) {
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) {
                    const Real* gate = from + w * hidden * depth + k;
                    for (Index at = 0; at < step; at += N) {
                        V columns[N];
                        turn(gate + at, depth, columns);
#pragma GCC unroll 4
                        for (int i = 0; i < N; ++i) chain[w] = fused(row[k + at + i] - V{}, columns[i], chain[w]);
                    }
                }
            }
            for (; k < end; ++k) {
                for (int w = 0; w < W; ++w) {
                    V column;
                    for (int i = 0; i < P; ++i) column[i] = from[(w * hidden + i) * depth + k];
                    chain[w] = fused(row[k] - V{}, column, chain[w]);
                }
            }
            for (int w = 0; w < W; ++w) total[w] = start == 0 ? chain[w] : total[w] + chain[w];
        }
        for (int w = 0; w < W; ++w) std::memcpy(sums + w * L + lane, &total[w], sizeof(V));
    }
}

// panel[k][lane] = weight[k * columns + first + lane], zero past the last column.
template <class Real>
inline void pack_columns(const Real* weight, Index columns, Index first, Index depth, Real* panel) {
    for (Index k = 0; k < depth; ++k)
        store(panel + k * lanes<Real>, load(weight + k * columns + first, columns - first));
}

// Packed: panel[k] follows panel[k - 1]. Otherwise `pitch` lies from one to the next, as in a matrix whose rows are the k.
template <class Real, int M, int S, int W, bool Packed = true>
struct Tile {
    // rows: M pointers; panel: the first of S panels, `panel_stride` apart; sums: [M][S][W][lanes].
    static void run(const Real* const* rows, Index offset, const Real* panel, Index panel_stride, Index pitch, Index depth,
                    Real* sums, bool first) {
        using V = Vector<Real>;
        constexpr int L = lanes<Real>;
        const Real* row[M];
        for (int m = 0; m < M; ++m) row[m] = rows[m] + offset;
        for (Index start = 0; start < depth; start += chain_length) {
            const Index end = depth - start < chain_length ? depth : start + chain_length;
            V total[M][S][W];
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
                for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                    for (int w = 0; w < W; ++w) total[m][s][w] = V{};
            for (Index k = start; k < end; ++k) {
                V weight[S][W];
#pragma GCC unroll 4
                for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                    for (int w = 0; w < W; ++w) weight[s][w] = load(panel + s * panel_stride + w * L);
                panel += Packed ? W * L : pitch;
#pragma GCC unroll 8
                for (int m = 0; m < M; ++m) {
                    const V value = broadcast(row[m][k]);
#pragma GCC unroll 4
                    for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                        for (int w = 0; w < W; ++w) total[m][s][w] = fused(value, weight[s][w], total[m][s][w]);
                }
            }
            const bool begins = first && start == 0;
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
                for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                    for (int w = 0; w < W; ++w) {
                        Real* to = sums + ((m * S + s) * W + w) * L;
                        store(to, begins ? total[m][s][w] : load(to) + total[m][s][w]);
                    }
        }
    }
};

template <class Real>
using TileFunction = void (*)(const Real* const*, Index, const Real*, Index, Index, Index, Real*, bool);

template <class Real, int S, int W, bool Packed>
GRUS_INLINE TileFunction<Real> tile_of(Index rows) {
    // Only shapes that fit the registers exist.
#define GRUS_TILE(M)                                                                   \
    case M:                                                                            \
        if constexpr (M <= tile_rows && (S == 1 || M * S * W <= tile_vectors)) return &Tile<Real, M, S, W, Packed>::run; \
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

template <class Real, int W, bool Packed>
inline TileFunction<Real> find_tile(Index rows, int panels) {
    if (panels == 4) return tile_of<Real, 4, W, Packed>(rows);
    if (panels == 2) return tile_of<Real, 2, W, Packed>(rows);
    return tile_of<Real, 1, W, Packed>(rows);
}

// sums [count][S][W][lanes] (+)= rows [count][offset : offset + depth] times S panels, for any number of rows and a depth
// of one block.
template <class Real, int W, bool Packed = true>
inline void product_block(const Real* const* rows, Index count, Index offset, Index depth, const Real* panel,
                          Index panel_stride, Index pitch, int panels, Real* sums, bool first) {
    const Index tiles = (count + tile_rows - 1) / tile_rows;
    const Index width = Index(panels) * W * lanes<Real>;
    for (Index tile = 0, row = 0; tile < tiles; ++tile) {
        const Index height = (count - row + (tiles - tile) - 1) / (tiles - tile);  // tiles of nearly equal height
        find_tile<Real, W, Packed>(height, panels)(rows + row, offset, panel, panel_stride, pitch, depth,
                                                   sums + row * width, first);
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
    if (!weights.packed && count == 1 && (first + panels) * lanes<Real> <= weights.hidden) {
        for (int s = 0; s < panels; ++s) {
            const Real* weight = weights.raw + (first + s) * lanes<Real> * weights.depth;
            product_in_place<Real, W>(rows[0], weight, weights.hidden, weights.depth, sums + s * width);
        }
        return;
    }
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
        product_block<Real, W>(rows, count, k, block, panel, stride, width, panels, sums, k == 0);
    }
}

// sums [count][S][lanes] (+)= rows [count][offset : offset + depth] times columns of `matrix` [depth][pitch], from its first
// on, as they lie; S * lanes columns must be there.
template <class Real>
inline void product_of_columns(const Real* const* rows, Index count, Index offset, Index depth, const Real* matrix,
                               Index pitch, int panels, Real* sums, bool first) {
    for (Index k = 0; k < depth; k += depth_block) {
        const Index block = depth - k < depth_block ? depth - k : depth_block;
        product_block<Real, 1, false>(rows, count, offset + k, block, matrix + k * pitch, lanes<Real>, pitch, panels, sums,
                                      first && k == 0);
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
