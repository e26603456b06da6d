"""The weights of a GRU: how many tensors there are, in which order, under which names, and whether they fit together.

Weights are flat and in torch's order: for each layer, for each direction, `weight_ih [3H, I]` (above the first layer
`[3H, D*H]`), `weight_hh [3H, H]`, with biases `bias_ih [3H]` and `bias_hh [3H]`, and with layer norm `gain_ih [3H]` and
`gain_hh [3H]`. With G groups of hidden units each tensor is [G, ...], with the weights of one group, a GRU of H/G units, after
another's: `weight_ih [G, 3H/G, I]` ([G, 3H/G, I/G] if the input is also split), `weight_hh [G, 3H/G, H/G]`, and [G,
3H/G] each bias and gain.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import ParameterList

from ..errors import ArgumentError, ArgumentTypeError
from .arguments import is_shape

KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "gain_ih", "gain_hh")
"""The tensors that one direction of one layer may have."""


MATRICES = KINDS[:2]


class Layout(NamedTuple):
    """The counts of a GRU. Hashable, so that backends can be chosen by it.

    Derived numbers are methods: the compiler of torch 2.10 cannot trace a property of a named tuple.
    """

    num_layers: int = 1
    bidirectional: bool = False
    bias: bool = True
    reverse: bool = False
    """The only direction reads each sequence from its last step to its first."""
    norm: bool = False
    """Layer norm of the products with the weights."""
    groups: int = 1
    """Parts of the hidden units. Each part has separate weights and reads only its own part of the state."""
    splits_input: bool = False
    """Each group also reads only its own part of the layer's input, as the groups of a convolution do."""

    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def per_direction(self) -> int:
        """Tensors of one direction of one layer."""
        return (4 if self.bias else 2) + (2 if self.norm else 0)

    def kinds(self) -> tuple[str, ...]:
        """The names of the tensors of one direction of one layer."""
        return KINDS[:2] + KINDS[2:4] * self.bias + KINDS[4:] * self.norm

    def per_layer(self) -> int:
        return self.directions() * self.per_direction()

    def states(self) -> int:
        """L*D, the first dimension of h_0 and h_n."""
        return self.num_layers * self.directions()

    def is_reverse(self, direction: int) -> bool:
        """Whether this direction reads from the last step to the first."""
        return self.reverse or direction == 1

    def of_layer(self, layer: int) -> slice:
        """The slice of the flat weights that holds the tensors of a layer."""
        return slice(layer * self.per_layer(), (layer + 1) * self.per_layer())

    def of_direction(self, layer: int, direction: int) -> slice:
        """The slice of the flat weights that holds the tensors of one direction of a layer."""
        start = layer * self.per_layer() + direction * self.per_direction()
        return slice(start, start + self.per_direction())

    def states_of_layer(self, layer: int) -> slice:
        """The slice of h_0 and h_n that holds the states of a layer."""
        return slice(layer * self.directions(), (layer + 1) * self.directions())

    def names(self) -> list[str]:
        """The names of the flat weights in a state_dict, as in torch.nn.GRU: weight_ih_l0, ..., bias_hh_l1_reverse."""
        return [
            f"{kind}_l{layer}{suffix}"
            for layer in range(self.num_layers)
            for suffix in ("", "_reverse")[: self.directions()]
            for kind in self.kinds()
        ]

    def shapes(self, input_size: int, hidden_size: int) -> list[tuple[int, ...]]:
        """The shapes of the flat weights."""
        units, found = hidden_size // self.groups, []
        rows = (3 * units,) if self.groups == 1 else (self.groups, 3 * units)
        for layer in range(self.num_layers):
            features = self.read_by_group(input_size if layer == 0 else self.directions() * hidden_size)
            own: list[tuple[int, ...]] = [(*rows, features), (*rows, units)]
            own += [rows] * (self.per_direction() - 2)
            found += own * self.directions()
        return found

    def read_by_group(self, features: int) -> int:
        """How many of a layer's input features each group reads."""
        return features // self.groups if self.splits_input else features

    def sizes(self, first: Tensor, second: Tensor) -> tuple[int, int]:
        """I and H, from weight_ih and weight_hh of the first layer."""
        return first.shape[-1] * (self.groups if self.splits_input else 1), second.shape[-1] * self.groups

    def of_group(self, weights: Sequence[Tensor], group: int) -> list[Tensor]:
        """The weights of a group, in the layout of a layer without groups."""
        return list(weights) if self.groups == 1 else [weight[group] for weight in weights]


class Weights(NamedTuple):
    """The tensors of a GRU with their layout, for `GRU.around` and `GRUCell.around`.

    Example:
        >>> weights = Weights.of(torch.nn.GRU(3, 4, 2, bidirectional=True)._flat_weights, bidirectional=True)
        >>> weights.layout.num_layers, weights.input_size, weights.hidden_size
        (2, 3, 4)
        >>> [name for name in weights.named() if "weight_hh" in name][-1]
        'weight_hh_l1_reverse'
    """

    tensors: Sequence[Tensor]
    layout: Layout

    @classmethod
    def of(
        cls,
        tensors: Sequence[Tensor],
        bidirectional: bool = False,
        bias: bool = True,
        reverse: bool = False,
        norm: bool = False,
        groups: int = 1,
        splits_input: bool = False,
    ) -> "Weights":
        """Flat tensors; the number of layers follows from their number.

        Args:
            tensors: in torch's order, see the top of this module.
            bidirectional, bias, reverse, norm, groups, splits_input: as of `Layout`.

        Raises:
            ArgumentError: the number is not a multiple of the tensors of a layer, or shapes do not fit each other.
            ArgumentTypeError: not a list of tensors, or different dtypes or devices.
        """
        check_tensors(tensors)
        layout = count_layers(tensors, Layout(1, bidirectional, bias, reverse, norm, groups, splits_input))
        if tensors[0].dim() != _dimensions(layout):
            raise ArgumentError(
                f"weights[0] (weight_ih of layer 0) must be {_symbols(layout)['weight_ih']}, got {list(tensors[0].shape)}"
            )
        weights = cls(tensors, layout)
        weights.check(weights.input_size, tensors[0].dtype, tensors[0].device)
        return weights

    @property
    def input_size(self) -> int:
        return self.layout.sizes(*self.tensors[:2])[0]

    @property
    def hidden_size(self) -> int:
        return self.layout.sizes(*self.tensors[:2])[1]

    def ungrouped(self) -> "Weights":
        """The weights of an equal GRU without groups, with zeros where a group reads nothing. Differentiable.

        Raises:
            ArgumentError: the products are normalised, which each group does for itself.
        """
        tensors, layout = self
        if layout.groups == 1:
            return self
        if layout.norm:
            raise ArgumentError("each group has a separate layer norm, which a GRU without groups cannot represent")
        flat = []
        for index, tensor in enumerate(tensors):
            kind = layout.kinds()[index % layout.per_direction()]
            gates = tensor.unflatten(1, (3, -1)).transpose(0, 1)  # [3, G, H/G, ...]
            if kind == "weight_hh" or (kind == "weight_ih" and layout.splits_input):
                flat.append(torch.cat([torch.block_diag(*gate.unbind()) for gate in gates]))
            else:
                flat.append(gates.flatten(0, 2))
        return Weights(flat, layout._replace(groups=1, splits_input=False))

    def named(self) -> dict[str, Tensor]:
        """The tensors by their names in a state_dict."""
        return dict(zip(self.layout.names(), self.tensors, strict=True))

    def check(self, features: int, dtype: torch.dtype, device: torch.device) -> None:
        """Raise if a tensor does not fit an input with these features, dtype and device, or the other tensors."""
        tensors, layout = self
        own = tensors[1].shape  # H is read from it, so that a wrong one would have all others blamed
        if len(own) != _dimensions(layout) or own[-1] == 0 or own[-2] != 3 * own[-1]:
            raise ArgumentError(
                f"weights[1] (weight_hh of layer 0) must be {_symbols(layout)['weight_hh']}, got {list(own)}"
            )
        if features % layout.groups and layout.splits_input:
            self._blame_input(features, dtype, device)
        expected = layout.shapes(features, layout.sizes(tensors[0], tensors[1])[1])
        for index, (tensor, shape) in enumerate(zip(tensors, expected, strict=True)):
            if tensor.shape != shape and not is_shape(tensor.shape, shape):
                self._blame_input(features, dtype, device)
                raise self._shape_error(index, shape)
            if tensor.dtype is not dtype or tensor.device != device:
                self._blame_input(features, dtype, device)
                like = "weights[0]" if index else "input"
                raise ArgumentTypeError(
                    f"weights[{index}] must be {dtype} on {device} as {like} is, got {tensor.dtype} on {tensor.device}"
                )

    def _blame_input(self, features: int, dtype: torch.dtype, device: torch.device) -> None:
        """Raises if the input alone is at fault: all tensors fit another one."""
        first = self.tensors[0]
        own = self.input_size if first.dim() == _dimensions(self.layout) else 0
        expected = self.layout.shapes(own, self.hidden_size)
        if any(
            tensor.shape != shape or tensor.dtype is not first.dtype or tensor.device != first.device
            for tensor, shape in zip(self.tensors, expected, strict=True)
        ):
            return
        if features != own:
            raise ArgumentError(f"input must have I = {own} features as the weights have, got {features}")
        raise ArgumentTypeError(
            f"input must be {first.dtype} on {first.device} as the weights are, got {dtype} on {device}"
        )

    def _shape_error(self, index: int, expected: tuple[int, ...]) -> ArgumentError:
        layer, place = divmod(index, self.layout.per_layer())
        name = self.layout.kinds()[place % self.layout.per_direction()]
        symbols = _symbols(self.layout).get(name, "[3*H]" if self.layout.groups == 1 else "[G, 3*H/G]")
        came = f"got {list(self.tensors[index].shape)}; H is {self.hidden_size} from weights[1] (weight_hh)"
        if name == "weight_ih":
            features = expected[-1] * (self.layout.groups if self.layout.splits_input else 1)
            came += f", I is {features} from {'the layer below' if layer else 'input'}"
        return ArgumentError(f"weights[{index}] ({name} of layer {layer}) must be {symbols} = {list(expected)}, {came}")


def _dimensions(layout: Layout) -> int:
    """The number of dimensions of a weight matrix."""
    return 2 if layout.groups == 1 else 3


def _symbols(layout: Layout) -> dict[str, str]:
    """The shapes of the matrices, for an error message."""
    if layout.groups == 1:
        return {"weight_ih": "[3*H, I]", "weight_hh": "[3*H, H]"}
    features = "I/G" if layout.splits_input else "I"
    return {"weight_ih": f"[G, 3*H/G, {features}]", "weight_hh": "[G, 3*H/G, H/G]"}


def check_tensors(weights: Sequence[Tensor]) -> None:
    """Raises ArgumentTypeError if it is not a list of tensors."""
    if not isinstance(weights, (list, tuple, ParameterList)):
        raise ArgumentTypeError(f"weights must be a list or tuple of tensors, got {type(weights).__name__}")
    for index, weight in enumerate(weights):
        if not isinstance(weight, Tensor):
            raise ArgumentTypeError(f"weights[{index}] must be a tensor, got {type(weight).__name__}")


def count_layers(tensors: Sequence[Tensor], layer: Layout) -> Layout:
    """The layout of flat weights; each layer has the layout `layer`.

    Raises:
        ArgumentError: their number does not divide by the tensors of a layer.
    """
    layers, rest = divmod(len(tensors), layer.per_layer())
    if layers == 0 or rest:
        raise ArgumentError(
            f"weights must hold {layer.per_layer()} tensors a layer (bias={layer.bias}, "
            f"bidirectional={layer.bidirectional}{', layer norm' * layer.norm}), got {len(tensors)} tensors"
        )
    return layer if layers == 1 else layer._replace(num_layers=layers)
