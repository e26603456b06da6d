"""What the links over whole sequences share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ...functions._longest_first import longest_first
from ...initializers import fillers
from ...link import ChainList, Link
from ...types import InitializerSpec, VariableLike
from ...utils import argument
from ...variable import Parameter, Variable


def argsort_list_descent(lst: Sequence[Any]) -> numpy.ndarray:
    """Where to find the sequences of a list, the longest first: indices (int32)."""
    return numpy.array(longest_first([len(x) for x in lst]), numpy.int32)


def permutate_list(lst: Sequence[Any], indices: Sequence[int], inv: bool) -> list[Any]:
    """The items of a list in the order of `indices`, or, with `inv`, a list in this order put back."""
    if not inv:
        return [lst[i] for i in indices]
    restored = [None] * len(lst)
    for i, item in zip(indices, lst, strict=False):
        restored[i] = item
    return restored


class NStepRNNBase(ChainList):
    """A list of layers, each a Link with parameters w0, b0, w1, b1, ...; `ws` and `bs` hold them as nested lists.

    Args:
        n_layers: S, number of layers.
        in_size: I, size of an input.
        out_size: N, size of a state.
        dropout: probability of dropping what goes from one layer to the next, when `config.train`.
        initialW: initializer of the matrices, LeCunNormal by default.
        initial_bias: initializer of the biases, 0 by default.

    Raises:
        ValueError: a keyword of an earlier release. TypeError: any other unknown keyword.
    """

    n_weights: int
    use_bi_direction: bool
    ws: list[list[Parameter]]
    bs: list[list[Parameter]]

    def __init__(
        self,
        n_layers: int,
        in_size: int,
        out_size: int,
        dropout: float,
        *,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        **kwargs: Any,
    ) -> None:
        argument.check_unexpected_kwargs(
            kwargs,
            use_cudnn="use_cudnn argument is not supported anymore. Use chainer.using_config",
            use_bi_direction="use_bi_direction is not supported anymore",
            activation="activation is not supported anymore",
        )
        argument.assert_kwargs_empty(kwargs)
        direction = 2 if self.use_bi_direction else 1
        matrix = fillers.get_initializer(initialW)
        bias = fillers.get_initializer(0 if initial_bias is None else initial_bias)
        layers = []
        for layer in range(n_layers):
            below = in_size if layer == 0 else out_size * direction
            layers += [self._make_layer(below, out_size, matrix, bias) for _ in range(direction)]
        super().__init__(*layers)
        self._collect_parameters()
        self.n_layers = n_layers
        self.dropout = dropout
        self.out_size = out_size
        self.direction = direction

    def _make_layer(self, in_size: int, out_size: int, matrix: InitializerSpec, bias: InitializerSpec) -> Link:
        layer = Link()
        with layer.init_scope():
            for j in range(self.n_weights):
                columns = in_size if j < self.n_weights // 2 else out_size
                setattr(layer, f"w{j}", Parameter(matrix, (out_size, columns)))
                setattr(layer, f"b{j}", Parameter(bias, out_size))
        return layer

    def _collect_parameters(self) -> None:
        self.ws = [[getattr(layer, f"w{j}") for j in range(self.n_weights)] for layer in self]
        self.bs = [[getattr(layer, f"b{j}") for j in range(self.n_weights)] for layer in self]

    def copy(self, mode: str = "share") -> Any:
        """A copy, whose `ws` and `bs` are its own parameters; `mode` as in `Link.copy`."""
        copied = super().copy(mode)
        copied._collect_parameters()
        return copied

    def init_hx(self, xs: Sequence[VariableLike]) -> Variable:
        """Initial states of zeros [S, B, N] (in both directions [2S, B, N]) for a batch of sequences."""
        shape = (self.n_layers * self.direction, len(xs), self.out_size)
        return Variable(self.xp.zeros(shape, dtype=xs[0].dtype))

    @property
    def n_cells(self) -> int:
        """Number of state arrays that the link takes and gives."""
        raise NotImplementedError
