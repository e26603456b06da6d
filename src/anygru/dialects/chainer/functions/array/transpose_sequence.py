"""From sequences to time steps and back."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...variable import Variable


class TransposeSequence(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        for x, following in zip(in_types, in_types[1:], strict=False):
            expect(x.shape[0] >= following.shape[0], x.shape[1:] == following.shape[1:])

    def compute(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        lengths = numpy.array([len(x) for x in xs])
        starts = numpy.concatenate(([0], numpy.cumsum(lengths)[:-1]))
        counts = [int((lengths > step).sum()) for step in range(lengths[0])]
        rows = [starts[:count] + step for step, count in enumerate(counts)]
        order = torch.from_numpy(numpy.concatenate(rows))
        return torch.cat(xs).index_select(0, order.to(xs[0].device)).split(counts)


def transpose_sequence(xs: Any) -> tuple[Variable, ...]:
    """Sequences [L_b, ...], longest first, as time steps [B_t, ...] (and back); InvalidType if they are not sorted."""
    if not len(xs) or not len(xs[0]):
        return ()
    return TransposeSequence().apply(xs)
