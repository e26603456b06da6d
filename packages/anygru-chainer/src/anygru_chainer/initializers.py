"""Initializers: objects that fill an array with its initial values.

Random ones draw from NumPy's global generator, or from `rng`, in Chainer's order, so that a seed gives Chainer's values.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy
from numpy.random import RandomState
from numpy.typing import DTypeLike

from anygru.extend import fans

from . import backend
from .backends import cuda
from .backends._cpu import Device
from .configuration import config
from .types import DTypeSpec, InitializerSpec, NdArray, Xp
from .utils.helpers import size_of_shape

__all__ = [
    "Constant", "DownsamplingConvFilter", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity",
    "LeCunNormal", "LeCunUniform", "NaN", "Normal", "One", "Orthogonal", "Uniform", "UpsamplingDeconvFilter", "Zero",
    "generate_array",
]  # fmt: skip


class Initializer:
    """Fills an array in place when called with it.

    Args:
        dtype: the dtype that arrays made for it should have; None for the configured one.
    """

    def __init__(self, dtype: DTypeSpec = None) -> None:
        self.dtype = dtype

    def __call__(self, array: NdArray) -> None:
        raise NotImplementedError

    def check_dtype(self, array: NdArray) -> None:
        """Raise AssertionError if the array does not have the initializer's dtype."""
        if self.dtype is not None and array.dtype != self.dtype:
            raise AssertionError(f"the array has dtype {array.dtype}, but {type(self).__name__} asks for {self.dtype}")


def get_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Fan-in and fan-out of a weight of shape (out, in, ...); ValueError below two axes."""
    if not isinstance(shape, tuple):
        raise ValueError(f"shape must be tuple. Actual type: {type(shape)}")
    if len(shape) < 2:
        raise ValueError(f"shape must be of length >= 2. Actual shape: {shape}")
    return fans(shape)


_ARRAYS = (numpy.ndarray, cuda.ndarray)


class Identity(Initializer):
    """The identity matrix times `scale`; ValueError unless the array is a square matrix."""

    def __init__(self, scale: float = 1.0, dtype: DTypeLike | None = None) -> None:
        self.scale = scale
        super().__init__(dtype)

    def __call__(self, array: NdArray) -> None:
        self.check_dtype(array)
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise ValueError(
                f"Identity matrix initialization can only be used for 2D squared matrices. Actual shape: {array.shape}"
            )
        backend.copyto(array, (numpy.identity(len(array)) * self.scale).astype(array.dtype))


class _Constant(Initializer):
    fill_value: Any = None

    def __init__(self, dtype: DTypeLike | None = None) -> None:
        if not (isinstance(self.fill_value, _ARRAYS) or numpy.isscalar(self.fill_value)):
            raise ValueError(f"fill_value must be either a scalar or an array. Actual: {type(self.fill_value)}")
        super().__init__(dtype)

    def __call__(self, array: NdArray) -> None:
        self.check_dtype(array)
        if numpy.isscalar(self.fill_value):
            with numpy.errstate(invalid="ignore"):  # the cast of NaN to integers warns
                array[...] = numpy.asarray(self.fill_value).astype(array.dtype)[()]
        else:
            backend.copyto(array, self.fill_value.astype(array.dtype, copy=False))


class Constant(_Constant):
    """One value everywhere, or the values of an array."""

    def __init__(self, fill_value: float | NdArray, dtype: DTypeLike | None = None) -> None:
        self.fill_value = fill_value
        super().__init__(dtype)


class Zero(_Constant):
    """Zeros."""

    fill_value = 0.0


class One(_Constant):
    """Ones."""

    fill_value = 1.0


class NaN(_Constant):
    """NaN everywhere: a parameter that was forgotten is seen at once."""

    fill_value = numpy.nan


class _Random(Initializer):
    """Random values of a spread: `scale`, or `scale * sqrt(share(fan_in, fan_out))`.

    Args:
        scale: factor of the spread.
        rng: a NumPy RandomState; None for the global generator.
    """

    share: Callable[[int, int], float] | None = None

    def __init__(self, scale: float = 1.0, dtype: DTypeLike | None = None, *, rng: RandomState | None = None) -> None:
        self.scale = scale
        self.rng = rng
        super().__init__(dtype)

    def spread(self, shape: tuple[int, ...]) -> float:
        """The standard deviation, or the largest value, for an array of this shape."""
        share = type(self).share
        return self.scale if share is None else self.scale * math.sqrt(share(*get_fans(shape)))

    def draw(self, spread: float, shape: tuple[int, ...]) -> Any:
        """Random values."""
        raise NotImplementedError

    def __call__(self, array: NdArray) -> None:
        self.check_dtype(array)
        # Drawn in float64 for every dtype, so a seed gives the same numbers in float32 and float64.
        backend.copyto(array, numpy.asarray(self.draw(self.spread(array.shape), array.shape)).astype(array.dtype))


class _Normal(_Random):
    def draw(self, spread: float, shape: tuple[int, ...]) -> Any:
        return (self.rng or numpy.random).normal(loc=0.0, scale=spread, size=shape)


class Normal(_Normal):
    """Mean 0 and standard deviation `scale`."""

    def __init__(self, scale: float = 0.05, dtype: DTypeLike | None = None, *, rng: RandomState | None = None) -> None:
        super().__init__(scale, dtype, rng=rng)


class LeCunNormal(_Normal):
    """Standard deviation `scale / sqrt(fan_in)` (LeCun et al., Efficient BackProp, 1998). The default of most links."""

    share = staticmethod(lambda fan_in, fan_out: 1.0 / fan_in)


class GlorotNormal(_Normal):
    """Standard deviation `scale * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010)."""

    share = staticmethod(lambda fan_in, fan_out: 2.0 / (fan_in + fan_out))


class HeNormal(_Normal):
    """Standard deviation `scale * sqrt(2 / fan)` with the fan named by `fan_option` (He et al., 2015)."""

    def __init__(
        self,
        scale: float = 1.0,
        dtype: DTypeLike | None = None,
        fan_option: str = "fan_in",
        *,
        rng: RandomState | None = None,
    ) -> None:
        self.fan_option = fan_option
        super().__init__(scale, dtype, rng=rng)

    def spread(self, shape: tuple[int, ...]) -> float:
        fans = dict(zip(("fan_in", "fan_out"), get_fans(shape), strict=True))
        if self.fan_option not in fans:
            raise ValueError(f"fan_option should be either 'fan_in' or 'fan_out'. Actual: {self.fan_option!r}")
        return self.scale * math.sqrt(2.0 / fans[self.fan_option])


class _Uniform(_Random):
    def draw(self, spread: float, shape: tuple[int, ...]) -> Any:
        return (self.rng or numpy.random).uniform(low=-spread, high=spread, size=shape)


class Uniform(_Uniform):
    """Between `-scale` and `scale`."""

    def __init__(self, scale: float = 0.05, dtype: DTypeLike | None = None, *, rng: RandomState | None = None) -> None:
        super().__init__(scale, dtype, rng=rng)


class LeCunUniform(_Uniform):
    """Bound `scale * sqrt(3 / fan_in)` (LeCun et al., 1998)."""

    share = staticmethod(lambda fan_in, fan_out: 3.0 / fan_in)


class GlorotUniform(_Uniform):
    """Bound `scale * sqrt(6 / (fan_in + fan_out))` (Glorot and Bengio, 2010)."""

    share = staticmethod(lambda fan_in, fan_out: 6.0 / (fan_in + fan_out))


class HeUniform(_Uniform):
    """Bound `scale * sqrt(6 / fan_in)` (He et al., 2015)."""

    share = staticmethod(lambda fan_in, fan_out: 6.0 / fan_in)


# mode -> (a wide matrix is refused, a tall matrix is refused)
_REFUSED = {"auto": (False, False), "projection": (False, True), "embedding": (True, False), "basis": (True, True)}


class Orthogonal(Initializer):
    """`scale` times a random matrix with orthonormal rows or columns (Saxe et al., 2013).

    Args:
        mode: "auto", or the required form of the matrix: a "projection" (not taller than wide), an "embedding" (not
        wider than
            tall) or a "basis" (square).
    """

    def __init__(
        # 1.1 is Chainer's default (7.8.1, recorded); torch's gain is 1.
        self,
        scale: float = 1.1,
        dtype: DTypeLike | None = None,
        mode: str = "auto",
        *,
        rng: RandomState | None = None,
    ) -> None:
        if mode not in _REFUSED:
            raise ValueError(f"Invalid mode: {mode!r}. Choose from {', '.join(map(repr, _REFUSED))}.")
        self.scale = scale
        self.mode = mode
        self.rng = rng
        super().__init__(dtype)

    def __call__(self, array: NdArray) -> None:
        self.check_dtype(array)
        draw: Any = self.rng or numpy.random
        if not array.shape:
            # The orthogonal matrices without axes are 1 and -1.
            array[...] = self.scale * (2 * int(draw.randint(2)) - 1)
            return
        if not array.size:
            raise ValueError("Array to be initialized must be non-empty.")
        n_out, n_in = len(array), size_of_shape(array.shape[1:])
        no_wide, no_tall = _REFUSED[self.mode]
        if (n_in > n_out and no_wide) or (n_in < n_out and no_tall):
            raise ValueError(
                f"Cannot make orthogonal {self.mode}. shape = {array.shape}, interpreted as {n_in}-dim input and "
                f"{n_out}-dim output."
            )
        normal = draw.normal(size=(n_out, n_in))
        q, r = numpy.linalg.qr(normal.T if n_in > n_out else normal)
        # With r's diagonal positive the draw is uniform over all such matrices; `qr` alone leaves the signs open.
        q = q * numpy.copysign(self.scale, numpy.diag(r))
        q = q.T if n_in > n_out else q
        backend.copyto(array, q.reshape(array.shape).astype(array.dtype))


def generate_array(
    initializer: InitializerSpec,
    shape: tuple[int, ...] | int,
    xp: Xp,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> NdArray:
    """A new array filled by an initializer.

    Its dtype is the first given of `dtype`, the initializer's and the configured one; ValueError if the first two differ.
    """
    asked = getattr(initializer, "dtype", None)
    if dtype is not None and asked is not None and numpy.dtype(dtype) != numpy.dtype(asked):
        raise ValueError(f"dtype mismatch: {dtype} != {asked}")
    dtype = asked if dtype is None else dtype
    if device is None:
        device = backend.CpuDevice() if xp is numpy else backend.GpuDevice(cuda.Device())
    with backend.using_device(device):
        array = xp.empty(shape, dtype=numpy.dtype(config.dtype if dtype is None else dtype))
        initializer(array)
    return array


def get_initializer(initializer: InitializerSpec) -> InitializerSpec:
    """An initializer from None (LeCunNormal), a scalar, an array or a callable; TypeError for another type."""
    if initializer is None:
        return LeCunNormal()
    if isinstance(initializer, _ARRAYS) or numpy.isscalar(initializer):
        return Constant(initializer)
    if not callable(initializer):
        raise TypeError(f"invalid type of initializer: {type(initializer)}; give a callable, a scalar or an array")
    return initializer


def _check_is_initializer_like(initializer: InitializerSpec) -> None:
    """Raise TypeError unless `get_initializer` takes it."""
    if initializer is not None:
        get_initializer(initializer)


_get_initializer = get_initializer  # the name that Chainer's users call


Filter = Callable[[NdArray], NdArray]


class _Sampling(Initializer):
    """A weight [I, O, K, ...] with O = I or O = 1 that treats each channel separately."""

    _scaled: Filter = staticmethod(lambda kernel: kernel)

    def __init__(self, interpolation: str = "linear", dtype: DTypeLike | None = None) -> None:
        if interpolation != "linear":
            raise ValueError(f"Unsupported interpolation method: {interpolation}")
        super().__init__(dtype)

    def __call__(self, array: NdArray) -> None:
        self.check_dtype(array)
        n_in, n_out, *sizes = array.shape
        assert n_out in (n_in, 1), f"the number of outputs must be 1 or the number of inputs, got {array.shape}"
        if len(set(sizes)) > 1:
            raise ValueError(f"ksize must be all same: {sizes}")
        distances = numpy.abs(numpy.arange(sizes[0]) - (sizes[0] - 1) / 2)
        kernel = self._scaled(reduce(numpy.multiply.outer, [1 - distances / ((sizes[0] + 1) // 2)] * len(sizes)))
        weight = numpy.zeros(array.shape)
        channels = numpy.arange(n_in)
        weight[channels, channels if n_out == n_in else 0] = kernel
        backend.copyto(array, weight.astype(array.dtype))


class UpsamplingDeconvFilter(_Sampling):
    """The weight of a deconvolution that enlarges, with a stride of `(ksize + 1) // 2`."""


class DownsamplingConvFilter(_Sampling):
    """The weight of a convolution that shrinks, with a stride of `(ksize + 1) // 2`."""

    _scaled: Filter = staticmethod(lambda kernel: kernel / kernel.sum())
