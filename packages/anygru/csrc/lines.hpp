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

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
