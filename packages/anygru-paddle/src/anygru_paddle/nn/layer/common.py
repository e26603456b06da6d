"""Linear, Embedding, Dropout and other everyday layers."""

from typing import Any

import torch

from ...framework.framework import get_default_dtype
from ...tensor import manipulation
from ...tensor.tensor import Tensor
from ..functional import common as F
from ..functional.input import embedding
from .layers import Layer

__all__ = [
    "AlphaDropout", "Bilinear", "CosineSimilarity", "Dropout", "Dropout2D", "Embedding", "Flatten", "Identity",
    "Linear", "Unflatten",
]  # fmt: skip


def _named(text: str, name: str | None) -> str:
    return f"{text}, name={name}" if name else text


class Identity(Layer):
    """Gives back its input; any arguments are taken."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Layer):
    """x @ weight + bias, the weight [in_features, out_features].

    Args:
        in_features, out_features: sizes of the last axis before and after.
        weight_attr, bias_attr: attributes of the parameters; False leaves the bias out.
        name: shown when the layer is printed.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._dtype = get_default_dtype()
        self.weight = self.create_parameter([in_features, out_features], weight_attr, self._dtype)
        self.bias = self.create_parameter([out_features], bias_attr, self._dtype, is_bias=True)
        self.name = name

    def forward(self, input: torch.Tensor) -> Tensor:
        """The product."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes and the dtype."""
        rows, columns = self.weight.shape
        return _named(f"in_features={rows}, out_features={columns}, dtype={self._dtype}", self.name)


class Embedding(Layer):
    """Rows of a table, by number.

    Args:
        num_embeddings: rows.
        embedding_dim: length of a row.
        padding_idx: a row that stays zeros and gets no gradient.
        sparse: `Adam(lazy_mode=True)` leaves the rows that were not used; gradients are dense.
        weight_attr: attributes of the table.
        name: kept for scripts.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_embeddings = num_embeddings
        self._embedding_dim = embedding_dim
        self._sparse = sparse
        self._name = name
        if num_embeddings <= 0:
            raise ValueError("num_embeddings must be gather than 0")
        if embedding_dim <= 0:
            raise ValueError("embedding_dim must be gather than 0")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"padding_idx must be within [-{num_embeddings}, {num_embeddings})")
        self._padding_idx = -1 if padding_idx is None else padding_idx  # the printed value; -1 may mean the last row
        self._padding_row = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)
        self.weight.sparse_gradient = sparse
        if self._padding_row is not None:
            with torch.no_grad():
                torch.Tensor.__setitem__(self.weight.detach(), self._padding_row, 0.0)

    def forward(self, x: torch.Tensor) -> Tensor:
        """The rows x."""
        return embedding(x, self.weight, self._padding_row)

    def extra_repr(self) -> str:
        """The sizes."""
        text = f"{self._num_embeddings}, {self._embedding_dim}"
        if self._padding_row is not None:
            text += f", padding_idx={self._padding_idx}"
        return _named(f"{text}, sparse={self._sparse}", self._name)


class Dropout(Layer):
    """Replaces elements by zeros in training; see `paddle.nn.functional.dropout`."""

    def __init__(
        self, p: float = 0.5, axis: Any = None, mode: str = "upscale_in_train", name: str | None = None
    ) -> None:
        super().__init__()
        self.p = p
        self.axis = axis
        self.mode = mode
        self.name = name

    def forward(self, input: torch.Tensor) -> Tensor:
        """The input with elements dropped."""
        return F.dropout(input, self.p, self.axis, self.training, self.mode)

    def extra_repr(self) -> str:
        """The options."""
        return _named(f"p={self.p}, axis={self.axis}, mode={self.mode}", self.name)


class Dropout2D(Layer):
    """Whole channels of images dropped in training."""

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input: torch.Tensor) -> Tensor:
        """The input with channels dropped."""
        return F.dropout2d(input, self.p, self.training, self.data_format)  # type: ignore[return-value]

    def extra_repr(self) -> str:
        """The options."""
        return _named(f"p={self.p}, data_format={self.data_format}", self.name)


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance after selu."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p, self.name = p, name

    def forward(self, input: torch.Tensor) -> Tensor:
        """The input with elements dropped."""
        return F.alpha_dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """The probability."""
        return _named(f"p={self.p}", self.name)


class Flatten(Layer):
    """The axes from `start_axis` to `stop_axis` made one."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: torch.Tensor) -> Tensor:
        """The flattened input."""
        return manipulation.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """One axis made several."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape, self.name = axis, shape, name

    def forward(self, input: torch.Tensor) -> Tensor:
        """The unflattened input."""
        return manipulation.unflatten(input, self.axis, self.shape)

    def extra_repr(self) -> str:
        """The options."""
        return _named(f"axis={self.axis}, shape={self.shape}", self.name)


class CosineSimilarity(Layer):
    """The cosine of the angle between vectors along an axis."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis, self._eps = axis, eps

    def forward(self, x1: torch.Tensor, x2: torch.Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"axis={self._axis}, eps={self._eps}"


class Bilinear(Layer):
    """x1 @ weight[k] @ x2 + bias for every output k."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._sizes = in1_features, in2_features, out_features
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        # Of two axes, one more than torch's (recorded, 2.6.2).
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1: torch.Tensor, x2: torch.Tensor) -> Tensor:
        """The products."""
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes and the dtype."""
        return "in1_features={}, in2_features={}, out_features={}, dtype={}".format(*self._sizes, self._dtype)
