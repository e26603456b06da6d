"""How OneFlow prints a tensor: torch's digits, with the data type always shown."""

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import _tensor_str

from . import graph_names

if TYPE_CHECKING:
    from .tensor import Tensor

PREFIX = "tensor("


def text(tensor: "Tensor") -> str:
    """The text of `repr`."""
    suffixes = []
    if tensor.is_global:
        suffixes += [f"placement={tensor.placement}", f"sbp={tensor.sbp}"]
    elif tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if tensor.numel():
        values = tensor._whole().cpu()
        digits = _digits(values.as_subclass(torch.Tensor))
    else:
        digits = "[]"
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
    suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{graph_names.name_of(tensor)}>")
    elif tensor.requires_grad:
        # A leaf that has taken part in a computation shows the step that adds up its gradient.
        suffixes.append("requires_grad=True" if tensor.grad is None else "grad_fn=<accumulate_grad>")
    # torch's private module has no public counterpart that writes the digits alone.
    return _tensor_str._add_suffixes(PREFIX + digits, suffixes, len(PREFIX), force_newline=False)


def _digits(values: torch.Tensor) -> str:
    """The values as torch writes them, unless infinities or NaN are among them or the notation was set by hand."""
    usual = _tensor_str.PRINT_OPTS.sci_mode is None and bool(values.isfinite().all())
    if not values.dim() or not values.is_floating_point() or usual or not bool(values.any()):
        return _tensor_str._tensor_str(values, len(PREFIX))
    summarize = values.numel() > _tensor_str.PRINT_OPTS.threshold
    shown = _tensor_str.get_summarized_data(values) if summarize else values
    readable = values.float() if values.dtype in (torch.float16, torch.bfloat16) else values
    return _tensor_str._tensor_str_with_formatter(readable, len(PREFIX), summarize, _Formatter(shown))


class _Formatter(_tensor_str._Formatter):
    """torch's formatter with OneFlow's choices, for which infinities and NaN count like other values.

    So an infinite value makes all values powers of ten, and NaN is not a whole number.
    """

    def __init__(self, values: torch.Tensor) -> None:
        super().__init__(values)
        sizes = [abs(value) for value in values.flatten().tolist() if value != 0]
        self.int_mode = all(math.isinf(size) or size == size // 1 for size in sizes)
        self.sci_mode = self._uses_powers(sizes)
        self.max_width = 1
        self.max_width = max(len(self.format(value)) for value in values.flatten().tolist() if value != 0)
        # The width follows torch's choice of notation.
        if _tensor_str.PRINT_OPTS.sci_mode is not None:
            self.sci_mode = _tensor_str.PRINT_OPTS.sci_mode

    def _uses_powers(self, sizes: list[float]) -> bool:
        """Whether the values are written with powers of ten, unless an option sets it."""
        largest, smallest = -math.inf, math.inf
        for size in sizes:  # NaN takes part until the next value comes
            largest = largest if largest > size else size
            smallest = smallest if smallest < size else size
        tiny = not self.int_mode and smallest < 1e-4
        return largest > 1000 * smallest or largest > 1e8 or tiny


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """As torch.set_printoptions, which it sets."""
    options: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
        "profile": profile,
        "sci_mode": sci_mode,
    }
    torch.set_printoptions(**options)
