"""`oneflow.nn.functional`: torch's functions, with OneFlow's arguments where torch has others."""

from __future__ import annotations

from typing import Any

from torch.nn import functional as _torch
from torch.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from torch.nn.functional import adaptive_avg_pool2d as adaptive_avg_pool2d
from torch.nn.functional import avg_pool1d as avg_pool1d
from torch.nn.functional import avg_pool2d as avg_pool2d
from torch.nn.functional import batch_norm as batch_norm
from torch.nn.functional import celu as celu
from torch.nn.functional import conv1d as conv1d
from torch.nn.functional import conv2d as conv2d
from torch.nn.functional import cosine_similarity as cosine_similarity
from torch.nn.functional import dropout as dropout
from torch.nn.functional import dropout1d as dropout1d
from torch.nn.functional import dropout2d as dropout2d
from torch.nn.functional import elu as elu
from torch.nn.functional import embedding as embedding
from torch.nn.functional import gelu as gelu
from torch.nn.functional import glu as glu
from torch.nn.functional import gumbel_softmax as gumbel_softmax
from torch.nn.functional import hardshrink as hardshrink
from torch.nn.functional import hardsigmoid as hardsigmoid
from torch.nn.functional import hardswish as hardswish
from torch.nn.functional import hardtanh as hardtanh
from torch.nn.functional import interpolate as interpolate
from torch.nn.functional import layer_norm as layer_norm
from torch.nn.functional import leaky_relu as leaky_relu
from torch.nn.functional import linear as linear
from torch.nn.functional import logsigmoid as logsigmoid
from torch.nn.functional import max_pool1d as max_pool1d
from torch.nn.functional import max_pool2d as max_pool2d
from torch.nn.functional import mish as mish
from torch.nn.functional import normalize as normalize
from torch.nn.functional import pad as pad
from torch.nn.functional import pairwise_distance as pairwise_distance
from torch.nn.functional import prelu as prelu
from torch.nn.functional import relu as relu
from torch.nn.functional import relu6 as relu6
from torch.nn.functional import selu as selu
from torch.nn.functional import sigmoid as sigmoid
from torch.nn.functional import silu as silu
from torch.nn.functional import softplus as softplus
from torch.nn.functional import softshrink as softshrink
from torch.nn.functional import softsign as softsign
from torch.nn.functional import tanh as tanh
from torch.nn.functional import threshold as threshold
from torch.nn.functional import unfold as unfold

from ...framework.differing import log_softmax as log_softmax
from ...framework.differing import softmax as softmax
from ...framework.tensor import Tensor, dress
from ..modules.adopted import named

mse_loss = named(_torch.mse_loss, "input target reduction")
l1_loss = named(_torch.l1_loss, "input target reduction")
smooth_l1_loss = named(_torch.smooth_l1_loss, "input target reduction beta")
kl_div = named(_torch.kl_div, "input target reduction log_target")
binary_cross_entropy = named(_torch.binary_cross_entropy, "input target weight reduction")
binary_cross_entropy_with_logits = named(
    _torch.binary_cross_entropy_with_logits, "input target weight pos_weight reduction"
)
triplet_margin_loss = named(_torch.triplet_margin_loss, "anchor positive negative margin p eps swap reduction")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """As torch's; the labels may be of any integer type."""
    labels = target if target.is_floating_point() else target.long()
    if not labels.is_floating_point() and labels.dim() == input.dim():  # a column of labels
        labels = labels.reshape(input.shape[0], *input.shape[2:])
    return _torch.cross_entropy(
        input, labels, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def one_hot(input: Tensor, num_classes: int = -1, on_value: Any = 1, off_value: Any = 0) -> Any:
    """Rows of off_value with on_value at the label."""
    rows = _torch.one_hot(input.long(), num_classes)
    if (on_value, off_value) == (1, 0):
        return dress(rows)
    return dress(rows * (on_value - off_value) + off_value)
