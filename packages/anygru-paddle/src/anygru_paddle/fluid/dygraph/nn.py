"""`paddle.fluid.dygraph.nn`: layers with the argument names of Paddle 1.x."""

import math
from collections.abc import Sequence

import torch

from ...base.param_attr import ParamAttr
from ...nn.functional import common, norm
from ...nn.functional import input as inputs
from ...nn.functional.operators import activation_of
from ...nn.initializer.initializer import Constant, Initializer
from ...nn.layer.layers import Layer
from ...nn.layer.loss import BCELoss, L1Loss, MSELoss, NLLLoss
from ...nn.layer.norm import SpectralNorm
from ...tensor.tensor import Tensor
from ..layers.functions import mul
from .gru_unit import GRUUnit
from .images import BatchNorm, Conv2D, Conv2DTranspose, Pool2D

__all__ = [
    "BCELoss", "BatchNorm", "Conv2D", "Conv2DTranspose", "Dropout", "Embedding", "FC", "GRUUnit", "L1Loss", "LayerNorm",
    "Linear", "MSELoss", "NLLLoss", "Pool2D", "SpectralNorm",
]  # fmt: skip

Attr = ParamAttr | Initializer | str | bool | None


class Linear(Layer):
    """act(input @ weight + bias), the weight [input_dim, output_dim]."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        act: str | None = None,
        dtype: object = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([input_dim, output_dim], param_attr, dtype)
        self.bias = self.create_parameter([output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The product."""
        return activation_of(self._act)(common.linear(input, self.weight, self.bias))


class FC(Layer):
    """act of the product of inputs, flattened from axis `num_flatten_dims` on, with a weight made for the first of them."""

    def __init__(
        self,
        name_scope: str,
        size: int,
        num_flatten_dims: int = 1,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        act: str | None = None,
        is_test: bool = False,
        dtype: object = "float32",
    ) -> None:
        super().__init__(name_scope, dtype)
        self._size, self._num_flatten_dims, self._act = size, num_flatten_dims, act
        self._attrs = param_attr, bias_attr

    def _build_once(self, input: torch.Tensor) -> None:
        rows = math.prod(int(length) for length in input.shape[self._num_flatten_dims :])
        self.weight = self.create_parameter([rows, self._size], self._attrs[0], self._dtype)
        self.bias = self.create_parameter([self._size], self._attrs[1], self._dtype, is_bias=True)

    def forward(self, input: torch.Tensor) -> Tensor:
        """The product."""
        out = mul(input, self.weight, self._num_flatten_dims)
        return activation_of(self._act)(out if self.bias is None else out + self.bias)


class Embedding(Layer):
    """Rows of a table of `size` [rows, length], by number."""

    def __init__(
        self,
        size: Sequence[int],
        is_sparse: bool = False,
        is_distributed: bool = False,
        padding_idx: int | None = None,
        param_attr: Attr = None,
        dtype: object = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        if is_distributed:
            raise NotImplementedError("Embedding: is_distributed=True is not covered")
        self._size = list(size)
        self._padding_idx = None if padding_idx is None else padding_idx % self._size[0]
        self.weight = self.create_parameter(self._size, param_attr, dtype)
        self.weight.sparse_gradient = is_sparse

    def forward(self, input: torch.Tensor) -> Tensor:
        """The rows input."""
        return inputs.embedding(input, self.weight, self._padding_idx)


class LayerNorm(Layer):
    """act of the normalization over the last axes."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        scale: bool = True,
        shift: bool = True,
        epsilon: float = 1e-5,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        act: str | None = None,
        dtype: object = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon, self._act = epsilon, act
        count = 1
        for length in self._normalized_shape:
            count *= length
        self.weight = (
            self.create_parameter([count], param_attr, dtype, default_initializer=Constant(1.0)) if scale else None
        )
        self.bias = self.create_parameter([count], bias_attr, dtype, is_bias=True) if shift else None

    def forward(self, input: torch.Tensor) -> Tensor:
        """The normalized input."""
        out = norm.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)
        return activation_of(self._act)(out)


class Dropout(Layer):
    """Replaces elements by zeros in training; by default evaluation multiplies by 1 - p."""

    def __init__(
        self,
        p: float = 0.5,
        seed: int | None = None,
        dropout_implementation: str = "downgrade_in_infer",
        is_test: bool = False,
    ) -> None:
        super().__init__()
        if seed is not None:
            raise NotImplementedError("Dropout: seed is not covered; paddle.seed() sets the seed of all random numbers")
        self._p, self._is_test = p, is_test
        modes = {"downgrade_in_infer": "downscale_in_infer", "upscale_in_train": "upscale_in_train"}
        if dropout_implementation not in modes:
            raise AssertionError(
                f"dropout_implementation must be one of {', '.join(modes)}, got {dropout_implementation!r}"
            )
        self._mode = modes[dropout_implementation]

    def forward(self, input: torch.Tensor) -> Tensor:
        """The input with elements dropped."""
        return common.dropout(input, self._p, training=self.training and not self._is_test, mode=self._mode)
