// A few rows times panels of bfloat16 terms, with vectors.
#pragma once

#include "dot.hpp"
#include "terms.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace anygru {
namespace ANYGRU_VARIANT {

template <int N>
struct Number {
    static constexpr int value = N;
};

#if defined(__SSE2__)
// While one lives, denormal numbers count as zero on this thread, given ones and results.
class DenormalsAreZero {
public:
    DenormalsAreZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
    ~DenormalsAreZero() { _mm_setcsr(before_); }
    DenormalsAreZero(const DenormalsAreZero&) = delete;

private:
    unsigned before_;
};
#endif

// N lines of terms times C columns of vectors of pairs of weights, over one block of k: what a product of tiles does
// with as many of its rows (tiles.hpp), to the bit, while a DenormalsAreZero lives.
template <int N, int C>
struct LineTile {
    // columns: the first vector of each, `pitch` bytes from a pair to the next; sums[n]: C vectors.
    static __attribute__((noinline)) void run(const char* const* lines, const char* const* columns, Index pitch,
                                              float* const* sums) {
        using V = Vector<float>;
        V even[N][C] = {}, odd[N][C] = {};
        for (Index pair = 0; pair < term_block / 2; ++pair) {
            V low[C], high[C];
#pragma GCC unroll 6
            for (int c = 0; c < C; ++c) {
                FloatBits both;
                std::memcpy(&both, columns[c] + pair * pitch, sizeof both);
                low[c] = (V)(both << 16);
                high[c] = (V)(both & 0xffff0000u);
            }
#pragma GCC unroll 4
            for (int n = 0; n < N; ++n) {
                const FloatBits both = (FloatBits)repeated(lines[n] + 4 * pair);
                const V first = (V)(both << 16), second = (V)(both & 0xffff0000u);
#pragma GCC unroll 6
                for (int c = 0; c < C; ++c) {
                    even[n][c] = fused(first, low[c], even[n][c]);
                    odd[n][c] = fused(second, high[c], odd[n][c]);
                }
            }
        }
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n)
#pragma GCC unroll 6
            for (int c = 0; c < C; ++c)
                store(sums[n] + c * lanes<float>, load(sums[n] + c * lanes<float>) + (even[n][c] + odd[n][c]));
    }
};

using LineTileFunction = void (*)(const char* const*, const char* const*, Index, float* const*);

template <int N>
inline LineTileFunction line_tile(int columns) {
    if constexpr (N <= 2)
        if (columns >= 6) return &LineTile<N, 6>::run;
    return columns >= 3 ? &LineTile<N, 3>::run : columns == 2 ? &LineTile<N, 2>::run : &LineTile<N, 1>::run;
}

inline LineTileFunction line_tile(int lines, int columns) {
    return lines == 1   ? line_tile<1>(columns)
           : lines == 2 ? line_tile<2>(columns)
           : lines == 3 ? line_tile<3>(columns)
                        : line_tile<4>(columns);
}

// So many columns does one of these functions take of those that are left.
constexpr int columns_at_once(int lines, int left) { return left >= 6 && lines <= 2 ? 6 : left >= 3 ? 3 : left; }

#if defined(__SSE2__)
// Rows times panels as tiles multiply them, without tiles. sums [count][panels][W][L].
struct LineProduct {
    static constexpr int group = 2;

    template <int W>
    static int panels_for(Index count, Index available) {
        return count <= 2 && available >= 2 ? 2 : 1;
    }

    template <int W>
    static void product(const Bfloat* const* rows, int row_terms, Index count, const TermMatrix<W, group>& matrix,
                        Index first, int panels, float* sums) {
        const DenormalsAreZero mode;
        const Index width = Index(panels) * W * lanes<float>, high = 4 / row_terms;
        std::memset(sums, 0, sizeof(float) * count * width);
        for (Index row = 0; row < count; row += high)
            some(rows + row, row_terms, count - row < high ? int(count - row) : int(high), matrix, first, panels,
                 sums + row * width);
    }

private:
    template <int W>
    static void some(const Bfloat* const* rows, int row_terms, int count, const TermMatrix<W, group>& matrix,
                     Index first, int panels, float* sums) {
        using Matrix = TermMatrix<W, group>;
        constexpr Index L = lanes<float>;
        const Index line = line_bytes(matrix.depth);
        const int all = panels * W;
        for (Index block = 0; block < term_blocks(matrix.depth); ++block)
            for (int term = 0; term < matrix.terms; ++term) {
                const int used = terms_with(term, row_terms, matrix.terms), lines = count * used;
                const char* at[4];
                float* to[4];
                for (int n = 0; n < lines; ++n) {
                    at[n] = reinterpret_cast<const char*>(rows[n / used]) + n % used * line + block * term_block * 2;
                    to[n] = sums + n / used * all * L;
                }
                const Index part = (block * matrix.terms + term) * Matrix::part_bytes;
                for (int column = 0; column < all;) {
                    const int some = columns_at_once(lines, all - column);
                    const char* columns[6];
                    for (int c = 0; c < some; ++c)
                        columns[c] = matrix.panels + (first + (column + c) / W) * matrix.stride + part +
                                     (column + c) % W * L * 4;
                    float* own[4];
                    for (int n = 0; n < lines; ++n) own[n] = to[n] + column * L;
                    line_tile(lines, some)(at, columns, Matrix::group_bytes, own);
                    column += some;
                }
            }
    }
};
#endif

#if defined(__AVX512BF16__)
// M rows times S panels with products of pairs: of each pair the CPU adds the product of the odd k to a sum, then that
// of the even k, each by a fused multiply-add where denormal numbers count as zero.
template <int M, int S, int W>
struct PairTile {
    static void run(const Bfloat* const* rows, const char* panel, Index stride, Index pairs, float* sums) {
        __m512 sum[M][S][W] = {};
        for (Index pair = 0; pair < pairs; ++pair, panel += W * 64) {
            __m512bh weight[S][W];
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) weight[s][w] = (__m512bh)_mm512_loadu_si512(panel + s * stride + w * 64);
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m) {
                const __m512bh own = (__m512bh)repeated(reinterpret_cast<const char*>(rows[m]) + 4 * pair);
#pragma GCC unroll 4
                for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                    for (int w = 0; w < W; ++w) sum[m][s][w] = _mm512_dpbf16_ps(sum[m][s][w], own, weight[s][w]);
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
#pragma GCC unroll 3
                for (int w = 0; w < W; ++w) _mm512_storeu_ps(sums + ((m * S + s) * W + w) * 16, sum[m][s][w]);
    }
};

// Rows and weights of one term.
struct PairProduct {
    static constexpr int group = 2;

    template <int W>
    static int panels_for(Index count, Index available) {
        return ANYGRU_VARIANT::panels_for<W>(count, available);
    }

    template <int W>
    static void product(const Bfloat* const* rows, int, Index count, const TermMatrix<W, group>& matrix, Index first,
                        int panels, float* sums) {
        const char* const panel = matrix.panels + first * matrix.stride;
        const Index tiles = (count + tile_rows - 1) / tile_rows, width = Index(panels) * W * lanes<float>;
        for (Index tile = 0, row = 0; tile < tiles; ++tile) {
            const Index height = (count - row + (tiles - tile) - 1) / (tiles - tile);  // nearly equal heights
            find<W>(height, panels)(rows + row, panel, matrix.stride, (matrix.depth + 1) / 2, sums + row * width);
            row += height;
        }
    }

private:
    using Function = void (*)(const Bfloat* const*, const char*, Index, Index, float*);

    template <int W>
    static Function find(Index rows, int panels) {
        if (panels == 4) return tile_of<4, W>(rows);
        if constexpr (W == 1)
            if (panels == 3) return tile_of<3, W>(rows);
        return panels == 2 ? tile_of<2, W>(rows) : tile_of<1, W>(rows);
    }
    template <int S, int W>
    static Function tile_of(Index rows) {
        static constexpr Function tiles[] = {pick<1, S, W>(), pick<2, S, W>(), pick<3, S, W>(), pick<4, S, W>(),
                                             pick<5, S, W>(), pick<6, S, W>(), pick<7, S, W>(), pick<8, S, W>()};
        return tiles[rows - 1];
    }
    // Only shapes that fit the registers exist.
    template <int M, int S, int W>
    static constexpr Function pick() {
        if constexpr (M * S * W <= tile_vectors) return &PairTile<M, S, W>::run;
        return nullptr;
    }
};
#endif

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
// P pairs of rows times C columns of vectors with the instructions of Arm that multiply two rows with two hidden units,
// four k at a time. In which order those four are added, and how they are rounded, is up to the CPU.
template <int P, int W>
struct SquareTile {
    template <class Matrix>
    static void run(const Bfloat* const* rows, int row_terms, Index count, const Matrix& matrix, const char* panel,
                    float* sums, Index width) {
        float32x4_t sum[P][W][2] = {};  // of the first or last two units
        const Index line = line_bytes(matrix.depth) / 2;
        for (Index block = 0; block < term_blocks(matrix.depth); ++block)
            for (int term = 0; term < matrix.terms; ++term)
                for (int own = 0; own < terms_with(term, row_terms, matrix.terms); ++own) {
                    const char* weights = panel + (block * matrix.terms + term) * Matrix::part_bytes;
                    const Index start = own * line + block * term_block;
                    for (Index k = 0; k < term_block; k += 4, weights += Matrix::group_bytes) {
                        bfloat16x8_t units[W][2];
                        for (int w = 0; w < W; ++w)
                            for (int half = 0; half < 2; ++half)
                                units[w][half] = eight(weights + w * 32 + half * 16, weights + w * 32 + half * 16 + 8);
                        for (int p = 0; p < P; ++p) {
                            // The last row alone makes a pair with itself.
                            const Index next = 2 * p + 1 < count ? 2 * p + 1 : 2 * p;
                            const bfloat16x8_t both = eight(rows[2 * p] + start + k, rows[next] + start + k);
                            for (int w = 0; w < W; ++w)
                                for (int half = 0; half < 2; ++half)
                                    sum[p][w][half] = vbfmmlaq_f32(sum[p][w][half], both, units[w][half]);
                        }
                    }
                }
        for (int p = 0; p < P; ++p)
            for (int w = 0; w < W; ++w) {
                float* const to = sums + 2 * p * width + w * 4;
                vst1q_f32(to, vcombine_f32(vget_low_f32(sum[p][w][0]), vget_low_f32(sum[p][w][1])));
                if (2 * p + 1 < count)
                    vst1q_f32(to + width, vcombine_f32(vget_high_f32(sum[p][w][0]), vget_high_f32(sum[p][w][1])));
            }
    }

    static ANYGRU_INLINE bfloat16x8_t eight(const void* first, const void* second) {
        bfloat16x8_t result;
        std::memcpy(&result, first, 8);
        std::memcpy(reinterpret_cast<char*>(&result) + 8, second, 8);
        return result;
    }
};

// Any number of rows, two pairs at a time.
struct SquareProduct {
    static constexpr int group = 4;

    template <int W>
    static int panels_for(Index, Index) {
        return 1;
    }

    template <int W>
    static void product(const Bfloat* const* rows, int row_terms, Index count, const TermMatrix<W, group>& matrix,
                        Index first, int panels, float* sums) {
        const Index width = Index(panels) * W * lanes<float>;
        for (int s = 0; s < panels; ++s)
            for (Index row = 0; row < count; row += 4) {
                const Index left = count - row;
                const auto tile = left > 2 ? &SquareTile<2, W>::template run<TermMatrix<W, group>>
                                           : &SquareTile<1, W>::template run<TermMatrix<W, group>>;
                tile(rows + row, row_terms, left, matrix, matrix.panels + (first + s) * matrix.stride,
                     sums + row * width + s * W * lanes<float>, width);
            }
    }
};
#endif

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
