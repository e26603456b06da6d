"""The order in which Chainer puts the sequences of a batch, which decides whose steps get which dropout mask."""

from collections.abc import Sequence

_SMALL = 16  # so many indices at most are sorted by insertion, which leaves equal lengths in their order


def longest_first(lengths: Sequence[int]) -> list[int]:
    """Indices of the lengths, falling, in the order that NumPy gave them when Chainer was written.

    That was a quicksort, which does not keep equal lengths in their order; NumPy's own order now depends on the
    processor. Each part of more than 16 indices is split around the median of its first, middle and last length.
    """
    order, keys = list(range(len(lengths))), [-length for length in lengths]
    parts = [(0, len(order) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < _SMALL:
            order[first : last + 1] = sorted(order[first : last + 1], key=keys.__getitem__)
        else:
            middle = _partition(order, keys, first, last)
            parts += [(first, middle - 1), (middle + 1, last)]
    return order


def _partition(order: list[int], keys: list[int], first: int, last: int) -> int:
    """Partition around the median of three: smaller items before it, larger ones behind. Returns the median's index."""

    def swap(i: int, j: int) -> None:
        order[i], order[j] = order[j], order[i]

    middle = first + (last - first) // 2
    for low, high in ((first, middle), (middle, last), (first, middle)):
        if keys[order[high]] < keys[order[low]]:
            swap(low, high)
    median = keys[order[middle]]
    left, right = first, last - 1
    swap(middle, right)
    while True:
        left += 1
        while keys[order[left]] < median:
            left += 1
        right -= 1
        while median < keys[order[right]]:
            right -= 1
        if left >= right:
            break
        swap(left, right)
    swap(left, last - 1)
    return left
