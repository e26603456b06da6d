"""Draws from a table of probabilities."""

from collections.abc import Sequence

import numpy

from ..backends import _cpu
from ..device_resident import DeviceResident, DeviceResidentsVisitor


class WalkerAlias(DeviceResident):
    """Draws numbers from 0 with these weights, one draw from NumPy's generator each (Walker's alias method).

    Args:
        probs: the weights, of any sum.
    """

    def __init__(self, probs: Sequence[float]) -> None:
        super().__init__()
        weights = numpy.array(probs, numpy.float32)
        weights /= weights.sum()
        n = len(weights)
        self.threshold = numpy.empty(n, numpy.float32)
        self.values = numpy.zeros(2 * n, numpy.int32)  # of each slot its own number, and the one that fills it up
        open_slot = 0
        for slot, (weight, number) in enumerate(sorted(zip(weights, range(n), strict=True))):
            left = float(weight) * n  # doubles: NumPy made them of a scalar and an int when Chainer was written
            while left > 1 and open_slot < slot:
                self.values[2 * open_slot + 1] = number
                left -= 1.0 - float(self.threshold[open_slot])
                open_slot += 1
            self.threshold[slot], self.values[2 * slot] = left, number

    @property
    def use_gpu(self) -> bool:
        """Whether the table is on a GPU."""
        return self.xp is not numpy

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.threshold = visitor.visit_array(self.threshold)
        self.values = visitor.visit_array(self.values)

    def sample(self, shape: int | tuple[int, ...]) -> numpy.ndarray:
        """An array of draws (int32)."""
        place = numpy.random.uniform(0, len(self.threshold), shape)
        slot = place.astype(numpy.int32)
        rest = place.astype(numpy.float32) - slot.astype(numpy.float32)
        threshold, values = (_cpu.array_to_cpu(table) for table in (self.threshold, self.values))
        return self.device.send(values[2 * slot + (threshold[slot] < rest)])
