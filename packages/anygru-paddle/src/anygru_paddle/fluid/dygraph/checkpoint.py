"""`save_dygraph` and `load_dygraph` of Paddle 1.x: they take a prefix instead of a file name."""

import os
from typing import Any

from ...base.framework import EagerParamBase
from ...framework.io import load, save

__all__ = ["load_dygraph", "save_dygraph"]


def save_dygraph(state_dict: dict[str, Any], model_path: str) -> None:
    """Write a layer's state to `model_path`.pdparams, or an optimizer's to `model_path`.pdopt.

    Raises:
        AssertionError: for a prefix that names no file or an empty state.
    """
    if os.path.basename(model_path) == "":
        raise AssertionError(
            "The input model_path MUST be format of dirname/filename, but received filename is empty string."
        )
    if not state_dict:
        raise AssertionError("state_dict is empty, no need to save")
    is_layer = any(isinstance(value, EagerParamBase) for value in state_dict.values())
    save(state_dict, model_path + (".pdparams" if is_layer else ".pdopt"), protocol=2)  # 1.8's own, for Python 2 (read)


def load_dygraph(model_path: str, **configs: Any) -> tuple[Any, Any]:
    """The states that `save_dygraph` wrote under a prefix: the layer's and the optimizer's, arrays by name, None for none.

    Raises:
        ValueError: if there is neither file.
    """
    prefix = model_path
    for suffix in (".pdparams", ".pdopt"):
        prefix = prefix.removesuffix(suffix)
    found: list[Any] = [None, None]
    for place, suffix in enumerate((".pdparams", ".pdopt")):
        if os.path.exists(prefix + suffix):
            found[place] = load(prefix + suffix, return_numpy=True, **configs)
    if found == [None, None]:
        raise ValueError(f"The ``path`` ({model_path}) to load model not exists.")
    return found[0], found[1]
