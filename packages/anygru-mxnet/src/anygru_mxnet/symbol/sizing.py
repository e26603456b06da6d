"""Runs graphs with states of unknown batch size (`F.zeros` with a size of 0), such as the initial states of cells.

Recurrent operators and sums accept a state of batch size 1 for any batch. If other operators read a state, its size is inferred
from the shapes of the values, once for each set of shapes.
"""

from torch import Tensor

from .graph import BROADCASTING, Program, Watch, endless, running_inputs, unknown_size
from .infer import Shape, known, shapes
from .node import Entry, topological


class SizedProgram:
    """A graph, prepared to run, once for each set of shapes.

    Attributes:
        variables: names of its variables, in the order of the values for `run`.
    """

    def __init__(self, heads: list[Entry]) -> None:
        self._heads = heads
        self._programs: dict[tuple[Shape, ...], Program] = {}
        self.variables = Program(heads).variables

    def run(self, values: list[Tensor], watch: Watch | None = None) -> list[Tensor]:
        """The outputs from the values of the variables, with a graph of gradients only under `autograd.record`.

        Raises:
            MXNetError: for values that an operator refuses, naming the node.
        """
        return self._sized(values).run(values, watch)

    def compute(self, values: list[Tensor]) -> list[Tensor]:
        """The outputs as torch's tensors."""
        return self._sized(values).compute(values)

    def _sized(self, values: list[Tensor]) -> Program:
        given = tuple(tuple(value.shape) for value in values)
        if given not in self._programs:
            found = shapes(self._heads, dict(zip(self.variables, given, strict=True)))
            sizes: dict[int, Shape] = {}
            for node in topological((node for node, _ in self._heads), running_inputs):
                shape = found.of((node, 0))
                if shape is not None and known(shape) and unknown_size(node):
                    sizes[id(node)] = shape
            self._programs[given] = Program(self._heads, sizes=sizes)
        return self._programs[given]


def ready(heads: list[Entry]) -> Program | SizedProgram:
    """Prepare a graph to run."""
    return SizedProgram(heads) if _needs_sizes(heads) else Program(heads)


def _needs_sizes(heads: list[Entry]) -> bool:
    """Whether a state of unknown size is a result, or an input of an operator that needs its exact size."""
    spread: set[int] = set()
    for node in topological((node for node, _ in heads), running_inputs):
        if node.operator is None:
            continue
        if endless(node):
            return True
        if unknown_size(node):
            spread.add(id(node))
            continue
        reads = [id(below) in spread for below, _ in running_inputs(node)]
        if not any(reads) or node.fused is not None or node.operator.name == "RNN":
            continue
        if node.operator.name in BROADCASTING:
            if not all(reads):
                continue
        elif not (node.operator.rows or node.operator.alike or node.operator.name == "SliceChannel"):
            return True
        spread.add(id(node))
    return any(id(node) in spread for node, _ in heads)
