"""The backward pass of the native kernels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import torch
from torch import Tensor

from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Problem
from . import memory
from .cpu_calls import address, kind_of, native, of_sequences, optional, plain, plain_modifiers, sum_products

if TYPE_CHECKING:
    from .. import _native

PIECE_BYTES = 4 << 20
"""Size of the gate gradients that are computed before the products with them."""

PIECE_ROWS = 2048
"""The least number of rows of a piece, even if they take more bytes, because every piece packs the recurrent weights again."""

NORM_TILE = 4
"""The kernels sum the gradients of gains and biases for this number of sequences: norm_tile in csrc/call.hpp."""


class _Piece(NamedTuple):
    """Neighbouring steps and their rows; `batch` sequences run at the first, and their states before it begin at row `before`."""

    steps: slice
    rows: slice
    batch: int
    before: int


_Place: TypeAlias = tuple[int, int]
"""The index of a direction's first weight, and a group."""


class BackwardPass:
    """The backward pass of one call, layer by layer and piece by piece."""

    def __init__(self, problem: Problem, call: Call, kept: tuple[Tensor, Tensor], needs: Sequence[bool]) -> None:
        input, h_0, weights, batch_sizes, modifiers = call
        output, reserve = kept
        self.problem = problem
        self.layout = layout = problem.layout
        self.weights = [plain(weight) for weight in weights]
        self.batch_sizes = batch_sizes
        self.needs = needs
        self.h_0 = plain(h_0)
        self.modifiers = modifiers
        self.hidden = h_0.shape[2]
        self.units = self.hidden // layout.groups
        self.chains = layout.directions() * layout.groups  # recurrences of a layer; group after group of each direction
        self.features = self.hidden * layout.directions()
        self.rows = output.numel() // self.features
        self.steps = output.shape[0] if batch_sizes is None else batch_sizes.shape[0]
        gates = layout.num_layers * layout.directions() * self.rows * 4 * self.hidden
        self.kept = reserve[:gates].view(layout.num_layers, self.chains, self.rows, 4, self.units)
        norms = gates + (layout.num_layers - 1) * output.numel()
        inner = reserve[gates:norms].view(layout.num_layers - 1, self.rows, self.features)
        self.layer_inputs = [plain(input.reshape(self.rows, input.shape[-1])), *inner]
        self.layer_outputs = [*inner, output.reshape(self.rows, self.features)]
        self.input_shape = input.shape
        norm_shape = (layout.num_layers, self.chains, self.rows, 6 * self.units + 4)
        self.norm_kept = reserve[norms:].view(norm_shape) if layout.norm else None
        self.norm_sums: Tensor | None = None
        wanted = dict(zip(modifiers.names(), needs[2 + len(weights) :], strict=True))
        self.grads_of_modifiers = {
            name: output.new_empty((layout.states() * layout.groups, self.rows, self.units))
            for name in ("decay", "offset")
            if wanted.get(name)
        }

    def compute(self, grad_output: Tensor | None, grad_h_n: Tensor | None) -> list[Tensor | None]:
        layout, needs = self.layout, self.needs
        grad_h_0 = torch.empty_like(self.h_0)
        grads: list[Tensor | None] = [None] * len(self.weights)
        grad = None if grad_output is None else grad_output.reshape(self.rows, self.features).contiguous()
        grad_h_n = None if grad_h_n is None else grad_h_n.contiguous()
        for layer in range(layout.num_layers - 1, -1, -1):
            states = layout.states_of_layer(layer)
            arriving = None if grad_h_n is None else grad_h_n[states]
            grad = self._layer(layer, grad, arriving, grad_h_0[states], grads, layer > 0 or needs[0])
        grad_input = None if grad is None else grad.view(self.input_shape)
        found = [grad_input if needs[0] else None, grad_h_0 if needs[1] else None, *grads]
        return [*found, *map(self._gradient_of_modifier, self.modifiers.names(), self.modifiers.present())]

    def _gradient_of_modifier(self, name: str, values: Tensor) -> Tensor | None:
        """The sums over the states and units that share a value."""
        grad = self.grads_of_modifiers.get(name)
        if grad is None:
            return None
        if self.layout.groups > 1:
            grad = grad.unflatten(0, (-1, self.layout.groups)).movedim(1, 2).flatten(2)
        return grad.sum_to_size((values.shape[0], self.rows, values.shape[-1])).view_as(values)

    def _modifiers(self, layer: int, piece: _Piece) -> Modifiers:
        """The modifiers of one layer and a piece, plain."""
        if not self.modifiers.names():
            return NONE
        decay, candidate, zoneout, mask, offset = self.modifiers.of_states(self.layout.states_of_layer(layer))

        def rows(factors: Tensor | None) -> Tensor | None:
            if factors is None or factors.numel() == 1:
                return factors
            return factors.reshape(factors.shape[0], self.rows, factors.shape[-1])[:, piece.rows]

        mask = None if mask is None else mask[:, : piece.batch]
        own = Modifiers(rows(decay), rows(candidate), rows(zoneout), mask, rows(offset))
        return plain_modifiers(own, self.layout.groups, self.layout.directions())

    def _layer(
        self,
        layer: int,
        grad_output: Tensor | None,
        grad_h_n: Tensor | None,
        grad_h_0: Tensor,
        grads: list[Tensor | None],
        needs_input: bool,
    ) -> Tensor | None:
        """Puts the gradients of a layer's weights into `grads` and the gradient of h_0 into grad_h_0; returns the
        input's, if it is needed."""
        directions = self.layout.directions()
        kept = self.kept[layer]
        grad_input = torch.empty_like(self.layer_inputs[layer]) if needs_input else None
        if self.layout.norm:
            tiles = -(-self.h_0.shape[1] // NORM_TILE)
            self.norm_sums = self.h_0.new_zeros((self.chains, tiles, 4, 3 * self.units))
        pieces = self._pieces()
        if len(pieces) > 1:  # the gradient of the state goes from piece to piece in grad_h_0
            grad_h_0.zero_() if grad_h_n is None else grad_h_0.copy_(grad_h_n)
            grad_h_n = grad_h_0
        for piece in pieces:
            found = self._recurrence(layer, piece, grad_output, grad_h_n, grad_h_0, kept)
            own_input = None if grad_input is None else grad_input[piece.rows]
            for direction in range(directions):
                self._gradients(layer, direction, self.layer_inputs[layer][piece.rows], found, grads, own_input)
        if self.norm_sums is not None:
            self._gradients_of_norms(layer, self.norm_sums, grads)
        return grad_input

    def _pieces(self) -> list[_Piece]:
        """The steps in pieces, the last one first, so short that gradients of gates are still cached when products need them.

        Two directions take the steps in opposite order, so they, and a reversed direction, have one piece. Groups also
        have one piece, since the rows of a smaller piece would not be contiguous in memory.
        """
        sizes = [self.h_0.shape[1]] * self.steps if self.batch_sizes is None else self.batch_sizes.tolist()
        most = max(PIECE_BYTES // (4 * self.hidden * self.problem.dtype.itemsize), PIECE_ROWS)
        if self.chains > 1 or self.layout.reverse or self.rows <= most * 3 // 2:
            return [_Piece(slice(0, self.steps), slice(0, self.rows), self.h_0.shape[1], 0)]
        pieces, step, row = [], 0, 0
        while step < self.steps:
            first_step, first_row = step, row
            while step < self.steps and (row == first_row or row + sizes[step] - first_row <= most):
                row += sizes[step]
                step += 1
            before = first_row - sizes[first_step - 1] if first_step else 0
            pieces.append(_Piece(slice(first_step, step), slice(first_row, row), sizes[first_step], before))
        pieces[0] = pieces[0]._replace(batch=self.h_0.shape[1])
        return pieces[::-1]

    def _recurrence(
        self,
        layer: int,
        piece: _Piece,
        grad_output: Tensor | None,
        grad_h_n: Tensor | None,
        grad_h_0: Tensor,
        kept: Tensor,
    ) -> tuple[Tensor, ...]:
        """The terms of a piece without its input, each [D, N, ...]."""
        problem, layout, units, dtype, batch = self.problem, self.layout, self.units, self.problem.dtype, piece.batch
        columns = 6 if layout.norm else 3 if problem.formula.reset == "before" else 4
        whole, steps = self.layer_outputs[layer], piece.steps.stop - piece.steps.start
        output, kept = whole[piece.rows], kept[:, piece.rows]
        gates = memory.empty(output, self.chains, len(output), columns * units)
        previous = memory.empty(output, self.chains, len(output), units)
        if piece.steps.start == 0:
            states = self.h_0[layout.states_of_layer(layer)]
        else:
            states = whole[piece.before : piece.before + batch]
        recurrent = self.weights[layout.of_layer(layer)][1 :: layout.per_direction()]
        sizes = None if self.batch_sizes is None else self.batch_sizes[piece.steps]
        modifiers = self._modifiers(layer, piece)
        norm = self._norm(layer, piece) if layout.norm else {}
        chains = slice(layer * self.chains, (layer + 1) * self.chains)
        own = {name: grad[chains][:, piece.rows] for name, grad in self.grads_of_modifiers.items()}
        native.backward(
            {
                **of_sequences(problem, steps, states, output, sizes, modifiers),
                "grad_output": None if grad_output is None else address(grad_output[piece.rows], dtype),
                "grad_step_stride": batch * self.features,
                "grad_row_stride": self.features,
                "grad_h_n": None if grad_h_n is None else address(grad_h_n[:, :batch], dtype),
                "kept": address(kept, dtype),
                "weights_hh": [address(weight, dtype) for weight in recurrent],
                "grad_gates": address(gates, dtype),
                "previous": address(previous, dtype),
                "grad_h_0": address(grad_h_0[:, :batch], dtype),
                "grad_decay": optional(own.get("decay"), dtype),
                "grad_offset": optional(own.get("offset"), dtype),
                "clipping": problem.formula.gradient_clipping,
                **self._describe_norm(layer, norm),
            }
        )
        return gates, previous, kept

    def _norm(self, layer: int, piece: _Piece) -> dict[str, Tensor]:
        assert self.norm_kept is not None
        assert self.norm_sums is not None
        return {
            "grad_norms": self.norm_sums[:, : -(-piece.batch // NORM_TILE)],
            "norm_kept": plain(self.norm_kept[layer][:, piece.rows]),
        }

    def _describe_norm(self, layer: int, tensors: dict[str, Tensor]) -> "_native.NormCall":
        dtype = self.problem.dtype
        found: dict[str, Any] = {name: address(values, dtype) for name, values in tensors.items()}
        if found:
            own, each = self.weights[self.layout.of_layer(layer)], self.layout.per_direction()
            ends = range(each, len(own) + 1, each)
            found["gains"] = [address(gain, dtype) for end in ends for gain in own[end - 2 : end]]
        return cast("_native.NormCall", found)

    def _gradients(
        self,
        layer: int,
        direction: int,
        input: Tensor,
        found: Sequence[Tensor],
        grads: list[Tensor | None],
        grad_input: Tensor | None,
    ) -> None:
        """Adds a piece to the required gradients of one direction's weights, or starts them with it.

        found: as of `_recurrence`. The product with the input reads the gates' last 3H columns; see gate_columns in
            csrc/call.hpp. The gradients of the gains and biases of a layer norm are made by the recurrence.
        """
        layout, first = self.layout, self.layout.of_direction(layer, direction).start
        begun = [grad is not None for grad in grads]
        width = layout.read_by_group(input.shape[1])
        for group in range(layout.groups):
            part = slice(group * width, (group + 1) * width) if layout.splits_input else slice(None)
            own = (plain(input[:, part]), *(values[direction * layout.groups + group] for values in found))
            adds = direction > 0 or (group > 0 and not layout.splits_input)
            to = torch.empty_like(own[0]) if layout.splits_input and grad_input is not None else grad_input
            self._sums(own, grads, (first, group), begun, (to, adds and not layout.splits_input))
            if layout.splits_input and grad_input is not None and to is not None:
                grad_input[:, part] = grad_input[:, part] + to if adds else to

    def _gradients_of_norms(self, layer: int, sums: Tensor, grads: list[Tensor | None]) -> None:
        """Puts the gradients of gains and biases into `grads`, from sums [D, tiles, 4, 3H]."""
        for direction, own in enumerate(sums.sum(1).unflatten(0, (-1, self.layout.groups))):
            place = self.layout.of_direction(layer, direction)
            names = ("gain_ih", "gain_hh", "bias_ih", "bias_hh")
            for name, grad in zip(names, own.unbind(1), strict=True):
                if name in self.layout.kinds():
                    index = place.start + self.layout.kinds().index(name)
                    grads[index] = grad.reshape(self.weights[index].shape) if self.needs[2 + index] else None

    def _sums(
        self,
        terms: Sequence[Tensor],
        grads: list[Tensor | None],
        place: _Place,
        begun: Sequence[bool],
        to_input: tuple[Tensor | None, bool],
    ) -> None:
        """Gradients of a group's weights: the first tensors of a direction.

        terms: as of `sum_products`, with kept values always.
        begun: of each weight, whether its gradient has rows of other pieces already.
        to_input: where the gradient of the input goes if it is needed, and whether it is added.
        """
        first, group = place
        wanted: list[Tensor | None] = []
        adds = False
        for index in range(first, first + (2 if self.layout.norm else self.layout.per_direction())):
            if not self.needs[2 + index]:
                wanted.append(None)
                continue
            adds, grad = begun[index], grads[index]
            if grad is None:
                grad = grads[index] = torch.empty_like(self.weights[index])
            wanted += self.layout.of_group([grad], group)
        weight, dtype = self.layout.of_group(self.weights[first : first + 1], group)[0], self.problem.dtype
        asked: _native.InputGradient = {
            "input_gradient": optional(to_input[0], dtype),
            "weight_ih": address(weight, dtype),
            "adds_input": to_input[1],
        }
        input, gates, previous, kept = terms
        kept_too = kept if self.problem.formula.reset == "before" else None
        sum_products(kind_of(self.problem), (input, gates, previous, kept_too), wanted, adds, asked)
