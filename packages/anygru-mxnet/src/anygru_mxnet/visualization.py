"""`mx.viz`: graphs as text for Graphviz's `dot`. Of MXNet 1.9's `mxnet.visualization`."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from .base import MXNetError
from .symbol.symbol import Symbol

_WEIGHTS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")


class _Drawing:
    """A graph: `source` is its text, which `dot` draws."""

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
        path.write_text(self.source, encoding="utf-8")
        return str(path)

    def render(
        self, filename: str | None = None, directory: str | None = None, view: bool = False, cleanup: bool = False
    ) -> str:
        """Write the text and let `dot` draw it beside it. It is not shown, whatever `view` says.

        Raises:
            RuntimeError: where there is no `dot`.
        """
        path = self.save(filename, directory)
        if shutil.which("dot") is None:
            raise RuntimeError(f"plot_network: Graphviz's dot is not installed; the text of the graph is in {path}")
        subprocess.run(["dot", f"-T{self.format}", "-O", path], check=True)
        if cleanup:
            Path(path).unlink()
        return f"{path}.{self.format}"

    view = render


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: dict[str, tuple[int, ...]] | None = None,
    dtype: Any = None,
    node_attrs: dict[str, str] | None = None,
    hide_weights: bool = True,
) -> _Drawing:
    """A drawing of a symbol's graph.

    Args:
        symbol: the graph.
        title: of the file that `render` writes.
        save_format: what `render` writes.
        shape: shapes of inputs; edges then show the shapes of what they carry.
        dtype: has no effect, since only shapes are shown.
        node_attrs: attributes of nodes for `dot`, beside or instead of their own.
        hide_weights: whether variables that are weights by their names are left out.

    Raises:
        TypeError: for anything but a symbol.
        MXNetError: for shapes that do not determine all others.
    """
    if not isinstance(symbol, Symbol):
        raise TypeError("symbol must be a Symbol")
    inside, drawing, sizes = symbol.get_internals(), _Drawing(title, save_format), {}
    if shape is not None:
        shapes = inside.infer_shape(**shape)[1]
        if shapes is None:
            raise MXNetError("Input shape is incomplete")
        sizes = dict(zip(inside.list_outputs(), shapes, strict=True))
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
                size = sizes.get(below.name if below.operator is None else below.output_name(index), ())
                carried = f' [label="{"x".join(map(str, size[1:]))}"]' if size[1:] else ""
                drawing.lines.append(f'"{node.name}" -> "{below.name}"{carried}')
    return drawing
