"""`FrozenGRU` and `FrozenGRUCell`: the calls of layers whose weights never change."""

import ctypes
import sys
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_dropout, check_state_type
from ..facts.decays import PerStep
from ..facts.formula import Activation, Reset, make_formula
from ..facts.problem import Options
from ..facts.quantization import Stored, WeightFormat, check_format, quantize, quantize_groups
from ..facts.sequences import Batch, Lengths
from ..facts.weights import Layout, Weights
from ..functional import compute, compute_cell
from ..operator.frozen_weights import FrozenWeights
from ..operator.typed_calls import CellCall, SequenceCall, typed
from .frozen import Frozen
from .rnn_names import RNNNames
from .shared import as_leaf, check_parts, check_size, of_formula, settle_weights, sizes_repr
from .stream import Stream

_Kind = TypeVar("_Kind", bound="FrozenGRU | FrozenGRUCell")


class FrozenGRU(RNNNames, Frozen):
    """A GRU for inference with weights that are packed once. `GRU.freeze` makes it; it is called as `GRU` is.

    It has no parameters, and computes in float32. Its weights are buffers: those of a GRU by name and shape, the matrices in the
    format that `weights` names, and for int8 a scale for each row of a matrix in `..._scale`. Made directly, it has weights of
    zero, for `load_state_dict` to replace.

    Args:
        weights: how weight matrices are stored: "float32", "bfloat16" or "int8".
        input_size, hidden_size, num_layers, bias, batch_first, bidirectional, device: as for `GRU`.
        dropout: kept for `thaw`; it has no effect.
        reset, gate_activation, activation, backend, groups, input_groups, batch_first_states: as for `GRU`.

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.

    Example:
        >>> layer = anygru.GRU(10, 20)
        >>> frozen = layer.freeze(weights="int8")
        >>> frozen
        FrozenGRU(10, 20, weights='int8')
        >>> output, h_n = frozen(torch.randn(5, 2, 10))
    """

    trainable: ClassVar[Any]
    """`GRU`, which `thaw` returns; it imports this file."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | int | None = None,
        *,
        weights: WeightFormat = "float32",
        reset: Reset = "after",
        gate_activation: Activation = "sigmoid",
        activation: Activation = "tanh",
        backend: str | None = None,
        groups: int = 1,
        input_groups: int = 1,
        batch_first_states: bool = False,
    ) -> None:
        check_parts(groups, hidden_size, input_groups, input_size)
        facts = (bool(bidirectional), bool(bias), False, False, groups, input_groups > 1)
        layout = Layout(check_size("num_layers", num_layers), *facts)
        formula = make_formula(reset, gate_activation, activation)
        super().__init__((input_size, hidden_size), layout, layout.names(), weights, formula, backend, device)
        self.batch_first, self.batch_first_states = bool(batch_first), bool(batch_first_states)
        self.dropout = check_dropout(dropout)

    @property
    def num_layers(self) -> int:
        return self.layout.num_layers

    @property
    def bidirectional(self) -> bool:
        return self.layout.bidirectional

    if TYPE_CHECKING:
        __call__: SequenceCall

    @typed
    def forward(
        self,
        input: Batch,
        h_0: Tensor | None = None,
        lengths: Lengths | None = None,
        resets: PerStep | None = None,
        decay: PerStep | None = None,
        return_states: bool = False,
        reset_states: PerStep | None = None,
    ) -> tuple[Any, ...]:
        """As `GRU.forward`, in float32 and without gradients.

        Raises:
            ArgumentError: also where a gradient is asked for, dropout while training, or the states of all layers.
        """
        if not isinstance(input, Tensor):
            node: tuple[Any, ...] | None = as_leaf(
                self, input, h_0, lengths, resets, decay, return_states, reset_states
            )
            if node is not None:
                return node
        if return_states:
            raise ArgumentError(
                "return_states: a frozen layer keeps no states between layers; use the layer of `thaw()`"
            )
        if h_0 is not None:
            check_state_type(h_0, "h_0")
        return compute(input, h_0, self.frozen_weights, lengths, self._options, resets, decay, reset_states)

    def stream_weights(self) -> FrozenWeights:
        """The weights, which a stream shares."""
        return self.frozen_weights

    def stream_options(self) -> Options:
        """The options of a call in inference."""
        return self._options._replace(dropout=0.0, batch_first=False, batch_first_states=False)

    def stream(self, batch_size: int | None = None) -> Stream:
        """A stream that runs this layer and shares its packed weights; argument and errors as of `GRU.stream`."""
        return Stream(self, batch_size)

    def thaw(self) -> Any:
        """A GRU that can be trained, with the weights as they are now, in float32."""
        weights = Weights(self.frozen_weights.dequantized(), self.layout)
        copies = Weights([tensor.clone().requires_grad_() for tensor in weights.tensors], self.layout)
        layer = self.trainable.around(copies, batch_first=self.batch_first, dropout=self.dropout, **of_formula(self))
        layer.batch_first_states = self.batch_first_states
        return layer

    def extra_repr(self) -> str:
        return sizes_repr(self) + self._options_repr() + self._repr_end()


class FrozenGRUCell(Frozen):
    """One step of a frozen GRU. `GRUCell.freeze` makes it; it is called as `GRUCell` is. See `FrozenGRU`.

    Args:
        weights: how weight matrices are stored: "float32", "bfloat16" or "int8".
        input_size, hidden_size, bias, device: as for `GRUCell`.
        reset, gate_activation, activation, backend, groups, input_groups: as for `GRUCell`.

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.
    """

    trainable: ClassVar[Any]
    """`GRUCell`, which `thaw` returns; it imports this file."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | int | None = None,
        *,
        weights: WeightFormat = "float32",
        reset: Reset = "after",
        gate_activation: Activation = "sigmoid",
        activation: Activation = "tanh",
        backend: str | None = None,
        groups: int = 1,
        input_groups: int = 1,
    ) -> None:
        check_parts(groups, hidden_size, input_groups, input_size)
        layout = Layout(bias=bool(bias), groups=groups, splits_input=input_groups > 1)
        formula = make_formula(reset, gate_activation, activation)
        super().__init__((input_size, hidden_size), layout, layout.kinds(), weights, formula, backend, device)

    if TYPE_CHECKING:
        __call__: CellCall

    def forward(self, input: Tensor, h: Tensor | None = None) -> Tensor:
        """As `GRUCell.forward`, in float32 and without gradients.

        Raises:
            ArgumentError: also where a gradient is asked for.
        """
        if not isinstance(input, Tensor):
            node = as_leaf(self, input, h)
            if node is not None:
                return node
        if h is not None:
            check_state_type(h, "h")
        return compute_cell(input, h, self.frozen_weights, self._options)

    def thaw(self) -> Any:
        """A GRUCell that can be trained, with the weights as they are now, in float32."""
        copies = [tensor.clone().requires_grad_() for tensor in self.frozen_weights.dequantized()]
        return self.trainable.around(Weights(copies, self.layout), **of_formula(self))

    def extra_repr(self) -> str:
        words = f"{self.input_size}, {self.hidden_size}"
        return words + ("" if self.bias else ", bias=False") + self._options_repr() + self._repr_end()


def frozen_copy(kind: type[_Kind], layer: Any, weights: WeightFormat) -> _Kind:
    """A frozen copy of a `GRU` or `GRUCell`, which has all arguments of `kind` as attributes.

    Raises:
        ArgumentError: the layer was trained for another format, or no frozen layer computes as it does.
    """
    settle_weights(layer)
    if layer.freezes_to not in (None, weights):
        raise ArgumentError(
            f"weights={weights!r}, and the layer is trained for {layer.freezes_to!r}: freeze it so, or set its freezes_to to None"
        )
    check_plain(layer)
    names = layer._weight_names
    stored = _stored(layer, dict(zip(names, layer._exact(names), strict=True)), weights)
    own = {name: getattr(layer, name) for name in signature(kind).parameters if name not in ("device", "weights")}
    frozen = kind(**own, device="meta", weights=weights)
    frozen.replace_weights(stored)
    del stored
    _give_memory_back(frozen)
    return frozen


def _give_memory_back(frozen: Frozen) -> None:
    """Asks the C library to return the memory that rounding freed, which is several times what a large layer keeps."""
    if frozen.weights == "int8" and frozen.hidden_size >= 512 and sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)


def check_plain(layer: Any) -> None:
    """Raises ArgumentError if no frozen layer computes as this one does."""
    if layer.options.reverse:
        raise ArgumentError("a frozen layer does not read backwards; use the layer under torch.no_grad()")
    if layer.norm is not None or layer.zoneout:
        raise ArgumentError("a frozen layer has no layer norm and no zoneout; use the layer under torch.no_grad()")


def _stored(layer: Any, tensors: dict[str, Tensor], weights: WeightFormat) -> list[Stored]:
    """A copy of weights, as they are before any rounding, in the format of that name."""
    check_format(weights)
    for name, tensor in tensors.items():
        if is_lazy(tensor):
            raise ArgumentError("the layer has seen no input yet, so its input_size is not known")
        if tensor.dtype is not torch.float32:
            raise ArgumentTypeError(
                f"a frozen layer computes in float32, and {name} is {tensor.dtype}: call the layer's float() first"
            )
    stored = []
    for name, tensor in tensors.items():
        try:
            own = tensor.detach().clone()
            stored.append(
                (quantize if layer.groups == 1 else quantize_groups)(own, weights, layer.freezes_to is not None)
            )
        except ArgumentError as error:
            raise ArgumentError(f"{name}: {error}") from error
    return stored
