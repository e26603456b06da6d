"""Padding sequences to one length."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable


class PadSequence(TorchFunction):
    def __init__(self, length: int | None, padding: Any) -> None:
        self.length = length
        self.padding = padding

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() > 0)
        for i, in_type in enumerate(in_types):
            type_check._argname((in_type,), (f"x{i}",))
            expect(in_type.ndim > 0, in_type.shape[1:] == in_types[0].shape[1:], in_type.dtype == in_types[0].dtype)
            if self.length is not None:
                expect(in_type.shape[0] <= self.length)

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        length = max(len(x) for x in xs) if self.length is None else self.length
        padded = [
            torch.cat((x, x.new_full((length - len(x), *x.shape[1:]), self.padding))) if len(x) < length else x
            for x in xs
        ]
        return torch.stack(padded)


def pad_sequence(xs: Any, length: int | None = None, padding: Any = 0) -> Variable:
    """Sequences [L_b, ...] in one array [B, L, ...].

    Args:
        length: L; the longest length by default (InvalidType if a sequence is longer).
        padding: the value behind the end of a sequence.
    """
    return PadSequence(length, padding).apply(xs)[0]
