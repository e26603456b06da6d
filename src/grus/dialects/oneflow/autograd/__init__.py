"""Derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import enable_grad as enable_grad
from torch import inference_mode as inference_mode
from torch import is_grad_enabled as is_grad_enabled
from torch import no_grad as no_grad
from torch import set_grad_enabled as set_grad_enabled
from torch.autograd import Function as Function
from torch.autograd import backward as backward

from grus.dialects import refuser

from ..framework.tensor import Tensor, dress


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """The derivatives of the outputs' sum by each input; None for an input that takes no part."""
    return dress(
        torch.autograd.grad(
            outputs,
            inputs,
            grad_outputs,
            retain_graph=retain_graph or create_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    )


__getattr__ = refuser("oneflow", "oneflow.autograd")
