"""Softmax over many words by way of a binary tree."""

import heapq
from collections.abc import Mapping
from typing import Any

import numpy
import torch
from torch import Tensor

from ...configuration import get_dtype
from ...device_resident import DeviceResident, DeviceResidentsVisitor
from ...functions._checks import Type, expect
from ...functions._rows import function
from ...initializers import fillers
from ...link import Link
from ...types import DTypeSpec, VariableLike
from ...variable import Parameter, Variable

__all__ = ["BinaryHierarchicalSoftmax"]


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
    # The turns of all rows at once, one after the other: `rows` and `places` say whose each is and where in the tables.
    rows = torch.repeat_interleave(torch.arange(len(x), device=x.device), stop - start)
    first = torch.cumsum(stop - start, 0) - (stop - start)
    places = torch.arange(len(rows), device=x.device) - first[rows] + start[rows]
    scores = (W[paths[places].long()] * x[rows]).sum(1) * codes[places].to(x.dtype)
    return torch.nn.functional.softplus(-scores).sum()


class _Tree(DeviceResident):
    """The ways to all words, one after the other."""

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
    """The loss of words whose probability is a product of turns in a tree (Morin and Bengio, 2005).

    Args:
        in_size: size of an input.
        tree: a tree of pairs, whose leaves are the words' numbers, such as ((1, 2), 3).
        dtype: of the tree's codes.
    """

    def __init__(self, in_size: int, tree: Any, dtype: DTypeSpec = None) -> None:
        super().__init__()
        self._func = _Tree(tree, get_dtype(dtype))
        with self.init_scope():
            self.W = Parameter(fillers.Uniform(1), (self._func.parser_size, in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self._func.device_resident_accept(visitor)

    @staticmethod
    def create_huffman_tree(word_counts: Mapping[int, float]) -> Any:
        """Huffman's tree of a dictionary of counts: {0: 8, 1: 5, 2: 6, 3: 4} gives ((3, 1), (2, 0)).

        Of equal counts the earlier is taken first, as in Chainer 7.8.1 (read).
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
