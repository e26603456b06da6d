"""A model that MXNet exported, as a module of torch: `anygru convert model-symbol.json` writes it as ONNX or torch's program."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from . import symbol
from .base import MXNetError
from .context import Context
from .ndarray.utils import load as load_arrays
from .state import state
from .symbol import cost
from .symbol.node import topological
from .symbol.sizing import ready
from .symbol.symbol import Symbol

__all__ = ["GraphModule", "load", "small"]


class GraphModule(nn.Module):
    """A graph of MXNet as a module. Variables without values are inputs, in the graph's order.

    Its parameters and buffers (auxiliary states) have MXNet's names; After `train()` MXNet's operators compute as under
    `autograd.record`, after `eval()` as in prediction.

    Args:
        graph: the symbol.
        values: its parameters and auxiliary states by name.

    Attributes:
        input_names: the names of the inputs.
        output_names: the names of the results.
        numbers_below: for inputs that are positions in a table (of `Embedding`), how many rows it has.
    """

    def __init__(self, graph: Symbol, values: dict[str, Tensor]) -> None:
        super().__init__()
        self._heads = heads = list(graph._entries)
        self._program = ready(heads)
        states = set(graph.list_auxiliary_states())
        self._own: dict[str, str] = {}
        for name in self._program.variables:
            if name not in values:
                continue
            own = name.replace(".", "_") or "_"  # torch has no names with dots
            while hasattr(self, own):  # such as `parameters`, or `a.b` next to `a_b`
                own += "_"
            self._own[name] = own
            if name in states or not values[name].is_floating_point():
                self.register_buffer(self._own[name], values[name])
            else:
                self.register_parameter(self._own[name], nn.Parameter(values[name]))
        self.input_names = [name for name in graph.list_inputs() if name not in values]
        self.output_names = graph.list_outputs()
        self.numbers_below: dict[str, int] = {}
        for node in topological(node for node, _ in heads):
            if node.operator is not None and node.operator.name == "Embedding" and node.inputs[0][0].operator is None:
                self.numbers_below[node.inputs[0][0].name] = int(node.operator.parse(node.attrs)["input_dim"])

    def cost(self, sizes: Mapping[str, Sequence[int]]) -> tuple[int, int]:
        """Bound the bytes of all results and the multiplications of one call, from the shapes alone.

        Args:
            sizes: the shape of each input by its name.

        Raises:
            MXNetError: for shapes that do not fit together, and for a result of unknown shape.
        """
        given = {name: tuple(shape) for name, shape in sizes.items()}
        own = {name: tuple(getattr(self, attribute).shape) for name, attribute in self._own.items()}
        return cost.of_graph(self._heads, given | own)

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The graph's result, or a tuple of several results.

        Raises:
            MXNetError: for a wrong number of inputs, and for values that an operator refuses.
        """
        if len(inputs) != len(self.input_names):
            raise MXNetError(f"the graph takes {', '.join(self.input_names)}; got {len(inputs)} inputs")
        given = dict(zip(self.input_names, inputs, strict=True))
        values = [given[name] if name in given else getattr(self, self._own[name]) for name in self._program.variables]
        device = values[0].device if values else torch.device("cpu")
        before = state.training
        state.training = self.training
        try:
            with Context("gpu" if device.type == "cuda" else "cpu", device.index or 0):
                results = self._program.compute(values)
        finally:
            state.training = before
        return results[0] if len(results) == 1 else tuple(results)


def small() -> GraphModule:
    """A graph with an input `data` [N, 2] and one layer, which `anygru convert` exports to import all that it needs."""
    graph = symbol.FullyConnected(symbol.Variable("data"), num_hidden=2, name="layer")
    return GraphModule(graph, {"layer_weight": torch.ones(2, 2), "layer_bias": torch.zeros(2)}).eval()


def load(path: str, params: str | None = None) -> GraphModule:
    """The model in `path`, a symbol file, with the values in `params`, where names may begin with `arg:` and `aux:`.

    Raises:
        MXNetError: for a missing or damaged file, for operators that anygru does not have, and for values that the graph
            does not name.
    """
    graph = symbol.load(path)
    values: dict[str, Tensor] = {}
    if params is not None:
        arrays = load_arrays(params)
        if not isinstance(arrays, dict):
            raise MXNetError(f"{params}: the arrays have no names")
        values = {name.removeprefix("arg:").removeprefix("aux:"): array._t for name, array in arrays.items()}
        unknown = values.keys() - set(graph.list_inputs())
        if unknown:
            raise MXNetError(f"{params}: {', '.join(sorted(unknown)[:5])} not in the graph of {path}")
    return GraphModule(graph, values).eval()
