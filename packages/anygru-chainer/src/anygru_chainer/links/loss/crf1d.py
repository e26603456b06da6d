"""Conditional random fields over sequences."""

from collections.abc import Sequence
from typing import Any

from ...functions.joining import transpose_sequence
from ...functions.structured_losses import argmax_crf1d, crf1d
from ...initializers import fillers
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...variable import Parameter, Variable
from ..rnn.n_step_rnn import argsort_list_descent, permutate_list

__all__ = ["CRF1d"]

Steps = Sequence[VariableLike]


class CRF1d(Link):
    """The loss of a linear-chain conditional random field, with the costs of going from label to label.

    Args:
        n_label: number of labels.
        initial_cost: initializer of `cost` [n_label, n_label], 0 by default.
    """

    def __init__(self, n_label: int, initial_cost: InitializerSpec = None) -> None:
        super().__init__()
        with self.init_scope():
            initial = fillers.Zero() if initial_cost is None else initial_cost
            self.cost = Parameter(initializer=initial, shape=(n_label, n_label))

    def forward(self, xs: Steps, ys: Steps, reduce: str = "mean", transpose: bool = False) -> Variable:
        """The negative log-likelihood of the labels ys; see `functions.crf1d`.

        Args:
            xs: the scores of the labels at each step, longest sequences first.
            ys: the labels at each step.
            transpose: xs and ys are sequences instead, in any order.
        """
        if transpose:
            order = argsort_list_descent(xs)
            xs, ys = (transpose_sequence(permutate_list(values, order, inv=False)) for values in (xs, ys))
        return crf1d(self.cost, xs, ys, reduce)

    def argmax(self, xs: Steps, transpose: bool = False) -> tuple[Variable, list[Any]]:
        """The scores and the paths of the most likely labels; see `functions.argmax_crf1d`."""
        if not transpose:
            return argmax_crf1d(self.cost, xs)
        order = argsort_list_descent(xs)
        score, path = argmax_crf1d(self.cost, transpose_sequence(permutate_list(xs, order, inv=False)))
        return score, permutate_list([p.array for p in transpose_sequence(path)], order, inv=True)
