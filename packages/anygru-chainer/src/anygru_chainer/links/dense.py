"""Links of linear maps and embeddings, and activations with a learnt array."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from .. import initializers
from ..backends._tensors import ARRAYS
from ..functions import products
from ..functions.activations import maxout, prelu, relu, sigmoid, swish
from ..functions.products import embed_id, linear
from ..initializers import Initializer, Normal
from ..link import Chain, Link
from ..types import InitializerSpec, NdArray, ShapeSpec, VariableLike
from ..utils.helpers import size_of_shape
from ..variable import Parameter, Variable, as_array

__all__ = ["Bias", "Bilinear", "EmbedID", "Highway", "Linear", "Maxout", "PReLU", "Scale", "Swish"]


class Linear(Link):
    """`x @ W.T + b` with W [out_size, in_size] and b [out_size].

    Args:
        in_size: M; None: taken from the first input. `Linear(n)` is `Linear(None, n)`.
        out_size: N.
        nobias: leave b out (it is None).
        initialW: LeCunNormal by default.
        initial_bias: 0 by default.
    """

    W: Any
    b: Any

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
    ) -> None:
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size = in_size
        self.out_size = out_size
        with self.init_scope():
            self.W = Parameter(initializers.get_initializer(initialW))
            if in_size is not None:
                self._initialize_params(in_size)
            if nobias:
                self.b = None
            else:
                self.b = Parameter(initializers.get_initializer(0 if initial_bias is None else initial_bias), out_size)

    def _initialize_params(self, in_size: int) -> None:
        self.W.initialize((self.out_size, in_size))

    @classmethod
    def from_params(cls, W: VariableLike, b: VariableLike = None, nobias: bool = False) -> "Linear":
        """A link with copies of existing arrays or Variables (ValueError if their sizes differ)."""
        out_size, in_size = W.shape
        if b is not None and b.size != out_size:
            raise ValueError(f"`out_size` does not match the size of `b`: {out_size} != {b.size}")
        return cls(in_size, out_size, nobias, initialW=as_array(W), initial_bias=as_array(b))

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from [("in_size", self.in_size), ("out_size", self.out_size), ("nobias", self.b is None)]

    def forward(self, x: VariableLike, n_batch_axes: int = 1) -> Variable:
        """[B, N] from x [B, ...]; the axes behind the batch axes are flattened."""
        if self.W.array is None:
            self._initialize_params(size_of_shape(x.shape[n_batch_axes:]))
        return linear(x, self.W, self.b, n_batch_axes=n_batch_axes)


class Bias(Link):
    """`x + b` with the axes of b at `axis` of x; without a shape, b is the second argument of the call."""

    def __init__(self, axis: int = 1, shape: ShapeSpec | None = None) -> None:
        super().__init__()
        self.axis = axis
        if shape is not None:
            with self.init_scope():
                self.b = Parameter(initializers.Zero(), shape)

    def forward(self, *xs: VariableLike) -> Variable:
        """`x + b`, from x or from x and b (AssertionError if b is given twice or is missing)."""
        if (len(xs) == 1) != hasattr(self, "b"):
            raise AssertionError(f"Bias takes x if it has a parameter, otherwise x and b; got {len(xs)} arguments")
        return products.bias(xs[0], self.b if len(xs) == 1 else xs[1], self.axis)


class Scale(Chain):
    """`x * W (+ b)` with the axes of W at `axis` of x; without a shape, W is the second argument of the call.

    Args:
        axis: where the axes of W are.
        W_shape: shape of W; None for no parameter.
        bias_term: add a Bias.
        bias_shape: shape of the bias, by default of W.
    """

    def __init__(
        self,
        axis: int = 1,
        W_shape: ShapeSpec | None = None,
        bias_term: bool = False,
        bias_shape: ShapeSpec | None = None,
    ) -> None:
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = Parameter(initializers.One(), W_shape)
            elif bias_term and bias_shape is None:
                raise ValueError("bias_shape should be given if W is not learnt parameter and bias_term is True.")
            if bias_term:
                self.bias = Bias(axis, W_shape if W_shape is not None else bias_shape)

    def forward(self, *xs: VariableLike) -> Variable:
        """`x * W`, from x or from x and W (AssertionError if W is given twice or is missing)."""
        if (len(xs) == 1) != hasattr(self, "W"):
            raise AssertionError(f"Scale takes x if it has a parameter, otherwise x and W; got {len(xs)} arguments")
        y = products.scale(xs[0], self.W if len(xs) == 1 else xs[1], self.axis)
        return self.bias(y) if hasattr(self, "bias") else y


class Bilinear(Link):
    """`e1 W e2 + e1 V1 + e2 V2 + b` with W [left, right, out].

    Args:
        left_size, right_size, out_size: sizes of e1, e2 and the output.
        nobias: leave V1, V2 and b out.
        initialW: LeCunNormal (over W as a matrix) by default.
        initial_bias: a triple for V1, V2 and b; LeCunNormal and 0 by default.
    """

    def __init__(
        self,
        left_size: int,
        right_size: int,
        out_size: int,
        nobias: bool = False,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
    ) -> None:
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        with self.init_scope():
            shape = (left_size, right_size, out_size)
            given = isinstance(initialW, ARRAYS)  # an array has the shape of W itself
            _check_shape("initialW", initialW, shape)
            self.W = Parameter(initialW if given else _OverFirstAxis(initializers.get_initializer(initialW)), shape)
            if not nobias:
                v1, v2, b = (None, None, 0) if initial_bias is None else initial_bias
                if numpy.isscalar(initial_bias):
                    v1 = v2 = b = initial_bias
                sizes = (("V1", v1, (left_size, out_size)), ("V2", v2, (right_size, out_size)), ("b", b, (out_size,)))
                for name, initial, expected in sizes:
                    _check_shape(f"initial_bias, {name}", initial, expected)
                self.V1 = Parameter(initializers.get_initializer(v1), (left_size, out_size))
                self.V2 = Parameter(initializers.get_initializer(v2), (right_size, out_size))
                self.b = Parameter(initializers.get_initializer(b), out_size)

    def forward(self, e1: VariableLike, e2: VariableLike) -> Variable:
        """[B, out] from e1 [B, left] and e2 [B, right]."""
        rest = () if self.nobias else (self.V1, self.V2, self.b)
        return products.bilinear(e1, e2, self.W, *rest)


def _check_shape(name: str, initial: InitializerSpec, shape: tuple[int, ...]) -> None:
    """AssertionError for an array of another shape."""
    if isinstance(initial, ARRAYS) and initial.shape != shape:
        raise AssertionError(f"{name} must have the shape {shape}, got {initial.shape}")


class _OverFirstAxis(Initializer):
    """The initializer applied to a 3-dimensional array as a matrix, which determines its fans."""

    def __init__(self, initializer: Any) -> None:
        super().__init__(getattr(initializer, "dtype", None))
        self.initializer = initializer

    def __call__(self, array: NdArray) -> None:
        self.initializer(array.reshape(array.shape[0], -1))


class EmbedID(Link):
    """The rows of W [in_size, out_size] named by int ids.

    Args:
        in_size: number of ids.
        out_size: size of a row.
        initialW: Normal(1.0) by default.
        ignore_label: id that gives zeros.
    """

    ignore_label: int | None = None

    def __init__(
        self, in_size: int, out_size: int, initialW: InitializerSpec = None, ignore_label: int | None = None
    ) -> None:
        super().__init__()
        self.ignore_label = ignore_label
        with self.init_scope():
            # The standard deviation is 1, unlike other links (Chainer 7.8.1, seen).
            self.W = Parameter(Normal(1.0) if initialW is None else initialW, (in_size, out_size))

    @classmethod
    def from_params(cls, W: VariableLike, ignore_label: int | None = None) -> "EmbedID":
        """A link with a copy of an existing array or Variable."""
        in_size, out_size = W.shape
        return cls(in_size, out_size, initialW=as_array(W), ignore_label=ignore_label)

    def forward(self, x: VariableLike) -> Variable:
        """[..., out_size] from int ids x [...]."""
        return embed_id(x, self.W, ignore_label=self.ignore_label)


class Highway(Chain):
    """`t * activate(plain(x)) + (1 - t) * x` with the gate `t = sigmoid(transform(x))`.

    Args:
        in_out_size: size of an input and an output.
        nobias: leave both biases out.
        activate: a function of one Variable.
        init_Wh, init_bh: initializers of `plain`, LeCunNormal and 0 by default.
        init_Wt, init_bt: initializers of `transform`, LeCunNormal and -1 by default.
    """

    def __init__(
        self, in_out_size: int, nobias: bool = False, activate: Callable[[Any], Variable] = relu,
        init_Wh: InitializerSpec = None, init_Wt: InitializerSpec = None, init_bh: InitializerSpec = None,
        init_bt: InitializerSpec = -1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.activate = activate
        with self.init_scope():
            self.plain = Linear(in_out_size, in_out_size, nobias, init_Wh, init_bh)
            self.transform = Linear(in_out_size, in_out_size, nobias, init_Wt, init_bt)

    def forward(self, x: VariableLike) -> Variable:
        """[B, N] from x [B, N]."""
        plain, gate = self.activate(self.plain(x)), sigmoid(self.transform(x))
        return plain * gate + x * (1 - gate)


class Maxout(Chain):
    """The largest of `pool_size` linear maps for each of `out_size` outputs.

    Args:
        initialW: initializer, or array [out_size, pool_size, in_size].
        initial_bias: initializer, scalar, or array [out_size, pool_size].
    """

    def __init__(
        self,
        in_size: int,
        out_size: int,
        pool_size: int,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = 0,
    ) -> None:
        super().__init__()
        self.out_size = out_size
        self.pool_size = pool_size
        with self.init_scope():
            self.linear = Linear(
                in_size,
                out_size * pool_size,
                nobias=initial_bias is None,
                initialW=_flat("initialW", initialW, (out_size, pool_size, in_size)),
                initial_bias=_flat("initial_bias", initial_bias, (out_size, pool_size)),
            )

    def forward(self, x: VariableLike) -> Variable:
        """[B, out_size] from x [B, in_size]."""
        return maxout(self.linear(x), self.pool_size)


def _flat(name: str, initial: InitializerSpec, shape: tuple[int, ...]) -> InitializerSpec:
    """Initial values of the linear link: an array, and an array that a function fills, have one axis more than the link's.

    An `Initializer` sees the link's own array, as in Chainer 7.8.1 (`links/activation/maxout.py`, read), so its fans differ.
    """
    if isinstance(initial, ARRAYS):
        if initial.ndim != len(shape):
            raise ValueError(f"{name}.ndim should be {len(shape)}, got {initial.ndim}")
        return initial.reshape(-1, *shape[2:])
    if callable(initial) and not isinstance(initial, Initializer):
        return lambda array: initial(array.reshape(shape))
    return initial


class PReLU(Link):
    """`prelu(x, W)` with W of a given shape, 0.25 at first."""

    def __init__(self, shape: ShapeSpec | None = (), init: InitializerSpec = 0.25) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter(init, shape)

    def forward(self, x: VariableLike) -> Variable:
        """`x` where it is positive, `W * x` elsewhere."""
        return prelu(x, self.W)


class Swish(Link):
    """`x * sigmoid(beta * x)` with beta of a given shape; None: the shape of the input without its first axis."""

    def __init__(self, beta_shape: ShapeSpec | None, beta_init: float = 1.0) -> None:
        super().__init__()
        with self.init_scope():
            self.beta = Parameter(initializers.Constant(beta_init), beta_shape)

    def forward(self, x: VariableLike) -> Variable:
        """The activation of x [B, ...]."""
        if self.beta.array is None:
            self.beta.initialize(x.shape[1:])
        return swish(x, self.beta)
