"""Left and right."""

from __future__ import annotations

from typing import Any

from ...functions._checks import expect
from ...functions.array.flip import Flip
from ...utils import type_check
from ...variable import Variable


class FlipLR(Flip):
    def __init__(self) -> None:
        super().__init__(1)

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("a",))
        expect(in_types[0].dtype.kind == "f", in_types[0].ndim >= 2)


def fliplr(a: Any) -> Variable:
    """The array reversed along its second axis."""
    return FlipLR().apply((a,))[0]
