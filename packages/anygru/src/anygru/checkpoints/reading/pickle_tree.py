"""Checks on the tree of values that a pickle has built: no cycle, no endless unfolding, no hostile key."""

from collections.abc import Collection, Mapping
from typing import Any, TypeGuard

from ...errors import CheckpointError
from ..stored import Branch
from .budget import Budget

_DEEPEST = 100
"""How deep values may be nested. State dictionaries need five."""
_PER_CONTAINER, _PER_REPETITION = 320, 320
"""Bytes that the check itself takes for a list, tuple or dict, and that a value takes wherever a tree is walked again."""
_LONGEST_PART = 1000
"""The letters or bytes of a tuple's part, in a key: names consist of keys."""

_LARGEST_OWN_HASH = (1 << 61) - 2
"""Python's hash of a larger integer is that of a smaller one (the remainder modulo 2**61 - 1, on 64 bits)."""

_PLAIN_KEYS = (str, bytes, int, float, bool, type(None))


class Pending:
    """An object that waits for its state in the pickle; internal to the unpickler."""

    def __init__(self) -> None:
        self.remembered_as: list[int] = []

    def build(self, state: object) -> Any:
        """Return the final object."""
        raise NotImplementedError


def check_key(key: object) -> Any:
    """Return the key if it is plain: hashing nested tuples that repeat themselves would never end.

    Raises:
        ValueError: the key is not a text, a number or a tuple of them.
    """
    if isinstance(key, _PLAIN_KEYS):
        return key
    if isinstance(key, tuple) and len(key) < 100 and all(map(_is_short_and_plain, key)):
        return key
    raise ValueError(f"a {type(key).__name__} as the key of a dict or the member of a set")


def may_collide(key: object) -> bool:
    """Return whether a file's author can choose many such keys with one hash: a dict of them takes quadratic time.

    Python draws the hashes of texts and bytes anew in each process; few floats share one.
    """
    if isinstance(key, tuple):
        return not all(isinstance(part, str | bytes) for part in key)
    return isinstance(key, int) and not -_LARGEST_OWN_HASH <= key <= _LARGEST_OWN_HASH


def _is_short_and_plain(part: object) -> bool:
    if isinstance(part, str | bytes):
        return len(part) <= _LONGEST_PART
    return isinstance(part, _PLAIN_KEYS)


def check_tree(root: object, where: str, budget: Budget, states: Mapping[int, tuple[object, object]]) -> None:
    """Refuse a tree that no program could walk.

    Args:
        root: the value of the pickle.
        where: the file's name for errors.
        states: objects made from a state, with the state, by the object's id: a module contains its state.
        budget: counts each value that the tree unfolds to because a container is used twice: walking or copying the
            tree visits the container at each use.

    Raises:
        CheckpointError: a value contains itself, is nested too deep, is unfinished, or the budget is exhausted.
    """

    def parts_of(value: Any) -> Collection[Any]:
        if isinstance(value, dict):
            return value.values()
        return value if is_container(value) else [states[id(value)][1]]

    def is_branch(value: object) -> bool:
        return is_container(value) or id(value) in states

    # a container's id, with the number of values that it unfolds to, and its depth
    known: dict[int, tuple[int, int]] = {}
    open_containers: set[int] = set()
    distinct = 1
    # a container is visited twice: before and after its contents
    work: list[tuple[Any, bool]] = [(root, False)]
    while work:
        value, leaving = work.pop()
        if isinstance(value, Pending):
            raise CheckpointError(f"{where}: an object in the pickle never gets its state")
        if not is_branch(value):
            continue
        identity = id(value)
        if leaving:
            open_containers.discard(identity)
            parts = parts_of(value)
            inside = [known[id(part)] for part in parts if is_branch(part)]
            total = 1 + len(parts) + sum(count - 1 for count, _ in inside)
            known[identity] = total, 1 + max((depth for _, depth in inside), default=0)
            if known[identity][1] > _DEEPEST:
                raise CheckpointError(f"{where}: values are nested deeper than {_DEEPEST} levels")
        elif identity in open_containers:
            raise CheckpointError(f"{where}: a {type(value).__name__} in the pickle contains itself")
        elif identity not in known:
            budget.take(_PER_CONTAINER)
            distinct += len(parts_of(value))
            open_containers.add(identity)
            if len(open_containers) > _DEEPEST:
                raise CheckpointError(f"{where}: values are nested deeper than {_DEEPEST} levels")
            work.append((value, True))
            work.extend((part, False) for part in parts_of(value) if is_branch(part) or isinstance(part, Pending))
    if is_branch(root):
        budget.take(_PER_REPETITION * (known[id(root)][0] - distinct))


def is_container(value: object) -> TypeGuard[Branch]:
    """Return whether a value is a container; keys and members of sets are plain by construction."""
    return isinstance(value, dict | list | tuple)


def copy_views(root: Any, budget: Budget) -> Any:
    """Copy the remaining views of the file to bytes, each once; lists and dicts change in place."""
    copied: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, memoryview) and not is_container(value):
            return value
        if id(value) not in copied:
            budget.take(_PER_CONTAINER)
            copied[id(value)] = copy_bytes(value) if isinstance(value, memoryview) else copy_inside(value)
        return copied[id(value)]

    def copy_bytes(value: memoryview) -> bytes:
        budget.take(len(value))
        return bytes(value)

    def copy_inside(value: Branch) -> Branch:
        if isinstance(value, dict):
            for key, part in value.items():
                value[key] = copy(part)
            return value
        if isinstance(value, list):
            value[:] = [copy(part) for part in value]
            return value
        parts = [copy(part) for part in value]
        changed = any(new is not old for new, old in zip(parts, value, strict=True))
        return tuple(parts) if changed and type(value) is tuple else value

    return copy(root)
