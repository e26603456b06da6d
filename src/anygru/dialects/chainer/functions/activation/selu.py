"""The scaled exponential linear unit."""

from __future__ import annotations

from typing import Any

from ...functions.activation.elu import elu
from ...variable import Variable


def selu(x: Any, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805) -> Variable:
    """`scale * elu(x, alpha)` (Klambauer et al., 2017)."""
    return scale * elu(x, alpha)
