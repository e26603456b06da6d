"""`mx.init`: initializers of parameters.

The initializer of a parameter takes precedence over the initializer given to `initialize()`, and ignores the parameter's name. Of
MXNet
1.9's `mxnet.initializer`.
"""

import re
from typing import Any

import numpy as np

from anygru.extend import fans

from . import ndarray as ndarray  # re-exported for programs, as in MXNet
from . import random
from .initializers import InitDesc as InitDesc
from .initializers import Initial as Initial
from .initializers import Initializer as Initializer
from .initializers import alias as alias
from .initializers import bilinear_weights
from .initializers import create as create
from .initializers import register as register
from .ndarray.ndarray import NDArray
from .ndarray.utils import load as load_arrays
from .ndarray.utils import zeros
from .numpy import random as numpy_random
from .operators.recurrent import input_size_of, parameter_parts
from .state import state


def _generator() -> Any:
    """The draws for the arrays that Gluon creates: `mx.random` and `mx.np.random` give different numbers for one seed."""
    return numpy_random if state.numpy else random


@register
@alias("zeros")
class Zero(Initializer):
    """All zeros."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """All ones."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1


@register
class Bilinear(Initializer):
    """Weights of bilinear interpolation, for a transposed convolution that upsamples."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = bilinear_weights(arr.shape)


@register
class Constant(Initializer):
    """One value, or the values of an array."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = self.value

    def dumps(self) -> str:
        """The initializer as text."""
        if not np.isscalar(self.value):
            self._kwargs["value"] = np.asarray(self.value).tolist()
        return super().dumps()


@register
class Uniform(Initializer):
    """Uniform on [-scale, scale]."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        _generator().uniform(-self.scale, self.scale, arr.shape, out=arr)


@register
class Normal(Initializer):
    """Normal around 0 with standard deviation sigma."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        _generator().normal(0, self.sigma, arr.shape, out=arr)


@register
class Orthogonal(Initializer):
    """Orthonormal rows or columns times a scale (Saxe et al. 2013)."""

    # MXNet's approximation of the root of 2 (1.9.1, observed).
    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        sizes = (arr.shape[0], int(np.prod(arr.shape[1:])))
        drawn = (
            random.uniform(-1.0, 1.0, shape=sizes) if self.rand_type == "uniform" else random.normal(0, 1, shape=sizes)
        )
        u, _singular, v = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        arr[:] = (self.scale * (u if u.shape == sizes else v)).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Random values with the variance `magnitude` / n, where n is the number of inputs ("in"), of outputs ("out") or their mean
    ("avg") (Glorot, Bengio 2010)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ValueError(f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D.")
        fan_in, fan_out = fans(arr.shape)
        factors = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in factors:
            raise ValueError("Incorrect factor type")
        scale = float(np.sqrt(self.magnitude / factors[self.factor_type]))
        if self.rnd_type == "uniform":
            _generator().uniform(-scale, scale, arr.shape, out=arr)
        elif self.rnd_type == "gaussian":
            _generator().normal(0, scale, arr.shape, out=arr)
        else:
            raise ValueError("Unknown random type")


@register
class MSRAPrelu(Xavier):
    """Xavier initialization for leaky ReLUs (He et al. 2015)."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class LSTMBias(Initializer):
    """Zeros, except for the forget gate of an LSTM's bias."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0.0
        # The order of the gates is input, forget, cell, output.
        hidden = arr.shape[0] // 4
        arr[hidden : 2 * hidden] = self.forget_bias


@register
class FusedRNN(Initializer):
    """Initializes the flat vector of a recurrent network part by part, by default with the global initializer."""

    def __init__(
        self,
        init: Initial,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        self._init = None if init is None else create(init)
        super().__init__(
            init=None if self._init is None else self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._sizes = (num_hidden, num_layers, 2 if bidirectional else 1, mode)
        self._forget_bias = forget_bias

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        for part, first, shape in parameter_parts(input_size_of(arr.size, *self._sizes), *self._sizes):
            values = zeros(shape, arr.context, arr.dtype)
            if self._sizes[-1] == "lstm" and part.endswith("_f_bias"):
                values[:] = self._forget_bias
            else:
                (self._init or name.global_init)(InitDesc(part, global_init=name.global_init), values)
            arr[first : first + values.size] = values.reshape(-1)


class Load:
    """Values from a file or dict. `default_init` fills parameters with other names."""

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        values = load_arrays(param) if isinstance(param, str) else param
        assert isinstance(values, dict)
        self.param = {k[4:] if k.startswith(("arg:", "aux:")) else k: v for k, v in values.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        if name in self.param:
            assert arr.shape == self.param[name].shape, (
                f"Parameter {name} cannot be initialized from loading. "
                f"Shape mismatch, target {arr.shape} vs loaded {self.param[name].shape}"
            )
            arr[:] = self.param[name]
            return
        assert self.default_init is not None, (
            f"Cannot Initialize {name}. Not found in loaded param and no default Initializer is provided."
        )
        self.default_init(name, arr)


class Mixed:
    """Applies the initializer of the first pattern that matches the name."""

    def __init__(self, patterns: list[str], initializers: list[Any]) -> None:
        assert len(patterns) == len(initializers)
        self.map = [(re.compile(p), init) for p, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            # A pattern matches from the beginning of the name: "b" matches "bias" and not "a_bias" (MXNet 1.9.1, observed).
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(
            f'Parameter name {name} did not match any pattern. Consider adding a ".*" pattern at the end with a default '
            "Initializer."
        )
