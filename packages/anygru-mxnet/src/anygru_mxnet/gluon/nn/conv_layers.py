"""`gluon.nn`: convolutions, transposed convolutions, pooling and padding; channels come first."""

from types import ModuleType
from typing import Any

import numpy as np

from ...initializer import Initial
from ...symbol.nesting import Data
from ..blocks.hybrid import HybridBlock
from .activations import Activation

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D",
    "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "ReflectionPad2D",
]  # fmt: skip

Numbers = int | tuple[int, ...]
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _numbers(value: Numbers, count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, (int, np.integer)) else tuple(value)


def _first(layout: str | None, spatial: int) -> str:
    """The layout, which must have the channels first.

    Raises:
        AssertionError: for any other.
    """
    expected = _LAYOUTS[spatial]
    assert layout in (None, expected), f"Only supports {expected!r} layout for now, got {layout!r}"
    return expected


class _Conv(HybridBlock):
    """A convolution.

    Args:
        channels: of the output.
        kernel_size, strides, padding, dilation: a number, or one for each axis.
        groups: the number of groups of channels, with separate convolutions.
        layout: channels first only.
        activation: name of an activation, or None.
        use_bias: whether there is a bias.
        weight_initializer, bias_initializer: initializers.
        in_channels: of the input; 0 waits for the first input.
    """

    _spatial: int
    _operator = "Convolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Numbers,
        strides: Numbers = 1,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Initial = None,
        bias_initializer: Initial = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        adj = kwargs.pop("adj", None)
        super().__init__(**kwargs)
        self._channels, self._in_channels = channels, in_channels
        kernel = _numbers(kernel_size, self._spatial)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": _numbers(strides, self._spatial),
            "dilate": _numbers(dilation, self._spatial),
            "pad": _numbers(padding, self._spatial),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": _first(layout, self._spatial),
        }
        shape = (channels, in_channels // groups, *kernel)
        if adj is not None:
            self._kwargs["adj"] = adj
            shape = (in_channels, channels // groups, *kernel)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = None
            if use_bias:
                self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: ModuleType, x: Data, weight: Data, bias: Data | None = None) -> Any:
        given = (x, weight) if bias is None else (x, weight, bias)
        result = getattr(F, self._operator)(*given, name="fwd", **self._kwargs)
        return result if self.act is None else self.act(result)

    def __repr__(self) -> str:
        options = self._kwargs
        sizes = self.weight.shape or (0, 0)
        # In a transposed convolution, as in MXNet, the channels of the output precede the channels of the input.
        text = f"{sizes[1] or None} -> {sizes[0]}, kernel_size={options['kernel']}, stride={options['stride']}"
        for key, name, usual in (("pad", "padding", 0), ("dilate", "dilation", 1), ("adj", "output_padding", 0)):
            if set(options.get(key, (usual,))) != {usual}:
                text += f", {name}={options[key]}"
        if options["num_group"] != 1:
            text += f", groups={options['num_group']}"
        if self.bias is None:
            text += ", bias=False"
        return f"{type(self).__name__}({text}{f', {self.act}' if self.act else ''})"


class _ConvTranspose(_Conv):
    """A transposed convolution; its arguments are as in a convolution, with the output's padding after `padding`."""

    _operator = "Deconvolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Numbers,
        strides: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        *others: Any,
        **kwargs: Any,
    ) -> None:
        adj = _numbers(output_padding, self._spatial)
        super().__init__(channels, kernel_size, strides, padding, *others, adj=adj, **kwargs)


class _Pool(HybridBlock):
    """Pooling.

    Args:
        pool_size, strides, padding: a number, or one for each axis; strides are the pool's size by default.
        layout: channels first only.
        ceil_mode: whether incomplete windows at the end count.
        count_include_pad: of average pooling only; whether the padding counts.
    """

    _spatial: int
    _type = "max"

    def __init__(
        self,
        pool_size: Numbers = 2,
        strides: Numbers | None = None,
        padding: Numbers = 0,
        layout: str | bool | None = None,
        ceil_mode: bool | str = False,
        count_include_pad: bool | None = None,
        global_pool: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(layout, bool):  # AvgPool2D and AvgPool3D have `ceil_mode` before `layout` (1.9.1, source)
            layout, ceil_mode = (ceil_mode or None), layout  # type: ignore[assignment]
        size = _numbers(pool_size, self._spatial)
        self._kwargs: dict[str, Any] = {
            "kernel": size,
            "stride": size if strides is None else _numbers(strides, self._spatial),
            "pad": _numbers(padding, self._spatial),
            "global_pool": global_pool,
            "pool_type": self._type,
            "layout": _first(layout, self._spatial),  # type: ignore[arg-type]
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if self._type == "avg" and not global_pool:
            self._kwargs["count_include_pad"] = True if count_include_pad is None else count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        options = self._kwargs
        return (
            f"{type(self).__name__}(size={options['kernel']}, stride={options['stride']}, padding={options['pad']}, "
            f"ceil_mode={options['pooling_convention'] == 'full'}, global_pool={options['global_pool']}, "
            f"pool_type={self._type}, layout={options['layout']})"
        )


_Pooling = _Pool


class _AvgPool(_Pool):
    """Average pooling."""

    _type = "avg"


class _GlobalPool(_Pool):
    """The largest number of each channel."""

    def __init__(self, layout: str | None = None, **kwargs: Any) -> None:
        # "full" has no effect, but is in MXNet 1.9.1's files of these layers (source).
        super().__init__(1, None, 0, layout, True, global_pool=True, **kwargs)


class _GlobalAvgPool(_GlobalPool):
    """The mean of each channel."""

    _type = "avg"


def _of_sizes(base: Any, name: str) -> Any:
    """The layers for sequences [N, C, W], pictures [N, C, H, W] and volumes [N, C, D, H, W]."""
    for spatial in _LAYOUTS:
        members = {"__module__": __name__, "__doc__": base.__doc__, "_spatial": spatial}
        yield type(name.format(spatial), (base,), members)


Conv1D, Conv2D, Conv3D = _of_sizes(_Conv, "Conv{}D")
Conv1DTranspose, Conv2DTranspose, Conv3DTranspose = _of_sizes(_ConvTranspose, "Conv{}DTranspose")
MaxPool1D, MaxPool2D, MaxPool3D = _of_sizes(_Pool, "MaxPool{}D")
AvgPool1D, AvgPool2D, AvgPool3D = _of_sizes(_AvgPool, "AvgPool{}D")
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = _of_sizes(_GlobalPool, "GlobalMaxPool{}D")
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = _of_sizes(_GlobalAvgPool, "GlobalAvgPool{}D")


class ReflectionPad2D(HybridBlock):
    """Pads images by reflection at the edges."""

    def __init__(self, padding: Numbers = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._padding = (0, 0, 0, 0) + (padding,) * 4 if isinstance(padding, int) else padding

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
