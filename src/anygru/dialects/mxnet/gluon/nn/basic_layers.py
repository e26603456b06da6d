"""The layers around a GRU: Dense, Embedding, Dropout, normalisations, and functions as layers."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ... import ndarray, symbol
from ...base import DtypeLike
from ...initializer import Initial
from ..blocks.base import Block
from ..blocks.hybrid import HybridBlock
from ..blocks.nesting import Data
from ..blocks.parameter_dict import ParameterDict
from .activations import Activation

__all__ = [
    "BatchNorm",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "HybridLambda",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
]


class Dense(HybridBlock):
    """activation(x W^T + b).

    Args:
        units: features of the output.
        activation: name of an activation, or None.
        use_bias: whether there is a bias.
        flatten: whether all axes but the first are features; else the last one alone.
        dtype: of the parameters.
        weight_initializer, bias_initializer: initializers.
        in_units: features of the input; 0 waits for the first input.
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DtypeLike = "float32",
        weight_initializer: Initial = None,
        bias_initializer: Initial = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._flatten = flatten
        self._units = units
        self._in_units = in_units
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def hybrid_forward(self, F: ModuleType, x: Data, weight: Data, bias: Data | None = None) -> Any:
        """[N, ...] to [N, units], or [..., units] without flatten."""
        given = (x, weight) if bias is None else (x, weight, bias)
        result = F.FullyConnected(
            *given, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd"
        )
        return result if self.act is None else self.act(result)

    def __repr__(self) -> str:
        units, features = self.weight.shape  # type: ignore[misc]
        return f"{type(self).__name__}({features if features else None} -> {units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Elements set to 0 at random when training, the others scaled up.

    Args:
        rate: probability of zeroing an element.
        axes: axes along which elements are dropped together.
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        """Elements dropped when training."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of a table by their numbers.

    Args:
        input_dim: rows.
        output_dim: features of a row.
        dtype: of the table.
        weight_initializer: initializer.
        sparse_grad: not covered; its gradient would be the same.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DtypeLike = "float32",
        weight_initializer: Initial = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if sparse_grad:
            raise NotImplementedError(
                "Embedding: anygru has no sparse gradients (sparse_grad=True); leave it out, or use torch.nn.Embedding"
            )
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype, allow_deferred_init=True
        )

    def hybrid_forward(self, F: ModuleType, x: Data, weight: Data) -> Any:
        """[...] to [..., output_dim]."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        rows, features, dtype, _ = self._kwargs.values()
        return f"{type(self).__name__}({rows} -> {features}, {dtype})"


class Flatten(HybridBlock):
    """Two dimensions: the first, and all others in one."""

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        """[N, ...] to [N, features]."""
        return F.flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


def _options(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in values.items())


class BatchNorm(HybridBlock):
    """Normalisation over the batch, by running means when predicting (Ioffe, Szegedy 2015)."""

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        running_mean_initializer: Initial = "zeros",
        running_variance_initializer: Initial = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }

        def add(name: str, init: Initial, learnt: bool) -> Any:
            return self.params.get(
                name,
                grad_req="write" if learnt else "null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=learnt,
            )

        self.gamma = add("gamma", gamma_initializer, scale)
        self.beta = add("beta", beta_initializer, center)
        self.running_mean = add("running_mean", running_mean_initializer, False)
        self.running_var = add("running_var", running_variance_initializer, False)

    def cast(self, dtype: DtypeLike) -> None:
        """Change the dtype; statistics stay in float32 where others become float16."""
        super().cast("float32" if np.dtype(dtype).name == "float16" else dtype)

    def hybrid_forward(
        self, F: ModuleType, x: Data, gamma: Data, beta: Data, running_mean: Data, running_var: Data
    ) -> Any:
        """Normalised along `axis`."""
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        channels = self.gamma.shape[0]
        return f"{type(self).__name__}({_options(self._kwargs)}, in_channels={channels if channels else None})"


class _ScaledNorm(HybridBlock):
    """What LayerNorm and InstanceNorm have in common: gamma, beta and their options."""

    def __init__(
        self,
        axis: int,
        epsilon: float,
        center: bool,
        scale: bool,
        beta_initializer: Initial,
        gamma_initializer: Initial,
        in_channels: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        for name, init, learnt in (("gamma", gamma_initializer, scale), ("beta", beta_initializer, center)):
            parameter = self.params.get(
                name,
                grad_req="write" if learnt else "null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
            )
            setattr(self, name, parameter)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_options(self._kwargs)}, in_channels={self._reg_params['gamma'].shape[0]})"  # type: ignore[index]


class LayerNorm(_ScaledNorm):
    """Normalisation of each vector along an axis (Ba et al. 2016)."""

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            axis,
            epsilon,
            center,
            scale,
            beta_initializer,
            gamma_initializer,
            in_channels,
            prefix=prefix,
            params=params,
        )

    def hybrid_forward(self, F: ModuleType, data: Data, gamma: Data, beta: Data) -> Any:
        """Normalised along `axis`."""
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)


class InstanceNorm(_ScaledNorm):
    """Normalisation of each channel of each sample (Ulyanov et al. 2016)."""

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)

    def hybrid_forward(self, F: ModuleType, x: Data, gamma: Data, beta: Data) -> Any:
        """Normalised over all axes but the first and `axis`."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        turned = F.InstanceNorm(F.swapaxes(x, 1, self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return turned.swapaxes(1, self._axis)


class Lambda(Block):
    """A function as a block; a name means the operator of `mx.nd`.

    Raises:
        AssertionError: for a name that is no operator.
        ValueError: for what is neither a name nor callable.
    """

    def __init__(self, function: str | Callable, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            assert hasattr(ndarray, function), f"Function name {function} is not found in ndarray."
            self._func_impl = getattr(ndarray, function)
        elif callable(function):
            self._func_impl = function
        else:
            raise ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")

    def forward(self, *args: Any) -> Any:
        """The function's result."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_impl.__name__})"


class HybridLambda(HybridBlock):
    """A function `(F, x, ...)` as a hybrid block; a name means the operator of `F`.

    Raises:
        AssertionError: for a name that is no operator.
        ValueError: for what is neither a name nor callable.
    """

    def __init__(self, function: str | Callable, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            assert all(hasattr(module, function) for module in (ndarray, symbol)), (
                f"Function name {function} is not found in symbol/ndarray."
            )
            name = function
            self._func: Callable = lambda F, *args: getattr(F, name)(*args)
            self._func_name = name
        elif callable(function):
            self._func = function
            self._func_name = function.__name__
        else:
            raise ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")

    def hybrid_forward(self, F: ModuleType, x: Data, *args: Any) -> Any:
        """The function's result."""
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
