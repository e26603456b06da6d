"""The order of layers for RTNeural's and GuitarML's files, from a module or from words, in the form of `stack`."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import CheckpointError
from .. import stack
from ..checkpoint import Checkpoint
from ..layout import join_name

ADDED_INPUT = "+input"
"""The word for a model that adds its input to its output."""


def _entry(kind: str, name: str, arrays: int, activation: str = "") -> dict[str, Any]:
    return {"type": kind, "name": name, "activation": activation, "weights": arrays}


def metadata_of_words(words: Sequence[str], checkpoint: Checkpoint) -> dict[str, str]:
    """Describe the layers of a checkpoint.

    Args:
        words: names of GRUs and linear layers in the order in which they compute, activations, and `ADDED_INPUT` at the end.
        checkpoint: holds the layers.

    Raises:
        CheckpointError: a word is none of these.
    """
    layers = []
    depths = {gru.path: gru.num_layers for gru in checkpoint.gru_layers}
    for word in words[:-1] if words[-1:] == [ADDED_INPUT] else words:
        if word in depths:
            layers += [_entry("gru", word, 3, "tanh")] * depths[word]
        elif join_name(word, "weight", ".") in checkpoint.stored:
            layers.append(_entry("dense", word, 1 + (join_name(word, "bias", ".") in checkpoint.stored)))
        elif word in stack.ACTIVATIONS:
            layers.append(_entry("activation", "", 0, word))
        else:
            raise CheckpointError(
                f"{checkpoint.path}: layers: {word!r:.60} is no GRU and no linear layer of the file, and no activation "
                f"({', '.join(stack.ACTIVATIONS)})"
            )
    skip = {"in_skip": 1} if words[-1:] == [ADDED_INPUT] else {}
    return {stack.KEY: stack.as_text({"layers": layers, **skip}, checkpoint.path)}


def metadata_of(module: object) -> dict[str, str]:
    """Describe the layers of an `nn.Sequential`, or of a `Residual`, which adds its input; nothing for other objects.

    Raises:
        CheckpointError: RTNeural's form has no such layer.
    """
    from torch import nn

    added = getattr(module, "adds_input", False)
    if not isinstance(module, nn.Sequential) or not (added or _computes_in_row(module)):
        return {}
    layers = [entry for name, child in module.named_children() for entry in _entries(name, child)]
    skip = {"in_skip": 1} if added else {}
    return {stack.KEY: stack.as_text({"layers": layers, **skip}, "the model")}


def _computes_in_row(module: Any) -> bool:
    from torch import nn

    return type(module).forward is nn.Sequential.forward


def _entries(name: str, module: Any) -> Iterator[dict[str, Any]]:
    """The layers of RTNeural that a module is."""
    from torch import nn

    from ...layers.gru import GRU, FrozenGRU

    functions = {getattr(nn, module_name): word for word, module_name in stack.ACTIVATIONS.items()}
    if isinstance(module, nn.Sequential) and _computes_in_row(module):
        for inner, child in module.named_children():
            yield from _entries(f"{name}.{inner}", child)
    elif isinstance(module, nn.GRU | GRU | FrozenGRU):
        yield from [_entry("gru", name, 3, "tanh")] * module.num_layers
    elif isinstance(module, nn.Linear):
        yield _entry("dense", name, 1 if module.bias is None else 2)
    elif type(module) in functions and getattr(module, "alpha", 1.0) == 1.0 and getattr(module, "dim", -1) in (-1, 2):
        yield _entry("activation", name, 0, functions[type(module)])
    elif not isinstance(module, nn.Identity | nn.Dropout):
        raise CheckpointError(
            f"{name}: RTNeural's form is written from GRUs, Linear, Tanh, ReLU, Sigmoid, ELU and Softmax over the features, "
            f"got {type(module).__name__}"
        )
