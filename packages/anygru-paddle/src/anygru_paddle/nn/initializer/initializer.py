"""Initial values of parameters, drawn as Paddle draws them, and the initializer that is set for all layers."""

import math

import numpy as np
import torch

from anygru.extend import fans as fans_of

from ...framework.dtype import single
from ...tensor.random import normal_values, uniform_values
from ...tensor.tensor import Tensor

__all__ = [
    "Assign", "Bilinear", "Constant", "ConstantInitializer", "Dirac", "Initializer", "KaimingNormal", "KaimingUniform",
    "MSRAInitializer", "Normal", "NormalInitializer", "NumpyArrayInitializer", "Orthogonal", "TruncatedNormal",
    "TruncatedNormalInitializer", "Uniform", "UniformInitializer", "XavierInitializer", "XavierNormal", "XavierUniform",
    "calculate_gain", "set_global_initializer",
]  # fmt: skip


class Initializer:
    """Fills a parameter. Subclasses give `values(shape, dtype)`; users may override `forward` or `__call__`."""

    # A seed starts a separate stream for each parameter, so all get the same draws (recorded, 2.6.2).
    _seed = 0

    def __call__(self, param: Tensor, block: object = None) -> Tensor:
        """Overwrite the values of `param`."""
        return self.forward(param, block)

    def forward(self, param: Tensor, block: object = None) -> Tensor:
        """Overwrite the values of `param`."""
        with torch.no_grad():
            torch.Tensor.copy_(param.detach(), self.values(list(param.shape), _dtype(param)))
        return param

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New values of `shape`."""
        raise NotImplementedError(f"{type(self).__name__} must give values(shape, dtype) or override forward")

    def _compute_fans(self, var: torch.Tensor) -> tuple[int, int]:
        """How many inputs and outputs a weight has; programs that write initializers call it."""
        return fans(list(var.shape))


def _dtype(parameter: torch.Tensor) -> torch.dtype:
    return torch.Tensor.dtype.__get__(parameter)  # type: ignore[attr-defined]


def fans(shape: list[int]) -> tuple[int, int]:
    """How many inputs and outputs a weight of `shape` has: [in, out], or [out, in, ...window]."""
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    # A Linear's weight is [in, out] in Paddle, the transpose of torch's.
    if len(shape) == 2:
        return shape[0], shape[1]
    return fans_of(shape)


_GAINS = {
    "sigmoid": 1.0, "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv1d_transpose": 1.0,
    "conv2d_transpose": 1.0, "conv3d_transpose": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor recommended for weights before an activation.

    Raises:
        ValueError: for an activation without a gain.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"nonlinearity function {nonlinearity} is not suppported now; known are {', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


class Constant(Initializer):
    """`value` everywhere."""

    def __init__(self, value: float = 0.0) -> None:
        if value is None:
            raise ValueError("Constant: value must be a number, got None")
        self._value = value

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """`value` in a tensor of `shape`."""
        return torch.full(shape, self._value, dtype=dtype)


class ConstantInitializer(Constant):
    """The name of `Constant` in fluid."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        super().__init__(value)


class Assign(Initializer):
    """The values of a tensor, array or list; as in Paddle, the parameter also takes their shape.

    Raises:
        AssertionError: for values of another kind.
    """

    def __init__(
        self, value: torch.Tensor | np.ndarray | list[float] | tuple[float, ...], name: str | None = None
    ) -> None:
        if not isinstance(value, (torch.Tensor, np.ndarray, list, tuple)):
            raise AssertionError(
                f"Assign: value must be a Tensor, a numpy array, a list or a tuple, got {type(value).__name__}"
            )
        self._value = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)

    def forward(self, param: Tensor, block: object = None) -> Tensor:
        """Overwrite values and shape of `param`."""
        with torch.no_grad():
            param.data = torch.from_numpy(np.array(self._value)).to(param.device, _dtype(param))
        return param


class NumpyArrayInitializer(Assign):
    """The name of `Assign` in fluid."""

    def __init__(self, value: np.ndarray) -> None:
        super().__init__(value)


class Dirac(Initializer):
    """A convolution's weight [out, in, ...window] that passes its channels through: ones at the middle of the window.

    Raises:
        AssertionError: for a weight without 3 to 5 axes, or outputs that `groups` does not divide.
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        if not isinstance(groups, int) or groups <= 0:
            raise AssertionError(f"Dirac: groups must be an int above 0, got {groups!r}")
        self._groups = groups

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """Zeros with ones where a channel meets itself."""
        if len(shape) not in (3, 4, 5) or shape[0] % self._groups:
            raise AssertionError(f"Dirac: the shape must have 3 to 5 axes, the first divisible by groups, got {shape}")
        return torch.nn.init.dirac_(torch.empty(shape, dtype=dtype), self._groups)


class Bilinear(Initializer):
    """The weight of a transposed convolution that enlarges images by linear interpolation."""

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """A tent in every channel.

        Raises:
            ValueError: unless `shape` is [out, in, length, length].
        """
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ValueError(f"the length of shape must be 4 and shape[2] must be equal to shape[3], got {shape}")
        half = math.ceil(shape[3] / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        # 2.6.2 computes the row by a true division, so it changes within a row (recorded).
        place = torch.arange(math.prod(shape), dtype=torch.float64)
        column, row = place % shape[3], (place / shape[3]) % shape[3]
        tent = (1 - (column / half - centre).abs()) * (1 - (row / half - centre).abs())
        return tent.reshape(shape).to(dtype)


class Uniform(Initializer):
    """Numbers evenly from `low` to `high`."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        if low is None or high is None or high < low:
            raise AssertionError(f"Uniform: low must not be above high, got {low} and {high}")
        self._low, self._high = float(low), float(high)

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        return uniform_values(shape, self._low, self._high, dtype, self._seed)


class UniformInitializer(Uniform):
    """The name of `Uniform` in fluid."""

    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int = 0) -> None:
        super().__init__(low, high)
        self._seed = seed


class Normal(Initializer):
    """Normal numbers of mean `mean` and standard deviation `std`."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        if mean is None or std is None:
            raise ValueError("Normal: mean and std must not be None")
        self._mean, self._std = float(mean), float(std)

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        return normal_values(shape, self._mean, self._std, dtype, self._seed)


class NormalInitializer(Normal):
    """The name of `Normal` in fluid."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(loc, scale)
        self._seed = seed


class TruncatedNormal(Normal):
    """Normal numbers within two standard deviations of the mean."""

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`, by inverting the distribution function."""
        low = 0.5 * (1 + math.erf(-2 / math.sqrt(2)))
        draws = uniform_values(shape, torch.finfo(dtype).tiny, 1.0, dtype, self._seed).as_subclass(torch.Tensor)
        normal = math.sqrt(2) * torch.erfinv(2 * (low + (1 - 2 * low) * draws) - 1)
        return normal * single(self._std) + single(self._mean)


class TruncatedNormalInitializer(TruncatedNormal):
    """The name of `TruncatedNormal` in fluid."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(loc, scale)
        self._seed = seed


class XavierInitializer(Initializer):
    """Uniform or normal values of variance 2 / (fan_in + fan_out) (X. Glorot, Y. Bengio, 2010)."""

    def __init__(
        self, uniform: bool = True, fan_in: float | None = None, fan_out: float | None = None, seed: int = 0
    ) -> None:
        self._uniform, self._fan_in, self._fan_out, self._seed = uniform, fan_in, fan_out, seed

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        fan_in, fan_out = fans(shape)
        both = (fan_in if self._fan_in is None else self._fan_in) + (
            fan_out if self._fan_out is None else self._fan_out
        )
        if self._uniform:
            limit = math.sqrt(6.0 / both)
            return uniform_values(shape, -limit, limit, dtype, self._seed)
        return normal_values(shape, 0.0, math.sqrt(2.0 / both), dtype, self._seed)


class XavierUniform(XavierInitializer):
    """Numbers evenly within sqrt(6 / (fan_in + fan_out)) of 0."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> None:
        super().__init__(True, fan_in, fan_out)


class XavierNormal(XavierInitializer):
    """Normal numbers of standard deviation sqrt(2 / (fan_in + fan_out))."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> None:
        super().__init__(False, fan_in, fan_out)


class MSRAInitializer(Initializer):
    """Uniform or normal values of variance gain ** 2 / fan_in, for rectified layers (K. He and others, 2015)."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        seed: int = 0,
        negative_slope: float = 0,
        nonlinearity: str = "relu",
    ) -> None:
        self._uniform, self._fan_in, self._seed = uniform, fan_in, seed
        self._negative_slope, self._nonlinearity = negative_slope, nonlinearity

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New random values of `shape`."""
        fan_in = fans(shape)[0] if self._fan_in is None else self._fan_in
        std = calculate_gain(self._nonlinearity, self._negative_slope) / math.sqrt(fan_in)
        if self._uniform:
            limit = math.sqrt(3.0) * std
            return uniform_values(shape, -limit, limit, dtype, self._seed)
        return normal_values(shape, 0.0, std, dtype, self._seed)


class KaimingUniform(MSRAInitializer):
    """Numbers evenly within gain * sqrt(3 / fan_in) of 0."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        super().__init__(True, fan_in, 0, negative_slope, nonlinearity)


class KaimingNormal(MSRAInitializer):
    """Normal numbers of standard deviation gain / sqrt(fan_in)."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        super().__init__(False, fan_in, 0, negative_slope, nonlinearity)


class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns (the fewer of the two) of length `gain` (A. Saxe and others, 2013)."""

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        if gain is None:
            raise ValueError("Orthogonal: gain must not be None")
        self._gain = gain

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """A new random matrix; axes after the first count as one.

        Raises:
            AssertionError: for fewer than two axes.
        """
        if len(shape) < 2:
            raise AssertionError(f"Only Tensor with 2 or more dimensions can be initialized by Orthogonal, got {shape}")
        rows, columns = shape[0], math.prod(shape[1:])
        flat = [max(rows, columns), min(rows, columns)]
        q, r = torch.linalg.qr(normal_values(flat, 0.0, 1.0, dtype).as_subclass(torch.Tensor))
        # So the draws alone decide; LAPACK is free in the signs of Q and R.
        q = q * torch.sign(torch.diagonal(r))
        return (q.T if rows < columns else q).reshape(shape) * self._gain


DEFAULT_WEIGHT: Initializer = XavierUniform()
DEFAULT_BIAS: Initializer = Constant(0.0)
_global: dict[bool, Initializer | None] = {True: None, False: None}


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Use these initializers for all parameters without an initializer in their ParamAttr; None goes back to the layers' own.

    Raises:
        TypeError: unless it is an Initializer or None.
    """
    for name, value in (("weight_init", weight_init), ("bias_init", bias_init)):
        if value is not None and not isinstance(value, Initializer):
            raise TypeError(
                f"set_global_initializer: {name} must be an Initializer or None, got {type(value).__name__}"
            )
    _global[False], _global[True] = weight_init, bias_init


def global_initializer(is_bias: bool) -> Initializer | None:
    """The initializer set for all weights or biases, if any."""
    return _global[is_bias]
