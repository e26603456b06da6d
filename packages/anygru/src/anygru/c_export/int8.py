"""The product with a matrix of int8 in C: sums of integers, as the kernels of frozen layers have them.

GNU C has no word for instructions that add several products of narrow numbers at once, so this part alone names those of x86,
Arm and WebAssembly; elsewhere it multiplies whole numbers of 32 bits. The integers are the same everywhere.
"""

PRODUCTS = """
/* Of factors of 16 bits, instructions add products of two; those for bytes add four, for the upper and the lower halves. */
#if @@_LANES == 16 && defined(__AVX512VNNI__)
#include <immintrin.h>
#define @_bytes(sum, w, x) (@_integers)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(w), (__m512i)(x))
#elif @@_LANES == 8 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
#include <immintrin.h>
#define @_bytes(sum, w, x) (@_integers)_mm256_dpbusd_epi32((__m256i)(sum), (__m256i)(w), (__m256i)(x))
#elif @@_LANES == 4 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
#include <immintrin.h>
#define @_bytes(sum, w, x) (@_integers)_mm_dpbusd_epi32((__m128i)(sum), (__m128i)(w), (__m128i)(x))
#elif @@_LANES == 4 && defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#define @@_SIGNED 1 /* -1 * 128 + w is signed, as the factors are */
#define @_bytes(sum, w, x) (@_integers)vdotq_s32((int32x4_t)(sum), (int8x16_t)((w) ^ 0x80808080u), (int8x16_t)(x))
#elif @@_LANES == 16 && defined(__AVX512BW__)
#include <immintrin.h>
#define @_pairs(w, x) (@_integers)_mm512_madd_epi16((__m512i)(w), (__m512i)(x))
#elif @@_LANES == 8 && defined(__AVX2__)
#include <immintrin.h>
#define @_pairs(w, x) (@_integers)_mm256_madd_epi16((__m256i)(w), (__m256i)(x))
#elif @@_LANES == 4 && defined(__SSE2__)
#include <immintrin.h>
#define @_pairs(w, x) (@_integers)_mm_madd_epi16((__m128i)(w), (__m128i)(x))
#elif @@_LANES == 4 && defined(__wasm_simd128__)
#include <wasm_simd128.h>
#define @_pairs(w, x) (@_integers)wasm_i32x4_dot_i16x8((v128_t)(w), (v128_t)(x))
#endif

#ifdef @_pairs
typedef uint16_t @_shorts __attribute__((vector_size(4 * @@_LANES)));
#endif

/* Factors as integers of 16 bits. With q the quarter of their number, those at k, k + q, k + 2q and k + 3q share the numbers
   first[k] and second[k]: even and odd ones or, where bytes are multiplied, their upper and lower bytes. */
typedef struct {
    uint32_t first[@@_WIDEST], second[@@_WIDEST], sums[(@@_WIDEST + 127) / 128];
    float unit; /* the float that each unit stands for; 0 with an infinity or NaN, which no integers stand for */
} @_rounded;

/* Added to 1.5 * 2^23, a number is rounded, and the lowest bits of the sum are the integer. */
#ifdef @_bytes
#define @@_ADDED 128u /* since the lower byte is signed */
#define @_first(even, odd) ((((even) >> 8) & 0x00FF00FFu) | ((odd) & 0xFF00FF00u))
#define @_second(even, odd) (((((even) & 0x00FF00FFu)) | (((odd) << 8) & 0xFF00FF00u)) ^ 0x80808080u)
#else
#define @@_ADDED 0u
#define @_first(even, odd) (even)
#define @_second(even, odd) (odd)
#endif
#define @_pair(lower, upper) (((lower) & 0xFFFFu) | ((upper) << 16))

/* The sums [2] after word w of the weights, whose bytes are 128 too large, with these factors. */
static @@_INLINE void @_add_four(@_integers *sums, @_integers w, uint32_t first, uint32_t second) {
#if @@_LANES > 1
    const @_integers zero = {0u}, x = zero + first, y = zero + second;
#endif
#ifdef @_bytes
    sums[0] = @_bytes(sums[0], w, x);
    sums[1] = @_bytes(sums[1], w, y);
#elif defined(@_pairs)
    sums[0] += @_pairs(w & 0x00FF00FFu, x) + @_pairs((@_shorts)w >> 8, y);
#elif @@_LANES > 1
    sums[0] += (w & 0xFFu) * (@_integers)((@_signed_integers)(x << 16) >> 16) +
               ((w >> 16) & 0xFFu) * (@_integers)((@_signed_integers)x >> 16) +
               ((w >> 8) & 0xFFu) * (@_integers)((@_signed_integers)(y << 16) >> 16) +
               (w >> 24) * (@_integers)((@_signed_integers)y >> 16);
#else
    sums[0] += (uint32_t)((int32_t)(w & 0xFFu) * (int16_t)(first & 0xFFFFu)) +
               (uint32_t)((int32_t)((w >> 16) & 0xFFu) * (int16_t)(first >> 16)) +
               (uint32_t)((int32_t)((w >> 8) & 0xFFu) * (int16_t)(second & 0xFFFFu)) +
               (uint32_t)((int32_t)(w >> 24) * (int16_t)(second >> 16));
#endif
}

/* sums[row] += scale[row] * (weights[row] . x) for some rows of panels, as in the products of floats. */
static @@_INLINE void @_block_int8(
        const uint32_t *@@_RESTRICT weights, size_t width, size_t words, const @_rounded *@@_RESTRICT x,
        float *@@_RESTRICT sums, const float *@@_RESTRICT scales, size_t rows) {
    const size_t lanes = rows < @@_LANES ? rows : @@_LANES, count = rows / lanes + (rows % lanes > 0);
    size_t first, word, i;
    @_lanes total[@@_MOST];
    @@_EACH for (i = 0; i < count; ++i) total[i] = @_get(sums + @@_ROW(i, rows, lanes), lanes);
    for (first = 0; first < words; first += 128) { /* 512 products fit in 32 bits: 512 * 127 * 32512 < 2^31 */
        const size_t end = words - first < 128 ? words : first + 128;
        @_integers part[@@_MOST][2];
        @@_EACH for (i = 0; i < count; ++i) part[i][0] = part[i][1] = @_bits_of(@_all(0.0f));
        @@_ROLLED
        for (word = first; word < end; ++word)
            @@_EACH for (i = 0; i < count; ++i)
                @_add_four(
                    part[i], @_get_integers(weights + @@_PLACE(i, rows, lanes) + word * width, lanes), x->first[word],
                    x->second[word]);
        @@_EACH for (i = 0; i < count; ++i) {
#ifdef @_bytes
            part[i][0] = (part[i][0] << 8) + part[i][1];
#endif
#ifndef @@_SIGNED
            part[i][0] -= (x->sums[first / 128] - (uint32_t)(end - first) * 4u * @@_ADDED) * 128u; /* of 128 * x */
#endif
            total[i] += @_number_of(part[i][0]) * (@_get_constants(scales + @@_ROW(i, rows, lanes), lanes) * x->unit);
        }
    }
    @@_EACH for (i = 0; i < count; ++i) @_put(sums + @@_ROW(i, rows, lanes), total[i], lanes);
}

#if @@_LANES > 1
typedef uint32_t @_four __attribute__((vector_size(16)));
typedef float @_four_floats __attribute__((vector_size(16)));
typedef int32_t @_four_signed __attribute__((vector_size(16)));
#define @_four_at(i, count) (4 * (i) + 4 <= (count) ? 4 * (i) : (count) - 4)
static @@_INLINE @_four_floats @_get_four(const float *from) { @_four_floats x; memcpy(&x, from, sizeof x); return x; }
static @@_INLINE @_four @_round_four(const float *x, float inverse) {
    return (@_four)(@_get_four(x) * inverse + 12582912.0f) - (0x4B400000u - @@_ADDED);
}

/* The bits of the greatest magnitude of 4 columns or more. */
static @@_INLINE uint32_t @_greatest_of_fours(const float *x, size_t columns) {
    @_four most = {0u};
    size_t i;
    @@_EACH for (i = 0; i < (columns + 3) / 4; ++i) {
        const @_four bits = (@_four)@_get_four(x + @_four_at(i, columns)) & 0x7FFFFFFFu;
        const @_four more = (@_four)((@_four_signed)bits > (@_four_signed)most);
        most = (bits & more) | (most & ~more);
    }
    {
        const uint32_t left = most[0] > most[1] ? most[0] : most[1];
        const uint32_t right = most[2] > most[3] ? most[2] : most[3];
        return left > right ? left : right;
    }
}
/* As @_round, for a multiple of 4 columns, 16 or more. */
static @@_INLINE void @_round_fours(const float *x, @_rounded *to, float inverse, size_t words) {
    @_four sum = {0u};
    size_t i;
    @@_EACH for (i = 0; i < (words + 3) / 4; ++i) {
        const size_t k = @_four_at(i, words);
        const @_four a = @_round_four(x + k, inverse), b = @_round_four(x + words + k, inverse);
        const @_four c = @_round_four(x + 2 * words + k, inverse), d = @_round_four(x + 3 * words + k, inverse);
        const @_four even = @_pair(a, c), odd = @_pair(b, d), first = @_first(even, odd), second = @_second(even, odd);
        const @_four lanes = {0u, 1u, 2u, 3u}, added = (@_four)(lanes >= (uint32_t)(4 * i - k));
        memcpy(to->first + k, &first, sizeof first);
        memcpy(to->second + k, &second, sizeof second);
        sum += (a + b + c + d) & added; /* but for numbers that the vector before has as well */
        if (i % 32 == 31 || 4 * i + 4 >= words) {
            to->sums[i / 32] = sum[0] + sum[1] + sum[2] + sum[3];
            sum ^= sum;
        }
    }
}
#endif

/* x as numbers of 16 bits: with m the greatest magnitude in x, the integers round(x * (32512 / m)). */
static @@_INLINE void @_round(const float *x, @_rounded *to, size_t columns) {
    const size_t words = (columns + 3) / 4;
    uint32_t greatest = 0; /* floats without their sign are in order as integers, NaN above infinity */
    float magnitude, inverse;
    size_t i;
#if @@_LANES > 1
    if (columns >= 4) {
        greatest = @_greatest_of_fours(x, columns);
    } else
#endif
    for (i = 0; i < columns; ++i) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7FFFFFFFu;
        greatest = bits > greatest ? bits : greatest;
    }
    memcpy(&magnitude, &greatest, sizeof magnitude);
    magnitude = magnitude < 1e-30f ? 1e-30f : magnitude;
    inverse = 32512.0f / magnitude;
    to->unit = greatest < 0x7F800000u ? magnitude / 32512.0f : 0.0f;
#if @@_LANES > 1
    if (columns >= 16) {
        float padded[4 * @@_WIDEST];
        if (columns % 4) {
            memcpy(padded, x, columns * sizeof *x);
            memset(padded + columns, 0, (4 * words - columns) * sizeof *x);
            x = padded;
        }
        @_round_fours(x, to, inverse, words);
        return;
    }
#endif
    for (i = 0; i < (words + 127) / 128; ++i) to->sums[i] = 0u;
    for (i = 0; i < words; ++i) {
        uint32_t each[4], even, odd;
        size_t k;
        @@_EACH for (k = 0; k < 4; ++k) {
            const float shifted = (i + k * words < columns ? x[i + k * words] * inverse : 0.0f) + 12582912.0f;
            memcpy(each + k, &shifted, sizeof shifted);
            each[k] -= (0x4B400000u - @@_ADDED);
            to->sums[i / 128] += each[k];
        }
        even = @_pair(each[0], each[2]);
        odd = @_pair(each[1], each[3]);
        to->first[i] = @_first(even, odd);
        to->second[i] = @_second(even, odd);
    }
}

/* Not inlined, since it hardly ever runs. */
#ifdef __GNUC__
#define @@_APART __attribute__((noinline))
#else
#define @@_APART
#endif
/* sums[row] += scales[row] * (weights[row] . x) for the rows of panels, with floats, for an x that no integers stand for. */
static @@_APART void @_add_unrounded(
        const uint32_t *weights, size_t width, const float *scales, const float *x, float *sums, size_t rows, size_t columns) {
    const size_t words = (columns + 3) / 4;
    size_t row, column;
    for (row = 0; row < rows; ++row)
        for (column = 0; column < columns; ++column) {
            const uint32_t word = @_word(weights + row / width * width * words + column % words * width + row % width);
            const int32_t byte = (int32_t)((word >> (8 * (column / words))) & 0xFFu) - 128;
            sums[row] += (float)byte * @_constant(scales + row) * x[column];
        }
}

/* sums[row] += scales[row] * (weights[row] . x) for the rows of panels that are as wide. */
static @@_INLINE void @_add_panels_int8(
        const uint32_t *weights, size_t width, const float *scales, const float *x, const @_rounded *rounded, float *sums,
        size_t rows, size_t columns) {
    const size_t words = (columns + 3) / 4, blocks = rows / @@_ROWS * @@_ROWS;
    size_t row;
    if (rounded->unit == 0.0f) @_add_unrounded(weights, width, scales, x, sums, rows, columns); /* the others add zeros */
    for (row = 0; row < blocks; row += @@_ROWS)
        @_block_int8(
            weights + row / width * width * words + row % width, width, words, rounded, sums + row, scales + row, @@_ROWS);
    weights += row / width * width * words + row % width;
    if (row < rows) @_block_int8(weights, width, words, rounded, sums + row, scales + row, rows - row);
}

/* sums[row] += scales[row] * (weights[row] . x); `rounded` is what @_round made of x. The weights are in panels, as those of
   the products of floats. */
static @@_INLINE void @_add_rows_int8(
        const uint32_t *weights, const float *scales, const float *x, const @_rounded *rounded, float *sums, size_t rows,
        size_t columns) {
    const size_t whole = @@_WHOLE(rows);
    if (whole) @_add_panels_int8(weights, 16, scales, x, rounded, sums, whole, columns);
    if (whole < rows)
        @_add_panels_int8(
            weights + whole * ((columns + 3) / 4), rows - whole, scales + whole, x, rounded, sums + whole, rows - whole, columns);
}

/* The same with an x that is not rounded yet. */
static @@_INLINE void @_add_products_int8(
        const uint32_t *weights, const float *scales, const float *x, float *sums, size_t rows, size_t columns) {
    @_rounded rounded;
    @_round(x, &rounded, columns);
    @_add_rows_int8(weights, scales, x, &rounded, sums, rows, columns);
}
"""
