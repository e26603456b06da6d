"""Making parameters: names, initial values, attributes."""

from collections.abc import Sequence
from typing import Any

import torch

from ..framework.dtype import as_dtype, bfloat16, dtype, float16, float32, float64
from ..nn.initializer import initializer as init
from . import unique_name
from .core import expected_place
from .framework import EagerParamBase, make_parameter
from .param_attr import ParamAttr

_FLOATS = (float16, float32, float64, bfloat16)


def _checked_shape(shape: Any) -> list[int]:
    if not isinstance(shape, (list, tuple)) and not hasattr(shape, "__iter__"):
        raise TypeError(f"create_parameter: shape must be a list or tuple of ints, got {type(shape).__name__}")
    sizes = []
    for axis, size in enumerate(shape):
        if isinstance(size, str):
            raise TypeError(f"create_parameter: shape must hold ints, got the str {size!r}")
        if isinstance(size, float):
            raise ValueError(
                f"(InvalidArgument) create_parameter: shape must be list of int, got {size!r} at pos {axis}"
            )
        if size <= 0:
            raise AssertionError(
                f"Expected every dim's size to be larger than 0, but the size of the {axis}-th dim is {size}"
            )
        sizes.append(int(size))
    return sizes


def create_parameter(
    attr: Any,
    shape: Sequence[int],
    wanted: Any,
    is_bias: bool,
    default_initializer: Any,
    prefix: str,
    name: str | None = None,
) -> EagerParamBase | None:
    """A new parameter, or None if `attr` is False.

    Args:
        attr: what `ParamAttr._to_attr` takes.
        shape: lengths of the axes, all above 0.
        wanted: the dtype.
        is_bias: makes the name end in `.b_K` (else `.w_K`) and zeros the default.
        default_initializer: used where neither `attr` nor `set_global_initializer` names one.
        prefix: the full name of the layer; `create_parameter` numbers itself.
        name: a name for a parameter outside layers.

    Raises:
        ValueError: if the name of `attr` is taken.
        TypeError: for an integer dtype without an initializer.
        AssertionError: for a length that is not above 0.
    """
    attr = ParamAttr._to_attr(attr)
    if attr is False:
        return None
    initializer = attr.initializer
    if initializer is None:
        initializer = init.global_initializer(is_bias) or default_initializer
    kind = _dtype_of(wanted)
    if initializer is None:
        if kind not in _FLOATS:
            raise TypeError(
                "Can not create parameter with default initializer when dtype is not float type. "
                "Set default_initializer to fit the parameter dtype!"
            )
        initializer = init.DEFAULT_BIAS if is_bias else init.DEFAULT_WEIGHT
    sizes = _checked_shape(shape)
    if prefix == "create_parameter" and name is None:
        prefix = unique_name.generate(prefix)  # counts even where the attribute gives the name
    full_name = attr.name or name
    if full_name is None:
        full_name = unique_name.generate(f"{prefix}.{'b' if is_bias else 'w'}")
    if unique_name.parameter_name_taken(full_name):
        raise ValueError(
            f"parameter name [{full_name}] have be been used. In dygraph mode, the name of parameter can't be same."
            "Please check the parameter attr value passed to self.create_parameter or constructor of dygraph Layers"
        )
    value = torch.zeros(sizes, dtype=kind.torch, device=expected_place().device)
    parameter = make_parameter(
        value, full_name, attr.trainable, attr.learning_rate, attr.regularizer, attr.need_clip, attr.do_model_average
    )
    initializer(parameter)
    return parameter


def _dtype_of(wanted: Any) -> dtype:
    return float32 if isinstance(wanted, str) and wanted == "float" else as_dtype(wanted)
