"""The parts of a file that do not depend on its arithmetic.

`@` is the model's name, `@@` the same in capitals; <words> are filled in.
"""

ABOUT = {
    "steps": """
     static @_state state;                     a state for each stream; as many as you like
     @_reset(&state);                          <start>; for other states assign to its fields
     @_step(&state, input, output);            float input[@@_INPUTS], output[@@_OUTPUTS]
     @_run(&state, input, NULL, 64, output);   64 steps: float input[64][@@_INPUTS], output[64][@@_OUTPUTS]

   `output` may be `input`, where they are as long. The third argument of @_run may be an array of bytes, one for each
   step: where it is not 0, the state is reset before that step. A state is copied by assignment.
""".lstrip("\n"),
    "chunks": """
     static @_state state;
     static float scratch[@@_SCRATCH(64)];
     @_reset(&state);                          <start>; for other states assign to its fields
     @_run(&state, input, NULL, 64, output, scratch);
                                  float input[64][@@_INPUTS], output[64][@@_OUTPUTS]

   A layer that reads both ways needs a whole sequence, so there are no single steps. `state` has the states before the
   call (of a reverse direction: before the last step), and after it those at the end. The third argument may be an
   array of bytes, one for each step: where it is not 0, the state becomes zeros before that step.
""".lstrip("\n"),
}

HEAD = """\
/* @: a recurrent network as one file of C99 (and C++11), written by anygru.

<structure>

   Its numbers take <bytes> bytes of constants, a state takes <state>. It calls nothing but memcpy and memset<needs>,
   allocates nothing, and takes the same time for every input<but>.

<use>

   Include it in one file of your program. Compile with -O3 and for your CPU (-march=native, -mcpu=cortex-m7, -msimd128);
   with gcc not as -std=c99 but -std=gnu99, or with -ffp-contract=fast, so that it may fuse multiplications and additions. */
#ifndef @_HEADER
#define @_HEADER
#ifdef @@_INPUTS
#error "two models in one program have names that differ only in case: export one of them with another name"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>
<math>
#define @@_INPUTS <inputs>
#define @@_OUTPUTS <outputs>
<rate><scratch>
/* The states of the layers, [layers * directions][hidden], in the order of torch's h_n. */
typedef struct {
<fields><turn>} @_state;

/* Functions become code for their call's sizes, unless the smallest code is asked for (-Os), or none that is fast (-O0). */
#if defined(__OPTIMIZE_SIZE__) || (defined(__GNUC__) && !defined(__OPTIMIZE__))
#define @@_INLINE inline
#elif defined(__GNUC__)
#define @@_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define @@_INLINE __forceinline
#else
#define @@_INLINE inline
#endif

#if defined(__cplusplus) || defined(_MSC_VER)
#define @@_RESTRICT __restrict
#else
#define @@_RESTRICT restrict
#endif

#if defined(__GNUC__) && !defined(__AVR__)
#define @@_ALIGNED __attribute__((aligned(64)))
#else
#define @@_ALIGNED
#endif

/* An AVR has its flash in another address space: these read and copy numbers of it. Elsewhere constants are memory. */
#ifdef __AVR__
#include <avr/io.h>
#include <avr/pgmspace.h>
#if <flash> > 0xFF00
#error "the constants are more than the 64 KiB of flash that pointers of an AVR reach"
#elif defined(RAMEND) && <memory> > RAMEND - RAMSTART + 1
#error "a state and a step take <memory> bytes of memory or more, and this AVR has less"
#endif
#define @@_FLASH PROGMEM
#define @_copy memcpy_P
#define @_constant(place) pgm_read_float(place)
#define @_word(place) pgm_read_dword(place)
#else
#define @@_FLASH @@_ALIGNED
#define @_copy memcpy
#define @_constant(place) (*(place))
#define @_word(place) (*(place))
#endif

/* Floats that are computed at once. GNU's vectors are written as numbers are; other compilers get plain floats. */
#if !defined(__GNUC__) || defined(__OPTIMIZE_SIZE__) || (!defined(__clang__) && __GNUC__ < 9)
#define @@_LANES 1
#elif defined(__AVX512F__) && <most> >= 16
#define @@_LANES 16
#elif defined(__AVX__) && <most> >= 8
#define @@_LANES 8
#elif (defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__)) && <most> >= 4
#define @@_LANES 4
#else
#define @@_LANES 1
#endif
/* Rows and columns at a time, and sums over columns that take turns: eight to twelve registers are at work, since of additions,
   which take four cycles, two begin in each. */
#define @@_ROWS (@@_LANES == 1 ? 4 : @@_LANES == 4 ? 16 : 96)
#ifdef __wasm__ /* V8 loads all that a loop reads first, and has 15 registers */
#define @@_PHASES(vectors) ((vectors) > 2 ? 1 : 2)
#define @@_COLUMNS 2
#define @@_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define @@_PHASES(vectors) ((vectors) > 6 || @@_LANES == 1 ? 1 : (vectors) > 3 ? 2 : 4)
#define @@_COLUMNS 4
#define @@_ROLLED
#endif
#if @@_LANES > 1 && !defined(__clang__) /* at -O2 gcc leaves loops of known length, and their sums in memory */
#define @@_EACH _Pragma("GCC unroll 16")
#else
#define @@_EACH
#endif
/* Rows as vectors: the row with which vector i begins, the last as far from the end as it is long; where its weights are in
   panels of `width` rows; and the rows that are in panels of 16. */
#define @@_MOST (@@_LANES == 4 ? 8 : @@_ROWS / @@_LANES)
#define @@_VECTORS(rows) (((rows) + @@_LANES - 1) / @@_LANES)
#define @@_ROW(i, rows, lanes) (((i) + 1) * (lanes) <= (rows) ? (i) * (lanes) : (rows) - (lanes))
#define @@_PLACE(i, rows, lanes) (@@_ROW(i, rows, lanes) / width * width * words + @@_ROW(i, rows, lanes) % width)
#define @@_WHOLE(rows) ((rows) % 16 == 0 ? (rows) : (rows) < 32 ? 0 : ((rows) / 16 - 1) * 16)

#if @@_LANES == 1
typedef float @_lanes;
typedef uint32_t @_integers;
typedef int32_t @_signed_integers;
static @@_INLINE @_lanes @_get(const float *from, size_t count) { return count ? *from : 0.0f; }
static @@_INLINE @_lanes @_get_constants(const float *from, size_t count) { return count ? @_constant(from) : 0.0f; }
static @@_INLINE void @_put(float *to, @_lanes x, size_t count) { if (count) *to = x; }
static @@_INLINE @_integers @_bits_of(@_lanes x) { @_integers bits; memcpy(&bits, &x, sizeof bits); return bits; }
static @@_INLINE @_lanes @_of_bits(@_integers bits) { @_lanes x; memcpy(&x, &bits, sizeof x); return x; }
static @@_INLINE @_lanes @_number_of(@_integers n) { return (float)(int32_t)n; }
static @@_INLINE @_integers @_less(@_lanes x, @_lanes y) { return x < y ? 0xFFFFFFFFu : 0u; }
static @@_INLINE @_lanes @_all(float x) { return x; }
#else
typedef float @_lanes __attribute__((vector_size(4 * @@_LANES)));
typedef uint32_t @_integers __attribute__((vector_size(4 * @@_LANES)));
typedef int32_t @_signed_integers __attribute__((vector_size(4 * @@_LANES)));
/* The first `count` floats, and zeros where they are fewer than the lanes. */
static @@_INLINE @_lanes @_get(const float *from, size_t count) {
    @_lanes x = {0.0f};
    memcpy(&x, from, count * sizeof *from);
    return x;
}
#define @_get_constants @_get
static @@_INLINE void @_put(float *to, @_lanes x, size_t count) { memcpy(to, &x, count * sizeof *to); }
static @@_INLINE @_integers @_bits_of(@_lanes x) { return (@_integers)x; }
static @@_INLINE @_lanes @_of_bits(@_integers bits) { return (@_lanes)bits; }
static @@_INLINE @_lanes @_number_of(@_integers n) { return __builtin_convertvector((@_signed_integers)n, @_lanes); }
static @@_INLINE @_integers @_less(@_lanes x, @_lanes y) { return (@_integers)(x < y); }
static @@_INLINE @_lanes @_all(float x) { const @_lanes zero = {0.0f}; return x - zero; } /* keeps -0 */
#endif
static @@_INLINE @_lanes @_choose(@_integers where, @_lanes x, @_lanes y) {
    return @_of_bits((@_bits_of(x) & where) | (@_bits_of(y) & ~where));
}
<widest>"""

RESET = """
/* Starts a sequence from <start>. */
static inline void @_reset(@_state *state) {
    memset(state, 0, sizeof *state);
<starts>}
"""

STEP_AND_RUN = """
/* One step: the output for one input. */
static inline void @_step(@_state *state, const float *input, float *output) {
<lines>
}

/* Some steps, one after another. */
static inline void @_run(
        @_state *state, const float *input, const unsigned char *resets, size_t steps, float *output) {
    size_t t;
    for (t = 0; t < steps; ++t) {
        if (resets && resets[t]) @_reset(state);
        @_step(state, input + t * @@_INPUTS, output + t * @@_OUTPUTS);
    }
}
"""

BIDIRECTIONAL_RUN = """
/* A whole sequence. */
static inline void @_run(
        @_state *state, const float *input, const unsigned char *resets, size_t steps, float *output, float *scratch) {
    size_t t;
<lines>
    memcpy(output, <value>, steps * @@_OUTPUTS * sizeof *output);
}
"""
