"""GRU, GRUCell, RNN and BiRNN of Paddle 2. The arithmetic of every GRU is `anygru.functional`'s.

Paddle stacks its gates reset, update, candidate, as the core does, resets after the recurrent product, and blends
(h - c) * u + c: nothing is permuted. Source: Paddle 2.6, `paddle.nn.GRUCell` and `paddle.nn.GRU`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from anygru import functional, layers

from ...base.errors import no_kernel
from ...framework.dtype import single
from ...tensor import creation, manipulation
from ...tensor.operation import core_call, need_tensor, wrap
from ...tensor.tensor import Tensor, plain
from ..functional.common import draw_kept
from ..initializer.initializer import Constant, Uniform
from .container import LayerList
from .layers import Layer

__all__ = ["BiRNN", "GRU", "GRUCell", "RNN", "RNNCellBase"]

_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """`function` on the tensors of nested tuples, lists and dicts of one form."""
    first = structures[0]
    if isinstance(first, (list, tuple)):
        return type(first)(map_structure(function, *each) for each in zip(*structures, strict=True))
    if isinstance(first, dict):
        return {key: map_structure(function, *(each[key] for each in structures)) for key in first}
    return function(*structures)


class RNNCellBase(Layer):
    """The base of cells that `RNN` runs along a sequence. Subclasses give `state_shape` and `forward(inputs, states)`."""

    def get_initial_states(
        self,
        batch_ref: Any,
        shape: Any = None,
        dtype: Any = None,
        init_value: float = 0.0,
        batch_dim_idx: int = 0,
    ) -> Any:
        """A first state, `init_value` everywhere.

        Args:
            batch_ref: a tensor (or nested ones, of which the first counts) whose axis `batch_dim_idx` is the batch.
            shape: the shape of one state without the batch axis, or nested ones; `state_shape` unless given.
            dtype: the dtype; the layer's unless given.
            init_value: the value.
            batch_dim_idx: the batch axis.
        """
        while isinstance(batch_ref, (list, tuple)):
            batch_ref = batch_ref[0]
        batch = int(batch_ref.shape[batch_dim_idx])
        kind = getattr(self, "_dtype", None) if dtype is None else dtype
        return self._filled(batch, self.state_shape if shape is None else shape, kind, init_value)

    def _filled(self, batch: int, shape: Any, dtype: Any, value: float) -> Any:
        if not isinstance(shape, (list, tuple)):
            shape = (shape,)
        if shape and isinstance(shape[0], (list, tuple)):
            return type(shape)(self._filled(batch, each, dtype, value) for each in shape)
        sizes = list(shape) if shape and shape[0] == -1 else [batch, *shape]
        sizes[0] = batch
        return creation.full(sizes, value, dtype)

    @property
    def state_shape(self) -> Any:
        """The shape of one state, without the batch axis."""
        raise NotImplementedError("Please add implementation for `state_shape` in the used cell.")

    @property
    def state_dtype(self) -> Any:
        """The dtype of a state."""
        raise NotImplementedError("Please add implementation for `state_dtype` in the used cell.")


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class GRUCell(RNNCellBase):
    """One step of a GRU.

    Args:
        input_size: features of the input.
        hidden_size: features of the state, above 0.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: attributes of the parameters. False for a weight keeps
            ones, for a bias zeros, neither trained. Initial values are uniform within 1 / sqrt(hidden_size) of 0.
        name: kept for scripts.

    Parameters are `weight_ih` [3H, I], `weight_hh` [3H, H], `bias_ih` and `bias_hh` [3H], gates stacked reset, update,
    candidate.

    Raises:
        ValueError: if `hidden_size` is not above 0.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if hidden_size <= 0:
            raise ValueError(f"hidden_size of GRUCell must be greater than 0, but now equals to {hidden_size}")
        bound = 1.0 / math.sqrt(hidden_size)
        self.weight_ih = self._parameter(weight_ih_attr, [3 * hidden_size, input_size], bound, 1.0)
        self.weight_hh = self._parameter(weight_hh_attr, [3 * hidden_size, hidden_size], bound, 1.0)
        self.bias_ih = self._parameter(bias_ih_attr, [3 * hidden_size], bound, 0.0, is_bias=True)
        self.bias_hh = self._parameter(bias_hh_attr, [3 * hidden_size], bound, 0.0, is_bias=True)
        self.hidden_size = hidden_size
        self.input_size = input_size

    def _parameter(self, attr: Any, shape: list[int], bound: float, fixed: float, is_bias: bool = False) -> Any:
        if attr is not False:
            return self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=Uniform(-bound, bound))
        parameter = self.create_parameter(shape, None, is_bias=is_bias, default_initializer=Constant(fixed))
        parameter.stop_gradient = True
        return parameter

    @property
    def weights(self) -> list[torch.Tensor]:
        """The parameters as the core takes them."""
        own = self._parameters  # attribute access through a module costs more than the call may
        return [plain(own[name]) for name in _PARTS]  # type: ignore[arg-type]

    def forward(self, inputs: torch.Tensor, states: torch.Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The output and the new state, which are the same values.

        Args:
            inputs: [B, I].
            states: [B, H]; zeros without it.

        Raises:
            ValueError: for shapes or dtypes that do not fit.
        """
        need_tensor(inputs, "inputs", "gru_cell")
        if inputs.ndim != 2:
            raise ValueError(
                f"(InvalidArgument) GRUCell: inputs must be [B, {self.input_size}], got {list(inputs.shape)}"
            )
        x = plain(inputs)
        _need_dtype(x, self.weight_ih, "GRUCell: inputs")
        state = None
        if states is not None:
            need_tensor(states, "states", "gru_cell")
            _need_dtype(states, self.weight_ih, "GRUCell: states")
            x, state = one_batch(x, plain(states))
        h = wrap(core_call(functional.gru_cell, x, state, *self.weights))
        return h, h.view_as(h)  # type: ignore[return-value]

    @property
    def state_shape(self) -> tuple[int]:
        """(H,)."""
        return (self.hidden_size,)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}"

    def __to_anygru__(self) -> layers.GRUCell:
        """A `anygru.GRUCell` that shares the parameters' memory."""
        cell = layers.GRUCell(self.input_size, self.hidden_size, dtype=_torch_dtype(self.weight_ih))
        _share(cell, {name: self._parameters[name] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
        return cell


def one_batch(x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """An input and a state of a cell, a batch of one repeated to the other's size, as Paddle's addition does."""
    if x.dim() != 2 or state.dim() != 2 or x.shape[0] == state.shape[0]:
        return x, state
    if state.shape[0] == 1:
        return x, state.expand(x.shape[0], -1)
    return (x.expand(state.shape[0], -1), state) if x.shape[0] == 1 else (x, state)


def _share(module: torch.nn.Module, parameters: dict[str, Any]) -> None:
    """Give an anygru layer parameters that are other views of the same memory."""
    for name, parameter in parameters.items():
        module.register_parameter(
            name, torch.nn.Parameter(plain(parameter.detach()), requires_grad=not parameter.stop_gradient)
        )


def _need_dtype(x: torch.Tensor, weight: torch.Tensor, what: str) -> None:
    mine, theirs = _torch_dtype(x), _torch_dtype(weight)
    if mine == theirs:
        return
    if not mine.is_floating_point:
        raise no_kernel(f"(NotFound) {what} must be floating-point, got {x.dtype}; cast with astype")
    raise ValueError(
        f"(InvalidArgument) {what} must have the parameters' dtype {weight.dtype}, got {x.dtype}; cast one with astype".replace(
            "torch.", "paddle."
        )
    )


def _lengths(sequence_length: Any, batch: int) -> torch.Tensor | None:
    """The lengths as torch wants them.

    Raises:
        ValueError: unless None or an int32 or int64 tensor with one length a sequence.
    """
    if sequence_length is None:
        return None
    if not isinstance(sequence_length, torch.Tensor):
        raise ValueError(
            "(InvalidArgument) rnn(): argument 'sequence_length' (position 3) must be Tensor, but got "
            f"{type(sequence_length).__name__}"
        )
    if _torch_dtype(sequence_length) not in (torch.int32, torch.int64):
        raise ValueError(
            f"(InvalidArgument) sequence_length must be int32 or int64, but received {sequence_length.dtype}"
        )
    lengths = plain(sequence_length)
    if lengths.numel() != batch or lengths.dim() != 1:
        raise ValueError(
            "(InvalidArgument) The size of SequenceLength has to equal the batch_size. But received batch_size is "
            f"{batch} and the shape of SequenceLength is {list(lengths.shape)}."
        )
    return lengths


class GRU(LayerList):
    """A GRU of one or more layers, in one or both directions.

    Args:
        input_size: features of the input.
        hidden_size: features of the state in one direction.
        num_layers: layers on top of one another.
        direction: 'forward', or 'bidirect' / 'bidirectional'.
        time_major: input and output are [T, B, ...] instead of [B, T, ...].
        dropout: probability of dropping an element between layers in training.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: as of `GRUCell`.
        name: kept for scripts.

    Raises:
        ValueError: for another direction.
    """

    mode = "GRU"
    state_components = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError(
                f"direction should be forward or bidirect (or bidirectional), received direction = {direction}"
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.num_directions = 1 if direction == "forward" else 2
        self.time_major = time_major
        self.dropout = dropout
        attributes = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        for layer in range(max(1, num_layers)):
            width = input_size if layer == 0 else hidden_size * self.num_directions
            cells = [GRUCell(width, hidden_size, *attributes) for _ in range(self.num_directions)]
            self.append(RNN(cells[0], False, time_major) if len(cells) == 1 else BiRNN(cells[0], cells[1], time_major))
            self._name_parameters(layer, cells, bias_ih_attr is not False, bias_hh_attr is not False)
        # Paddle's own dropout state: never used on a CPU, but `named_buffers` and `to_static_state_dict` show it.
        self._dropout_state = self.create_variable("dropout_state__non_persistable", dtype="uint8")

    def _name_parameters(self, layer: int, cells: Sequence[GRUCell], bias_ih: bool, bias_hh: bool) -> None:
        """Offer the cells' parameters as weight_ih_l0, weight_hh_l0, ..., bias_hh_l0_reverse too."""
        kept = ("weight_ih", "weight_hh", *(("bias_ih",) if bias_ih else ()), *(("bias_hh",) if bias_hh else ()))
        for cell, suffix in zip(cells, ("", "_reverse"), strict=False):
            for name in kept:
                setattr(self, f"{name}_l{layer}{suffix}", getattr(cell, name))

    def _cells(self) -> list[GRUCell]:
        cells: list[GRUCell] = []
        for each in self._modules.values():
            cells += each._modules.values()  # type: ignore[arg-type, union-attr]
        return cells

    def forward(
        self, inputs: torch.Tensor, initial_states: torch.Tensor | None = None, sequence_length: Any = None
    ) -> tuple[Tensor, Tensor]:
        """Run over a batch of sequences.

        Args:
            inputs: [B, T, I], or [T, B, I] if `time_major`.
            initial_states: [L * D, B, H]; zeros without it.
            sequence_length: steps of each sequence, int32 or int64 [B]; the output past them is zero.

        Returns:
            The output [B, T, D * H] (or time first), and the state of each layer and direction after the last step of
            each sequence, [L * D, B, H].

        Raises:
            ValueError: for shapes or dtypes that do not fit.
        """
        need_tensor(inputs, "x", "rnn")
        if inputs.ndim != 3:
            raise ValueError(f"(InvalidArgument) rnn(): inputs must have 3 axes, got shape {list(inputs.shape)}")
        cells = self._cells()
        x = plain(inputs)
        _need_dtype(x, cells[0].weight_ih, "rnn(): inputs")
        lengths = _lengths(sequence_length, x.shape[1 if self.time_major else 0])
        state = initial_states[0] if isinstance(initial_states, (list, tuple)) else initial_states
        if state is not None:
            state = self._checked_state(state, x, len(cells))
        drops = self.training and self.dropout > 0 and len(cells) > self.num_directions
        output, h_n = (self._dropping if drops else self._through)(cells, x, state, lengths)
        return wrap(output), wrap(h_n)

    def _through(self, cells: list[GRUCell], x: torch.Tensor, state: Any, lengths: Any) -> Any:
        """The output and the last states of these cells, all layers at once."""
        weights = [each for cell in cells for each in cell.weights]
        return core_call(
            functional.gru, x, state, weights, lengths=lengths, batch_first=not self.time_major,
            bidirectional=self.num_directions == 2,
        )  # fmt: skip

    def _dropping(self, cells: list[GRUCell], x: torch.Tensor, state: Any, lengths: Any) -> Any:
        """As `_through`, with dropout between the layers: one mask for all of them, drawn time first, as Paddle does."""
        wide = self.num_directions
        batch, steps = (x.shape[1], x.shape[0]) if self.time_major else (x.shape[0], x.shape[1])
        probability = float(self.dropout)
        mask = draw_kept([steps, batch, wide * self.hidden_size], probability, x).to(_torch_dtype(x))
        mask = mask if self.time_major else mask.transpose(0, 1)
        last = []
        for first in range(0, len(cells), wide):
            if first:
                x = x * mask / single(1 - single(probability)) if probability < 1 else x * 0
            own = None if state is None else state[first : first + wide]
            x, h_n = self._through(cells[first : first + wide], x, own, lengths)
            last.append(h_n)
        return x, torch.cat(last)

    def _checked_state(self, state: torch.Tensor, x: torch.Tensor, cells: int) -> torch.Tensor:
        need_tensor(state, "initial_states", "rnn")
        expected = [cells, x.shape[1 if self.time_major else 0], self.hidden_size]
        if list(state.shape) != expected:
            raise ValueError(f"(InvalidArgument) rnn(): initial_states must be {expected}, got {list(state.shape)}")
        _need_dtype(state, x, "rnn(): initial_states")
        return plain(state)

    def flatten_parameters(self) -> None:
        """Nothing to do: the parameters are used where they are."""

    def extra_repr(self) -> str:
        """The sizes and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major is not False:
            text += f", time_major={self.time_major}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        return text

    def __to_anygru__(self) -> layers.GRU:
        """A `anygru.GRU` that shares the parameters' memory."""
        cells = self._cells()
        layer = layers.GRU(
            self.input_size, self.hidden_size, len(cells) // self.num_directions, True, not self.time_major,
            float(self.dropout), self.num_directions == 2, dtype=_torch_dtype(cells[0].weight_ih),
        )  # fmt: skip
        shared = {}
        for number, cell in enumerate(cells):
            place = f"_l{number // self.num_directions}" + ("_reverse" if number % self.num_directions else "")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                shared[name + place] = cell._parameters[name]
        _share(layer, shared)
        return layer.train(self.training)


# -- any cell along a sequence -----------------------------------------------------------------------------------------


def rnn(
    cell: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Run a cell along a sequence, and give all its outputs and its last state.

    With `sequence_length` a sequence's state stays as it is past its end; the outputs there are the cell's from that
    state. `is_reverse` begins at the last step (of the padded length).
    """
    first = inputs
    while isinstance(first, (list, tuple)):
        first = first[0]
    need_tensor(first, "inputs", "rnn")
    steps = int(first.shape[0 if time_major else 1])
    batch = int(first.shape[1 if time_major else 0])
    lengths = _lengths(sequence_length, batch)
    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=1 if time_major else 0)
    if type(cell) is GRUCell and not kwargs and isinstance(inputs, torch.Tensor) and _has_no_hooks(cell):
        return _gru_along(cell, inputs, initial_states, lengths, time_major, is_reverse)
    axis = 0 if time_major else 1
    states, outputs = initial_states, []
    order = range(steps - 1, -1, -1) if is_reverse else range(steps)
    for step in order:
        step_inputs = map_structure(lambda value, step=step: wrap(torch.select(value, axis, step)), inputs)
        output, new = cell(step_inputs, states, **kwargs)
        if lengths is not None:
            running = step < lengths
            new = map_structure(lambda old, value, running=running: _keep(running, old, value), states, new)
        states = new
        outputs.append(output)
    if is_reverse:
        outputs.reverse()
    return map_structure(lambda *each: manipulation.stack(list(each), axis), *outputs), states


def _keep(running: torch.Tensor, old: torch.Tensor, new: torch.Tensor) -> Tensor:
    """The new state where the sequence still runs, the old one where it has ended."""
    mask = running.reshape([-1] + [1] * (new.ndim - 1))
    return wrap(torch.where(mask, new, old))


def _has_no_hooks(cell: Layer) -> bool:
    return not (cell._forward_hooks or cell._forward_pre_hooks)


def _gru_along(
    cell: GRUCell,
    inputs: torch.Tensor,
    state: torch.Tensor,
    lengths: torch.Tensor | None,
    time_major: bool,
    reverse: bool,
) -> tuple[Tensor, Tensor]:
    """A GRUCell along a sequence, by the core at once instead of step by step."""
    x = plain(inputs)
    if x.dim() != 3:
        raise ValueError(f"(InvalidArgument) rnn(): inputs must have 3 axes, got shape {list(inputs.shape)}")
    _need_dtype(x, cell.weight_ih, "rnn(): inputs")
    if isinstance(state, (list, tuple)):
        state = state[0]
    x = x if time_major else x.transpose(0, 1)
    h_0 = plain(state)
    weights = cell.weights
    if lengths is None:
        output, h_n = core_call(functional.gru, x.flip(0) if reverse else x, h_0.unsqueeze(0), weights)
        output = output.flip(0) if reverse else output
    else:
        output, h_n = _ragged(x, h_0, weights, lengths, reverse)
    return wrap(output if time_major else output.transpose(0, 1)), wrap(h_n.squeeze(0))


def _ragged(
    x: torch.Tensor, h_0: torch.Tensor, weights: list[torch.Tensor], lengths: torch.Tensor, reverse: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences [T, B, I] of different lengths; past its end a sequence puts out the cell's step from a state that stays."""
    steps = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    if reverse:  # the core's second direction begins at each sequence's own end
        both = core_call(
            functional.gru,
            x,
            h_0.expand(2, *h_0.shape),
            [*weights, *weights],
            lengths=lengths.cpu(),
            bidirectional=True,
        )
        hidden = h_0.shape[-1]
        output, h_n = both[0][..., hidden:], both[1][1:]
    else:
        output, h_n = core_call(functional.gru, x, h_0.unsqueeze(0), weights, lengths=lengths.cpu())
    past = steps >= lengths.to(x.device)
    if bool(past.any()):
        resting = h_0 if reverse else h_n[0]
        place = past.nonzero(as_tuple=True)
        output = output.index_put(place, functional.gru_cell(x[place], resting[place[1]], *weights))
    return output, h_n


def birnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Run two cells along a sequence in opposite directions; outputs are joined, the two last states are a tuple."""
    forward_states, backward_states = (None, None) if initial_states is None else initial_states
    out_fw, last_fw = rnn(cell_fw, inputs, forward_states, sequence_length, time_major, False, **kwargs)
    out_bw, last_bw = rnn(cell_bw, inputs, backward_states, sequence_length, time_major, True, **kwargs)
    joined = map_structure(lambda first, second: manipulation.concat([first, second], -1), out_fw, out_bw)
    return joined, (last_fw, last_bw)


class RNN(Layer):
    """A cell along a sequence.

    Args:
        cell: a `GRUCell` or any cell of the user's.
        is_reverse: begin at the last step.
        time_major: input and output are [T, B, ...] instead of [B, T, ...].
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """All outputs and the last state; see `rnn`."""
        return rnn(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, **kwargs)


class BiRNN(Layer):
    """Two cells along a sequence in opposite directions.

    Args:
        cell_fw, cell_bw: the cells, of the same input size.
        time_major: input and output are [T, B, ...] instead of [B, T, ...].

    Raises:
        ValueError: if the cells' input sizes differ.
    """

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw = cell_fw
        self.cell_bw = cell_bw
        sizes = getattr(cell_fw, "input_size", None), getattr(cell_bw, "input_size", None)
        if None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(
                f"input size of forward cell({sizes[0]}) does not equals that of backward cell({sizes[1]})"
            )
        self.time_major = time_major

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """All outputs, joined, and the two last states; see `birnn`."""
        return birnn(self.cell_fw, self.cell_bw, inputs, initial_states, sequence_length, self.time_major, **kwargs)
