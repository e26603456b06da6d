"""Hooks on the tensors that steps of the graph keep for their gradients."""

from collections.abc import Callable
from typing import Any

import torch

from ..tensor.operation import plain, wrap


class saved_tensors_hooks(torch.autograd.graph.saved_tensors_hooks):
    """Within it, `pack_hook` replaces each tensor that autograd keeps, and `unpack_hook` restores the tensor."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], torch.Tensor]) -> None:
        super().__init__(lambda tensor: pack_hook(wrap(tensor)), lambda kept: plain(unpack_hook(kept)))
