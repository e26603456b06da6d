"""The order in which samples are taken."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...tensor.random import randperm

__all__ = ["RandomSampler", "Sampler", "SequenceSampler", "SubsetRandomSampler", "WeightedRandomSampler"]


class Sampler:
    """The base of samplers. Subclasses give `__iter__`."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} has no length")


class SequenceSampler(Sampler):
    """One after another."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """By chance, NumPy's.

    Args:
        data_source: the dataset.
        replacement: a sample may come again.
        num_samples: how many; all unless given.
        generator: a Python generator of numbers to use instead of NumPy's random numbers.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise TypeError(f"expect boolean value for replacement, but got replacement={replacement}")
        if not replacement and num_samples is not None:
            raise ValueError("num_samples should not be specified while replacement is False")
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"num_samples should be a positive integer, but got num_samples={num_samples}")
        self.replacement, self._num_samples, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        """How many samples are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if self.generator is not None:
            for _ in range(self.num_samples):
                try:
                    yield next(self.generator)
                except StopIteration:
                    return
        elif self.replacement:
            yield from np.random.choice(np.arange(count), self.num_samples, replace=True).tolist()
        else:
            # NumPy's global chance, as in Paddle 2.6.2 (recorded): `np.random.seed` orders the samples, `paddle.seed` does not.
            yield from np.random.choice(np.arange(count), count, replace=False).tolist()[: self.num_samples]

    def __len__(self) -> int:
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """By chance, with a weight a sample."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        if not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError("num_samples should be a positive integer")
        if not isinstance(replacement, bool):
            raise ValueError("replacement should be a boolean value")
        self.weights = np.asarray(weights, dtype="float64")
        if self.weights.ndim != 1:
            raise ValueError("weights should be a 1-D array")
        self.num_samples, self.replacement = num_samples, replacement

    def __iter__(self) -> Iterator[int]:
        if not (self.weights >= 0).all():
            raise AssertionError("weights should be positive value")
        positive = int((self.weights > 0).sum())
        if positive == 0:
            raise AssertionError("weights should have positive values")
        if not self.replacement and self.num_samples > positive:
            raise AssertionError(
                "weights positive value number should not less than num_samples when replacement=False"
            )
        shares = self.weights / self.weights.sum()
        return iter(np.random.choice(len(shares), self.num_samples, self.replacement, shares).tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The samples `indices` in random order."""

    def __init__(self, indices: Sequence[int]) -> None:
        if len(indices) == 0:
            raise ValueError("The length of `indices` in SubsetRandomSampler should be greater than 0.")
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return (self.indices[int(place)] for place in randperm(len(self.indices)))

    def __len__(self) -> int:
        return len(self.indices)
