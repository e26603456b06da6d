"""The weights of a frozen layer during a call: packed once for the kernels, otherwise stored in their portable form."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import backends
from ..backends.backend import Backend
from ..facts.formula import Formula
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Problem
from ..facts.quantization import Stored, dequantize_all
from ..facts.weights import Layout


def rounds_rows(weight: Tensor, backend: str | None) -> bool:
    """Whether rows are rounded before they are multiplied with a stored weight, as the kernels for int8 do."""
    return weight.dtype is torch.int8 and weight.device.type == "cpu" and backend in (None, "reference")


class FrozenWeights:
    """Weights that never change; a call takes them instead of a list of tensors.

    Threads, streams and copies share one object. If a backend packs the weights, only the packed copy stays in memory.

    Args:
        stored: the flat weights as `quantization` stores them.
        formula, backend: as of the layer.
        precision: of the products, as of a `Problem`: "highest", or "bfloat16" with rows rounded to bfloat16.
        packs: whether to pack them; otherwise each call dequantizes them.
    """

    def __init__(
        self,
        stored: Sequence[Stored],
        layout: Layout,
        formula: Formula,
        backend: str | None = None,
        precision: str = "highest",
        packs: bool = True,
    ) -> None:
        first, second = stored[0].values, stored[1].values
        self.layout, self.formula, self.backend, self.precision = layout, formula, backend, precision
        self.input_size, self.hidden_size = layout.sizes(first, second)
        self.device, self.dtype = first.device, torch.float32
        problem = Problem(
            self.device.type, self.dtype, layout, formula, False, False, False, False, precision=precision
        )
        chosen = backends.choose(problem, backend) if packs and not first.is_meta else None
        prepare = None if chosen is None else chosen.prepare
        self.prepared = None if prepare is None else prepare(problem, stored)
        """The packed copy, a `backends.cpu.Prepared`; None if the weights are not packed."""
        self._packed_by = chosen
        self.rounds_rows = rounds_rows(second, backend)
        """Whether plain torch also rounds rows, so that it gives the same numbers as the kernels."""
        self._stored = [] if self.prepared is not None else list(stored)

    def stored(self) -> list[Stored]:
        """The stored weights."""
        return self.prepared.stored() if self.prepared is not None else self._stored

    def dequantized(self) -> list[Tensor]:
        """The weights in float32."""
        return dequantize_all(self.stored())

    def run(self, problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
        """As a backend's `run`, with these weights and not the call's."""
        backend = backends.choose(problem, self.backend)
        if self.prepared is not None and self.is_packed_for(backend):
            return self.prepared.run(call)
        return backend.run(problem, call._replace(weights=self.dequantized()))

    def is_packed_for(self, backend: Backend) -> bool:
        """Whether this backend computes with the packed copy."""
        return self.prepared is not None and backend is self._packed_by

    def direct(self, input: Tensor, h_0: Tensor | None, modifiers: Modifiers = NONE) -> tuple[Tensor, Tensor] | None:
        """A dense call [T, B, I], see `backends.cpu.direct`; None if it must take the general path."""
        return None if self.prepared is None else self.prepared.direct(input, h_0, modifiers)

    def direct_cell(self, input: Tensor, h: Tensor | None) -> Tensor | None:
        """One step [B, I] or [I], see `backends.cpu.direct_cell`."""
        return None if self.prepared is None else self.prepared.direct_cell(input, h)

    def __deepcopy__(self, memo: dict[int, Any]) -> "FrozenWeights":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        facts = (self.layout, self.formula, self.backend, self.precision)
        if self.prepared is None:
            return FrozenWeights, (self._stored, *facts, False)
        return _from_arrays, ([tuple(map(_as_array, one)) for one in self.stored()], *facts)


def _as_array(tensor: Tensor | None) -> Any:
    """A stored tensor as NumPy's, bfloat16 by its bits, for a pickle.

    torch.multiprocessing pickles the number of a file that holds a tensor's memory, and another process opens it later. Unpacked
    weights live for the time of the pickling only.
    """
    if tensor is None:
        return None
    return (tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _from_arrays(arrays: Sequence[tuple[Any, Any]], *facts: Any) -> FrozenWeights:
    """The inverse of `FrozenWeights.__reduce__`."""
    stored = []
    for values, scale in arrays:
        tensor = torch.from_numpy(values)
        bits = tensor.dtype is torch.int16
        stored.append(
            Stored(tensor.view(torch.bfloat16) if bits else tensor, None if scale is None else torch.from_numpy(scale))
        )
    return FrozenWeights(stored, *facts)
