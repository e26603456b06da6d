"""OneFlow's functions as its C++ module has them: with other names and orders of arguments.

The rest of the covered names are the same functions as in `oneflow` and `oneflow.nn.functional`; `oneflow/__init__.py` adds them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as _torch

from .framework import functions, random
from .framework.arguments import with_oneflows_names as _with_oneflows_names
from .framework.arithmetic import add, relu
from .framework.differing import softmax, transpose
from .framework.indexing import quick_gelu
from .framework.products import matmul
from .framework.tensor import Tensor
from .nn.functional import functions as F
from .nn.functional.functions import cross_entropy, dropout, l1_loss, one_hot
from .nn.functional.recurrent import (
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    normalization,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
)
from .optim.dispatched import (
    dispatch_adadelta_update,
    dispatch_adagrad_update,
    dispatch_adam_update,
    dispatch_ftrl_update,
    dispatch_lamb_update,
    dispatch_momentum_update,
    dispatch_rmsprop_update,
    dispatch_sgd_update,
)

__all__ = [
    "add", "amp_black_identity", "amp_white_identity", "binary_cross_entropy_loss",
    "binary_cross_entropy_with_logits_loss", "cast", "cross_entropy", "dispatch_adadelta_update",
    "dispatch_adagrad_update", "dispatch_adam_update", "dispatch_ftrl_update", "dispatch_lamb_update",
    "dispatch_momentum_update", "dispatch_rmsprop_update", "dispatch_sgd_update", "dropout", "fast_gelu",
    "gather", "gelu_with_approximate", "gru", "gru_cell", "identity", "l1_loss", "layer_norm",
    "layer_norm_affine", "lstm", "lstm_cell", "matmul", "normalization", "one_hot", "quick_gelu", "randint",
    "randint_like", "reduce_sum_like", "relu", "rms_norm", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell", "softmax", "sparse_softmax_cross_entropy", "transpose",
]  # fmt: skip

binary_cross_entropy_loss = F.binary_cross_entropy
binary_cross_entropy_with_logits_loss = F.binary_cross_entropy_with_logits
cast, randint, randint_like = functions.cast, random.randint, random.randint_like


def identity(x: Tensor) -> Tensor:
    """The tensor itself."""
    return x


amp_black_identity = amp_white_identity = identity


def gather(x: Tensor, indices: Tensor, axis: int = 0) -> Any:
    """The entries of a dimension at the indices. The shape of the indices replaces that dimension."""
    chosen = x.index_select(axis, indices.flatten())
    return chosen.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


def gelu_with_approximate(x: Tensor, approximate: str = "none") -> Any:
    """gelu, exact or by tanh."""
    return _torch.gelu(x, approximate=approximate)


def fast_gelu(x: Tensor) -> Any:
    """gelu by tanh."""
    return _torch.gelu(x, approximate="tanh")


def layer_norm(x: Tensor, begin_norm_axis: int, begin_params_axis: int, epsilon: float) -> Any:
    """The tensor with the mean 0 and the variance 1 over its last dimensions, from an axis on."""
    return F.layer_norm(x, x.shape[begin_norm_axis:], None, None, epsilon)


def layer_norm_affine(
    x: Tensor, gamma: Tensor, beta: Tensor, begin_norm_axis: int, begin_params_axis: int, epsilon: float
) -> Any:
    """The same times `gamma` plus `beta`."""
    return F.layer_norm(x, x.shape[begin_norm_axis:], gamma, beta, epsilon)


def rms_norm(x: Tensor, weight: Tensor | None, normalized_shape: Sequence[int], epsilon: float = 1e-6) -> Any:
    """The tensor divided by the root of its mean square over the last dimensions, multiplied by a weight."""
    return _torch.rms_norm(x, list(normalized_shape), weight, epsilon)


def reduce_sum_like(x: Tensor, like: Tensor, axis: Sequence[int]) -> Any:
    """The sum over the axes, in the shape of another tensor."""
    return torch.sum(x, tuple(axis)).reshape(like.shape) if axis else x


def sparse_softmax_cross_entropy(logits: Tensor, label: Tensor) -> Any:
    """The cross entropy of each row."""
    return cross_entropy(logits, label, reduction="none")


globals().update(_with_oneflows_names(globals()))
