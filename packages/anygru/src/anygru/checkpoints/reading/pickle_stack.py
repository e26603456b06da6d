"""The stack and the memo of a pickle, and the containers that are made on them; everything made is counted."""

import sys
from typing import Any, NoReturn

from .budget import Budget
from .pickle_tree import Pending, check_key, may_collide
from .source import shown

_PER_PLACE, _PER_KEY = 16, 128
"""Bytes for an entry of the stack, the memo or a list, and for an entry of a dict or set."""
_PER_GAP = 160
"""Bytes for a place in the memo that does not follow the last one."""

_PER_COLLISION = 16
"""Bytes for each earlier key that may have the hash of a new one: so their number, and the time to compare them, is bounded."""
_LARGEST_INDEX = (1 << 32) - 1
"""The largest index of the memo that a pickle in binary form can name."""

_MARK = object()


class PickleStack:
    """The stack of values that opcodes push to and pop from.

    Args:
        budget: counts the memory that is made.
    """

    def __init__(self, budget: Budget):
        self.budget = budget
        self._clear()

    def _clear(self) -> None:
        self._stack: list[Any] = []
        # a pickler counts its memo up; an index out of turn costs more, in a dict
        self._memo: list[Any] = []
        self._scattered: dict[int, Any] = {}
        self._colliding = 0

    def _fail(self, cause: str) -> NoReturn:
        raise NotImplementedError

    def _push(self, value: object) -> None:
        """Push a value that exists already or takes no memory."""
        self.budget.take(_PER_PLACE)
        self._stack.append(value)

    def _push_new(self, value: object) -> None:
        """Put a value on the stack that has just been made: as large as the bytes that it was read from, or empty."""
        self.budget.take(sys.getsizeof(value) + _PER_PLACE)
        self._stack.append(value)

    def _push_mark(self) -> None:
        self._push(_MARK)

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            self._fail("the pickle takes a value that it has not made")
        return self._stack.pop()

    def _top(self, kind: type) -> Any:
        if not self._stack or not isinstance(self._stack[-1], kind):
            self._fail(f"a {kind.__name__} was expected to be filled")
        return self._stack[-1]

    def _pop_to_mark(self) -> list[Any]:
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index] is _MARK:
                values = self._stack[index + 1 :]
                del self._stack[index:]
                return values
        self._fail("the pickle closes a group that it has not opened")

    def _remember(self, index: int) -> None:
        value = self._stack[-1] if self._stack else _MARK
        if value is _MARK:
            self._fail("the pickle remembers a value that it has not made")
        if index == len(self._memo):
            self.budget.take(_PER_PLACE)
            self._memo.append(value)
        else:
            self._set_memo(index, value)
        if isinstance(value, Pending):
            self.budget.take(_PER_GAP)
            value.remembered_as.append(index)

    def _set_memo(self, index: int, value: object) -> None:
        if 0 <= index < len(self._memo):
            self._memo[index] = value
            return
        if not 0 <= index <= _LARGEST_INDEX:
            self._fail(f"the pickle remembers a value as {shown(index)}")
        self.budget.take(_PER_GAP)
        self._scattered[index] = value

    def _recall(self, index: int) -> None:
        if 0 <= index < len(self._memo):
            self._push(self._memo[index])
        elif index in self._scattered:
            self._push(self._scattered[index])
        else:
            self._fail(f"the pickle recalls value {shown(index)}, which it has not made")

    def _append(self) -> None:
        value = self._pop()
        self.budget.take(_PER_PLACE)
        self._top(list).append(value)

    def _extend(self) -> None:
        values = self._pop_to_mark()
        self.budget.take(_PER_PLACE * len(values))
        self._top(list).extend(values)

    def _key(self, key: object) -> Any:
        if may_collide(key):
            self.budget.take(_PER_COLLISION * self._colliding)
            self._colliding += 1
        return check_key(key)

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self.budget.take(_PER_KEY)
        self._top(dict)[self._key(key)] = value

    def _set_items(self) -> None:
        values = self._pop_to_mark()
        if len(values) % 2:
            self._fail("a dict with a key that has no value")
        target = self._top(dict)
        self.budget.take(_PER_KEY // 2 * len(values))
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[self._key(key)] = value

    def _make_dict(self) -> None:
        values = self._pop_to_mark()
        if len(values) % 2:
            self._fail("a dict with a key that has no value")
        self.budget.take(_PER_KEY // 2 * len(values))
        self._push_new({self._key(key): value for key, value in zip(values[::2], values[1::2], strict=True)})

    def _add_items(self) -> None:
        values = self._pop_to_mark()
        self.budget.take(_PER_KEY * len(values))
        self._top(set).update(self._key(value) for value in values)

    def _make_frozenset(self) -> None:
        values = self._pop_to_mark()
        self.budget.take(_PER_KEY * len(values))
        self._push_new(frozenset(self._key(value) for value in values))

    def _make_tuple(self, count: int) -> None:
        values = [self._pop() for _ in range(count)]
        self._push_new(tuple(reversed(values)))

    def _drop(self) -> None:
        if not self._stack:
            self._fail("the pickle drops a value that it has not made")
        self._stack.pop()

    def _drop_to_mark(self) -> None:
        self._pop_to_mark()

    def _duplicate(self) -> None:
        value = self._pop()
        self._stack += [value, value]
