"""Tables of operators of torch: views, and functions of one number at a time."""

VIEWS = frozenset(
    (
        "alias",
        "chunk",
        "clone",
        "contiguous",
        "detach",
        "dropout",
        "expand",
        "expand_as",
        "flatten",
        "lift_fresh_copy",
        "movedim",
        "narrow",
        "permute",
        "reshape",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unflatten",
        "unsafe_split",
        "unsqueeze",
        "view",
        "_unsafe_view",
        "_reshape_alias",
    )
)
"""Operators that move no numbers, or that do nothing in inference."""

LANES = frozenset(["sigmoid", "tanh", "relu", "hardsigmoid", "silu"])
"""Activations without options that `functions.py` computes for several numbers at once."""

EXPRESSIONS = {
    "abs": "fabsf({1})",
    "cos": "cosf({1})",
    "div": "{1} / {2}",
    "eq": "{1} == {2} ? 1.0f : 0.0f",
    "exp": "expf({1})",
    "expm1": "expm1f({1})",
    "floor": "floorf({1})",
    "ge": "{1} >= {2} ? 1.0f : 0.0f",
    "gt": "{1} > {2} ? 1.0f : 0.0f",
    "hardswish": "{1} * ({1} <= -3.0f ? 0.0f : {1} >= 3.0f ? 1.0f : {1} * 0.166666667f + 0.5f)",
    "le": "{1} <= {2} ? 1.0f : 0.0f",
    "log": "logf({1})",
    "log10": "log10f({1})",
    "log1p": "log1pf({1})",
    "log2": "log2f({1})",
    "lt": "{1} < {2} ? 1.0f : 0.0f",
    "masked_fill": "{2} != 0.0f ? {3} : {1}",
    "maximum": "{1} > {2} ? {1} : {2}",
    "minimum": "{1} < {2} ? {1} : {2}",
    "mish": "{1} * tanhf(log1pf(expf({1})))",
    "mul": "{1} * {2}",
    "neg": "-{1}",
    "reciprocal": "1.0f / {1}",
    "relu6": "{1} < 0.0f ? 0.0f : {1} > 6.0f ? 6.0f : {1}",
    "rsqrt": "1.0f / sqrtf({1})",
    "sin": "sinf({1})",
    "softsign": "{1} / (1.0f + fabsf({1}))",
    "square": "{1} * {1}",
    "sqrt": "sqrtf({1})",
    "where": "{1} != 0.0f ? {2} : {3}",
}
"""The expression in C for each operator that takes only tensors or numbers, {1} the first."""
