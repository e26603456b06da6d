"""Layers in which OneFlow differs from torch only in arguments and printed form: one row of a table for each."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from anygru.extend import names

from . import container, loss, module, own, rnn
from .adopted import adopt

_POOLING = "kernel_size={kernel_size}, stride={stride}, padding={padding}"
_MAX_POOLING = _POOLING + ", dilation={dilation}"
_AVERAGE_POOLING = _POOLING + ", ceil_mode={ceil_mode}"


def _scale(layer: Any) -> str:
    name = "size" if layer.scale_factor is None else "scale_factor"
    return f"{name}={getattr(layer, name)}, mode={layer.mode}"


def _with_scale_as_given(make: Callable[..., None]) -> Callable[..., None]:
    """A constructor that keeps `scale_factor` as it was given: torch turns whole numbers into floating-point numbers."""

    @wraps(make)
    def call(self: torch.nn.Module, size: Any = None, scale_factor: Any = None, *others: Any, **named: Any) -> None:
        make(self, size, scale_factor, *others, **named)
        self.scale_factor = scale_factor

    return call


# The options of `adopt`; a layer of names.txt without a file here has no options.
_ROWS: dict[str, dict[str, Any]] = {
    "AdaptiveAvgPool1d": {"shown": ""},
    "AdaptiveAvgPool2d": {"shown": ""},
    "AdaptiveAvgPool3d": {"shown": ""},
    "AdaptiveMaxPool1d": {"shown": "output_size={output_size}"},
    "AdaptiveMaxPool2d": {"shown": "output_size={output_size}"},
    "AdaptiveMaxPool3d": {"shown": "output_size={output_size}"},
    "AvgPool1d": {"axes": 1, "shown": _AVERAGE_POOLING},
    "AvgPool2d": {"axes": 2, "shown": _AVERAGE_POOLING},
    "AvgPool3d": {"axes": 3, "shown": _AVERAGE_POOLING},
    "ConstantPad1d": {"shown": "", "defaults": {"value": 0}},
    "ConstantPad2d": {"shown": "", "defaults": {"value": 0}},
    "ConstantPad3d": {"shown": "", "defaults": {"value": 0}},
    # 0.9.0 computes these in new memory for any `inplace` (recorded).
    "ELU": {"overwrites": False},
    "GELU": {"positional": "approximate", "shown": ""},
    "GLU": {"shown": ""},
    "Hardswish": {"overwrites": False, "shown": lambda layer: "inplace=True" * layer.inplace},
    "Hardtanh": {"shown": "min_val={min_val:g}, max_val={max_val:g}", "overwrites": False},
    "MaxPool1d": {"axes": 1, "shown": _POOLING},
    "MaxPool2d": {"axes": 2, "shown": _MAX_POOLING},
    "MaxPool3d": {"axes": 3, "shown": _MAX_POOLING},
    "MaxUnpool1d": {"shown": ""},
    "MaxUnpool2d": {"shown": ""},
    "MaxUnpool3d": {"shown": ""},
    "Mish": {"shown": "", "overwrites": False},
    "RMSNorm": {"defaults": {"eps": 1e-05}},
    "ReLU6": {"overwrites": False},
    "ReplicationPad2d": {"shown": "{padding}"},
    "SELU": {"shown": "", "overwrites": False},
    "SiLU": {"shown": "", "overwrites": False},
    "Softplus": {"shown": "beta={beta:g}, threshold={threshold:g}"},
    "Threshold": {"shown": ""},
    "Upsample": {"shown": _scale},
    "UpsamplingBilinear2d": {"shown": _scale},
    "UpsamplingNearest2d": {"shown": _scale},
    "ZeroPad2d": {"shown": ""},
}

__all__ = [
    name
    for name in names("oneflow").covered["oneflow.nn"]
    if isinstance(getattr(torch.nn, name, None), type)
    and not any(hasattr(file, name) for file in (container, loss, module, own, rnn))
]
_LAYERS: dict[str, Any] = {name: adopt(getattr(torch.nn, name), **_ROWS.get(name, {})) for name in __all__}
for _name in ("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"):
    _LAYERS[_name].__init__ = _with_scale_as_given(_LAYERS[_name].__init__)
globals().update(_LAYERS)
