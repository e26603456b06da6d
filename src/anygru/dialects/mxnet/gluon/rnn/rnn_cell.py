"""`gluon.rnn.GRUCell`: one step of a GRU, and cells that stack, reverse, drop out or add to other cells."""

from typing import Any

import anygru
from anygru import functional
from anygru.errors import AnygruError

from ... import ndarray
from ...base import MXNetError, numeric_types
from ...ndarray.ndarray import NDArray, run, wrap
from ...operators.elementwise import same_dtype
from ...operators.recurrent import run_gru
from ...operators.registry import Operator
from ...symbol.graph import unknown_size
from ..block import Block
from ..hybrid import HybridBlock
from ..parameter import tensor_types
from ..utils import indent
from .sequences import as_merged, as_steps, axis_of, batch_size_of, mask_beyond, operators_for, reverse_steps
from .sharing import share

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "ModifierCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]

_MODIFIED = (
    "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly. "
    "Call the modifier cell instead."
)


class RecurrentCell(Block):
    """One step of a recurrent network: called with an input and states, it returns an output and the next states."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forget the steps counted; `unroll` begins with it."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            cell.reset()  # type: ignore[attr-defined]

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state."""
        raise NotImplementedError

    def begin_state(self, batch_size: int = 0, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """States to begin with: what `func` makes of their shapes, zeros by default."""
        assert not self._modified, _MODIFIED
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**info, **kwargs}))
        return states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Run the cell over the steps of a sequence.

        Args:
            length: number of steps.
            inputs: one array or symbol in the layout, or a list of one a step.
            begin_state: states; zeros by default.
            layout: "NTC" or "TNC".
            merge_outputs: True for one array, False for a list, None for whatever is at hand.
            valid_length: [N] steps of each sequence; outputs beyond are 0, states are those of the last valid step.
        """
        self.reset()
        steps = as_steps(length, inputs, layout)
        F = operators_for(steps)
        states = _begin(self, F, begin_state, steps, batch_size_of(inputs, layout))
        outputs, history = [], []
        for step in range(length):
            output, states = self(steps[step], states)
            outputs.append(output)
            history.append(states)
        axis = axis_of(layout)
        if valid_length is None:
            return (as_merged(F, outputs, axis) if merge_outputs else outputs), states
        states = [
            F.SequenceLast(F.stack(*each, axis=0), sequence_length=valid_length, use_sequence_length=True, axis=0)
            for each in zip(*history, strict=True)
        ]
        masked = mask_beyond(F, outputs, length, valid_length, axis, merge=True)
        return (as_steps(length, masked, layout) if merge_outputs is False else masked), states

    def forward(self, inputs: Any, states: Any) -> Any:
        """One step."""
        self._counter += 1
        return super().forward(inputs, states)


def _begin(cell: RecurrentCell, F: Any, states: Any, inputs: Any, batch_size: int) -> Any:
    if states is not None:
        return states
    if F is ndarray:
        first: Any = inputs if isinstance(inputs, tensor_types) else inputs[0]
        with first.context:
            return cell.begin_state(func=F.zeros, batch_size=batch_size)
    return cell.begin_state(func=F.zeros, batch_size=batch_size)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that can be traced."""

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One step, with the operators of F."""
        raise NotImplementedError


def _step(
    data: Any,
    state: Any,
    i2h_weight: Any,
    h2h_weight: Any,
    i2h_bias: Any,
    h2h_bias: Any,
    state_for_any: bool = False,
) -> Any:
    """One step on tensors: [N, C] and [N, H] (or [1, H] for any N) to [N, H]."""
    if data.dim() != 2:
        data = data.reshape(data.shape[0], -1)
    if data.device.type == "meta":
        return data.new_empty(data.shape[0], h2h_weight.shape[1])
    same_dtype(data, state, i2h_weight)
    if state_for_any:
        state = state.expand(data.shape[0], -1)
    return functional.gru_cell(data, state, i2h_weight, h2h_weight, i2h_bias, h2h_bias)


_STEP = Operator("gru_cell", _step, 6, False, 1, 0, (), None, None)


class GRUCell(HybridRecurrentCell):
    """One step of a GRU; the reset gate acts after the product.

    Args:
        hidden_size: features of the state, H.
        i2h_weight_initializer, h2h_weight_initializer: initializers of the weights.
        i2h_bias_initializer, h2h_bias_initializer: initializers of the biases.
        input_size: features of the input, C; 0 waits for the first input.
        prefix, params: as for `Block`.

    A call takes an input [N, C] and states [[N, H]] and returns the output [N, H] and [output].
    """

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size

        def add(name: str, shape: tuple[int, ...], init: Any) -> Any:
            return self.params.get(name, shape=shape, init=init, allow_deferred_init=True)

        self.i2h_weight = add("i2h_weight", (3 * hidden_size, input_size), i2h_weight_initializer)
        self.h2h_weight = add("h2h_weight", (3 * hidden_size, hidden_size), h2h_weight_initializer)
        self.i2h_bias = add("i2h_bias", (3 * hidden_size,), i2h_bias_initializer)
        self.h2h_bias = add("h2h_bias", (3 * hidden_size,), h2h_bias_initializer)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _alias(self) -> str:
        return "gru"

    def __repr__(self) -> str:
        rows, features = self.i2h_weight.shape
        return f"{type(self).__name__}({features if features else None} -> {rows})"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> Any:
        """One step, or its part of the graph."""
        parts = (inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        if F is not ndarray:
            result = self._trace(F, *parts)
            return result, [result]
        if states[0].shape != (inputs.shape[0], self._hidden_size):
            expected = (inputs.shape[0], self._hidden_size)
            raise MXNetError(f"{self.name}: the state must be of shape {expected}, got {states[0].shape}")
        try:
            result = wrap(run(_step, *(part._t for part in parts)), inputs._ctx)
        except (AnygruError, RuntimeError) as error:
            raise MXNetError(f"{self.name}: {error}") from error
        return result, [result]

    def _trace(self, F: Any, inputs: Any, state: Any, i2h_w: Any, h2h_w: Any, i2h_b: Any, h2h_b: Any) -> Any:
        """The step in MXNet's operators, which files hold; run as one step of anygru."""
        at = f"t{self._counter}_"
        rows = 3 * self._hidden_size
        i2h = F.FullyConnected(data=inputs, weight=i2h_w, bias=i2h_b, num_hidden=rows, name=at + "i2h")
        h2h = F.FullyConnected(data=state, weight=h2h_w, bias=h2h_b, num_hidden=rows, name=at + "h2h")
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, name=at + "i2h_slice")
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, name=at + "h2h_slice")
        reset = F.Activation(F.elemwise_add(i2h_r, h2h_r, name=at + "plus0"), act_type="sigmoid", name=at + "r_act")
        update = F.Activation(F.elemwise_add(i2h_z, h2h_z, name=at + "plus1"), act_type="sigmoid", name=at + "z_act")
        inner = F.elemwise_add(i2h_n, F.elemwise_mul(reset, h2h_n, name=at + "mul0"), name=at + "plus2")
        candidate = F.Activation(inner, act_type="tanh", name=at + "h_act")
        keep = F.elemwise_sub(F.ones_like(update, name=at + "ones_like0"), update, name=at + "minus0")
        result = F.elemwise_add(
            F.elemwise_mul(keep, candidate, name=at + "mul1"),
            F.elemwise_mul(update, state, name=at + "mul20"),
            name=at + "out",
        )
        node = result._entries[0][0]
        unknown = unknown_size(state._entries[0][0])
        node.fused = (
            _STEP,
            [part._entries[0] for part in (inputs, state, i2h_w, h2h_w, i2h_b, h2h_b)],
            {"state_for_any": unknown},
        )
        return result

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Run the cell over a sequence: on arrays all steps at once."""
        plain = type(self) is GRUCell and not (self._forward_hooks or self._forward_pre_hooks)
        first = inputs[0] if isinstance(inputs, (list, tuple)) and inputs else inputs
        if not plain or not isinstance(first, NDArray):
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        axis = axis_of(layout)
        whole = inputs if isinstance(inputs, NDArray) else as_merged(ndarray, as_steps(length, inputs, layout), axis)
        if whole.ndim != 3:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        assert whole.shape[axis] == length, f"unroll: inputs have {whole.shape[axis]} steps, length is {length}"
        states = _begin(self, ndarray, begin_state, whole, whole.shape[1 - axis])
        if self._deferred(whole):
            return super().unroll(length, inputs, states, layout, merge_outputs, valid_length)
        ctx = whole.context
        weights = [p.data(ctx)._t for p in (self.i2h_weight, self.h2h_weight, self.i2h_bias, self.h2h_bias)]
        lengths = None if valid_length is None else valid_length._t
        try:
            output, last = run(
                run_gru, whole._t, states[0]._t.unsqueeze(0), weights, False, 0.0, lengths, layout == "NTC"
            )
        except (AnygruError, RuntimeError) as error:
            raise MXNetError(f"{self.name}: {error}") from error
        output, last = wrap(output, ctx), wrap(last[0], ctx)
        if merge_outputs or (merge_outputs is None and valid_length is not None):
            return output, [last]
        return as_steps(length, output, layout), [last]

    def _deferred(self, inputs: NDArray) -> bool:
        return any(parameter._deferred_init for parameter in self._reg_params.values())

    def __to_anygru__(self) -> anygru.GRUCell:
        """A `anygru.GRUCell` on the same memory.

        Raises:
            RuntimeError: before `initialize()`.
            DeferredInitializationError: before the input size is known.
        """
        tensors = [p.data()._t for p in (self.i2h_weight, self.h2h_weight, self.i2h_bias, self.h2h_bias)]
        cell = anygru.GRUCell(tensors[0].shape[1], self._hidden_size, device=tensors[0].device, dtype=tensors[0].dtype)
        return share(cell, ["weight_ih", "weight_hh", "bias_ih", "bias_hh"], tensors)


class _Stack(RecurrentCell):
    """Cells one upon the other: the output of each is the input of the next."""

    def __repr__(self) -> str:
        cells = "\n".join(f"({place}): {indent(repr(cell), 2)}" for place, cell in self._children.items())
        return f"{type(self).__name__}(\n{cells}\n)"

    def add(self, cell: RecurrentCell) -> None:
        """Put a cell on top."""
        self.register_child(cell)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]  # type: ignore[attr-defined]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """States of all cells."""
        assert not self._modified, _MODIFIED
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]  # type: ignore[attr-defined]

    def __call__(self, inputs: Any, states: Any) -> Any:
        self._counter += 1
        assert not any(isinstance(cell, BidirectionalCell) for cell in self._children.values()), (
            "a BidirectionalCell cannot be stepped; use unroll"
        )
        following, at = [], 0
        for cell in self._children.values():
            count = len(cell.state_info())  # type: ignore[attr-defined]
            inputs, after = cell(inputs, states[at : at + count])
            following.extend(after)
            at += count
        return inputs, following

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Run every cell over the whole sequence, one after the other."""
        self.reset()
        F = operators_for(inputs)
        states = _begin(self, F, begin_state, inputs, batch_size_of(inputs, layout))
        following, at = [], 0
        last = len(self._children) - 1
        for place, cell in enumerate(self._children.values()):
            count = len(cell.state_info())  # type: ignore[attr-defined]
            inputs, after = cell.unroll(  # type: ignore[attr-defined]
                length,
                inputs=inputs,
                begin_state=states[at : at + count],
                layout=layout,
                merge_outputs=None if place < last else merge_outputs,
                valid_length=valid_length,
            )
            following.extend(after)
            at += count
        return inputs, following

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_Stack):
    """Cells one upon the other."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Cells one upon the other, which can be traced."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """One step."""
        return self.__call__(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """Dropout on its input; it has no states.

    Args:
        rate: probability of zeroing an element when training.
        axes: axes along which elements are dropped together.
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        assert isinstance(rate, numeric_types), "rate must be a number"
        self._rate = rate
        self._axes = axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """No states."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Dropout of one step."""
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Dropout of a whole sequence at once, where it is one array."""
        self.reset()
        F = operators_for(inputs)
        if merge_outputs is False:
            inputs = as_steps(length, inputs, layout)
        elif merge_outputs and not isinstance(inputs, tensor_types):
            inputs = as_merged(F, inputs, axis_of(layout))
        if isinstance(inputs, tensor_types):
            return self.hybrid_forward(F, inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs, None)


class ModifierCell(HybridRecurrentCell):
    """A cell that changes what another computes; that one must not be called directly any more."""

    def __init__(self, base_cell: Any) -> None:
        assert not base_cell._modified, f"Cell {base_cell.name} is already modified. One cell cannot be modified twice"
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        """The parameters of the cell inside."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the states of the cell inside."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """States of the cell inside."""
        assert not self._modified, _MODIFIED
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """One step; a subclass defines it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Keeps elements of the previous output and states at random when training (Krueger et al. 2016).

    Args:
        base_cell: the cell inside.
        zoneout_outputs, zoneout_states: probabilities of keeping an element.
    """

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        assert not isinstance(base_cell, BidirectionalCell), (
            "BidirectionalCell doesn't support zoneout since it doesn't support step. "
            "Please add ZoneoutCell to the cells underneath instead."
        )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forget the previous output."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """One step, parts of it kept from before."""
        output, following = self.base_cell(inputs, states)

        def mixed(rate: float, new: Any, old: Any) -> Any:
            return F.where(F.Dropout(F.ones_like(new), p=rate), new, old) if rate else new

        before = F.zeros_like(output) if self._prev_output is None else self._prev_output
        output = mixed(self.zoneout_outputs, output, before)
        self._prev_output = output
        return output, [mixed(self.zoneout_states, new, old) for new, old in zip(following, states, strict=True)]


class ResidualCell(ModifierCell):
    """Adds the input to the output (Wu et al. 2016)."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """One step and the sum."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Run the cell inside over the sequence, and add."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length,
                inputs=inputs,
                begin_state=begin_state,
                layout=layout,
                merge_outputs=merge_outputs,
                valid_length=valid_length,
            )
        finally:
            self.base_cell._modified = True
        F = operators_for(inputs)
        merged = isinstance(outputs, tensor_types) if merge_outputs is None else merge_outputs
        axis = axis_of(layout)
        if valid_length is not None:
            inputs = mask_beyond(F, inputs, length, valid_length, axis, merged)
        if merged:
            whole = inputs if isinstance(inputs, tensor_types) else as_merged(F, inputs, axis)
            return F.elemwise_add(outputs, whole), states
        steps = as_steps(length, inputs, layout)
        return [F.elemwise_add(output, step) for output, step in zip(outputs, steps, strict=True)], states


class BidirectionalCell(HybridRecurrentCell):
    """Two cells over a sequence, one from each end; only `unroll` runs it.

    Args:
        l_cell: reads from the beginning.
        r_cell: reads from the end.
        output_prefix: beginning of the names of outputs in a graph.
    """

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        forward, backward = self._children.values()
        return f"{type(self).__name__}(forward={forward}, backward={backward})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the states of both."""
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]  # type: ignore[attr-defined]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """States of both."""
        assert not self._modified, _MODIFIED
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]  # type: ignore[attr-defined]

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Run both over the sequence; outputs are joined along the features."""
        self.reset()
        steps = as_steps(length, inputs, layout)
        F = operators_for(steps)
        axis = axis_of(layout)
        states = _begin(self, F, begin_state, steps, batch_size_of(inputs, layout))
        forward, backward = self._children.values()
        count = len(forward.state_info())  # type: ignore[attr-defined]
        options = {"layout": layout, "merge_outputs": False, "valid_length": valid_length}
        left, left_states = forward.unroll(length, inputs=steps, begin_state=states[:count], **options)  # type: ignore[attr-defined]
        turned = reverse_steps(F, steps, length, valid_length)
        right, right_states = backward.unroll(length, inputs=turned, begin_state=states[count:], **options)  # type: ignore[attr-defined]
        right = reverse_steps(F, right, length, valid_length)
        outputs: Any = [
            F.concat(one, other, dim=1, name=f"{self._output_prefix}t{place}")
            for place, (one, other) in enumerate(zip(left, right, strict=True))
        ]
        following = left_states + right_states
        if valid_length is not None:
            return mask_beyond(F, outputs, length, valid_length, axis, merge_outputs is not False), following
        return (as_merged(F, outputs, axis) if merge_outputs else outputs), following
