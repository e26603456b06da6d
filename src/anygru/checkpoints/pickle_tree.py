"""Checks on what a pickle has built: no value inside itself, no tree that unfolds without end, no hostile key."""

from typing import Any

from ..errors import CheckpointError

__all__ = ["Pending", "check_key", "check_tree", "settle_bytes"]

#: How deep values may be nested. State dictionaries need five.
_DEEPEST = 100
#: How many values a tree may unfold to: a value used twice counts twice, so that nested repetitions cannot explode.
_FREE_VALUES = 10_000
_VALUES_PER_BYTE = 8

_PLAIN_KEYS = (str, bytes, int, float, bool, type(None))


class Pending:
    """An object whose state is still to come in the pickle; never seen outside the unpickler."""

    def __init__(self) -> None:
        self.remembered_as: list[int] = []

    def build(self, state: object) -> Any:
        """Give the final object."""
        raise NotImplementedError


def check_key(key: object) -> Any:
    """Give the key back if it is plain. Hashing nested tuples that repeat themselves would take forever.

    Raises:
        ValueError: the key is neither text, a number nor a tuple of those.
    """
    if isinstance(key, _PLAIN_KEYS):
        return key
    if isinstance(key, tuple) and len(key) < 100 and all(isinstance(part, _PLAIN_KEYS) for part in key):
        return key
    raise ValueError(f"a {type(key).__name__} as the key of a dict or the member of a set")


def check_tree(root: object, where: str, *, file_size: int) -> None:
    """Refuse a tree that no program could walk.

    Args:
        root: what the pickle gave.
        where: the file's name for errors.
        file_size: bytes of the pickle; the tree may unfold to a small multiple of it.

    Raises:
        CheckpointError: a value contains itself, lies too deep, unfolds without measure, or was never finished.
    """
    limit = _FREE_VALUES + _VALUES_PER_BYTE * file_size
    open_containers: set[int] = set()
    unfolded: dict[int, int] = {}
    depths: dict[int, int] = {}
    # a container is visited twice: when it is opened, and after all that is in it
    work: list[tuple[Any, bool]] = [(root, False)]
    while work:
        value, leaving = work.pop()
        parts = _parts(value)
        if parts is None:
            if isinstance(value, Pending):
                raise CheckpointError(f"{where}: an object in the pickle never gets its state")
            continue
        identity = id(value)
        if leaving:
            open_containers.discard(identity)
            unfolded[identity] = 1 + sum(unfolded.get(id(part), 1) for part in parts)
            depths[identity] = 1 + max((depths.get(id(part), 0) for part in parts), default=0)
            if depths[identity] > _DEEPEST:
                raise CheckpointError(f"{where}: values are nested deeper than {_DEEPEST} levels")
            if unfolded[identity] > limit:
                raise CheckpointError(f"{where}: repeated values unfold to more than {limit}")
        elif identity in open_containers:
            raise CheckpointError(f"{where}: a {type(value).__name__} in the pickle contains itself")
        elif identity not in unfolded:
            open_containers.add(identity)
            work.append((value, True))
            work.extend((part, False) for part in parts)


def _parts(value: object) -> list[Any] | None:
    """What is inside a container; keys are plain by construction. None for anything else."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    inside = getattr(value, "pickled_parts", None)
    return None if inside is None else list(inside())


def settle_bytes(root: object) -> Any:
    """Turn views of the file that no array took into bytes of their own; lists and dicts are changed in place."""
    settled: dict[int, Any] = {}

    def settle(value: object) -> Any:
        if isinstance(value, memoryview):
            return bytes(value)
        if not isinstance(value, dict | list | tuple):
            return value
        if id(value) not in settled:
            settled[id(value)] = settle_inside(value)
        return settled[id(value)]

    def settle_inside(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Any:
        if isinstance(value, dict):
            for key, part in value.items():
                value[key] = settle(part)
            return value
        if isinstance(value, list):
            value[:] = [settle(part) for part in value]
            return value
        parts = [settle(part) for part in value]
        changed = any(new is not old for new, old in zip(parts, value, strict=True))
        return tuple(parts) if changed and type(value) is tuple else value

    return settle(root)
