// Weights of several gates as the tiles want them: packed into panels once, or turned on the way from where they lie.
//
// Sixteen bytes of a row of weights are one value for each chain of a sum (tile.hpp). So vectors of such pieces, from
// as many rows of weights as fit, gather all chains of some outputs at the speed of plain loads; only at the end of a
// block of k are they turned, so that each vector has one chain of all outputs.
#pragma once

#include "tile.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// In vectors of at most 32 bytes: wider shuffles cost more than they save.
constexpr int narrow_bytes = ANYGRU_VECTOR_BYTES < 32 ? ANYGRU_VECTOR_BYTES : 32;

template <class Real>
struct NarrowOf {
    typedef Real vector __attribute__((vector_size(narrow_bytes)));
};
template <class Real>
using Narrow = typename NarrowOf<Real>::vector;
template <class Real>
using Quad = typename SimdOf<Real>::quad;

template <class Real>
constexpr int narrow_lanes = narrow_bytes / sizeof(Real);

#if defined(__AVX__)
// The intrinsics become one load with an insertion, where the compiler makes of a shuffle two loads and a slow
// permutation.
ANYGRU_INLINE __m256 joined(__m128 low, __m128 high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}
ANYGRU_INLINE __m256d joined(__m128d low, __m128d high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}
#endif

template <class Real>
ANYGRU_INLINE Narrow<Real> join(Quad<Real> low, [[maybe_unused]] Quad<Real> high) {
#if defined(__AVX__)
    return joined(low, high);
#else
    static_assert(narrow_bytes == 16);
    return low;
#endif
}

template <class Real>
ANYGRU_INLINE Quad<Real> piece(const Real* from) {
    Quad<Real> value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

ANYGRU_INLINE Quad<float> piece(const Bfloat* from) {
    std::uint64_t halves;
    std::memcpy(&halves, from, sizeof halves);
    typedef std::uint64_t Pair __attribute__((vector_size(16)));
    typedef std::uint16_t Halves __attribute__((vector_size(16)));
    return (Quad<float>)__builtin_shufflevector(Halves{}, (Halves)Pair{halves, 0}, 0, 8, 1, 9, 2, 10, 3, 11);
}

template <class Real>
ANYGRU_INLINE Real as_number(Real value) {
    return value;
}

ANYGRU_INLINE float as_number(Bfloat value) { return widened(value); }

// The first `count` values of a piece, then `rest`.
template <class Real, class Given>
ANYGRU_INLINE Quad<Real> piece(const Given* from, Index count, Real rest) {
    Quad<Real> value;
    for (Index i = 0; i < ways<Real>; ++i) value[i] = i < count ? as_number(from[i]) : rest;
    return value;
}

// Two pieces that follow one another, of the same places of two rows.
template <class Real, class V>
ANYGRU_INLINE void two_pieces(const Real* low, const Real* high, V (&out)[2]) {
    for (int i = 0; i < 2; ++i) out[i] = join<Real>(piece(low + i * ways<Real>), piece(high + i * ways<Real>));
}

// Sixteen bytes of a row are both pieces: to widen them takes as many instructions as to load them in full.
ANYGRU_INLINE void two_pieces(const Bfloat* low, const Bfloat* high, Narrow<float> (&out)[2]) {
    typedef std::uint16_t Halves __attribute__((vector_size(narrow_bytes)));
    const auto both = (Halves)join<float>(piece(reinterpret_cast<const float*>(low)),
                                          piece(reinterpret_cast<const float*>(high)));
    const Halves zero{};
#if ANYGRU_VECTOR_BYTES == 16
    out[0] = (Narrow<float>)__builtin_shufflevector(zero, both, 0, 8, 1, 9, 2, 10, 3, 11);
    out[1] = (Narrow<float>)__builtin_shufflevector(zero, both, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    out[0] =
        (Narrow<float>)__builtin_shufflevector(zero, both, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
    out[1] =
        (Narrow<float>)__builtin_shufflevector(zero, both, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31);
#endif
}

// Pieces of N = ways rows each: in[i] has those of rows i, i + N; out[i] has the i-th value of all rows, in order.
template <class Real>
ANYGRU_INLINE void turn(const Narrow<Real>* in, Narrow<Real>* out) {
    constexpr int N = ways<Real>;
    if constexpr (N == 2 && narrow_bytes == 16) {
        out[0] = __builtin_shufflevector(in[0], in[1], 0, 2);
        out[1] = __builtin_shufflevector(in[0], in[1], 1, 3);
    } else if constexpr (N == 2) {
        out[0] = __builtin_shufflevector(in[0], in[1], 0, 4, 2, 6);
        out[1] = __builtin_shufflevector(in[0], in[1], 1, 5, 3, 7);
    } else if constexpr (narrow_bytes == 16) {
        const auto a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5),
                   b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
        const auto c = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7),
                   d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
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

// The place of k in a panel block of `depth` values: chain after chain.
template <class Real>
ANYGRU_INLINE Index place_in_block(Index k, Index depth) {
    const Index chain = k % ways<Real>, longer = depth % ways<Real>;
    return chain * (depth / ways<Real>)+(chain < longer ? chain : longer) + k / ways<Real>;
}

// One block of a panel: panel[place of k][gate][lane] = weight[(gate * hidden + first + lane) * stride + k] for k <
// depth; zero where first + lane is past `hidden`.
template <class Real, class Given>
inline void pack_block(const Given* weight, Index hidden, int gates, Index first, Index stride, Index depth,
                       Real* panel) {
    constexpr int L = lanes<Real>, N = ways<Real>, P = narrow_lanes<Real>;
    const Index step = Index(gates) * L;
    for (int gate = 0; gate < gates; ++gate) {
        for (Index lane = 0; lane < L; lane += P) {
            const Given* from = weight + (gate * hidden + first + lane) * stride;
            Real* const to = panel + gate * L + lane;
            Index k = 0;
            if (first + lane + P <= hidden) {
                Real* chain[N];
                for (int i = 0; i < N; ++i) chain[i] = to + place_in_block<Real>(i, depth) * step;
                for (; k + N <= depth; k += N) {
                    Narrow<Real> in[N], out[N];
#pragma GCC unroll 4
                    for (int i = 0; i < N; ++i)
                        in[i] = join<Real>(piece(from + i * stride + k), piece(from + (P - N + i) * stride + k));
                    turn<Real>(in, out);
#pragma GCC unroll 4
                    for (int i = 0; i < N; ++i, chain[i - 1] += step) std::memcpy(chain[i], &out[i], narrow_bytes);
                }
            }
            for (; k < depth; ++k)
                for (int i = 0; i < P; ++i)
                    to[place_in_block<Real>(k, depth) * step + i] =
                        first + lane + i < hidden ? as_number(from[i * stride + k]) : Real(0);
        }
    }
}

// A panel [depth][gates][lanes] of rows of weights.
template <class Real, class Given, class Stored>
inline void pack_rows(const Given* weight, Index hidden, int gates, Index first, Index stride, Index depth,
                      Stored* panel) {
    for (Index k = 0; k < depth; k += depth_block<Real>) {
        const Index block = depth - k < depth_block<Real> ? depth - k : depth_block<Real>, width = gates * lanes<Real>;
        if constexpr (sizeof(Stored) == sizeof(Real)) {
            pack_block(weight + k, hidden, gates, first, stride, block, panel + k * width);
        } else {
            Real wide[depth_block<Real> * 3 * lanes<Real>];
            pack_block(weight + k, hidden, gates, first, stride, block, wide);
            for (Index i = 0; i < block * width; ++i) panel[k * width + i] = narrowed(wide[i]);
        }
    }
}

// How many narrow vectors of outputs `sums_in_place` computes at once, those of one wide vector at most: with one row,
// the chains of a single one would wait for one another.
template <class Real>
constexpr int narrow_at_once(int rows) {
    return rows == 1 && lanes<Real> > narrow_lanes<Real> ? 2 : 1;
}

// sums[m * pitch + lane] = rows[m][0 : depth] times row `lane` of the weights, as they lie, for as many as R narrow
// vectors have: the sums that the tiles compute from panels, to the bit.
template <class Real, int M, class Given>
inline void sums_in_place(const Real* const* rows, const Given* weight, Index depth, Real* sums, Index pitch) {
    constexpr int N = ways<Real>, P = narrow_lanes<Real>, R = narrow_at_once<Real>(M);
    using V = Narrow<Real>;
    V total[R][M] = {};
    for (Index start = 0; start < depth; start += depth_block<Real>) {
        const Index end = depth - start < depth_block<Real> ? depth : start + depth_block<Real>;
        V chains[R][M][N] = {};
        const auto add = [&](Index k, int r, int i, V pieces) ANYGRU_INLINED {
#pragma GCC unroll 4
            for (int m = 0; m < M; ++m)
                chains[r][m][i] = fused(join<Real>(piece(rows[m] + k), piece(rows[m] + k)), pieces, chains[r][m][i]);
        };
        Index k = start;
        // A line of the cache is used up before the next row comes: in some sizes all rows compete for the same few
        // places.
        for (; k + 4 * N <= end; k += 4 * N)
#pragma GCC unroll 4
            for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
                for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
                    for (int part = 0; part < 4; part += 2) {
                        const Given* const low = weight + (r * P + i) * depth + k + part * N;
                        V pieces[2];
                        two_pieces(low, low + (P - N) * depth, pieces);
                        add(k + part * N, r, i, pieces[0]);
                        add(k + part * N + N, r, i, pieces[1]);
                    }
        for (; k + N <= end; k += N)
#pragma GCC unroll 4
            for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
                for (int r = 0; r < R; ++r) {
                    const Given* const low = weight + (r * P + i) * depth + k;
                    add(k, r, i, join<Real>(piece(low), piece(low + (P - N) * depth)));
                }
        if (k < end) {
            // What is missing of the last pieces: adding -0 * 0 changes nothing, not even a sign.
            for (int m = 0; m < M; ++m) {
                const auto last = piece(rows[m] + k, end - k, Real(-0.0));
                for (int r = 0; r < R; ++r)
                    for (int i = 0; i < N; ++i) {
                        const Given* const low = weight + (r * P + i) * depth + k;
                        const V pieces =
                            join<Real>(piece(low, end - k, Real(0)), piece(low + (P - N) * depth, end - k, Real(0)));
                        chains[r][m][i] = fused(join<Real>(last, last), pieces, chains[r][m][i]);
                    }
            }
        }
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int m = 0; m < M; ++m) {
                V turned[N];
                turn<Real>(chains[r][m], turned);
                total[r][m] = start == 0 ? turned[0] : total[r][m] + turned[0];
                for (int i = 1; i < N; ++i) total[r][m] += turned[i];
            }
    }
    for (int r = 0; r < R; ++r)
        for (int m = 0; m < M; ++m) std::memcpy(sums + m * pitch + r * P, &total[r][m], sizeof(V));
}

// Calls work(weights): they are bfloat16 at this address where `halves` says so.
template <class Real, class Work>
ANYGRU_INLINE void as_given(const Real* weights, bool halves, const Work& work) {
    if constexpr (sizeof(Real) == sizeof(float))
        if (halves) return work(reinterpret_cast<const Bfloat*>(weights));
    work(weights);
}

// Weights of W gates, [W * hidden, depth], packed or as they lie.
template <class Real, int W, class Stored = Real>
struct Weights {
    const Stored* packed;  // [blocks][depth][W][lanes], or null
    const Real* raw;       // row of the first gate
    Index hidden;          // rows from one gate to the next
    Index depth;
    Real* scratch;  // room for four panels of one depth block, used where nothing is packed
    bool halves = false;  // `raw` is bfloat16
};

// sums [count][S][W][lanes] = rows [count][depth] times the S panels from block `first` on, none of them cut short.
template <class Real, int W, class Given>
inline void product_in_place(const Real* const* rows, Index count, const Weights<Real, W>& weights, const Given* raw,
                             Index first, int panels, Real* sums) {
    const auto part = count == 1   ? &sums_in_place<Real, 1, Given>
                      : count == 2 ? &sums_in_place<Real, 2, Given>
                      : count == 3 ? &sums_in_place<Real, 3, Given>
                                   : &sums_in_place<Real, 4, Given>;
    constexpr int L = lanes<Real>;
    const Index step = (count == 1 ? narrow_at_once<Real>(1) : 1) * narrow_lanes<Real>;
    for (int w = 0; w < W; ++w)
        for (Index lane = 0; lane < panels * L; lane += step)
            part(rows, raw + (w * weights.hidden + first * L + lane) * weights.depth, weights.depth,
                 sums + (lane / L * W + w) * L + lane % L, panels * W * L);
}

// sums [count][S][W][lanes] = rows [count][depth] times the S panels from block `first` on; those of `following` are
// next.
template <class Real, int W, class Stored>
inline void product(const Real* const* rows, Index count, const Weights<Real, W, Stored>& weights, Index first,
                    int panels, Index following, Real* sums) {
    constexpr Index width = W * lanes<Real>;
    constexpr bool always_packed = sizeof(Stored) < sizeof(Real);
    if (count <= 0) return;
    if (weights.depth == 0) std::memset(sums, 0, sizeof(Real) * count * panels * width);
    if constexpr (!always_packed)
        if (!weights.packed && count <= few_rows && (first + panels) * lanes<Real> <= weights.hidden)
            return as_given(weights.raw, weights.halves, [&](const auto* raw) {
                product_in_place(rows, count, weights, raw, first, panels, sums);
            });
    const bool packed = always_packed || weights.packed;
    const Index stride = (packed ? weights.depth : depth_block<Real>)*width;
    for (Index k = 0; k < weights.depth; k += depth_block<Real>) {
        const Index block = weights.depth - k < depth_block<Real> ? weights.depth - k : depth_block<Real>;
        const Stored* panel = packed ? weights.packed + first * stride + k * width : nullptr;
        if constexpr (!always_packed) {
            for (int s = 0; !packed && s < panels; ++s)
                as_given(weights.raw, weights.halves, [&](const auto* raw) {
                    pack_block(raw + k, weights.hidden, W, (first + s) * lanes<Real>, weights.depth, block,
                               weights.scratch + s * stride);
                });
            if (!packed) panel = weights.scratch;
        }
        Ahead ahead{};
        if (packed && panels == 1) {
            const bool last = k + block == weights.depth;
            const Index left = last ? weights.depth : weights.depth - k - block;
            ahead.at = last ? weights.packed + following * stride : panel + block * width;
            ahead.bytes = (left < depth_block<Real> ? left : depth_block<Real>)*width * Index(sizeof(Stored));
        }
        product_block<Real, W, true, Stored>(rows, count, k, block, panel, stride, width, panels, sums, k == 0, ahead);
    }
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
