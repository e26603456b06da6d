"""The functions in C that a file may contain, each with the functions that it calls.

In the texts `@` is the name of the model and `@@` the same in capitals; C has no such letter. Sizes are arguments, and constants
where the functions are called, so that a compiler that inlines them makes loops of known length for each layer.
"""

from collections.abc import Iterable
from typing import NamedTuple

from .int8 import PRODUCTS
from .tensor_functions import CONVOLUTION, EMBEDDING, SOFTMAX, TRANSPOSED

PANEL = 16
"""Rows that are stored together, column by column: one vector of AVX-512, and a piece of memory that is read in its order."""
DOT_BELOW = 4
"""A product with fewer rows is a sum along each row; too few lanes would be at work otherwise."""


class Function(NamedTuple):
    text: str
    needs: tuple[str, ...] = ()
    math: bool = False
    """Whether it calls a function of <math.h>."""


def _of_lanes(name: str, body: str, *needs: str) -> Function:
    """An activation of `x`, which holds several numbers at once."""
    return Function(f"static @@_INLINE @_lanes @_{name}(@_lanes x) {{\n    {body}\n}}\n", needs)


def _of_each(name: str, value: str) -> Function:
    """An activation that is computed number by number, with functions of <math.h>."""
    text = """
static @@_INLINE @_lanes @_NAME(@_lanes lanes) {
    float each[@@_LANES];
    size_t i;
    @_put(each, lanes, @@_LANES);
    for (i = 0; i < @@_LANES; ++i) {
        const float x = each[i];
        each[i] = VALUE;
    }
    return @_get(each, @@_LANES);
}
"""
    return Function(text.replace("NAME", name).replace("VALUE", value), math=True)


_BLOCK = """
/* sums[row] += weights[row] . x for `rows` rows of panels that are `width` rows wide, `words` numbers of each. Where they are no
   multiple of @@_LANES, the last vector reads rows of the one before too. Of few rows the columns take turns in several sums,
   so that no addition waits for the last. */
static @@_INLINE void @_block<suffix>(
        const <type> *@@_RESTRICT weights, size_t width, size_t words, const float *@@_RESTRICT x, float *@@_RESTRICT sums,
        size_t rows, size_t columns) {
    @_lanes part[4][@@_MOST];
    const size_t lanes = rows < @@_LANES ? rows : @@_LANES, count = rows / lanes + (rows % lanes > 0);
    const size_t whole = columns / @@_COLUMNS * @@_COLUMNS, phases = @@_PHASES(count);
    size_t phase, i, k, column;
    @@_EACH for (phase = 0; phase < phases; ++phase)
        @@_EACH for (i = 0; i < count; ++i) part[phase][i] = phase ? @_all(0.0f) : @_get(sums + @@_ROW(i, rows, lanes), lanes);
    @@_ROLLED
    for (column = 0; column < whole; column += @@_COLUMNS<advance>)
        @@_EACH for (k = 0; k < @@_COLUMNS; ++k)
            @@_EACH for (i = 0; i < count; ++i)
                part[k % phases][i] += @_weight<suffix>(
                    weights + @@_PLACE(i, rows, lanes) + <word> * width, lanes<place>) * x[column + k];
    @@_EACH for (k = 0; k < columns - whole; ++k)
        @@_EACH for (i = 0; i < count; ++i)
            part[0][i] += @_weight<suffix>(
                weights + @@_PLACE(i, rows, lanes) + <last> * width, lanes<place>) * x[whole + k];
    @@_EACH for (phase = phases / 2; phase; phase /= 2)
        @@_EACH for (k = 0; k < phase; ++k)
            @@_EACH for (i = 0; i < count; ++i) part[k][i] += part[k + phase][i];
    @@_EACH for (i = 0; i < count; ++i) @_put(sums + @@_ROW(i, rows, lanes), part[0][i], lanes);
}

/* sums[row] += weights[row] . x for the rows of panels that are as wide; all may be fewer than @@_LANES. */
static @@_INLINE void @_add_panels<suffix>(
        const <type> *weights, size_t width, const float *x, float *sums, size_t rows, size_t columns) {
    const size_t words = <count>, blocks = rows / @@_ROWS * @@_ROWS;
    size_t row;
    for (row = 0; row < blocks; row += @@_ROWS)
        @_block<suffix>(
            weights + row / width * width * words + row % width, width, words, x, sums + row, @@_ROWS, columns);
    weights += row / width * width * words + row % width;
    if (row < rows) @_block<suffix>(weights, width, words, x, sums + row, rows - row, columns);
}

/* sums[row] += weights[row] . x; the weights are in panels of 16 rows, the last of up to 31. */
static @@_INLINE void @_add_rows<suffix>(
        const <type> *weights, const float *x, float *sums, size_t rows, size_t columns) {
    const size_t whole = @@_WHOLE(rows);
    if (whole) @_add_panels<suffix>(weights, 16, x, sums, whole, columns);
    if (whole < rows)
        @_add_panels<suffix>(weights + whole * (<count>), rows - whole, x, sums + whole, rows - whole, columns);
}
"""


def _products(weight: str, suffix: str, together: int) -> str:
    """The product with a matrix in which this number of columns shares one number in C.

    Wide numbers are split by shifts, which every machine does lane by lane; gcc compiles conversions of narrow numbers to
    long code.
    """
    places = {
        "suffix": suffix,
        "type": "float" if together == 1 else "uint32_t",
        # clang computes addresses of floats faster from the column, and shares a number of two columns only without it.
        "advance": "" if together == 1 else f", weights += @@_COLUMNS / {together} * width",
        "word": "(column + k)" if together == 1 else f"k / {together}",
        "last": "(whole + k)" if together == 1 else f"k / {together}",
        "place": "" if together == 1 else f", k % {together}",
        "count": "columns" if together == 1 else f"(columns + {together - 1}) / {together}",
    }
    text = weight + _BLOCK
    for place, word in places.items():
        text = text.replace(f"<{place}>", word)
    return text


FUNCTIONS: dict[str, Function] = {
    "bounds": Function(
        """
#if @@_LANES > 1 && defined(__AVX__)
/* One instruction, which keeps a NaN in its last operand; of a choice gcc makes four that wait for one another. */
static @@_INLINE @_lanes @_at_least(@_lanes x, float bound) {
    @_lanes found;
    __asm__("vmaxps %1, %2, %0" : "=v"(found) : "v"(x), "v"(@_all(bound)));
    return found;
}
static @@_INLINE @_lanes @_at_most(@_lanes x, float bound) {
    @_lanes found;
    __asm__("vminps %1, %2, %0" : "=v"(found) : "v"(x), "v"(@_all(bound)));
    return found;
}
#elif @@_LANES == 4 && defined(__wasm_simd128__)
/* One instruction, as above; clang makes f32x4.min of a choice, for which x86 needs seven. */
#include <wasm_simd128.h>
static @@_INLINE @_lanes @_at_least(@_lanes x, float bound) {
    return (@_lanes)wasm_f32x4_pmax((v128_t)x, (v128_t)@_all(bound));
}
static @@_INLINE @_lanes @_at_most(@_lanes x, float bound) {
    return (@_lanes)wasm_f32x4_pmin((v128_t)x, (v128_t)@_all(bound));
}
#else
static @@_INLINE @_lanes @_at_least(@_lanes x, float bound) { return @_choose(@_less(x, @_all(bound)), @_all(bound), x); }
static @@_INLINE @_lanes @_at_most(@_lanes x, float bound) { return @_choose(@_less(@_all(bound), x), @_all(bound), x); }
#endif
"""
    ),
    "exponential": Function(
        """
/* e^y + 1, and e^y - 1 in *less, for y = x * factor: with y = n ln(2) + f and |f| <= ln(2) / 2, e^y is
   2^n * (1 + f + f^2 * rest). y counts as within -87 and 87. The sums wait for as few of their terms as can be. */
static @@_INLINE @_lanes @_exponential(@_lanes x, float factor, float bound, @_lanes *less) {
    const @_lanes bounded = @_at_most(@_at_least(x, -bound), bound); /* keeps NaN */
    /* Added to 1.5 * 2^23, a number is rounded, and the lowest bits of the sum are the integer. */
    const @_integers n = @_bits_of(bounded * (1.44269504f * factor) + 12582912.0f) - 0x4B400000u;
    const @_lanes f = @_number_of(n) * -0.693147181f + bounded * factor, power = @_of_bits((n + 127u) << 23);
    const @_lanes low = f * 0.166665167f + 0.5f, high = f * 0.00836914405f + 0.0416662693f;
    const @_lanes square = f * f, rest = (square * 0.00139461947f + high) * square + low;
    *less = (power * square) * rest + (power * f + (power - 1.0f));
    return (power * square) * rest + (power * f + (power + 1.0f));
}
""",
        ("bounds",),
    ),
    "sigmoid": Function(
        """
/* 1 / (1 + e^-x) */
static @@_INLINE @_lanes @_sigmoid(@_lanes x) {
    @_lanes less;
    return 1.0f / @_exponential(x, -1.0f, 87.0f, &less);
}
""",
        ("exponential",),
    ),
    "tanh": Function(
        """
/* (e^2x - 1) / (e^2x + 1) */
static @@_INLINE @_lanes @_tanh(@_lanes x) {
    @_lanes less;
    const @_lanes more = @_exponential(x, 2.0f, 43.5f, &less);
    return less / more;
}
""",
        ("exponential",),
    ),
    "relu": _of_lanes("relu", "return @_at_least(x, 0.0f);", "bounds"),
    "identity": _of_lanes("identity", "return x;"),
    "hardsigmoid": _of_lanes(
        "hardsigmoid", "return @_at_most(@_at_least(x * 0.166666667f + 0.5f, 0.0f), 1.0f);", "bounds"
    ),
    "hardtanh": _of_lanes("hardtanh", "return @_at_most(@_at_least(x, -1.0f), 1.0f);", "bounds"),
    "softsign": _of_lanes("softsign", "return x / (@_of_bits(@_bits_of(x) & 0x7FFFFFFFu) + 1.0f);"),
    "softplus": _of_each("softplus", "x > 20.0f ? x : log1pf(expf(x))"),
    "elu": Function(
        """
/* x where x > 0, e^x - 1 elsewhere */
static @@_INLINE @_lanes @_elu(@_lanes x) {
    @_lanes less;
    @_exponential(x, 1.0f, 87.0f, &less);
    return @_choose(@_less(@_all(0.0f), x), x, less);
}
""",
        ("exponential",),
    ),
    "gelu": _of_each("gelu", "x * 0.5f * (1.0f + erff(x * 0.707106781f))"),
    "silu": _of_lanes("silu", "return x * @_sigmoid(x);", "sigmoid"),
    "products_float32": Function(_products("#define @_weight @_get_constants\n", "", 1)),
    "products_bfloat16": Function(
        _products(
            "/* A bfloat16 is the upper half of a float; two columns share a number, the first in its lower half. */\n"
            "static @@_INLINE @_lanes @_weight<suffix>(const uint32_t *from, size_t count, size_t column) {\n"
            "    const @_integers both = @_get_integers(from, count);\n"
            "    return @_of_bits(column ? both & 0xFFFF0000u : both << 16);\n"
            "}\n",
            "_bfloat16",
            2,
        ),
        ("get_integers",),
    ),
    "products_int8": Function(PRODUCTS, ("get_integers",)),
    "dots": Function(
        """
/* sums[row] += weights[row] . x for few rows, whose weights are stored row by row. */
static @@_INLINE void @_add_dots(
        const float *@@_RESTRICT weights, const float *@@_RESTRICT x, float *@@_RESTRICT sums, size_t rows, size_t columns) {
    const size_t whole = columns / @@_LANES * @@_LANES;
    size_t row, i;
    for (row = 0; row < rows; ++row, weights += columns) {
        float each[@@_LANES < 4 ? 4 : @@_LANES] = {0.0f};
        @_lanes part = @_all(0.0f);
        for (i = 0; i < whole; i += @@_LANES) part += @_get_constants(weights + i, @@_LANES) * @_get(x + i, @@_LANES);
        if (whole < columns) part += @_get_constants(weights + whole, columns - whole) * @_get(x + whole, columns - whole);
        @_put(each, part, @@_LANES);
        for (i = 0; i < 8 && @@_LANES == 16; ++i) each[i] += each[i + 8 % @@_LANES];
        for (i = 0; i < 4 && @@_LANES >= 8; ++i) each[i] += each[i + 4 % @@_LANES];
        sums[row] += (each[0] + each[1]) + (each[2] + each[3]);
    }
}
"""
    ),
    "layer_norm": Function(
        """
/* values -> (values - mean) / sqrt(variance + epsilon) * gain + bias; gain and bias may be NULL. */
static @@_INLINE void @_layer_norm(float *values, const float *gain, const float *bias, float epsilon, size_t count) {
    float mean = 0.0f, variance = 0.0f, factor;
    size_t i;
    for (i = 0; i < count; ++i) mean += values[i];
    mean /= (float)count;
    for (i = 0; i < count; ++i) variance += (values[i] - mean) * (values[i] - mean);
    factor = 1.0f / sqrtf(variance / (float)count + epsilon);
    for (i = 0; i < count; ++i)
        values[i] = (values[i] - mean) * factor * (gain ? @_constant(gain + i) : 1.0f) + (bias ? @_constant(bias + i) : 0.0f);
}
""",
        math=True,
    ),
    "softmax": Function(SOFTMAX, math=True),
    "embedding": Function(EMBEDDING),
    "convolution": Function(CONVOLUTION),
    "convolution_transposed": Function(TRANSPOSED),
    "get_integers": Function(
        """
#if @@_LANES == 1
static @@_INLINE @_integers @_get_integers(const uint32_t *from, size_t count) { return count ? @_word(from) : 0u; }
#else
static @@_INLINE @_integers @_get_integers(const uint32_t *from, size_t count) {
    @_integers found = {0u};
    memcpy(&found, from, count * sizeof *from);
    return found;
}
#endif
"""
    ),
}

GATES = {
    "after": """
/* From the sums b [3][units] for the reset gate r, the update gate z and the candidate n, that of n without its part a from the
   input:  r = <gate>(b_r),  z = <gate>(b_z),  n = <candidate>(a + r * b_n),  h = (1 - z) * n + z * h. */
static @@_INLINE @_lanes @_<name>_at(const float *a, const float *b, const float *h, size_t units) {
    const @_lanes r = @_<gate>(@_get(b, @@_LANES)), z = @_<gate>(@_get(b + units, @@_LANES));
    const @_lanes n = @_<candidate>(@_get(a, @@_LANES) + r * @_get(b + 2 * units, @@_LANES)), kept = <kept>;
    return (1.0f - kept) * n + kept * @_get(h, @@_LANES);
}
""",
    "before": """
/* The reset gate r = <gate>(a_r + b_r), and what the candidate reads of the state: r * h. */
static @@_INLINE void @_<name>_reset(
        const float *@@_RESTRICT a, const float *@@_RESTRICT b, const float *@@_RESTRICT h, float *@@_RESTRICT read,
        size_t hidden) {
    size_t i;
    for (i = 0; i < @@_VECTORS(hidden); ++i) {
        const size_t k = @@_ROW(i, hidden, @@_LANES);
        @_put(read + k, @_<gate>(@_get(a + k, @@_LANES) + @_get(b + k, @@_LANES)) * @_get(h + k, @@_LANES), @@_LANES);
    }
}

/* The update gate z = <gate>(a_z + b_z), the candidate n = <candidate>(a_n + b_n) and the state h = (1 - z) * n + z * h. */
static @@_INLINE @_lanes @_<name>_at(const float *a, const float *b, const float *h, size_t units) {
    const @_lanes z = @_<gate>(@_get(a + units, @@_LANES) + @_get(b + units, @@_LANES)), kept = <kept>;
    const @_lanes n = @_<candidate>(@_get(a + 2 * units, @@_LANES) + @_get(b + 2 * units, @@_LANES));
    return (1.0f - kept) * n + kept * @_get(h, @@_LANES);
}
""",
}
"""The part of a step that is not a product, by the formula."""

ALL_GATES = """
static @@_INLINE void @_<name>(
        const float *@@_RESTRICT a, const float *@@_RESTRICT b, const float *h, float *next, size_t units) {
    const size_t last = units - @@_LANES; /* first, since `next` may be h; no layer has fewer units than lanes */
    const @_lanes end = @_<name>_at(a + last, b + last, h + last, units);
    size_t i;
    for (i = 0; i < last; i += @@_LANES) @_put(next + i, @_<name>_at(a + i, b + i, h + i, units), @@_LANES);
    @_put(next + last, end, @@_LANES);
}
"""

APPLY = """
static @@_INLINE void @_apply_<activation>(const float *x, float *y, size_t count) {
    const size_t whole = count / @@_LANES * @@_LANES;
    size_t i;
    for (i = 0; i < whole; i += @@_LANES) @_put(y + i, @_<activation>(@_get(x + i, @@_LANES)), @@_LANES);
    if (whole < count) @_put(y + whole, @_<activation>(@_get(x + whole, count - whole)), count - whole);
}
"""


def with_needs(names: Iterable[str]) -> list[str]:
    """The functions of these names and the functions that they call, callees first, without repetition."""
    found: dict[str, None] = {}

    def add(name: str) -> None:
        for needed in FUNCTIONS[name].needs:
            add(needed)
        found.setdefault(name)

    for name in names:
        add(name)
    return list(found)
