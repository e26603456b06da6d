"""Losses with parameters: conditional random fields, softmax over a binary tree, negative sampling."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor

from .. import initializers
from ..backends import _cpu
from ..configuration import get_dtype
from ..device_resident import DeviceResident, DeviceResidentsVisitor
from ..functions import structured_losses
from ..functions._rows import Type, expect, function
from ..functions.joining import transpose_sequence
from ..functions.structured_losses import argmax_crf1d, crf1d
from ..link import Link
from ..types import DTypeSpec, InitializerSpec, VariableLike
from ..utils import argument
from ..variable import Parameter, Variable
from .n_step import argsort_list_descent, permutate_list

__all__ = ["BinaryHierarchicalSoftmax", "CRF1d", "NegativeSampling"]


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
            initial = initializers.Zero() if initial_cost is None else initial_cost
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


class TreeParser:
    """Finds the way from the root to each leaf of a tree of pairs.

    Args:
        dtype: of the codes.
    """

    def __init__(self, dtype: DTypeSpec) -> None:
        self.dtype = dtype
        self._size = 0
        self._paths: dict[int, numpy.ndarray] = {}
        self._codes: dict[int, numpy.ndarray] = {}

    def size(self) -> int:
        """Number of inner nodes."""
        return self._size

    def get_paths(self) -> dict[int, numpy.ndarray]:
        """The inner nodes on the way to each leaf."""
        return self._paths

    def get_codes(self) -> dict[int, numpy.ndarray]:
        """The turns on the way to each leaf: 1 to the left, -1 to the right."""
        return self._codes

    def parse(self, tree: Any) -> None:
        """Read a tree such as ((1, 2), 3); ValueError for a node with another number of children than two."""
        self._size, self._paths, self._codes = 0, {}, {}
        self._walk(tree, [], [])

    def _walk(self, node: Any, path: list[int], code: list[float]) -> None:
        if not isinstance(node, tuple):
            self._paths[node] = numpy.array(path, numpy.int32)
            self._codes[node] = numpy.array(code, self.dtype)
            return
        if len(node) != 2:
            raise ValueError("All internal nodes must have two child nodes")
        number = self._size
        self._size += 1
        for child, turn in zip(node, (1.0, -1.0), strict=True):
            self._walk(child, [*path, number], [*code, turn])


def _three(node: Any, x: Type, t: Type, w: Type) -> None:
    expect(x.dtype.kind == "f", x.ndim == 2, t.dtype == numpy.int32, t.ndim == 1, x.shape[0] == t.shape[0])
    expect(w.dtype == x.dtype, w.ndim == 2, w.shape[0] == node.tree.parser_size, w.shape[1] == x.shape[1])


@function("BinaryHierarchicalSoftmaxFunction", _three, named=False)
def _loss(x: Tensor, t: Tensor, W: Tensor, tree: Any) -> Tensor:
    begins, paths, codes = (torch.from_numpy(table).to(x.device) for table in (tree.begins, tree.paths, tree.codes))
    start, stop = begins[t.long()].long(), begins[t.long() + 1].long()
    # The turns of all rows, concatenated: `rows` and `places` hold the row and the place in the tables of each turn.
    rows = torch.repeat_interleave(torch.arange(len(x), device=x.device), stop - start)
    first = torch.cumsum(stop - start, 0) - (stop - start)
    places = torch.arange(len(rows), device=x.device) - first[rows] + start[rows]
    scores = (W[paths[places].long()] * x[rows]).sum(1) * codes[places].to(x.dtype)
    return torch.nn.functional.softplus(-scores).sum()


class _Tree(DeviceResident):
    """The paths to all words, concatenated."""

    def __init__(self, tree: Any, dtype: DTypeSpec) -> None:
        super().__init__()
        parser = TreeParser(dtype)
        parser.parse(tree)
        paths, codes = parser.get_paths(), parser.get_codes()
        words = range(max(paths) + 1)
        self.paths = numpy.concatenate([paths[word] for word in words if word in paths])
        self.codes = numpy.concatenate([codes[word] for word in words if word in paths])
        lengths = [len(paths[word]) if word in paths else 0 for word in words]
        self.begins = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
        self.parser_size = parser.size()


class BinaryHierarchicalSoftmax(Link):
    """The loss of words, with a word's probability as a product of turns in a tree (Morin and Bengio, 2005).

    Args:
        in_size: size of an input.
        tree: a tree of pairs with the words' numbers as leaves, such as ((1, 2), 3).
        dtype: of the tree's codes.
    """

    def __init__(self, in_size: int, tree: Any, dtype: DTypeSpec = None) -> None:
        super().__init__()
        self._func = _Tree(tree, get_dtype(dtype))
        with self.init_scope():
            self.W = Parameter(initializers.Uniform(1), (self._func.parser_size, in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self._func.device_resident_accept(visitor)

    @staticmethod
    def create_huffman_tree(word_counts: Mapping[int, float]) -> Any:
        """Huffman's tree of a dictionary of counts: {0: 8, 1: 5, 2: 6, 3: 4} gives ((3, 1), (2, 0)).

        Among equal counts the earlier word has precedence, as in Chainer 7.8.1 (read).
        """
        if not word_counts:
            raise ValueError("Empty vocabulary")
        queue: list[tuple[float, int, Any]] = [(count, i, word) for i, (word, count) in enumerate(word_counts.items())]
        heapq.heapify(queue)
        while len(queue) > 1:
            count1, i1, left = heapq.heappop(queue)
            count2, i2, right = heapq.heappop(queue)
            heapq.heappush(queue, (count1 + count2, min(i1, i2), (left, right)))
        return queue[0][2]

    def forward(self, x: VariableLike, t: VariableLike) -> Variable:
        """The sum of the losses of words t [B] (int32) given x [B, in_size]."""
        return _loss(x, t, self.W, self._func)


class WalkerAlias(DeviceResident):
    """Draws indices in proportion to weights, with one draw of NumPy's generator each (Walker's alias method).

    Args:
        probs: the weights, of any sum.
    """

    def __init__(self, probs: Sequence[float]) -> None:
        super().__init__()
        weights = numpy.array(probs, numpy.float32)
        weights /= weights.sum()
        n = len(weights)
        self.threshold = numpy.empty(n, numpy.float32)
        self.values = numpy.zeros(2 * n, numpy.int32)  # two numbers for each slot: its own, and its alias
        open_slot = 0
        for slot, (weight, number) in enumerate(sorted(zip(weights, range(n), strict=True))):
            left = float(weight) * n  # doubles: NumPy made them of a scalar and an int when Chainer was written
            while left > 1 and open_slot < slot:
                self.values[2 * open_slot + 1] = number
                left -= 1.0 - float(self.threshold[open_slot])
                open_slot += 1
            self.threshold[slot], self.values[2 * slot] = left, number

    use_gpu = property(lambda self: self.xp is not numpy, doc="Whether the table is on a GPU.")

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.threshold = visitor.visit_array(self.threshold)
        self.values = visitor.visit_array(self.values)

    def sample(self, shape: int | tuple[int, ...]) -> numpy.ndarray:
        """An array of draws (int32)."""
        place = numpy.random.uniform(0, len(self.threshold), shape)
        slot = place.astype(numpy.int32)
        rest = place.astype(numpy.float32) - slot.astype(numpy.float32)
        threshold, values = (_cpu.array_to_cpu(table) for table in (self.threshold, self.values))
        return self.device.send(values[2 * slot + (threshold[slot] < rest)])


class NegativeSampling(Link):
    """The loss of words against words drawn from a distribution (Mikolov et al., 2013).

    Args:
        in_size: size of an input.
        counts: how often each word occurs.
        sample_size: number of words to draw for each.
        power: the words are drawn in proportion to the counts to this power.
        dtype: in which the powers are computed.
    """

    def __init__(
        self, in_size: int, counts: Sequence[float], sample_size: int, power: float = 0.75, dtype: DTypeSpec = None
    ) -> None:
        super().__init__()
        kind = get_dtype(dtype)
        self.sample_size = sample_size
        self.sampler = WalkerAlias(numpy.power(numpy.array(counts, kind), kind.type(power)))
        with self.init_scope():
            self.W = Parameter(0, (len(counts), in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x: VariableLike, t: VariableLike, reduce: str = "sum", **kwargs: Any) -> Any:
        """The loss of words t [B] given x [B, in_size]; with `return_samples` also the words that were drawn."""
        (return_samples,) = argument.parse_kwargs(kwargs, ("return_samples", False))
        return structured_losses.negative_sampling(
            x, t, self.W, self.sampler.sample, self.sample_size, reduce=reduce, return_samples=return_samples
        )
