"""Layers of torch as layers of anygru."""

from typing import Any

from torch import nn

from ..facts.weights import KINDS, Weights
from .gru import GRU, GRUCell
from .shared import run_weight_hooks


def from_torch(layer: nn.Module) -> GRU | GRUCell:
    """A GRU or GRUCell of anygru itself; around the same parameters one of torch."""
    if isinstance(layer, (GRU, GRUCell)):
        return layer
    run_weight_hooks(layer)
    theirs: Any = layer
    is_cell = isinstance(layer, nn.GRUCell)
    tensors = [getattr(theirs, name, None) for name in (KINDS[:4] if is_cell else theirs._flat_weights_names)]
    given = [tensor for tensor in tensors if tensor is not None]
    if is_cell:
        return GRUCell.around(Weights.of(given, False, theirs.bias))
    dropout = theirs.dropout if theirs.num_layers > 1 else 0.0  # of which torch has warned already
    return GRU.around(
        Weights.of(given, theirs.bidirectional, theirs.bias), batch_first=theirs.batch_first, dropout=dropout
    )
