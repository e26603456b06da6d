"""Collecting a layer's state, and putting one back."""

import warnings
from collections import OrderedDict
from typing import Any

import torch

from ...tensor.tensor import Tensor


def state_of(
    layer: torch.nn.Module,
    destination: Any,
    include_sublayers: bool,
    prefix: str,
    with_passing_buffers: bool,
    use_hook: bool,
) -> Any:
    """Own parameters, own buffers, then the sublayers' parameters and buffers; see `Layer.state_dict`."""
    state: Any = OrderedDict() if destination is None else destination
    for name, parameter in layer._parameters.items():
        if parameter is not None:
            state[prefix + name] = parameter
    for name, buffer in layer._buffers.items():
        if buffer is not None and (with_passing_buffers or name not in layer._non_persistent_buffers_set):
            state[prefix + name] = buffer
    if include_sublayers:
        for name, sublayer in layer._modules.items():
            if sublayer is not None:
                state = state.copy()  # `destination` keeps this layer's own entries alone (recorded, 2.6.2)
                state.update(
                    state_of(sublayer, None, include_sublayers, f"{prefix}{name}.", with_passing_buffers, use_hook)
                )
    if use_hook:
        for hook in getattr(layer, "_paddle_state_hooks", {}).values():
            result = hook(state)
            state = state if result is None else result
    return state


def load_state(layer: torch.nn.Module, given: Any, use_structured_name: bool) -> tuple[list[str], list[str]]:
    """Overwrite a layer's state; see `Layer.set_state_dict`."""
    missing: list[str] = []
    used: set[str] = set()
    matched: list[tuple[Tensor, Any]] = []
    for key, target in state_of(layer, None, True, "", False, False).items():
        name = key if use_structured_name else target.name
        value = given.get(name, None)
        if value is None:
            problem = f"{name} is not found in the provided dict."
        elif isinstance(value, (dict, list)) and len(value) != len(target):
            problem = f"{name} receives the length of {len(value)}, but the expected shape is {len(target)}"
        elif not isinstance(value, (dict, list)) and list(value.shape) != target.shape:
            problem = f"{name} receives a shape {list(value.shape)}, but the expected shape is {target.shape}."
        else:
            used.add(name)
            matched.append((target, value))
            continue
        # A value of another shape is among the missing names and among the unexpected ones (Paddle 2.6.2, recorded).
        missing.append(name)
        # Paddle warns in these words and loads the rest, where torch raises (2.6.2, recorded).
        warnings.warn(f"Skip loading for {key}. {problem}", UserWarning, stacklevel=3)
    for target, value in matched:
        target.set_value(value)
    return missing, [name for name in given if name not in used]
