"""The product with a matrix of int8 in C: sums of integers, as the kernels of frozen layers have them.

Products of int16 that are added in pairs take a quarter of the operations that floats take, and GNU C has no word for them.
So this part alone has instructions of x86; elsewhere it multiplies whole numbers of 32 bits.
"""

PRODUCTS = """
#if defined(__AVX512BW__) && @@_LANES == 16 || defined(__AVX2__) && @@_LANES == 8 || defined(__SSE2__) && @@_LANES == 4
#include <immintrin.h> /* the compiler's own: products of int16 added in pairs, which GNU C has no word for */
#endif

/* sum + w[0] * x[0] + ... + w[3] * x[3]: the int8 of a number of `weights` from its lowest byte on, and the int16 of two
   numbers: x[0] and x[2] in the halves of `even`, x[1] and x[3] in those of `odd`. */
static @@_INLINE @_signed_integers @_add_four(
        @_signed_integers sum, @_integers weights, uint32_t even, uint32_t odd) {
#if defined(__AVX512BW__) && @@_LANES == 16
    const __m512i w = (__m512i)weights, low = _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8);
    return sum + (@_signed_integers)_mm512_madd_epi16(low, _mm512_set1_epi32((int32_t)even)) +
           (@_signed_integers)_mm512_madd_epi16(_mm512_srai_epi16(w, 8), _mm512_set1_epi32((int32_t)odd));
#elif defined(__AVX2__) && @@_LANES == 8
    const __m256i w = (__m256i)weights, low = _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8);
    return sum + (@_signed_integers)_mm256_madd_epi16(low, _mm256_set1_epi32((int32_t)even)) +
           (@_signed_integers)_mm256_madd_epi16(_mm256_srai_epi16(w, 8), _mm256_set1_epi32((int32_t)odd));
#elif defined(__SSE2__) && @@_LANES == 4
    const __m128i w = (__m128i)weights, low = _mm_srai_epi16(_mm_slli_epi16(w, 8), 8);
    return sum + (@_signed_integers)_mm_madd_epi16(low, _mm_set1_epi32((int32_t)even)) +
           (@_signed_integers)_mm_madd_epi16(_mm_srai_epi16(w, 8), _mm_set1_epi32((int32_t)odd));
#else
    return sum + ((@_signed_integers)(weights << 24) >> 24) * (int16_t)(even & 0xFFFFu) +
           ((@_signed_integers)(weights << 16) >> 24) * (int16_t)(odd & 0xFFFFu) +
           ((@_signed_integers)(weights << 8) >> 24) * (int16_t)(even >> 16) +
           ((@_signed_integers)weights >> 24) * (int16_t)(odd >> 16);
#endif
}

/* sums[row] += scale[row] * (weights[row] . x) for a multiple of @@_LANES rows of a block, `stride` rows wide; x as above, two
   numbers for every four columns. */
static @@_INLINE void @_block_int8(
        const uint32_t *@@_RESTRICT weights, size_t stride, const uint32_t *@@_RESTRICT x, float *@@_RESTRICT sums,
        const float *@@_RESTRICT scales, float unit, size_t rows, size_t words) {
    size_t first, word, i;
    for (first = 0; first < words; first += 128) { /* 512 products fit in 32 bits: 512 * 127 * 32512 < 2^31 */
        const size_t end = words - first < 128 ? words : first + 128;
        @_signed_integers part[@@_ROWS / @@_LANES];
        for (i = 0; i < rows / @@_LANES; ++i) part[i] = (@_signed_integers)@_bits_of(@_all(0.0f));
        for (word = first; word < end; ++word)
            for (i = 0; i < rows / @@_LANES; ++i)
                part[i] = @_add_four(
                    part[i], @_get_integers(weights + word * stride + i * @@_LANES, @@_LANES), x[2 * word], x[2 * word + 1]);
        for (i = 0; i < rows / @@_LANES; ++i)
            @_put(sums + i * @@_LANES,
                  @_get(sums + i * @@_LANES, @@_LANES) +
                      @_number_of((@_integers)part[i]) * (@_get_constants(scales + i * @@_LANES, @@_LANES) * unit), @@_LANES);
    }
}

/* The same for the last rows of a block, fewer than @@_LANES. */
static @@_INLINE void @_rest_int8(
        const uint32_t *weights, size_t stride, const uint32_t *x, float *sums, const float *scales, float unit,
        size_t rows, size_t words) {
    size_t first, word;
    for (first = 0; first < words; first += 128) {
        const size_t end = words - first < 128 ? words : first + 128;
        @_signed_integers part = (@_signed_integers)@_bits_of(@_all(0.0f));
        for (word = first; word < end; ++word)
            part = @_add_four(part, @_get_integers(weights + word * stride, rows), x[2 * word], x[2 * word + 1]);
        @_put(sums, @_get(sums, rows) + @_number_of((@_integers)part) * (@_get_constants(scales, rows) * unit), rows);
    }
}

/* x as numbers of 16 bits, two in each of `rounded`, and the float that each unit of them stands for. With m the greatest
   magnitude in x, they are the integers round(x * (32512 / m)). 0 with an infinity or NaN in x, which no integers stand for. */
static inline float @_round(const float *x, uint32_t *rounded, size_t columns) {
    uint32_t greatest = 0; /* floats without their sign are in order as integers, NaN above infinity */
    float magnitude, inverse;
    size_t i;
    for (i = 0; i < (columns + 3) / 4 * 2; ++i) rounded[i] = 0u;
    for (i = 0; i < columns; ++i) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7FFFFFFFu;
        greatest = bits > greatest ? bits : greatest;
    }
    if (greatest >= 0x7F800000u) return 0.0f;
    memcpy(&magnitude, &greatest, sizeof magnitude);
    magnitude = magnitude < 1e-30f ? 1e-30f : magnitude;
    inverse = 32512.0f / magnitude;
    for (i = 0; i < columns; ++i) { /* added to 1.5 * 2^23, a number is rounded */
        const float shifted = x[i] * inverse + 12582912.0f;
        uint32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        rounded[i / 4 * 2 + i % 2] |= ((bits - 0x4B400000u) & 0xFFFFu) << (i % 4 < 2 ? 0 : 16);
    }
    return magnitude / 32512.0f;
}

/* sums[row] += scales[row] * (weights[row] . x) for the rows of one block, with floats, for an x that no integers stand for. */
static inline void @_add_unrounded(
        const uint32_t *weights, const float *scales, const float *x, float *sums, size_t rows, size_t columns) {
    size_t row, column;
    for (row = 0; row < rows; ++row)
        for (column = 0; column < columns; ++column) {
            const int32_t byte = (int32_t)((@_word(weights + column / 4 * rows + row) >> (8 * (column % 4))) & 0xFFu);
            sums[row] += (float)(byte < 128 ? byte : byte - 256) * @_constant(scales + row) * x[column];
        }
}

/* sums[row] += scales[row] * (weights[row] . x) for the rows of one block; `rounded` and `unit` are what @_round made of x. */
static @@_INLINE void @_add_rows_int8(
        const uint32_t *weights, const float *scales, const float *x, const uint32_t *rounded, float unit, float *sums,
        size_t rows, size_t columns) {
    const size_t blocks = rows / @@_ROWS * @@_ROWS, whole = rows / @@_LANES * @@_LANES, words = (columns + 3) / 4;
    size_t row;
    if (unit == 0.0f) {
        @_add_unrounded(weights, scales, x, sums, rows, columns);
        return;
    }
    for (row = 0; row < blocks; row += @@_ROWS)
        @_block_int8(weights + row, rows, rounded, sums + row, scales + row, unit, @@_ROWS, words);
    if (blocks < whole)
        @_block_int8(weights + blocks, rows, rounded, sums + blocks, scales + blocks, unit, whole - blocks, words);
    if (whole < rows)
        @_rest_int8(weights + whole, rows, rounded, sums + whole, scales + whole, unit, rows - whole, words);
}

/* sums[row] += scales[row] * (weights[row] . x), in blocks of <rows> rows. */
static @@_INLINE void @_add_products_int8(
        const uint32_t *weights, const float *scales, const float *@@_RESTRICT x, float *@@_RESTRICT sums, size_t rows,
        size_t columns) {
    const size_t whole = rows / <rows> * <rows>, words = (columns + 3) / 4;
    uint32_t rounded[@@_WIDEST];
    const float unit = @_round(x, rounded, columns);
    size_t i;
    for (i = 0; i < whole; i += <rows>, weights += <rows> * words)
        @_add_rows_int8(weights, scales + i, x, rounded, unit, sums + i, <rows>, columns);
    if (whole < rows) @_add_rows_int8(weights, scales + whole, x, rounded, unit, sums + whole, rows - whole, columns);
}
"""
"""`<rows>` is replaced by the rows of a block."""
