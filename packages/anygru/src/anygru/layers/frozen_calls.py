"""The calls of `FrozenGRU`, and frozen copies of layers."""

import ctypes
import sys
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_dropout, check_state_type, is_distributed
from ..facts.decays import PerStep
from ..facts.formula import Activation, Reset, make_formula
from ..facts.problem import BackendName, Options
from ..facts.quantization import Stored, WeightFormat, check_format, quantize, quantize_groups
from ..facts.sequences import Batch, Lengths
from ..facts.weights import Layout
from ..functional import compute
from ..operator.frozen_weights import FrozenWeights
from ..operator.typed_calls import SequenceCall, typed
from .frozen import Frozen
from .rnn_names import RNNNames
from .shared import as_leaf, check_flag, check_parts, check_size, choose_state, defaults_of, run_weight_hooks
from .stream import Stream

_Kind = TypeVar("_Kind", bound=Frozen)


class FrozenLayer(RNNNames, Frozen):
    """`FrozenGRU` without `thaw`."""

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
        backend: BackendName | None = None,
        groups: int = 1,
        input_groups: int = 1,
        batch_first_states: bool = False,
    ) -> None:
        check_parts(groups, hidden_size, input_groups, input_size)
        flags = check_flag("bidirectional", bidirectional), check_flag("bias", bias)
        layout = Layout(check_size("num_layers", num_layers), *flags, groups=groups, splits_input=input_groups > 1)
        formula = make_formula(reset, gate_activation, activation)
        super().__init__((input_size, hidden_size), layout, layout.names(), weights, formula, backend, device)
        self.batch_first = check_flag("batch_first", batch_first)
        self.batch_first_states = check_flag("batch_first_states", batch_first_states)
        self.dropout = check_dropout(dropout)

    _defaults = {**defaults_of(__init__), "weights": None}  # `repr` always shows the format

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
        hx: Tensor | None = None,
    ) -> tuple[Any, ...]:
        """As `GRU.forward`, in float32 and without gradients.

        Raises:
            ArgumentError: also if the call needs a gradient, dropout while training, or the states of all layers.
        """
        if not isinstance(input, Tensor):
            node: tuple[Any, ...] | None = as_leaf(
                self, input, hx if h_0 is None else h_0, lengths, resets, decay, return_states, reset_states
            )
            if node is not None:
                return node if h_0 is None or hx is None else choose_state(h_0, hx, "h_0")
        if hx is not None:
            h_0 = choose_state(h_0, hx, "h_0")
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


def frozen_copy(kind: type[_Kind], layer: Any, weights: WeightFormat) -> _Kind:
    """A frozen copy of a `GRU` or `GRUCell`, which has all arguments of `kind` as attributes.

    Raises:
        ArgumentError: the layer was trained for another format, or no frozen layer has its arithmetic.
    """
    run_weight_hooks(layer)
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
    """Asks the C library to return the memory that rounding freed, which is several times the size of a large layer."""
    if frozen.weights == "int8" and frozen.hidden_size >= 512 and sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)


def check_plain(layer: Any) -> None:
    """Raises ArgumentError if no frozen layer computes as this one does."""
    if layer.options.layer.reverse:
        raise ArgumentError("a frozen layer does not read backwards; use the layer under torch.no_grad()")
    if layer.norm is not None or layer.zoneout:
        raise ArgumentError("a frozen layer has no layer norm and no zoneout; use the layer under torch.no_grad()")


def _stored(layer: Any, tensors: dict[str, Tensor], weights: WeightFormat) -> list[Stored]:
    """A copy of weights, without rounding, in the format of that name."""
    check_format(weights)
    for name, tensor in tensors.items():
        if is_lazy(tensor):
            raise ArgumentError("the layer has seen no input yet, so its input_size is not known")
        if is_distributed(tensor):
            raise ArgumentTypeError(
                f"a frozen layer has whole weights, and {name} is a DTensor: freeze a layer of full_tensor()s"
            )
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
