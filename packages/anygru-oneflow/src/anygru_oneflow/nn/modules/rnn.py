"""`oneflow.nn.GRU`, `GRUCell` and the other recurrent layers. The GRUs compute through `anygru.functional`."""

import contextlib
from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from anygru import functional, layers
from anygru.errors import ArgumentError, ArgumentTypeError

from ...framework.dressing import dress, inside_torch, torch_dtype
from ...framework.dtype import plain, translated
from ...framework.generator import drawn, is_drawn_here
from ...framework.tensor import Tensor
from ...processes import global_tensor
from ..functional.recurrent import layer_of
from ..utils.rnn import PackedSequence, repacked
from .adopted import adopt
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_LAYERS = {kind: layer_of(kind) for kind in ("lstm", "rnn_tanh", "rnn_relu")}
_KERNELS: dict[str, Callable[..., Any]] = {
    **{kind.upper(): layer for kind, layer in _LAYERS.items()},
    "LSTMCell": torch.lstm_cell, "tanh": torch.rnn_tanh_cell, "relu": torch.rnn_relu_cell,
}  # fmt: skip


def _with_checked_kernels(forward: Any) -> FunctionType:
    """The `forward` of a layer of torch, in which the name `_VF` means the kernels that check all weights and states."""
    names = {**forward.__globals__, "_VF": SimpleNamespace(**_LAYERS)}
    return FunctionType(forward.__code__, names, forward.__name__, forward.__defaults__, forward.__closure__)


def _dropped(output: torch.Tensor, probability: float, batch_first: bool = False) -> torch.Tensor:
    """The output of a layer [T, B, H], or packed [N, H], with elements dropped by OneFlow's generator."""
    if not is_drawn_here(output.device):
        return torch.dropout(output, probability, True)
    shape = (output.shape[1], output.shape[0], output.shape[2]) if batch_first else tuple(output.shape)
    factors = drawn(None, "kept", shape, probability).to(torch_dtype(output))
    return output * (factors.transpose(0, 1) if batch_first else factors)


def _by_layers(self: Any, forward: Callable[..., Any], input: Any, hx: Any) -> Any:
    """Run the layers of an RNN or LSTM in training separately, with a dropout between them."""
    directions, count = 2 if self.bidirectional else 1, len(self._flat_weights) // self.num_layers
    states = [] if hx is None else list(hx) if isinstance(hx, tuple) else [hx]
    last: list[Any] = []
    for number in range(self.num_layers):
        layer = object.__new__(type(self))
        vars(layer).update(vars(self), num_layers=1, dropout=0.0)
        vars(layer)["_flat_weights"] = self._flat_weights[count * number : count * (number + 1)]
        if number:
            layer.input_size = directions * (self.proj_size or self.hidden_size)
            if isinstance(input, torch.nn.utils.rnn.PackedSequence):
                input = input._replace(data=_dropped(input.data, self.dropout))
            else:
                input = _dropped(input, self.dropout, self.batch_first and input.dim() == 3)
        begun = [state[directions * number : directions * (number + 1)] for state in states]
        input, ended = forward(
            layer, input, None if hx is None else tuple(begun) if isinstance(hx, tuple) else begun[0]
        )
        last.append(ended)
    if isinstance(last[0], tuple):
        return input, tuple(torch.cat(parts) for parts in zip(*last, strict=True))
    return input, torch.cat(last)


def _global_too(layer: Any) -> Any:
    """A recurrent layer of torch that takes global tensors as well: each process computes its part of the batch."""
    forward = inside_torch(_with_checked_kernels(layer.__bases__[0].forward))

    @wraps(forward)
    def call(self: Any, input: Any, hx: Any = None) -> Any:
        if not isinstance(input, DTensor):
            try:
                if self.training and self.dropout and self.num_layers > 1:
                    return _by_layers(self, forward, input, hx)
                return forward(self, input, hx)
            except (ValueError, ArgumentTypeError) as error:
                raise RuntimeError(*error.args) from None
        if input.dim() != 3:
            raise RuntimeError(
                f"{self._get_name()} needs a batch where its tensors are global, got {input.dim()}-D input"
            )
        directions = 2 if self.bidirectional else 1
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)

        def compute(piece: torch.Tensor, states: list[Any], weights: list[torch.Tensor]) -> Any:
            if not states:
                rows = piece.shape[0 if self.batch_first else 1]
                sizes = [self.proj_size or self.hidden_size, self.hidden_size][: 2 if self.mode == "LSTM" else 1]
                states = [piece.new_zeros(self.num_layers * directions, rows, size) for size in sizes]
            return _KERNELS[self.mode](piece, states if self.mode == "LSTM" else states[0], weights, *options)

        states = [] if hx is None else list(hx) if isinstance(hx, tuple) else [hx]
        with torch._C.DisableTorchFunctionSubclass():
            dim = 0 if self.batch_first else 1
            output, *last = global_tensor.over_batch(compute, input, states, list(self.parameters()), dim)
        return dress(output), dress(tuple(last) if self.mode == "LSTM" else last[0])

    layer.forward = call
    return layer


def _global_cell(cell: Any) -> Any:
    """The same for a cell, which takes one step."""
    forward = cell.forward

    @wraps(forward)
    def call(self: Any, input: Any, hx: Any = None) -> Any:
        if input.is_local:
            return forward(self, input, hx)
        is_lstm = isinstance(self, torch.nn.LSTMCell)
        kernel = _KERNELS["LSTMCell" if is_lstm else self.nonlinearity]

        def compute(piece: torch.Tensor, states: list[Any], weights: list[torch.Tensor]) -> Any:
            states = states or [piece.new_zeros(len(piece), self.hidden_size)] * (2 if is_lstm else 1)
            result = kernel(piece, states if is_lstm else states[0], *weights)
            return result if is_lstm else [result]

        states = [] if hx is None else list(hx) if isinstance(hx, tuple) else [hx]
        with torch._C.DisableTorchFunctionSubclass():
            results = global_tensor.over_batch(compute, input, states, list(self.parameters()), 0, 0)
        return dress(tuple(results)) if is_lstm else dress(results[0])

    cell.forward = call
    return cell


_OPTIONS = ("bias", "batch_first", "dropout", "bidirectional", "proj_size", "device", "dtype")


def _with_flags(make: Callable[..., None]) -> Callable[..., None]:
    """A constructor of a recurrent layer in OneFlow's order of arguments; any truth value is a flag (recorded, 0.9.0)."""

    @wraps(make)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        named = dict(zip(_OPTIONS, args[3:], strict=False)) | kwargs
        flags = {
            name: bool(named[name]) for name in _OPTIONS[:2] if name in named
        }  # torch refuses values other than bools
        make(self, *map(plain, args[:3]), **{name: plain(value) for name, value in (named | flags).items()})

    return call


RNNBase = adopt(torch.nn.RNNBase)


def _flatten_parameters(self: Any) -> None:
    """torch's, which asks for torch's dtypes."""
    with torch._C.DisableTorchFunctionSubclass():
        torch.nn.RNNBase.flatten_parameters(self)


RNNBase.flatten_parameters = _flatten_parameters
RNN = _global_too(adopt(torch.nn.RNN, base=RNNBase))
LSTM = _global_too(adopt(torch.nn.LSTM, base=RNNBase))
for _layer in (RNN, LSTM):
    _layer.__init__ = _with_flags(_layer.__init__)
RNNCellBase = adopt(torch.nn.RNNCellBase)


def _steps_checked(cell: Any) -> Any:
    """A cell that takes one step of a batch or of one sequence."""
    step = cell.forward

    @wraps(step)
    def forward(self: Any, input: Tensor, hx: Any = None) -> Any:
        _check_step(self, input, hx)
        return step(self, input, hx)

    cell.forward = forward
    return cell


def _check_step(cell: Module, input: Tensor, hx: object) -> None:
    assert input.dim() in (1, 2), (
        f"{cell._get_name()}: Expected input to be 1-D or 2-D but received {input.dim()}-D tensor"
    )
    size: Any = cell.input_size
    if input.shape[-1] != size:
        # Without a state the check itself fails in 0.9.0, by a TypeError (recorded).
        kind = TypeError if hx is None else RuntimeError
        raise kind(f"{cell._get_name()}: input must have {size} features, got {input.shape[-1]}")
    for state in hx if isinstance(hx, (tuple, list)) else [hx]:
        if isinstance(state, torch.Tensor) and state.dim() != input.dim():  # on which torch's LSTMCell crashes
            raise RuntimeError(
                f"{cell._get_name()}: hx must have {input.dim()} dimensions as input has, got {state.dim()}"
            )


def _with_matrix_of_states(cell: Any) -> Any:
    """An RNNCell that takes one vector and a matrix of states as OneFlow 0.9.0 does (recorded).

    It adds the states' bias along their first dimension, so only a square matrix is possible.
    """
    step = cell.forward

    @wraps(step)
    def forward(self: Any, input: Tensor, hx: Any = None) -> Any:
        if input.dim() != 1 or hx is None or hx.dim() != 2 or input.is_global:
            return step(self, input, hx)
        if tuple(hx.shape) != (self.hidden_size, self.hidden_size):
            raise RuntimeError(f"RNNCell: hx must be [{self.hidden_size}] for an input of one vector, got {hx.shape}")
        sums = input @ self.weight_ih.T + hx @ self.weight_hh.T
        if self.bias:
            sums = sums + self.bias_ih + self.bias_hh.unsqueeze(1)
        return torch.tanh(sums) if self.nonlinearity == "tanh" else torch.relu(sums)

    cell.forward = forward
    return cell


RNNCell = _with_matrix_of_states(_steps_checked(_global_cell(adopt(torch.nn.RNNCell, base=RNNCellBase))))
LSTMCell = _steps_checked(_global_cell(adopt(torch.nn.LSTMCell, base=RNNCellBase)))


@contextlib.contextmanager
def _oneflow_errors() -> Iterator[None]:
    """Sizes, types and devices that do not fit are RuntimeErrors in OneFlow."""
    try:
        yield
    except (ArgumentError, ArgumentTypeError) as error:
        raise RuntimeError(str(error)) from error


class GRU(torch.nn.GRU, RNNBase):  # type: ignore[misc, valid-type]
    """A GRU of one or more layers and one or two directions over a batch of sequences.

    Args:
        input_size, hidden_size: features of the input and of the state.
        num_layers, bias, batch_first, dropout, bidirectional: as in torch.

    Call it with input [T, B, I] ([B, T, I] if batch_first), one sequence [T, I] or a PackedSequence, and perhaps hx
    [D*L, B, H]; it gives (output, h_n). Local and global tensors both do; of a global layer, the weights may be split over
    their rows and the input over its batch.

    Raises:
        ValueError, TypeError: from the constructor, for arguments out of range.
        RuntimeError: input or hx of another size; local tensors among global ones.
    """

    __init__ = _with_flags(torch.nn.GRU.__init__)

    def check_input(self, input: torch.Tensor, batch_sizes: torch.Tensor | None) -> None:
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:  # type: ignore[override]
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        batched = input.dim() == 3
        if hx is not None and hx.dim() != (3 if batched else 2):
            kind, wanted = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {hx.dim()}-D tensor")
        batch_dim = 0 if self.batch_first else 1
        whole = input if batched else input.unsqueeze(batch_dim)
        self.check_input(whole, None)
        if whole.size(1 - batch_dim) == 0:
            raise RuntimeError("nn.GRU needs at least one time step, got an input of 0 steps")
        if hx is not None:
            state = hx if batched else hx.unsqueeze(1)
            self.check_hidden_size(state, self.get_expected_hidden_size(whole, None))
        return self._run(input, hx, self.batch_first)

    def _packed(self, input: PackedSequence, hx: Tensor | None) -> tuple[PackedSequence, Tensor]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self.check_input(data, batch_sizes)
        if hx is not None:
            self.check_hidden_size(hx, self.get_expected_hidden_size(data, batch_sizes))
        output, h_n = self._run(input, hx, False)
        return repacked(output), h_n

    def _run(self, input: Any, hx: Tensor | None, batch_first: bool) -> tuple[Any, Tensor]:
        weights = self._flat_weights
        compute: Any = functional.gru
        dropout: Any = self.dropout
        if dropout and self.training and self.num_layers > 1:
            dropout = lambda layer, output: _dropped(output, self.dropout)  # noqa: E731
        if any(isinstance(tensor, Tensor) and tensor.is_global for tensor in (input, hx, *weights)):
            compute, dropout = global_tensor.gru, self.dropout
            if not all(isinstance(tensor, Tensor) and tensor.is_global for tensor in (input, *weights)):
                raise RuntimeError(
                    "nn.GRU got local and global tensors together: make input, hx and the layer global by to_global"
                )
        with torch._C.DisableTorchFunctionSubclass(), _oneflow_errors():
            results = compute(
                input,
                hx,
                weights,
                batch_first=batch_first,
                bidirectional=self.bidirectional,
                bias=self.bias,
                dropout=dropout,
                training=self.training,
            )
        return dress(results)

    # The weights are read by name at every call; torch's further copies for cuDNN are not used here.

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        pass

    def _init_flat_weights(self) -> None:
        pass

    def _update_flat_weights(self) -> None:
        pass

    def __setattr__(self, name: str, value: Any) -> None:
        Module.__setattr__(self, name, value)

    __getstate__ = Module.__getstate__

    def __setstate__(self, state: dict[str, Any]) -> None:
        torch.nn.Module.__setstate__(self, state)

    def __to_anygru__(self) -> layers.GRU:
        """The same layer as `anygru.GRU`, with parameters in this one's memory: training either trains both."""
        layer = layers.GRU(
            self.input_size,
            self.hidden_size,
            self.num_layers,
            self.bias,
            self.batch_first,
            self.dropout,
            self.bidirectional,
            device="meta",
        )
        return _with_memory_of(self, layer)


class GRUCell(torch.nn.GRUCell, RNNCellBase):  # type: ignore[misc, valid-type]
    """One step of a GRU: the state after input [B, I] or [I] from state hx [B, H] or [H] (None: zeros)."""

    __init__ = translated(torch.nn.GRUCell.__init__)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:  # type: ignore[override]
        _check_step(self, input, hx)
        weight: Any = self.weight_ih
        if weight.is_global != input.is_global or (hx is not None and hx.is_global != input.is_global):
            raise RuntimeError("nn.GRUCell got local and global tensors together")
        with torch._C.DisableTorchFunctionSubclass(), _oneflow_errors():
            return dress(functional.gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh))

    def __to_anygru__(self) -> layers.GRUCell:
        """The same cell as `anygru.GRUCell`, with parameters in this one's memory: training either trains both."""
        cell = layers.GRUCell(self.input_size, self.hidden_size, self.bias, device="meta")
        return _with_memory_of(self, cell)


def _with_memory_of(source: Module, layer: Any) -> Any:
    """Let a layer of torch's have the values of OneFlow's parameters, in the same memory."""
    parameters: Any = source.named_parameters()
    for name, parameter in parameters:
        if parameter.is_global:
            raise TypeError(f"{name} is a global tensor, which an anygru layer cannot share; call to_local() first")
        values = parameter.detach().as_subclass(torch.Tensor)
        setattr(layer, name, torch.nn.Parameter(values, parameter.requires_grad))
    return layer.train(source.training)
