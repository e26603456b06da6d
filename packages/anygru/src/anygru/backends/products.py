"""In which dtype the products of a call may be computed on the CPU, and where torch multiplies faster than our kernels.

Kernels with units for bfloat16 (AMX, AVX512_BF16, Arm's bfmmla) multiply half precision with them. They take all weights apart
in each call, which pays from FEW rows on; fewer rows are multiplied as float32. torch's own kernel is faster for a step or a few
of large weights: where weights / steps > SHORT. A single step of IN_PLACE rows in bfloat16 reads its weights as they are, and
widens them in registers; no size was found where torch's kernel is faster.

Other kernels of ours multiply bfloat16 and float16 as float32. Where torch has units for these dtypes its kernel wins if products
are large, since it spends more time between them. The rule, with W weights in a direction of a layer (their mean), B sequences in
a step (the mean of a ragged batch) and T steps:

    W * (B + 24 / T) > limit        24 / T: our kernels convert the weights once in a call

docs/kernels.md has the measurements. Without such units torch is faster only for a few steps of one sequence: it reads
the weights once and in half the width; then B counts as 0.
"""

import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from ..facts import torch_private
from ..facts.problem import Problem
from . import cpu_calls

CONVERTING = 24
"""The conversion of a weight takes the time that this number of multiply-adds saves."""
LIMITS = {"amx": 5e6, "avx512": 14e6}
"""Multiply-adds a step, from which on torch's kernel is faster, by the units of the CPU."""
SHORT = 250e3
"""Weights per step from which on a call is too short for our kernels with units, which take all weights apart first."""
FEW = 16
"""Rows of a call in half precision from which on taking the weights apart pays."""
IN_PLACE = 4
"""Rows of a single step in bfloat16 whose weights our kernels read without a copy in float32 (`few_rows` in csrc/call.hpp)."""
AUTOCAST_LIMITS = {"amx": (10e6, 10e6), "avx512": (80e6, 25e6)}
"""The same under autocast, where torch converts weights and states in each call: in inference and in training."""


_OF_HALVES = {torch.bfloat16: "bfloat16", torch.float16: "float16"}
_OF_SETTINGS = {"tf32": "high", "bf16": "bfloat16"}


def allowed_precision(dtype: torch.dtype, autocast: torch.dtype | None = None) -> str:
    """The least exact products that a caller allows for tensors of a dtype.

    "bfloat16" for tensors in bfloat16 and under autocast to it; "float16" for weights in float16, which have bits for
    two bfloat16. For float32 torch's settings: `torch.backends.mkldnn.rnn.fp32_precision`, or if that is "none" the
    precision of products, which `torch.set_float32_matmul_precision` sets: tf32 ("high") and bf16 ("medium") are "high"
    and "bfloat16".
    """
    found = _OF_HALVES.get(dtype)
    if found is not None or dtype is not torch.float32:
        return found or "highest"
    if autocast in _OF_HALVES:
        return _OF_HALVES[autocast]
    return _allowed_by_settings()


def _allowed_by_settings() -> str:
    setting = torch_private.fp32_precision("mkldnn", "rnn")
    if setting == "none":
        setting = torch_private.fp32_precision("mkldnn", "matmul")
    return _OF_SETTINGS.get(setting, "highest")


def explain(problem: Problem, autocast: torch.dtype | None) -> str:
    """A description of the products that our kernels compute; "" if only float32 is allowed."""
    allowed = allowed_precision(problem.dtype, autocast)
    if allowed == "highest":
        return ""
    if problem.precision == "highest":
        why = f"for fewer than {FEW} rows" if allowed in cpu_calls.precisions() else cpu_calls.why_no_tiles()
        return f"with products of float32, though less exact ones are allowed ({why})"
    words = {
        "high": "six bfloat16 products for each of float32",
        "float16": "three bfloat16 products for each of float32",
        "bfloat16": "products of bfloat16",
    }
    return f"with {words[problem.precision]}"


def precision(dtype: torch.dtype, rows: float, autocast: torch.dtype | None = None) -> str:
    """The products that our kernels compute: the least exact that are allowed, that they have on this CPU, and that pay.

    torch's settings for float32 hold for every number of rows, so that a sequence gets the same bits in chunks.
    """
    available = cpu_calls.precisions()
    if not available or (rows < FEW and (dtype in _OF_HALVES or autocast in _OF_HALVES)):
        return "highest"
    allowed = allowed_precision(dtype, autocast)
    return allowed if allowed in available else "highest"


def precision_of(input: Tensor, autocast: torch.dtype | None = None) -> str:
    """`precision` for the rows of an input [..., I]."""
    if autocast is None and input.dtype is torch.float32:  # a small call notices each microsecond
        available = cpu_calls.precisions()
        allowed = _allowed_by_settings() if available else "highest"
        return allowed if allowed in available else "highest"
    half = input.dtype in _OF_HALVES or autocast in _OF_HALVES
    rows = input.numel() / max(input.shape[-1], 1) if half and input.dim() else math.inf
    return precision(input.dtype, rows, autocast)


@cache
def units(dtype: torch.dtype) -> str | None:
    """The units for products of bfloat16 or float16 that torch uses on this CPU: "amx", "avx512" or None."""
    if dtype is torch.bfloat16:
        found = {"amx": torch_private.has_amx, "avx512": torch_private.has_avx512_bf16}
    else:
        found = {"amx": torch_private.has_amx_fp16, "avx512": torch_private.has_fp16_products}
    return next((kind for kind, has in found.items() if has()), None)


def are_read_in_place(dtype: torch.dtype, steps: float, batch: float) -> bool:
    """Whether our kernels read the weights of a call without gradients as they are, though they are half-wide."""
    return steps <= 1 and batch <= IN_PLACE and dtype is torch.bfloat16 and cpu_calls.reads_tensors


def are_faster_in_torch(dtype: torch.dtype, steps: float, batch: float, weights: float, trains: bool = False) -> bool:
    """Whether torch's own kernel takes less time for tensors of a half-wide dtype: see above."""
    if not trains and are_read_in_place(dtype, steps, batch):
        return False
    if trains and steps <= 1 and precision(dtype, math.inf) != "highest":
        return True
    if precision(dtype, steps * batch) != "highest":  # our kernels use the same units
        return weights > SHORT * steps
    found = units(dtype)
    if found is None:
        return batch <= 1 and weights * CONVERTING > LIMITS["avx512"] * steps
    return weights * (batch + CONVERTING / steps) > LIMITS[found]


def are_faster_under_autocast(dtype: torch.dtype, batch: float, weights: float, trains: bool) -> bool:
    """Whether torch's own kernel takes less time for float32 tensors under autocast to this dtype."""
    found = units(dtype) if precision(torch.float32, math.inf, dtype) == "highest" else None
    return found is not None and weights * batch > AUTOCAST_LIMITS[found][trains]


def sizes(input: Tensor, batch_sizes: Tensor | None, weights: Sequence[Tensor]) -> tuple[float, float, float]:
    """Steps, sequences in a step and weights of one direction of one layer, as the rules count them; of none, ones."""
    matrices = [weight.numel() for weight in weights if weight.dim() == 2]
    steps = max(input.shape[0] if batch_sizes is None else batch_sizes.shape[0], 1)
    batch = input.shape[1] if batch_sizes is None else input.shape[0] / steps
    return steps, batch, 2 * sum(matrices) / max(len(matrices), 1)
