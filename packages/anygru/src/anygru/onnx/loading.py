"""Reading GRU layers out of ONNX models."""

import os
from typing import overload

from ..checkpoints import load_checkpoint
from ..checkpoints.reverse import ReverseGRU as ReverseGRU
from ..errors import CheckpointError
from ..layers.gru import GRU


@overload
def load(path: str | os.PathLike[str], node: None = None, *, sandbox: bool = False) -> dict[str, GRU]: ...
@overload
def load(path: str | os.PathLike[str], node: str, *, sandbox: bool = False) -> GRU: ...
def load(path: str | os.PathLike[str], node: str | None = None, *, sandbox: bool = False) -> dict[str, GRU] | GRU:
    """Read the GRU nodes of an ONNX model as layers, with the formula and direction that the nodes name.

    Consecutive nodes without other readers are the layers of one `anygru.GRU`. A node with `layout=1` becomes a layer with
    batch_first. An initial state that the model stores is not part of a layer.

    Args:
        path: the model's file.
        node: the name of one node (the first of a stack); None: all of them.
        sandbox: read the file in a separate process with limits, as for `anygru.load_checkpoint`.

    Returns:
        dict[str, GRU]: the layers by the names of their nodes, in the model's order; or with `node` that layer.

    Raises:
        CheckpointError: the file is damaged or hostile, a node cannot be computed (it clips, or has an unknown activation),
            or there is no node of that name.
        ImportError: the package onnx is not installed.
    """
    checkpoint = load_checkpoint(path, "onnx", sandbox=sandbox)
    layers = {}
    for found in checkpoint.gru_layers:
        layer = checkpoint.gru(found.path)
        assert isinstance(layer, GRU)  # a node is never a cell
        layers[found.path] = layer
    if node is None:
        return layers
    if node not in layers:
        known = ", ".join(map(repr, layers)) or "none"
        raise CheckpointError(f"{os.fspath(path)}: no GRU node is called {node!r}; the file has: {known}")
    return layers[node]
