"""The model of a file that holds the order of its layers: RTNeural's, AIDA-X's and GuitarML's JSON."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from ..checkpoints import Checkpoint, stack
from ..errors import CheckpointError
from .residual import Residual


class Layers(nn.Sequential):
    """Layers one after another, with the first features of the input added to the output: for more than one feature."""

    def __init__(self, layers: list[nn.Module], skip: int) -> None:
        super().__init__(*layers)
        self.skip = skip

    def forward(self, input: Tensor) -> Tensor:
        """Compute [T, B, I] to [T, B, O]."""
        found: Any = input
        for module in self:
            found = module(found)
            found = found[0] if isinstance(found, tuple) else found
        result: Tensor = found + input[..., : self.skip] if self.skip else found
        return result


def module_of(checkpoint: Checkpoint, model: Mapping[str, Any]) -> nn.Module:
    """Make the module of a file.

    Args:
        checkpoint: the file.
        model: its layers, see `stack.model_of`.

    Raises:
        CheckpointError: a layer or an option that is not covered; the message names it.
    """
    layers: list[nn.Module] = []
    for (kind, name), same in groupby(model["layers"], lambda layer: (layer["type"], layer["name"])):
        if kind == "gru":
            layers.append(checkpoint.gru(name))
            continue
        if kind not in (*stack.DENSE, "activation"):
            raise CheckpointError(
                f"{checkpoint.path}: the layer {name!r:.60} is a {kind:.60}, which export-c does not read from a file: call "
                "anygru.export_c on a torch module, or export one GRU alone (--gru NAME)"
            )
        activation = next(iter(same))["activation"]
        layers += [_linear(checkpoint, name)] if kind in stack.DENSE else []
        if activation:
            layers.append(_activation(activation, f"{checkpoint.path}: {name!r:.60}"))
    if not layers or not any(True for _ in layers[0].parameters()):
        raise CheckpointError(f"{checkpoint.path}: its first layer must be a GRU or a dense layer")
    skip = _number(model, "in_skip", checkpoint)
    if skip not in (0, 1):
        raise CheckpointError(f"{checkpoint.path}: in_skip must be 0 or 1, as in AIDA-X, got {model['in_skip']}")
    gains = [10.0 ** (_number(model, f"{side}_gain", checkpoint) / 20.0) for side in ("in", "out")]
    return _with_gains(layers, int(skip), gains, checkpoint)


def _with_gains(layers: list[nn.Module], skip: int, gains: list[float], checkpoint: Checkpoint) -> nn.Module:
    """The layers with AIDA-X's gains of the sound and the added input."""
    widths = _widths(layers[0])[0], _widths(layers[-1] if isinstance(layers[-1], nn.Linear) else _wide(layers))[1]
    if widths != (1, 1) and gains != [1.0, 1.0]:
        raise CheckpointError(
            f"{checkpoint.path}: in_gain and out_gain of a model with {widths[0]} inputs and {widths[1]} outputs are not "
            "covered: remove them from the file, and scale the sound in the program"
        )
    if widths != (1, 1) or any(isinstance(layer, nn.Softmax) for layer in layers):
        return Layers(layers, skip)
    inner = Residual(*layers) if skip else nn.Sequential(*layers)
    parts = [*([_scale(gains[0])] if gains[0] != 1.0 else ()), inner, *([_scale(gains[1])] if gains[1] != 1.0 else ())]
    return inner if len(parts) == 1 else nn.Sequential(*parts)


def _wide(layers: list[nn.Module]) -> nn.Module:
    """The last layer that has a width."""
    return next(layer for layer in reversed(layers) if hasattr(layer, "hidden_size") or isinstance(layer, nn.Linear))


def _widths(layer: Any) -> tuple[int, int]:
    if isinstance(layer, nn.Linear):
        return layer.in_features, layer.out_features
    return layer.input_size, layer.hidden_size


def _scale(gain: float) -> nn.Module:
    layer = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(gain)
    return layer


def _linear(checkpoint: Checkpoint, name: str) -> nn.Module:
    before = f"{name}." if name else ""
    state = {
        part: checkpoint.stored[before + part] for part in ("weight", "bias") if before + part in checkpoint.stored
    }
    if "weight" not in state or len(state["weight"].shape) != 2:
        raise CheckpointError(f"{checkpoint.path}: the linear layer {name!r:.60} has no weight of two dimensions")
    tensors = {part: torch.from_numpy(stored.widened().copy()) for part, stored in state.items()}
    rows, columns = tensors["weight"].shape
    layer = nn.Linear(columns, rows, bias="bias" in tensors, dtype=tensors["weight"].dtype)
    layer.load_state_dict(tensors)
    return layer


def _activation(name: str, place: str) -> nn.Module:
    if name not in stack.ACTIVATIONS:
        raise CheckpointError(
            f"{place}: the activation {name!r:.60} is not known to RTNeural, which has {', '.join(stack.ACTIVATIONS)}"
        )
    module: nn.Module = getattr(nn, stack.ACTIVATIONS[name])(*[-1] * (name == "softmax"))
    return module


def _number(model: Mapping[str, Any], key: str, checkpoint: Checkpoint) -> float:
    value = model.get(key) or 0
    if type(value) not in (int, float) or abs(value) > 1000:
        raise CheckpointError(f"{checkpoint.path}: {key} must be a number, got {str(value):.60}")
    return float(value)
