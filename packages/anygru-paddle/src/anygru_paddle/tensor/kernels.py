"""For which dtypes Paddle 2.6.2 has no CPU kernel (recorded, function by function, with arguments that fit).

It looks for the kernel before it looks at shapes, axes and positions, so a call that is wrong in both has a RuntimeError.
Operations
that give right results for such a dtype here stay available.
"""

import torch

from ..base.errors import no_kernel

_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_LETTERS = {
    "?": torch.bool, "B": torch.uint8, "b": torch.int8, "h": torch.int16, "i": torch.int32, "l": torch.int64,
    "f": torch.float32, "d": torch.float64, "F": torch.complex64, "D": torch.complex128,
}  # fmt: skip
_WITHOUT: dict[str, str] = {
    "?Bb": "add subtract",
    "?BbFD": "cumsum",
    "?Bbh": """cumprod dot index_sample index_select inner kron linear matmul mm multiplex outer roll trace
        unstack""",
    "?BbhFD": """amax amin argsort atan2 clip cross cummax cummin diag fmax fmin heaviside index_add kthvalue
        logaddexp masked_fill masked_select max maximum min minimum mode mse_loss nansum pow prod remainder
        repeat_interleave scatter searchsorted sort topk where""",
    "?BbhfdFD": "one_hot",
    "?Bbhil": "eigh l1_loss",
    "?BbhilFD": """addmm binary_cross_entropy bmm cholesky conv1d conv2d conv3d det hypot inv kl_div lerp log_softmax
        logcumsumexp logsumexp matrix_power mv nextafter qr renorm slogdet smooth_l1_loss softmax solve svd
        triangular_solve""",
    "?BhilFD": "embedding",
    "?FD": "floor_divide",
    "?bFD": "argmax argmin",
    "?bhFD": "gather put_along_axis take_along_axis",
    "B": "logical_and",
    "Bbh": "flip mean multiply tril triu",
    "BbhFD": "all any fill_diagonal_",
    "FD": "equal greater_equal greater_than less_equal less_than not_equal",
    "fdFD": "bitwise_and bitwise_or bitwise_xor",
    "hFD": "split",
}
_LACKING = {
    name: frozenset(_LETTERS[letter] for letter in letters)
    for letters, names in _WITHOUT.items()
    for name in names.split()
}


def lacking(name: str, x: object) -> RuntimeError | None:
    """Paddle's error for the function `name` of `x`, if `x` is a tensor of a dtype without a kernel."""
    if isinstance(x, torch.Tensor) and _dtype(x) in _LACKING.get(name, ()):
        return no_kernel(f"(NotFound) {name}() is not implemented for {x.dtype}; cast to float32 first")
    return None
