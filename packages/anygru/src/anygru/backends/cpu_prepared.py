"""Weights that the native kernels have packed, for layers with constant weights."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Problem
from ..facts.quantization import Stored, dequantize
from . import cpu_calls
from .cpu_calls import address, native, plain


class Prepared:
    """A layer's weights in the order and the format in which the kernels read them, for calls that follow one another.

    Threads may share one, and processes that were forked.

    Args:
        problem: as for `run`; float32 or float64, no gradient. Its dtype is the dtype of inputs and states. With the precision
            "bfloat16", rows are multiplied in bfloat16.
        stored: the flat weights as `quantization` stores them. They are copied: later changes to them do not show.
    """

    def __init__(self, problem: Problem, stored: Sequence[Stored]) -> None:
        self._problem = problem
        self._kind = cpu_calls.kind_of(problem)
        self._stored_dtype = stored[0].values.dtype
        self._input_size, self._hidden_size = problem.layout.sizes(stored[0].values, stored[1].values)
        each = problem.layout.per_direction()
        self._biases = [one.values.detach().clone() for place, one in enumerate(stored) if place % each > 1]
        is_int8 = self._stored_dtype is torch.int8
        weights = [plain(one.values.detach() if is_int8 else dequantize(one)) for one in stored]
        scales = [plain(one.scale.detach()) for one in stored if one.scale is not None]
        self._packed = native.pack(
            {
                "itemsize": problem.dtype.itemsize,
                "kind": self._kind,
                "format": str(self._stored_dtype).removeprefix("torch.") + "_rows" * (problem.precision == "bfloat16"),
                "layers": problem.layout.num_layers,
                "steps": 0,
                "batch": 0,
                "input_size": self._input_size,
                "hidden": self._hidden_size,
                "weights": [address(weight, weight.dtype) for weight in weights],
                "scales": [address(scale, torch.float32) for scale in scales],
            }
        )

    def stored(self) -> list[Stored]:
        """The weights that were given, bit for bit. A frozen layer keeps no other copy of them."""
        layout, found = self._problem.layout, []
        shapes = layout.shapes(self._input_size, self._hidden_size)
        for place in range(layout.states()):
            own = slice(place * layout.per_direction(), (place + 1) * layout.per_direction())
            matrices = [torch.empty(shape, dtype=self._stored_dtype, device="cpu") for shape in shapes[own][:2]]
            scaled = self._stored_dtype is torch.int8
            scales = (
                [torch.empty(matrix.shape[:-1], dtype=torch.float32, device="cpu") for matrix in matrices]
                if scaled
                else []
            )
            for group in range(layout.groups):
                parts = layout.of_group((*matrices, *scales), group)
                native.unpack(
                    self._packed, place * layout.groups + group, [(one.data_ptr(), one.nbytes) for one in parts]
                )
            found += [Stored(matrix, scales[i] if scaled else None) for i, matrix in enumerate(matrices)]
            biases = layout.per_direction() - 2
            found += [Stored(bias.clone()) for bias in self._biases[place * biases : (place + 1) * biases]]
        return found

    def direct(self, input: Tensor, h_0: Tensor | None, modifiers: Modifiers = NONE) -> tuple[Tensor, Tensor] | None:
        """See `cpu.direct`; also returns None if the input does not fit these weights."""
        found: tuple[Tensor, Tensor] | None = cpu_calls.dense(input, h_0, self._packed, self._kind, False, modifiers)
        return found

    def direct_cell(self, input: Tensor, h: Tensor | None) -> Tensor | None:
        """See `cpu_cell.direct_cell`; also returns None if the input does not fit these weights."""
        found: Tensor | None = native.cell(input, h, self._packed, self._kind, torch.get_num_threads(), False)
        return found

    def advance(self, input: Tensor, state: Tensor, many: bool, batched: bool) -> Tensor | None:
        """The output for the next step of a stream, or for many steps; updates `state` [L, B, H] in place.

        input: [T, B, I]; no T axis if `many` is False, no B axis if `batched` is False. None if a tensor is not plain or does
        not fit.
        """
        return native.advance(self._packed, input, state, many, batched, torch.get_num_threads())

    def advance_rows(self, input: Tensor, states: Tensor, offset: int, rows: Tensor | None) -> Tensor | None:
        """The output [n, H] for one step [n, I] of rows of `states`; updates the rows in place, without a gather.

        Args:
            states: [capacity, S]; a row has the layers' states [L * H] from `offset` on.
            rows: distinct, int64 [n]; None: all.

        Returns:
            Tensor: None if a tensor is not plain or does not fit; then no state has changed.
        """
        places = None if rows is None else address(rows, torch.int64)
        return native.advance_rows(self._packed, input, states, offset, places, torch.get_num_threads())

    def run(self, call: Call) -> tuple[Tensor, Tensor]:
        """As `cpu.run`, with these weights and not the call's; the same bits."""
        problem, input, h_0 = self._problem, call.input, call.h_0
        output = input.new_empty((*input.shape[:-1], h_0.shape[2] * problem.layout.directions()))
        h_n = h_0.new_empty(h_0.shape)
        cpu_calls.forward(problem, call, (output, h_n, None), self._packed)
        return output, h_n
