"""`GRU` and `FrozenGRU`: parameters and options; `functional.py` computes."""

import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils.rnn import PackedSequence

from ..backends import one_buffer
from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_dropout, check_state_type, make_noise
from ..facts.decays import PerStep
from ..facts.formula import Activation, Reset
from ..facts.modifiers import DropoutOn
from ..facts.problem import BackendName, Options
from ..facts.quantization import WeightFormat
from ..facts.sequences import Batch, Lengths
from ..facts.weights import Weights
from ..functional import compute
from ..operator.typed_calls import SequenceCall, typed
from .cell import FrozenGRUCell as FrozenGRUCell
from .cell import GRUCell as GRUCell
from .frozen_calls import FrozenLayer, frozen_copy
from .recurrent import Recurrent
from .rnn_names import RNNNames
from .shared import (
    as_leaf,
    as_weights,
    check_flag,
    check_parts,
    check_size,
    choose_state,
    defaults_of,
    formula_arguments,
    layout_arguments,
    run_weight_hooks,
)
from .stream import Stream


class GRU(RNNNames, Recurrent):
    """A GRU layer: torch.nn.GRU's arguments, parameters, state_dict and results, and more.

    Args:
        input_size: features I of a step; None: the first input sets it (before that the layer is lazy, as torch's lazy
            modules are).
        hidden_size: hidden size H.
        num_layers, bias, batch_first, dropout, bidirectional, device, dtype: as torch.nn.GRU.
        reset: "after" (torch, cuDNN) or "before" (Cho et al. 2014); see `anygru.formula`.
        gate_activation, activation: names of `anygru.formula.ACTIVATIONS` or callables, for gates and candidate.
        backend: None for the fastest that can compute a call, or one of `anygru.backends.NAMES`.
        norm: "layer" for layer norm of the products with the weights, with two more parameters `gain_ih` and `gain_hh`.
        zoneout: probability that a unit keeps its state in a step.
        recurrent_dropout: probability of zeroing on the way from step to step, in training.
        recurrent_dropout_on: "state" (one mask for all steps) or "candidate" (one for each); see `functional.gru`.
        weight_dropout: probability of zeroing an element of each weight_hh for a whole call, in training, with the rest scaled
            up: DropConnect (Wan et al. 2013) as in the AWD-LSTM (Merity et al. 2017). The parameters do not change.
        groups: the number G of parts of the hidden units. Each part has separate weights and reads only its own part of
            the state: weight_hh is [G, 3H/G, H/G], weight_ih [G, 3H/G, I], and biases and gains are [G, 3H/G]; see
            `functional.gru`.
        input_groups: G: each group also reads only its own part of the input, and weight_ih is [G, 3H/G, I/G].
        gradient_clipping: the greatest magnitude of the gradient that a step passes to the state before it; None: any.
        batch_first_states: h_0 and h_n of a batch are [B, L*D, H], also without batch_first.
        update_bias: initial bias of the update gate (bias_ih has it, bias_hh 0 there); positive values start with a state that
            changes slowly, as a forget bias does (Jozefowicz et al. 2015). DreamerV3 has the gate 1 - z and uses -1,
            which is 1 here.
            None: drawn like the other biases.

    Raises:
        ArgumentError, ArgumentTypeError (a ValueError and a TypeError): naming the argument.

    Example:
        >>> layer = anygru.GRU(10, 20)
        >>> outputs, h_n = layer([torch.randn(5, 10), torch.randn(3, 10)])  # sequences of any lengths, in any order
        >>> [tuple(output.shape) for output in outputs], tuple(h_n.shape)
        ([(5, 20), (3, 20)], (1, 2, 20))
    """

    def __new__(cls, input_size: int | None = None, *args: Any, **kwargs: Any) -> "GRU":
        if cls is GRU and input_size is None and (args or kwargs):
            cls = LazyGRU
        return super().__new__(cls)

    def __init__(
        self,
        input_size: int | None,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        reset: Reset = "after",
        gate_activation: Activation = "sigmoid",
        activation: Activation = "tanh",
        backend: BackendName | None = None,
        norm: Literal["layer"] | None = None,
        zoneout: float = 0.0,
        recurrent_dropout: float = 0.0,
        recurrent_dropout_on: DropoutOn = "state",
        weight_dropout: float = 0.0,
        groups: int = 1,
        input_groups: int = 1,
        gradient_clipping: float | None = None,
        batch_first_states: bool = False,
        update_bias: float | None = None,
    ) -> None:
        super().__init__(reset, gate_activation, activation, backend, dtype)
        self.groups, self.input_groups, self.gradient_clipping = groups, input_groups, gradient_clipping
        self.norm, self.zoneout, self.weight_dropout, self.update_bias = norm, zoneout, weight_dropout, update_bias
        self.recurrent_dropout, self.recurrent_dropout_on = recurrent_dropout, recurrent_dropout_on
        self.input_size = 0 if input_size is None else check_size("input_size", input_size)
        self.hidden_size = check_size("hidden_size", hidden_size)
        self.num_layers = check_size("num_layers", num_layers)
        self.bias = check_flag("bias", bias)
        self.batch_first = check_flag("batch_first", batch_first)
        self.batch_first_states = check_flag("batch_first_states", batch_first_states)
        self.bidirectional = check_flag("bidirectional", bidirectional)
        self.dropout = check_dropout(dropout)
        if self.dropout and self.num_layers == 1:
            warnings.warn(
                f"dropout acts between layers, so dropout={dropout} has no effect with num_layers=1", stacklevel=2
            )
        check_parts(groups, self.hidden_size, input_groups, self.input_size)
        self._make_parameters(device, dtype)
        self._update_options()
        self.reset_parameters()
        self._flatten_for_cudnn()

    _defaults = {**defaults_of(__init__), "freezes_to": None}

    @classmethod
    def around(
        cls,
        weights: Weights,
        *,
        batch_first: bool = False,
        dropout: float = 0.0,
        reset: Reset = "after",
        gate_activation: Activation = "sigmoid",
        activation: Activation = "tanh",
        backend: BackendName | None = None,
    ) -> "GRU":
        """A layer that shares the given weights: training either trains both.

        Args:
            weights: `Weights.of(tensors, bidirectional, bias)`. A parameter becomes the layer's parameter; of any other tensor
                the new parameter shares the memory, and requires a gradient if the tensor does.
            batch_first, dropout, reset, gate_activation, activation, backend: as for `GRU`.

        Raises:
            ArgumentError, ArgumentTypeError: naming the argument.

        Example:
            >>> theirs = torch.nn.GRU(3, 4, 2)
            >>> ours = anygru.GRU.around(Weights.of(theirs._flat_weights))
            >>> ours.weight_hh_l1 is theirs.weight_hh_l1
            True
        """
        tensors, layout = as_weights(weights)
        if layout.reverse:
            raise ArgumentError("weights must not be of a reversed direction, which a layer does not have")
        layer = cls(
            weights.input_size,
            weights.hidden_size,
            layout.num_layers,
            layout.bias,
            batch_first,
            dropout,
            layout.bidirectional,
            device="meta",
            dtype=tensors[0].dtype,
            reset=reset,
            gate_activation=gate_activation,
            activation=activation,
            backend=backend,
            **layout_arguments(layout),
        )
        layer._adopt(weights.named())
        return layer

    def _make_parameters(self, device: torch.device | str | int | None, dtype: torch.dtype | None) -> None:
        layout = self._layout
        self._weight_names = tuple(layout.names())
        for name, shape in zip(self._weight_names, layout.shapes(self.input_size, self.hidden_size), strict=True):
            if 0 in shape:
                parameter = cast(nn.Parameter, UninitializedParameter(device=device, dtype=dtype))  # type: ignore[call-arg]
            else:
                parameter = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
            setattr(self, name, parameter)

    if TYPE_CHECKING:
        __call__: SequenceCall

    @property
    def weights(self) -> Weights:
        """The weights with their layout."""
        return Weights(self.flat_weights, self._layout)

    @property
    def _flat_weights(self) -> list[Tensor]:
        return self.flat_weights

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction."""
        flat, layout = self.weights
        places = [(layer, direction) for layer in range(layout.num_layers) for direction in range(layout.directions())]
        return [list(flat[layout.of_direction(*place)]) for place in places]

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> "GRU":
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._flatten_for_cudnn()
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._flatten_for_cudnn()  # each weight of a deep copy has its own memory

    def _flatten_for_cudnn(self) -> None:
        """On CUDA let the parameters share one buffer, as torch.nn.GRU does; cuDNN reads it without copies."""
        if self.formula.standard() and self.reset == "after":  # cuDNN has no other formula
            one_buffer.flatten([self._parameters.get(name) for name in self._weight_names], self._layout)

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
        """The outputs in the input's own form, and the state after each sequence's last step.

        Args:
            input: [T, B, I] ([B, T, I] if batch_first), one sequence [T, I], or a ragged batch in any form that
                `functional.gru` takes.
            h_0: [L*D, B, H] ([L*D, H] for one sequence), in the order of the batch, or [L*D, 1, H] for all sequences; None:
                zeros. With batch_first_states [B, L*D, H] or [1, L*D, H]. Dtype and device are the input's.
            lengths: int [B], in steps, when input is a padded tensor.
            resets: bool or numbers, a value for each step: where it is true, the state is 0 before that step; see
                `functional.gru`.
            decay: factors of the state before each step; see `functional.gru`.
            return_states: also return the states of every layer at every step; see `functional.gru`.
            reset_states: the states that resets go to, instead of 0; see `functional.gru`.
            hx: h_0 by torch's name.

        Returns:
            output with D*H features, h_n [L*D, B, H] ([L*D, H] for one sequence; [B, L*D, H] with batch_first_states), and the
            states if asked for.

        Raises:
            ArgumentError, ArgumentTypeError, BackendError: as `functional.gru`.
        """
        if not isinstance(input, Tensor):
            node: tuple[Any, ...] | None = as_leaf(
                self, input, hx if h_0 is None else h_0, lengths, resets, decay, return_states, reset_states
            )
            if node is not None:
                return node if h_0 is None or hx is None else choose_state(h_0, hx, "h_0")
        if hx is not None:
            h_0 = choose_state(h_0, hx, "h_0")
        if h_0 is not None:
            check_state_type(h_0, "h_0")
        weights = self._current(self._weight_names)
        if self.weight_dropout and self.training:
            weights = self._with_dropped_weights(weights)
        options = self._options._replace(states=True) if return_states else self._options
        return compute(input, h_0, weights, lengths, options, resets, decay, reset_states)

    def _with_dropped_weights(self, weights: list[Tensor]) -> list[Tensor]:
        named = zip(self._weight_names, weights, strict=True)
        return [F.dropout(w, self.weight_dropout) if name.startswith("weight_hh") else w for name, w in named]

    def freeze(self, weights: WeightFormat = "float32") -> "FrozenGRU":
        """Returns a layer for inference with a copy of the present weights, packed once.

        Args:
            weights: how weight matrices are stored: "float32" (the same results, bit for bit), "bfloat16", "bfloat16_rows"
                (inputs and states are rounded to bfloat16 as well) or "int8".

        Raises:
            ArgumentError: no such format, a lazy layer, or weights that int8 cannot hold.
            ArgumentTypeError: the layer is not float32.
        """
        return frozen_copy(FrozenGRU, self, weights)

    def stream_weights(self) -> list[Tensor]:
        """The copy of the weights that a stream keeps."""
        run_weight_hooks(self)
        return [weight.detach().clone() for weight in self.flat_weights]

    def stream_options(self) -> Options:
        """The options of a call in inference."""
        noise = make_noise(self.zoneout, 0.0, "state", False)
        return self.options._replace(dropout=0.0, noise=noise, batch_first=False, batch_first_states=False)

    def ungrouped(self) -> "GRU":
        """A layer without groups that computes the same, with zeros where a group reads nothing; the weights are copies.

        Raises:
            ArgumentError: each group has a separate layer norm.
        """
        run_weight_hooks(self)
        weights = Weights([weight.detach().clone() for weight in self.flat_weights], self._layout).ungrouped()
        layer = GRU.around(weights, batch_first=self.batch_first, dropout=self.dropout, **formula_arguments(self))
        layer.batch_first_states = self.batch_first_states
        return layer.requires_grad_().train(self.training)

    def stream(self, batch_size: int | None = None) -> Stream:
        """A stream that runs this layer one step or one chunk at a time and keeps the state.

        Args:
            batch_size: B; None: steps are [I] and chunks [T, I], without a batch dimension.

        Raises:
            ArgumentError, ArgumentTypeError: as `anygru.Stream`: two directions, a lazy layer, no such batch size.
        """
        return Stream(self, batch_size)


# Tools inspect the arguments of the class (torch.nn.utils.skip_init does), and would find the arguments of `__new__`.
GRU.__new__.__signature__ = inspect.signature(GRU.__init__)  # type: ignore[attr-defined]


class LazyGRU(LazyModuleMixin, GRU):
    """`GRU(None, H)` before its first input or a state_dict sets the input size; then it becomes a GRU."""

    cls_to_become = GRU

    def initialize_parameters(self, input: Batch, *args: Any, **kwargs: Any) -> None:
        first = input.data if isinstance(input, PackedSequence) else input
        if isinstance(first, (list, tuple)):
            if not first:
                raise ArgumentError("input must have a sequence, which sets the input size of a lazy layer, got none")
            first = first[0]
        if not isinstance(first, Tensor) or first.dim() == 0:
            raise ArgumentTypeError(f"input must be a tensor, a list of tensors or a PackedSequence, got {input!r:.60}")
        self._set_input_size(first.shape[-1])

    def _set_input_size(self, features: int) -> None:
        if not self.has_uninitialized_params():
            self.input_size = self.weight_ih_l0.shape[1]
            return
        check_size("the input's last dimension", features)
        check_parts(self.groups, self.hidden_size, self.input_groups, features)
        self.input_size = features
        shape = self._layout.shapes(features, self.hidden_size)[0]
        with torch.no_grad():
            for name in ("weight_ih_l0", "weight_ih_l0_reverse"):
                if name in self._parameters:
                    self._parameters[name].materialize(shape)  # type: ignore[union-attr]
            self.reset_parameters()


class FrozenGRU(FrozenLayer):
    """A GRU for inference with weights that are packed once. `GRU.freeze` makes it; it is called as `GRU` is.

    It has no parameters, and computes in float32. Its weights are buffers with the names and shapes of a GRU's
    parameters, the matrices in the format that `weights` names, and for int8 a scale for each row of a matrix in
    `..._scale`. Made directly, it has weights of zero, for `load_state_dict` to replace.

    Args:
        weights: how weight matrices are stored: "float32", "bfloat16", "bfloat16_rows" or "int8"; see `quantization`.
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

    def thaw(self) -> GRU:
        """A GRU that can be trained, with the present weights in float32."""
        weights = Weights(self.frozen_weights.dequantized(), self.layout)
        copies = Weights([tensor.clone().requires_grad_() for tensor in weights.tensors], self.layout)
        layer = GRU.around(copies, batch_first=self.batch_first, dropout=self.dropout, **formula_arguments(self))
        layer.batch_first_states = self.batch_first_states
        return layer
