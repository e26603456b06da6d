"""The functions in C that only graphs need."""

SOFTMAX = """
/* y = e^x divided by its sum. */
static @@_INLINE void @_softmax(const float *x, float *y, size_t count) {
    float greatest = x[0], sum = 0.0f;
    size_t i;
    for (i = 1; i < count; ++i) greatest = x[i] > greatest ? x[i] : greatest;
    for (i = 0; i < count; ++i) sum += y[i] = expf(x[i] - greatest);
    for (i = 0; i < count; ++i) y[i] /= sum;
}
"""

EMBEDDING = """
/* The rows of a table by their numbers; zeros for a number that the table does not have. */
static @@_INLINE void @_embedding(
        const float *table, const float *numbers, float *y, size_t count, size_t rows, size_t size) {
    size_t i;
    for (i = 0; i < count; ++i) {
        if (numbers[i] >= 0.0f && numbers[i] < (float)rows)
            @_copy(y + i * size, table + (size_t)numbers[i] * size, size * sizeof *y);
        else
            memset(y + i * size, 0, size * sizeof *y);
    }
}
"""

_ABOUT = """
/* <about>
   x [groups * inputs][x_rows][x_columns], y [groups * outputs][y_rows][y_columns],
   weights <shape>[rows][columns]. */
static inline void @_<name>(
        const float *@@_RESTRICT weights, const float *@@_RESTRICT x, float *@@_RESTRICT y, size_t rows, size_t columns,
        size_t inputs, size_t outputs, size_t groups, size_t x_rows, size_t x_columns, size_t y_rows, size_t y_columns,
        size_t down, size_t right, size_t gap_down, size_t gap_right) {
    size_t g, c, o, a, b, i, j;
    for (g = 0; g < groups; ++g)
        for (<outer>)
            for (<inner>)
                for (a = 0; a < rows; ++a)
                    for (b = 0; b < columns; ++b, ++weights)
                        for (i = 0; i < <lines>; ++i) {
                            const float weight = @_constant(weights);
                            const float *from = x + ((g * inputs + c) * x_rows + <x_row>) * x_columns<x_column>;
                            float *to = y + ((g * outputs + o) * y_rows + <y_row>) * y_columns<y_column>;
<sums>
                        }
}
"""


def _function(**places: str) -> str:
    text = _ABOUT
    for place, words in places.items():
        text = text.replace(f"<{place}>", words)
    return text


_SUMS = """\
                            if (right == 1)
                                for (j = 0; j < {0}; ++j) to[j] += weight * from[j];
                            else
                                for (j = 0; j < {0}; ++j) {1};"""

CONVOLUTION = _function(
    about="y[o][i][j] += the sum of weights[o][c][a][b] * x[c][i * down + a * gap_down][j * right + b * gap_right].",
    name="convolution",
    shape="[groups * outputs][inputs]",
    outer="o = 0; o < outputs; ++o",
    inner="c = 0; c < inputs; ++c",
    lines="y_rows",
    x_row="i * down + a * gap_down",
    x_column=" + b * gap_right",
    y_row="i",
    y_column="",
    sums=_SUMS.format("y_columns", "to[j] += weight * from[j * right]"),
)

TRANSPOSED = _function(
    about="y[o][i * down + a * gap_down][j * right + b * gap_right] += weights[c][o][a][b] * x[c][i][j].",
    name="convolution_transposed",
    shape="[groups * inputs][outputs]",
    outer="c = 0; c < inputs; ++c",
    inner="o = 0; o < outputs; ++o",
    lines="x_rows",
    x_row="i",
    x_column="",
    y_row="i * down + a * gap_down",
    y_column=" + b * gap_right",
    sums=_SUMS.format("x_columns", "to[j * right] += weight * from[j]"),
)
