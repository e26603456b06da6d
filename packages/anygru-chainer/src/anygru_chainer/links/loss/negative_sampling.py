"""Negative sampling."""

from collections.abc import Sequence
from typing import Any

import numpy

from ...configuration import get_dtype
from ...device_resident import DeviceResidentsVisitor
from ...functions import structured_losses
from ...link import Link
from ...types import DTypeSpec, VariableLike
from ...utils import argument
from ...utils.walker_alias import WalkerAlias
from ...variable import Parameter

__all__ = ["NegativeSampling"]


class NegativeSampling(Link):
    """The loss of words against words drawn from a distribution (Mikolov et al., 2013).

    Args:
        in_size: size of an input.
        counts: how often each word occurs.
        sample_size: number of words to draw for each.
        power: the words are drawn in proportion to the counts to this power.
        dtype: in which the powers are computed.
    """

    def __init__(
        self,
        in_size: int,
        counts: Sequence[float],
        sample_size: int,
        power: float = 0.75,
        dtype: DTypeSpec = None,
    ) -> None:
        super().__init__()
        kind = get_dtype(dtype)
        self.sample_size = sample_size
        self.sampler = WalkerAlias(numpy.power(numpy.array(counts, kind), kind.type(power)))
        with self.init_scope():
            self.W = Parameter(0, (len(counts), in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x: VariableLike, t: VariableLike, reduce: str = "sum", **kwargs: Any) -> Any:
        """The loss of words t [B] given x [B, in_size]; with `return_samples` also the words that were drawn."""
        (return_samples,) = argument.parse_kwargs(kwargs, ("return_samples", False))
        return structured_losses.negative_sampling(
            x, t, self.W, self.sampler.sample, self.sample_size, reduce=reduce, return_samples=return_samples
        )
