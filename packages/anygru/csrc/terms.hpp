// Rows and weights as sums of bfloat16 numbers, their terms.
//
// The first term of x is x rounded to bfloat16, to nearest even, but what is finite stays finite: beyond the greatest
// bfloat16 the lower bits are cut off. Each further term is what those before it left over, rounded likewise; it is
// zero where the first is an infinity or NaN. Two terms have sixteen significant bits, three all of float32.
//
// A row and a weight are multiplied term by term, i-th with j-th, where i + j is below the greater number of terms: the
// other products would be smaller than what the terms leave over.
#pragma once

#include "panels.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

typedef std::uint32_t FloatBits __attribute__((vector_size(ANYGRU_VECTOR_BYTES)));
typedef std::uint16_t HalfBits __attribute__((vector_size(ANYGRU_VECTOR_BYTES / 2)));

constexpr std::uint32_t exponent_bits = 0x7f800000;
constexpr int most_terms = 3;

// In the upper half of each lane; the lower half is zero.
ANYGRU_INLINE FloatBits first_term(Vector<float> x) {
    const FloatBits bits = (FloatBits)x;
    const FloatBits rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const FloatBits special = (FloatBits)((rounded & exponent_bits) == exponent_bits);
    // A NaN whose upper bits would be those of an infinity stays a NaN.
    const FloatBits lost = (FloatBits)((bits & 0x7fffffff) > exponent_bits) & (FloatBits)((bits & 0x7f0000) == 0);
    return ((special & (bits | (lost & 0x400000))) | (~special & rounded)) & 0xffff0000u;
}

ANYGRU_INLINE Vector<float> left_over(Vector<float> x, FloatBits first) {
    const FloatBits finite = (FloatBits)((first & exponent_bits) != exponent_bits);
    return (Vector<float>)((FloatBits)(x - (Vector<float>)first) & finite);
}

ANYGRU_INLINE void store_halves(void* to, FloatBits term) {
    const HalfBits halves = __builtin_convertvector(term >> 16, HalfBits);
    std::memcpy(to, &halves, sizeof halves);
}

// k of a row of terms; those past the end of the row are zero.
constexpr Index term_block = 32;
constexpr Index term_blocks(Index depth) { return (depth + term_block - 1) / term_block; }
constexpr Index line_bytes(Index depth) { return term_blocks(depth) * term_block * 2; }

// The bytes of a row: a line for each term, and one of the cache, so that rows do not compete for the same places in
// it.
ANYGRU_INLINE Index terms_bytes(Index width, int terms) { return terms * line_bytes(width) + 64; }

// The terms of some values, each `pitch` bytes after the last one.
ANYGRU_INLINE void put_terms(Vector<float> x, int terms, char* to, Index pitch) {
    FloatBits term = first_term(x);
    store_halves(to, term);
    for (int number = 1; number < terms; ++number) {
        x = left_over(x, term);
        term = first_term(x);
        store_halves(to + number * pitch, term);
    }
}

// The same of a row. Its denormal numbers may become zero, as products count them.
#if defined(__AVX512BF16__)
ANYGRU_INLINE void put_row_terms(Vector<float> x, int terms, char* to, Index pitch) {
    constexpr int infinity_or_nan = 0x99;
    const Vector<float> greatest = (Vector<float>)(FloatBits{} + 0x7f7f0000u);
    const __mmask16 finite = __mmask16(~_mm512_fpclass_ps_mask(x, infinity_or_nan));
    const Vector<float> cut = _mm512_mask_min_ps(x, finite, _mm512_max_ps(x, -greatest), greatest);
    __m256i term = (__m256i)_mm512_cvtneps_pbh(cut);
    std::memcpy(to, &term, sizeof term);
    for (int number = 1; number < terms; ++number) {
        x = _mm512_maskz_sub_ps(finite, x, (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(term), 16));
        term = (__m256i)_mm512_cvtneps_pbh(x);
        std::memcpy(to + number * pitch, &term, sizeof term);
    }
}
#else
ANYGRU_INLINE void put_row_terms(Vector<float> x, int terms, char* to, Index pitch) { put_terms(x, terms, to, pitch); }
#endif

// How many terms of a row are multiplied with the term `number` of the weights.
constexpr int terms_with(int number, int row, int weight) {
    const int left = (row > weight ? row : weight) - number;
    return row < left ? row : left;
}

inline const Bfloat* split_row(const float* row, Index width, int terms, char* memory) {
    constexpr Index L = lanes<float>;
    const Index line = line_bytes(width);
    const auto put = [&](Vector<float> x, Index k) ANYGRU_INLINED { put_row_terms(x, terms, memory + 2 * k, line); };
    Index k = 0;
    for (; k + L <= width; k += L) put(load(row + k), k);
    if (k < width) put(load(row + k, width - k), k), k += L;
    for (int term = 0; term < terms; ++term) std::memset(memory + term * line + 2 * k, 0, line - 2 * k);
    return reinterpret_cast<const Bfloat*>(memory);
}

// Panels of W gates and L hidden units: [block of k][term][k / group][W][L][group], so that a lane of a vector, or of a
// row of a tile, has `group` neighbouring k.
template <int W, int Group>
struct TermMatrix {
    static constexpr Index L = lanes<float>;
    static constexpr Index group_bytes = W * L * Group * 2;
    static constexpr Index part_bytes = term_block / Group * group_bytes;  // of a term in a block

    const char* panels;
    Index depth;
    int terms;
    Index stride;  // bytes of a panel

    TermMatrix() = default;
    TermMatrix(const void* at, Index rows, int count)
        : panels(static_cast<const char*>(at)), depth(rows), terms(count), stride(panel_bytes(rows, count)) {}

    static Index panel_bytes(Index depth, int terms) { return term_blocks(depth) * terms * part_bytes; }

    // Where the first term of a weight is in its panel.
    ANYGRU_INLINED Index place(Index k, int w, Index lane) const {
        const Index in = k % term_block;
        return k / term_block * terms * part_bytes + in / Group * group_bytes + (w * L + lane) * Group * 2 +
               in % Group * 2;
    }

    // Lines [L][term_block] of one term and gate into a block of a panel.
    static void put(const char* lines, int w, char* to) {
        if constexpr (Group == 2 && narrow_bytes == 32) {
            constexpr Index P = narrow_lanes<float>;
            for (Index lane = 0; lane < L; lane += P)
                for (Index pair = 0; pair < term_block / 2; pair += 4) {
                    const float* const from = reinterpret_cast<const float*>(lines) + lane * (term_block / 2) + pair;
                    Narrow<float> in[4], out[4];
                    for (int i = 0; i < 4; ++i)
                        in[i] =
                            join<float>(piece(from + i * (term_block / 2)), piece(from + (4 + i) * (term_block / 2)));
                    turn<float>(in, out);
                    for (int i = 0; i < 4; ++i)
                        std::memcpy(to + (pair + i) * group_bytes + (w * L + lane) * 4, &out[i], narrow_bytes);
                }
        } else {
            for (Index lane = 0; lane < L; ++lane)
                for (Index group = 0; group < term_block / Group; ++group)
                    std::memcpy(to + group * group_bytes + (w * L + lane) * Group * 2,
                                lines + (lane * term_block + group * Group) * 2, Group * 2);
        }
    }

    // Rows of weights [gates * hidden, depth], of the gates from `gate` on.
    void pack(Index block, const float* weight, Index hidden, int gate) const {
        char* const panel = const_cast<char*>(panels) + block * stride;
        alignas(64) char lines[most_terms][L * term_block * 2];
        for (Index k = 0; k < depth; k += term_block)
            for (int w = 0; w < W; ++w) {
                for (Index lane = 0; lane < L; ++lane) {
                    const Index row = block * L + lane;
                    const float* const from = weight + ((gate + w) * hidden + row) * depth + k;
                    if (row < hidden && k + term_block <= depth) {
                        put_line(from, lane, lines);
                        continue;
                    }
                    alignas(64) float values[term_block] = {};
                    if (row < hidden)
                        std::memcpy(values, from, sizeof(float) * (depth - k < term_block ? depth - k : term_block));
                    put_line(values, lane, lines);
                }
                for (int term = 0; term < terms; ++term)
                    put(lines[term], w, panel + (k / term_block * terms + term) * part_bytes);
            }
    }

    // Columns `first`, ... of a matrix [depth][columns] whose row k is at from(k), for W = 1.
    template <class From>
    void pack_columns(Index block, Index columns, const From& from) const {
        char* const panel = const_cast<char*>(panels) + block * stride;
        const Index first = block * L;
        alignas(64) char lines[most_terms][L * term_block * 2];
        for (Index k = 0; k < depth; k += term_block) {
            alignas(64) float values[L][term_block] = {};
            for (Index i = 0; i < term_block && k + i < depth; ++i) {
                const Vector<float> row = load(from(k + i) + first, columns - first);
                for (Index lane = 0; lane < L; ++lane) values[lane][i] = row[lane];
            }
            for (Index lane = 0; lane < L; ++lane) put_line(values[lane], lane, lines);
            for (int term = 0; term < terms; ++term)
                put(lines[term], 0, panel + (k / term_block * terms + term) * part_bytes);
        }
    }

private:
    void put_line(const float* values, Index lane, char (*lines)[L * term_block * 2]) const {
        for (Index i = 0; i < term_block; i += L)
            put_terms(load(values + i), terms, lines[0] + (lane * term_block + i) * 2, sizeof *lines);
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
