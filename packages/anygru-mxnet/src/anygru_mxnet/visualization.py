"""`mx.viz`: graphs as a table, and as text for Graphviz's `dot`. Follows MXNet 1.9's `mxnet.visualization`."""

import math
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anygru.extend import open_for_replace

from .operators.registry import truth, value_of
from .symbol.node import Entry, Node
from .symbol.symbol import Symbol

_WEIGHTS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")


class _Drawing:
    """A graph as the text `source`, which `dot` draws."""

    def __init__(self, title: str, save_format: str) -> None:
        self.filename, self.format = f"{title}.gv", save_format
        self.lines: list[str] = []

    @property
    def source(self) -> str:
        """The text."""
        return "digraph {\n" + "".join(f"\t{line}\n" for line in self.lines) + "}\n"

    def save(self, filename: str | None = None, directory: str | None = None) -> str:
        """Write the text to a file and return its path."""
        path = Path(directory or "", filename or self.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_for_replace(path, "w") as file:
            file.write(self.source)
        return str(path)

    def render(
        self, filename: str | None = None, directory: str | None = None, view: bool = False, cleanup: bool = False
    ) -> str:
        """Write the text, and let `dot` write an image next to it. `view` has no effect.

        Raises:
            RuntimeError: if `dot` is not installed.
        """
        path = self.save(filename, directory)
        if shutil.which("dot") is None:
            raise RuntimeError(f"plot_network: Graphviz's dot is not installed; the text of the graph is in {path}")
        subprocess.run(["dot", f"-T{self.format}", "-O", path], check=True)
        if cleanup:
            Path(path).unlink()
        return f"{path}.{self.format}"

    view = render


def _sizes(symbol: Symbol, shape: dict[str, tuple[int, ...]] | None) -> dict[str, tuple[int, ...]]:
    """The shapes of all values in a graph by name, from the shapes of inputs. Without these the result is empty.

    Raises:
        TypeError: for values other than a symbol.
        ValueError: for shapes that do not determine all other shapes.
    """
    if not isinstance(symbol, Symbol):
        raise TypeError(f"symbol must be a Symbol, got {type(symbol).__name__}")
    if shape is None:
        return {}
    inside = symbol.get_internals()
    shapes = inside.infer_shape(**shape)[1]
    if shapes is None:
        raise ValueError("Input shape is incomplete")
    return dict(zip(inside.list_outputs(), shapes, strict=True))


def print_summary(
    symbol: Symbol,
    shape: dict[str, tuple[int, ...]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of a symbol's operators: names, shapes of results, parameters, and where inputs come from.

    As in MXNet 1.9.1 the parameters of Convolution, FullyConnected, BatchNorm and Embedding are counted. Inputs without shapes
    have no features in this count.

    Args:
        symbol: the graph.
        shape: shapes of inputs by name.
        line_length: characters in a line. positions: the ends of the four columns, in characters or, if the last is at most 1, as
            fractions of a line.

    Raises:
        TypeError: for values other than a symbol.
        ValueError: for shapes that do not determine all other shapes.
    """
    sizes = _sizes(symbol, shape)
    ends = [int(line_length * end) for end in positions] if positions[-1] <= 1 else [int(end) for end in positions]
    nodes = symbol._nodes()
    head, output = symbol._entries[0]
    # MXNet 1.9.1 reads the three numbers (node, output, 0) of the first head as three nodes (source).
    heads = {id(nodes[place]) for place in (nodes.index(head), output, 0) if place < len(nodes)}
    print("_" * line_length)
    print(_row(("Layer (type)", "Output Shape", "Param #", "Previous Layer"), ends))
    print("=" * line_length)
    total = 0
    for place, node in enumerate(nodes):
        if node.operator is None and place > 0:
            continue
        before = [entry for entry in node.inputs if entry[0].operator is not None or id(entry[0]) in heads]
        count = _parameters(node, before, sizes)
        total += count
        kind = "null" if node.operator is None else node.operator.name
        carried = _size(node, sizes)[1:] if id(node) in heads or node.operator is not None else ()
        names = [below.name for below, _ in before] or [""]
        print(_row((f"{node.name}({kind})", "x".join(map(str, carried)), str(count), names[0]), ends))
        for name in names[1:]:
            print(_row(("", "", "", name), ends))
        print(("=" if place == len(nodes) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def _row(fields: Sequence[str], ends: Sequence[int]) -> str:
    """A line with each field truncated to its column."""
    line = ""
    for field, end in zip(fields, ends, strict=False):
        line = (line + field)[:end].ljust(end)
    return line


def _size(node: Node, sizes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a node's only result. It is () for several results, as in MXNet, and for an unknown shape."""
    return sizes.get(node.name if node.operator is None else f"{node.name}_output", ())


def _parameters(node: Node, before: Sequence[Entry], sizes: dict[str, tuple[int, ...]]) -> int:
    """The number of parameters of an operator, as in MXNet's table."""
    kind = "" if node.operator is None else node.operator.name
    features = 0
    for below, _ in before:
        size = _size(below, sizes)
        features += size[1] if len(size) > 1 else len(size)
    biased = not truth(node.attrs.get("no_bias", "False"))
    if kind == "Convolution":
        outputs, kernel = int(node.attrs["num_filter"]), value_of(node.attrs["kernel"], "kernel")
        weights = features * outputs // int(node.attrs.get("num_group", 1)) * math.prod(kernel)
        return weights + outputs * biased
    if kind == "FullyConnected":
        return (features + biased) * int(node.attrs["num_hidden"])
    if kind == "BatchNorm":
        return 2 * sum(_size(node, sizes)[1:2])
    if kind == "Embedding":
        return int(node.attrs["input_dim"]) * int(node.attrs["output_dim"])
    return 0


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: dict[str, tuple[int, ...]] | None = None,
    dtype: Any = None,
    node_attrs: dict[str, str] | None = None,
    hide_weights: bool = True,
) -> _Drawing:
    """Draw a symbol's graph.

    Args:
        symbol: the graph.
        title: the name of the file of `render`. save_format: the format of the file of `render`.
        shape: shapes of inputs. Edges then show the shapes of values.
        dtype: has no effect, since only shapes are shown.
        node_attrs: attributes of nodes for `dot`, which take precedence. hide_weights: whether to hide variables with names of
            weights.

    Raises:
        TypeError: for values other than a symbol.
        ValueError: for shapes that do not determine all other shapes.
    """
    sizes, drawing = _sizes(symbol, shape), _Drawing(title, save_format)
    style = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    listed = ", ".join(f'{key}="{value}"' for key, value in {**style, **(node_attrs or {})}.items())
    hidden = set()
    for node in symbol._nodes():
        if node.operator is None and hide_weights and node.name.endswith(_WEIGHTS):
            hidden.add(id(node))
            continue
        label = node.name if node.operator is None else f"{node.operator.name}\\n{node.name}"
        drawing.lines.append(f'"{node.name}" [label="{label}", {listed}]')
        for below, index in node.inputs:
            if id(below) not in hidden:
                size = sizes.get(below.output_name(index), ())
                carried = f' [label="{"x".join(map(str, size[1:]))}"]' if size[1:] else ""
                drawing.lines.append(f'"{node.name}" -> "{below.name}"{carried}')
    return drawing
