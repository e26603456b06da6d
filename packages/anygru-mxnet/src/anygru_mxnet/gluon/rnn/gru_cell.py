"""`gluon.rnn.GRUCell`: one step of a GRU, computed by `anygru.functional`."""

from types import ModuleType
from typing import Any

from torch import Tensor

from anygru import functional, layers
from anygru.errors import AnygruError
from anygru.extend import Weights, not_covered

from ... import ndarray
from ...base import MXNetError
from ...initializer import Initial
from ...ndarray.array import run, tensor_of, wrap
from ...ndarray.ndarray import NDArray
from ...operators.arithmetic import same_dtype
from ...operators.recurrent import run_gru
from ...operators.registry import Operator
from ...symbol.graph import unknown_size
from ...symbol.nesting import Data
from ...symbol.symbol import Symbol
from ..blocks.parameter_dict import ParameterDict
from .gated_cell import GatedCell
from .sequences import Sequence, Steps

__all__ = ["GRUCell"]


def _step(
    data: Tensor,
    state: Tensor,
    i2h_weight: Tensor,
    h2h_weight: Tensor,
    i2h_bias: Tensor,
    h2h_bias: Tensor,
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


_STEP = Operator("gru_cell", _step, 6)


class GRUCell(GatedCell):
    """One step of a GRU; the reset gate acts after the product.

    Args:
        hidden_size: hidden size H.
        i2h_weight_initializer, h2h_weight_initializer: initializers of the weights.
        i2h_bias_initializer, h2h_bias_initializer: initializers of the biases.
        input_size: features of the input, C; 0 waits for the first input.
        prefix, params: as for `Block`.
        activation, recurrent_activation: "tanh" and "sigmoid" only.

    A call takes an input [N, C] and states [[N, H]] and returns the output [N, H] and [output].
    """

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: str = "tanh",
        recurrent_activation: str = "sigmoid",
    ) -> None:
        if (activation, recurrent_activation) != ("tanh", "sigmoid"):
            raise not_covered(
                "mxnet.gluon.rnn.GRUCell(activation=...)", "anygru.GRUCell with formula=, or a cell written out"
            )
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(3, hidden_size, input_size, initializers, prefix, params)

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Any,
        states: Any,
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> Any:
        """One step, or its node in the graph."""
        parts: tuple[Any, ...] = (inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        if F is not ndarray:
            result = self._trace(F, *parts)
            return result, [result]
        if states[0].shape != (inputs.shape[0], self._hidden_size):
            expected = (inputs.shape[0], self._hidden_size)
            raise MXNetError(f"{self.name}: the state must be of shape {expected}, got {states[0].shape}")
        try:
            result = wrap(run(_step, *(tensor_of("data", part) for part in parts)), inputs._ctx)
        except (AnygruError, RuntimeError) as error:
            raise MXNetError(f"{self.name}: {error}") from error
        return result, [result]

    def _trace(
        self, F: ModuleType, inputs: Symbol, state: Symbol, i2h_w: Symbol, h2h_w: Symbol, i2h_b: Symbol, h2h_b: Symbol
    ) -> Any:
        """The step in MXNet's operators, for files. It runs as one step of anygru."""
        at = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, state, i2h_w, h2h_w, i2h_b, h2h_b)
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, name=at + "i2h_slice")
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, name=at + "h2h_slice")
        reset = F.Activation(F.elemwise_add(i2h_r, h2h_r, name=at + "plus0"), act_type="sigmoid", name=at + "r_act")
        update = F.Activation(F.elemwise_add(i2h_z, h2h_z, name=at + "plus1"), act_type="sigmoid", name=at + "z_act")
        inner = F.elemwise_add(i2h_n, F.elemwise_mul(reset, h2h_n, name=at + "mul0"), name=at + "plus2")
        candidate = F.Activation(inner, act_type="tanh", name=at + "h_act")
        keep = F.elemwise_sub(F.ones_like(update, name=at + "ones_like0"), update, name=at + "minus0")
        result = F.elemwise_add(
            F.elemwise_mul(keep, candidate, name=at + "mul1"),
            # The name "mul20" is MXNet 1.9.1's (`rnn_cell.py`).
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

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run the cell over a sequence, on arrays in one call for all steps."""
        plain = type(self) is GRUCell and not (self._forward_hooks or self._forward_pre_hooks)
        first = inputs[0] if isinstance(inputs, (list, tuple)) and inputs else inputs
        if not plain or not isinstance(first, NDArray):
            return super()._unroll(inputs, states, sequence)
        whole = sequence.merged(ndarray, inputs if isinstance(inputs, NDArray) else sequence.steps(inputs))
        if whole.ndim != 3:
            return super()._unroll(inputs, states, sequence)
        steps = whole.shape[sequence.axis]
        assert steps == sequence.length, f"unroll: inputs have {steps} steps, length is {sequence.length}"
        states = self._begin(ndarray, states, whole, whole.shape[1 - sequence.axis])
        if self._deferred():
            return super()._unroll(inputs, states, sequence)
        ctx = whole.context
        weights = [p.data(ctx)._t for p in self._reg_params.values()]
        lengths = sequence.lengths._t if isinstance(sequence.lengths, NDArray) else None
        batch_first = sequence.layout == "NTC"
        try:
            output, last = run(run_gru, whole._t, states[0]._t.unsqueeze(0), weights, False, 0.0, lengths, batch_first)
        except (AnygruError, RuntimeError) as error:
            raise MXNetError(f"{self.name}: {error}") from error
        output, last = wrap(output, ctx), wrap(last[0], ctx)
        if sequence.merge or (sequence.merge is None and sequence.lengths is not None):
            return output, [last]
        outputs = sequence.steps(output)
        # Without lengths the last output and the state are the same array, as after single steps, and `backward` counts it as one
        # head. A hybridized cell returns two arrays, which are two heads (both recorded from 1.9.1).
        return outputs, [last if sequence.lengths is not None or self._active else outputs[-1]]

    def _deferred(self) -> bool:
        return any(parameter._deferred_init for parameter in self._reg_params.values())

    def __to_anygru__(self) -> layers.GRUCell:
        """An `anygru.GRUCell` on the same memory.

        Raises:
            RuntimeError: before `initialize()`.
            DeferredInitializationError: before the input size is known.
        """
        tensors = [parameter.data()._t.detach().requires_grad_() for parameter in self._reg_params.values()]
        return layers.GRUCell.around(Weights.of(tensors))
