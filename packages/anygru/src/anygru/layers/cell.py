"""`GRUCell` and `FrozenGRUCell`: one step of a GRU."""

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from ..errors import ArgumentError
from ..facts.arguments import check_state_type
from ..facts.formula import Activation, Reset, make_formula
from ..facts.modifiers import DropoutOn
from ..facts.problem import BackendName
from ..facts.quantization import WeightFormat
from ..facts.weights import KINDS, Layout, Weights
from ..functional import compute_cell
from ..operator.typed_calls import CellCall
from .frozen import Frozen
from .frozen_calls import frozen_copy
from .recurrent import Recurrent
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


class GRUCell(Recurrent):
    """One step of a GRU: torch.nn.GRUCell's arguments, parameters, state_dict and results, with both formulas.

    Args:
        input_size, hidden_size, bias, device, dtype: as torch.nn.GRUCell.
        reset, gate_activation, activation, backend, norm, zoneout: as for `GRU`.
        groups, input_groups, gradient_clipping, update_bias: as for `GRU`.
        recurrent_dropout: probability of zeroing a unit of the candidate, in training. A mask of the state, which `GRU` has,
            would have to stay for a whole sequence.

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.

    Example:
        >>> cell = anygru.GRUCell(10, 20)
        >>> tuple(cell(torch.randn(3, 10), torch.randn(3, 20)).shape)
        (3, 20)
    """

    recurrent_dropout_on: DropoutOn = "candidate"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
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
        groups: int = 1,
        input_groups: int = 1,
        gradient_clipping: float | None = None,
        update_bias: float | None = None,
    ) -> None:
        super().__init__(reset, gate_activation, activation, backend, dtype)
        self.groups, self.input_groups, self.gradient_clipping = groups, input_groups, gradient_clipping
        self.norm, self.zoneout, self.update_bias = norm, zoneout, update_bias
        self.recurrent_dropout = recurrent_dropout
        self.input_size = check_size("input_size", input_size)
        self.hidden_size = check_size("hidden_size", hidden_size)
        self.bias = check_flag("bias", bias)
        check_parts(groups, self.hidden_size, input_groups, self.input_size)
        layout = self._layout
        self._weight_names = layout.kinds()
        shapes = dict(zip(layout.kinds(), layout.shapes(self.input_size, self.hidden_size), strict=True))
        for kind in KINDS if layout.norm else KINDS[:4]:
            made = nn.Parameter(torch.empty(shapes[kind], device=device, dtype=dtype)) if kind in shapes else None
            self.register_parameter(kind, made)
        self._update_options()
        self.reset_parameters()

    _defaults = {**defaults_of(__init__), "freezes_to": None}

    if TYPE_CHECKING:
        __call__: CellCall

    @classmethod
    def around(
        cls,
        weights: Weights,
        *,
        reset: Reset = "after",
        gate_activation: Activation = "sigmoid",
        activation: Activation = "tanh",
        backend: BackendName | None = None,
    ) -> "GRUCell":
        """A cell that shares the given weights; see `GRU.around`.

        Raises:
            ArgumentError: the weights have more than one layer or direction.
            ArgumentTypeError: the argument is not a `Weights`.
        """
        tensors, layout = as_weights(weights)
        if layout.states() != 1:
            raise ArgumentError(
                f"weights must have one layer and one direction, got {layout.num_layers} and {layout.directions()}"
            )
        cell = cls(
            weights.input_size,
            weights.hidden_size,
            layout.bias,
            device="meta",
            dtype=tensors[0].dtype,
            reset=reset,
            gate_activation=gate_activation,
            activation=activation,
            backend=backend,
            **layout_arguments(layout),
        )
        cell._adopt(dict(zip(layout.kinds(), tensors, strict=True)))
        return cell

    def forward(self, input: Tensor, h: Tensor | None = None, *, hx: Tensor | None = None) -> Tensor:
        """The state after one step.

        Args:
            input: [B, I], or [I] of one sequence, in the dtype of the weights.
            h: the state before, [B, H] or [H], of the dtype and on the device of the input; None: zeros.
            hx: h by torch's name.

        Returns:
            Tensor: [B, H] or [H].

        Raises:
            ArgumentError, ArgumentTypeError, BackendError: as `functional.gru_cell`.
        """
        if not isinstance(input, Tensor):
            node = as_leaf(self, input, hx if h is None else h)
            if node is not None:
                return node if h is None or hx is None else choose_state(h, hx, "h")
        if hx is not None:
            h = choose_state(h, hx, "h")
        if h is not None:
            check_state_type(h, "h")
        return compute_cell(input, h, self._current(self._weight_names), self._options)

    def freeze(self, weights: WeightFormat = "float32") -> "FrozenGRUCell":
        """A cell for inference with a copy of the present weights, packed once; arguments and errors as of `GRU.freeze`."""
        return frozen_copy(FrozenGRUCell, self, weights)

    def ungrouped(self) -> "GRUCell":
        """A cell without groups that computes the same; see `GRU.ungrouped`."""
        run_weight_hooks(self)
        flat = [weight.detach().clone() for weight in self.flat_weights]
        cell = GRUCell.around(Weights(flat, self._layout).ungrouped(), **formula_arguments(self))
        return cell.requires_grad_().train(self.training)


class FrozenGRUCell(Frozen):
    """One step of a frozen GRU. `GRUCell.freeze` makes it; it is called as `GRUCell` is. See `FrozenGRU`.

    Args:
        weights: how weight matrices are stored: "float32", "bfloat16", "bfloat16_rows" or "int8"; see `quantization`.
        input_size, hidden_size, bias, device: as for `GRUCell`.
        reset, gate_activation, activation, backend, groups, input_groups: as for `GRUCell`.

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.
    """

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
        backend: BackendName | None = None,
        groups: int = 1,
        input_groups: int = 1,
    ) -> None:
        check_parts(groups, hidden_size, input_groups, input_size)
        layout = Layout(bias=check_flag("bias", bias), groups=groups, splits_input=input_groups > 1)
        formula = make_formula(reset, gate_activation, activation)
        super().__init__((input_size, hidden_size), layout, layout.kinds(), weights, formula, backend, device)

    _defaults = {**defaults_of(__init__), "weights": None}  # `repr` always shows the format

    if TYPE_CHECKING:
        __call__: CellCall

    def forward(self, input: Tensor, h: Tensor | None = None, *, hx: Tensor | None = None) -> Tensor:
        """As `GRUCell.forward`, in float32 and without gradients.

        Raises:
            ArgumentError: also if the call needs a gradient.
        """
        if not isinstance(input, Tensor):
            node = as_leaf(self, input, hx if h is None else h)
            if node is not None:
                return node if h is None or hx is None else choose_state(h, hx, "h")
        if hx is not None:
            h = choose_state(h, hx, "h")
        if h is not None:
            check_state_type(h, "h")
        return compute_cell(input, h, self.frozen_weights, self._options)

    def thaw(self) -> GRUCell:
        """A GRUCell that can be trained, with the present weights in float32."""
        copies = [tensor.clone().requires_grad_() for tensor in self.frozen_weights.dequantized()]
        return GRUCell.around(Weights(copies, self.layout), **formula_arguments(self))
