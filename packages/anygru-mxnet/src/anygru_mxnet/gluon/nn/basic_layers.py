"""The layers around a GRU: Dense, Embedding, Dropout, and functions as layers."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ... import ndarray, symbol
from ...base import DtypeLike
from ...initializer import Initial
from ...symbol.nesting import Data
from ..blocks.base import Block
from ..blocks.hybrid import HybridBlock
from .activations import Activation

__all__ = ["Dense", "Dropout", "Embedding", "Flatten", "HybridLambda", "Lambda"]


class Dense(HybridBlock):
    """activation(x W^T + b).

    Args:
        units: features of the output.
        activation: name of an activation, or None.
        use_bias: whether there is a bias.
        flatten: whether all axes but the first are features; otherwise only the last axis is.
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
    """Set random elements to 0 in training and scale up the remaining ones.

    Args:
        rate: probability of zeroing an element.
        axes: axes along which elements are dropped together.
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        """Elements are dropped in training only."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Maps numbers to rows of a table.

    Args:
        input_dim: rows.
        output_dim: features of a row.
        dtype: of the table.
        weight_initializer: initializer.
        sparse_grad: SGD and Adam skip rows with a zero gradient; the gradient stays dense.
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
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad}
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: ModuleType, x: Data, weight: Data) -> Any:
        """[...] to [..., output_dim]."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        rows, features, dtype, _ = self._kwargs.values()
        return f"{type(self).__name__}({rows} -> {features}, {dtype})"


class Flatten(HybridBlock):
    """Reshapes to two dimensions: the first, and the product of all others."""

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        """[N, ...] to [N, features]."""
        return F.flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """Wraps a function as a block. A name means the operator of `mx.nd`.

    Raises:
        AssertionError: for a name that is not an operator.
        ValueError: the argument is neither a name nor callable.
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
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_impl.__name__})"


class HybridLambda(HybridBlock):
    """Wraps a function `(F, x, ...)` as a hybrid block. A name means the operator of `F`.

    Raises:
        AssertionError: for a name that is not an operator.
        ValueError: the argument is neither a name nor callable.
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
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
