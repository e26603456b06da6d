"""Making parameters: names, initial values, attributes; and operators that scripts call by their type."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from anygru.extend import not_covered

from ..framework.dtype import as_dtype, bfloat16, float16, float32, float64
from ..nn.initializer import initializer as init
from ..tensor.operation import wrap
from . import unique_name
from .core import expected_place
from .framework import EagerParamBase, make_parameter
from .param_attr import ParamAttr

_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
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
        attr: an argument of `ParamAttr._to_attr`.
        shape: lengths of the axes, all above 0.
        wanted: the dtype.
        is_bias: makes the name end in `.b_K` (else `.w_K`) and zeros the default.
        default_initializer: used if neither `attr` nor `set_global_initializer` names one.
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
    kind = as_dtype(wanted)
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


class LayerHelper:
    """The helper by which Paddle 1.x's layers call operators: `append_op` computes into variables made before.

    Args:
        layer_type: a name.
        kwargs: stored; `append_activation` applies `act`.
    """

    operators: dict[str, Callable[..., dict[str, Any]]] = {}
    """By type: a function of the inputs, by their names, and of the attributes; it gives the outputs by name."""

    def __init__(self, layer_type: str, **kwargs: Any) -> None:
        self.layer_type, self.kwargs = layer_type, kwargs

    def create_variable_for_type_inference(self, dtype: Any = None, stop_gradient: bool = False) -> torch.Tensor:
        """A variable for an output."""
        return wrap(torch.empty(0, dtype=torch.float32 if dtype is None else as_dtype(dtype).torch))

    create_tmp_variable = create_variable_for_type_inference

    def append_op(self, type: str, inputs: Any = None, outputs: Any = None, attrs: Any = None, **_: Any) -> None:
        """Compute an operator: its outputs become the values of the variables in `outputs`.

        Raises:
            NotCoveredError: for a type that is not in `operators`.
        """
        if type not in self.operators:
            raise not_covered(
                f"paddle's operator {type!r} in append_op", "a function of paddle or of paddle.nn.functional"
            )
        given = {name: value for name, value in (inputs or {}).items() if value is not None}
        for name, result in self.operators[type](given, attrs or {}).items():
            target = (outputs or {}).get(name)
            target = target[0] if isinstance(target, (list, tuple)) else target
            if target is not None:
                empty = torch.empty(tuple(result.shape), dtype=_torch_dtype(result), device=result.device)
                torch.Tensor.data.__set__(target, empty)  # type: ignore[attr-defined]
                torch.Tensor.copy_(target, result)

    def iter_inputs_and_params(self, inputs: Any, param_attr: Any = None) -> Iterator[tuple[torch.Tensor, Any]]:
        """Every input with the attribute of its parameter."""
        inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        attrs = param_attr if isinstance(param_attr, (list, tuple)) else [param_attr] * len(inputs)
        yield from zip(inputs, (ParamAttr._to_attr(each) for each in attrs), strict=True)

    def append_activation(self, value: torch.Tensor, act: str | None = None) -> torch.Tensor:
        """The activation `act` (default: the helper's) of a tensor."""
        act = act or self.kwargs.get("act")
        return value if act is None else self.operators[act]({"X": value}, {})["Out"]
