"""Moving and casting a layer in place: shared by `to`, `astype`, `float` and similar methods."""

import warnings
from typing import Any, TypeVar

import numpy as np
import torch

from ...base.core import Place, as_place, is_compiled_with_cuda
from ...framework.dtype import as_dtype, dtype, torch_dtype
from ...tensor.tensor import Tensor, recast

AnyLayer = TypeVar("AnyLayer", bound=torch.nn.Module)


def checked_device(device: Any) -> torch.device | None:
    """The torch device that `device` means, None for None.

    Raises:
        ValueError: unless it names a device.
    """
    if device is None or isinstance(device, torch.device):
        return device
    if not isinstance(device, (str, Place)):
        raise ValueError(
            "device value error, must be str, paddle.CPUPlace(), paddle.CUDAPlace(), paddle.CUDAPinnedPlace() or "
            f"paddle.XPUPlace(), but the type of device is {type(device).__name__}"
        )
    return as_place(device).device


def checked_dtype(value: Any) -> dtype:
    """The dtype that `astype` is given: a name, a Paddle dtype or a NumPy dtype.

    Raises:
        ValueError: for other values, including NumPy's scalar types.
    """
    if isinstance(value, (str, dtype, np.dtype, torch.dtype)):
        try:
            return as_dtype(value)
        except TypeError:
            pass
    raise ValueError(
        "dtype value error, must be 'bfloat16', 'float16', 'float32', 'float64', 'int8', 'int16', 'int32', 'int64', "
        f"'uint8', 'complex64', 'complex128', 'bool', or paddle.dtype, numpy.dtype, but recieve {value}"
    )


def spelled(value: Any) -> Any:
    """How a layer prints the dtype that `to` was given."""
    return str(value) if isinstance(value, np.dtype) else value


def checked_classes(excluded: Any, unless_given: tuple[type, ...] = ()) -> tuple[type, ...]:
    """The classes that `excluded_layers` names; `unless_given` for None.

    Raises:
        TypeError: unless it is a layer class or a list or tuple of layer classes.
    """
    if excluded is None:
        return unless_given
    if isinstance(excluded, type):
        return (excluded,)
    if isinstance(excluded, (list, tuple)):
        return tuple(each for each in excluded if isinstance(each, type))
    raise TypeError(f"excluded_layers should be type nn.Layer or list, but got {type(excluded).__name__}.")


def _convert(tensor: Tensor, device: torch.device | None, wanted: torch.dtype | None, floating_only: bool) -> None:
    """Move and cast one tensor and its gradient in place."""
    if floating_only and not tensor.is_floating_point():
        return
    recast(tensor, device, wanted)


def cast(
    layer: torch.nn.Module,
    device: torch.device | None,
    wanted: dtype | None,
    floating_only: bool = False,
    excluded: tuple[type, ...] = (),
) -> None:
    """Move and cast the parameters and buffers of a layer and all below it, shared ones once."""
    seen: set[int] = set()
    for module in layer.modules():
        if isinstance(module, excluded):
            continue
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None and id(tensor) not in seen:
                seen.add(id(tensor))
                with torch.no_grad():
                    _convert(tensor, device, None if wanted is None else torch_dtype(wanted), floating_only)  # type: ignore[arg-type]


def rename_dtype(layer: torch.nn.Module, spelling: Any, excluded: tuple[type, ...] = ()) -> None:
    """Make a layer and all below it print this dtype."""
    for module in layer.modules():
        if hasattr(module, "_dtype") and not isinstance(module, excluded):
            module._dtype = spelling


def to_floating(layer: AnyLayer, name: str, excluded: tuple[type, ...]) -> AnyLayer:
    """Cast the floating-point tensors of a layer, where the device has the type.

    Without a GPU Paddle's build takes bfloat16 where the CPU has AVX-512, and float16 nowhere (recorded from 2.6.2).
    """
    on_cpu = name == "bfloat16" and torch.backends.cpu.get_cpu_capability() == "AVX512"
    if name != "float32" and not is_compiled_with_cuda() and not on_cpu:
        warnings.warn(
            f"Paddle compiled by the user does not support {name}, so keep original data type.",
            UserWarning,
            stacklevel=3,
        )
        return layer
    kind = as_dtype(name)
    cast(layer, None, kind, floating_only=True, excluded=excluded)
    rename_dtype(layer, kind, excluded)
    return layer
