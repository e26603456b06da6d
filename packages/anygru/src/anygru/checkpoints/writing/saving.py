"""Writing a model or tensors as a checkpoint of any framework."""

import os
from collections import OrderedDict
from typing import Any

from ...errors import ArgumentTypeError
from ..checkpoint import Checkpoint
from ..formats import checked_path, format_for, format_module
from ..layout import join_name
from ..reading.content import Content, EntryMark
from ..reading.source import naming
from ..stored import Path, StoredTensor, flat_name
from .layer_order import metadata_of
from .rewriting import rewrite


def save_checkpoint(obj: object, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a model or tensors as a checkpoint of any framework; the file is replaced in one step.

    GRUs are written under the target's names and in its layout, and the weights of a module's linear layers transposed for
    Paddle, which keeps them as [in, out]; other tensors are unchanged.

    Args:
        obj: a module, a state_dict or other nested dicts of tensors (NumPy arrays, plain values), or a `Checkpoint`.
        path: where to.
        format: one of `NAMES`; None: by the path's ending, see `format_for`.

    Raises:
        CheckpointError: the format cannot store a value (the message names it and the reason), or `path` cannot be written.
        ArgumentTypeError: `obj` has another type, or `path` is not a path.
        OSError: an error of the file system (such as a full disk); the old file is intact.
    """
    path = checked_path(path)
    name = format or format_for(path)
    source = obj if isinstance(obj, Checkpoint) else Checkpoint("the model", "torch", content_of(obj, name == "paddle"))
    with naming(path):
        if source is not obj and hasattr(format_module(name), "keeps_layers"):
            source.content.metadata |= metadata_of(obj)
        rewrite(source, path, name)


def content_of(obj: object, in_out: bool = False) -> Content:
    """Return the entries of a module or of nested dicts that are written.

    Args:
        obj: see `save_checkpoint`.
        in_out: give the weights of a module's linear layers as [in, out], which is Paddle's way.

    Raises:
        CheckpointError: a GRU has an activation without a name, or a tensor cannot be stored.
    """
    import torch

    from ..translation import mark_of

    marks: dict[str, EntryMark] = {}
    if isinstance(obj, torch.nn.Module):
        marks = {name: mark for name, module in obj.named_modules() if (mark := mark_of(module, name)) is not None}
        layers = obj.named_modules() if in_out else ()
        turned = {join_name(name, "weight", ".") for name, layer in layers if isinstance(layer, torch.nn.Linear)}
        state = obj.state_dict()
        for name in turned & set(state):
            state[name] = state[name].t().contiguous()
        obj = state
    if not isinstance(obj, dict | list | tuple):
        raise ArgumentTypeError(
            f"obj must be a module, a dict or list of tensors, or a Checkpoint, got {type(obj).__name__}"
        )
    return Content(_stored_leaves(obj, ()), marks=marks)


def _stored_leaves(value: object, path: Path) -> Any:
    """The same nesting with `StoredTensor` for each tensor and array; `path` are the keys that lead to the value."""
    import numpy as np
    import torch

    if isinstance(value, dict):
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        return kind((key, _stored_leaves(part, (*path, key))) for key, part in value.items())
    if isinstance(value, list | tuple):
        parts = [_stored_leaves(part, (*path, index)) for index, part in enumerate(value)]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, torch.Tensor):
        return StoredTensor.of_tensor(value, flat_name(path))
    return StoredTensor.of(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else value
