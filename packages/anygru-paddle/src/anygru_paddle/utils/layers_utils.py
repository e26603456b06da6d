"""`paddle.utils.layers_utils`: nested lists, tuples and dicts of tensors, flattened and packed again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["assert_same_structure", "flatten", "is_sequence", "map_structure", "pack_sequence_as"]


def is_sequence(seq: Any) -> bool:
    """Whether a value has parts: a dict, or a list or tuple."""
    return isinstance(seq, dict) or (isinstance(seq, Sequence) and not isinstance(seq, str))


def _parts(nest: Any) -> list[Any]:
    return [nest[key] for key in sorted(nest)] if isinstance(nest, Mapping) else list(nest)


def flatten(nest: Any) -> list[Any]:
    """The leaves in order; a dict is sorted by its keys."""
    return [leaf for part in _parts(nest) for leaf in flatten(part)] if is_sequence(nest) else [nest]


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    parts = [_packed(part, leaves) for part in _parts(structure)]
    if isinstance(structure, Mapping):
        named = dict(zip(sorted(structure), parts, strict=True))
        return type(structure)((key, named[key]) for key in structure)  # type: ignore[call-arg]
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """The leaves in the form of `structure`.

    Raises:
        TypeError: unless the leaves are a sequence.
        ValueError: if their number is another.
    """
    if not is_sequence(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had {len(flat_sequence)} elements."
        )
    return _packed(structure, iter(flat_sequence))


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """The function of the leaves of structures, in the form of the first."""
    return pack_sequence_as(structure[0], [func(*each) for each in zip(*map(flatten, structure), strict=True)])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise if two structures have different forms.

    Raises:
        ValueError: for different numbers of leaves.
        TypeError: for different kinds, with `check_types`.
    """
    if len(flatten(nest1)) != len(flatten(nest2)) or is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(f"The two structures don't have the same number of elements: {nest1} and {nest2}")
    if is_sequence(nest1):
        if check_types and type(nest1) is not type(nest2):
            raise TypeError(f"The two structures don't have the same sequence type: {type(nest1)} and {type(nest2)}")
        for first, second in zip(_parts(nest1), _parts(nest2), strict=True):
            assert_same_structure(first, second, check_types)
