"""Read pickles as data: an interpreter of the opcodes that builds only plain values and arrays.

Python's unpickler imports and calls any name in a file. This one looks names up in a short table, takes every
length from the file with suspicion, and gives arrays that are views of the file's bytes.
"""

import os
import struct
import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

import numpy as np

from ...errors import CheckpointError
from .budget import PER_OBJECT, Budget
from .known_types import known_types
from .pickle_stack import PickleStack
from .pickle_tree import Pending, check_tree, copy_views
from .source import Bytes, Cursor, open_bytes, shown

_LONGEST_TEXT_NUMBER = 1000
"""Numbers written as decimal text are this long at most, since converting text to a number takes quadratic time."""
_LONGEST_INTEGER = 1000
"""Integers have this many bytes at most, since Python refuses to write longer ones as text (4,300 digits)."""


def _is_number_type(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, np.generic)


class RestrictedUnpickler(PickleStack):
    """An unpickler that cannot run code.

    Args:
        file: the pickle as a path, as bytes, or as an open binary file (which is read to its end).
        allowed: further names that the pickle may use, by (module, name); NumPy arrays and Python's containers are
        built in. The pickle
            calls a callable found under that name; it gets any other value unchanged. A callable may return a
            `Pending`: its `build(state)` makes the final object when the pickle sets its state.
        where: the file's name for errors; taken from `file` if it is a path.
        persistent_load: gives the object for a persistent id; without it such ids are refused.
        budget: counts the memory that is made; None: the usual one for a pickle of this size.

    Example:
        RestrictedUnpickler("model.pdparams").load()
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | Bytes | IO[bytes],
        allowed: Mapping[tuple[str, str], Any] | None = None,
        *,
        where: str | None = None,
        persistent_load: Callable[[Any], Any] | None = None,
        budget: Budget | None = None,
    ):
        self.where = where or (os.fspath(file) if isinstance(file, str | os.PathLike) else "pickle")
        super().__init__(Budget(self.where) if budget is None else budget)
        if isinstance(file, str | os.PathLike):
            data: Bytes = open_bytes(file, self.budget)
        else:
            data = file if isinstance(file, bytes | bytearray | memoryview) else bytearray(file.read())
            if budget is None:
                self.budget.add_file(len(data))
        self.cursor = Cursor(data, self.where)
        self._allowed = {**known_types(self.budget), **(allowed or {})}
        # a class of NumPy represents itself: a call with a list would copy it
        self._functions = {
            id(value) for value in self._allowed.values() if callable(value) and not _is_number_type(value)
        }
        self._persistent_load = persistent_load
        # attributes of OrderedDicts; torch keeps `_metadata` there
        self.attributes: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._states: dict[int, tuple[object, object]] = {}
        self._opcode_at = 0

    def load(self) -> Any:
        """Read one pickle, from where the last one ended; text of Python 2 is taken as Latin-1.

        Returns:
            Plain values, lists, tuples, dicts, sets, NumPy arrays, and results of `allowed`.

        Raises:
            CheckpointError: the pickle is damaged, names something that is not allowed, or refers to itself.
        """
        self._clear()
        self._states = {}
        try:
            result = self._run()
        except CheckpointError as error:
            if str(error).startswith(self.where):
                raise
            self._fail(str(error))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, struct.error) as error:
            self._fail(f"damaged pickle: {type(error).__name__}: {error}")
        for _, state in self.attributes:
            check_tree(state, self.where, self.budget, self._states)
        check_tree(result, self.where, self.budget, self._states)
        return copy_views(result, self.budget)

    def _run(self) -> Any:
        opcodes = self._OPCODES
        while True:
            self._opcode_at = self.cursor.position
            if not self.cursor.remaining:
                self._fail("the pickle ends without its STOP opcode")
            opcode = self.cursor.data[self.cursor.position]
            self.cursor.position += 1
            if opcode == 0x2E:  # STOP
                if len(self._stack) != 1:
                    self._fail(f"{len(self._stack)} values are left at the end of the pickle, expected 1")
                return self._stack[0]
            action = opcodes.get(opcode)
            if action is None:
                self._fail(f"opcode {opcode:#04x} is unknown or not accepted in a checkpoint")
            action(self)

    def _fail(self, cause: str) -> NoReturn:
        self.cursor.fail(cause, self._opcode_at)

    def _byte(self) -> int:
        return self.cursor.number("B", "a length")

    def _line(self, what: str) -> bytes:
        start = self.cursor.position
        for window in (128, 1 << 16):
            line, separator, _ = bytes(self.cursor.data[start : start + window]).partition(b"\n")
            if separator:
                self.cursor.position += len(line) + 1
                return line
        self._fail(f"{what} has no end within 64 KiB")

    def _text_number(self, what: str) -> bytes:
        line = self._line(what)
        if len(line) > _LONGEST_TEXT_NUMBER:
            self._fail(f"{what} of {len(line)} digits")
        return line

    def _take(self, size_code: str, what: str) -> memoryview:
        return self.cursor.take(self.cursor.number(size_code, f"the length of {what}"), what)

    def _push_text(self, size_code: str) -> None:
        self._push_new(str(self._take(size_code, "a text"), "utf-8", "surrogatepass"))

    def _push_old_text(self, size_code: str) -> None:
        self._push_new(str(self._take(size_code, "a text"), "latin-1"))

    def _push_bytes(self, size_code: str) -> None:
        # small ones become bytes, which compare and hash; large ones are arrays' contents and stay in the file
        view = self._take(size_code, "bytes")
        self._push_new(bytes(view) if len(view) <= 256 else view)

    def _push_integer(self, data: memoryview) -> None:
        if len(data) > _LONGEST_INTEGER:
            self._fail(f"an integer of {len(data)} bytes; at most {_LONGEST_INTEGER} are accepted")
        self._push_new(int.from_bytes(data, "little", signed=True))

    def _push_int_line(self) -> None:
        line = self._text_number("an integer")
        self._push_new({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line))

    def _push_long_line(self) -> None:
        self._push_new(int(self._text_number("an integer").removesuffix(b"L")))

    def _push_string_line(self) -> None:
        line = self._line("a text")
        if len(line) < 2 or line[:1] not in (b"'", b'"') or line[-1:] != line[:1]:
            self._fail("a text without its quotes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unknown escapes, which Python keeps
            self._push_new(line[1:-1].decode("unicode_escape"))

    def _push_known(self, module: object, name: object) -> None:
        if not isinstance(module, str) or not isinstance(name, str) or (module, name) not in self._allowed:
            named = (
                f"{module}.{name}"
                if isinstance(module, str) and isinstance(name, str)
                else f"{shown(module)}, {shown(name)}"
            )
            self._fail(
                f"the pickle names {named[:200]}, which is not among the harmless types of a checkpoint; of a whole module, "
                "save the state_dict: torch.save(model.state_dict(), path)"
            )
        self._push(self._allowed[module, name])

    def _push_global_line(self) -> None:
        module, name = self._line("a module's name"), self._line("a name")
        self._push_known(module.decode(), name.decode())

    def _push_stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        self._push_known(module, name)

    def _call(self) -> None:
        arguments, function = self._pop(), self._pop()
        # only functions of the table are called, not their results, which may also be callable
        if id(function) not in self._functions or not isinstance(arguments, tuple):
            self._fail("the pickle calls something other than a harmless type")
        self.budget.take(PER_OBJECT)
        self._push(function(*arguments))

    def _call_with_keywords(self) -> None:
        keywords = self._pop()
        if not isinstance(keywords, dict) or keywords:
            self._fail("the pickle makes an object from keyword arguments, which no checkpoint does")
        self._call()

    def _build(self) -> None:
        state, target = self._pop(), self._pop()
        if isinstance(target, Pending):
            self.budget.take(PER_OBJECT)
            final = target.build(state)
            if isinstance(state, dict):
                self._states[id(final)] = final, state
            for index in target.remembered_as:
                self._set_memo(index, final)
            target = final
        elif type(target) is not dict and isinstance(target, dict) and isinstance(state, dict):
            self.attributes.append((target, state))
        else:
            self._fail(f"the pickle sets the state of a {type(target).__name__}")
        self._push(target)

    def _push_persistent(self, identifier: object) -> None:
        if self._persistent_load is None:
            self._fail("the pickle refers to an object outside of it")
        self._push(self._persistent_load(identifier))

    def _check_frame(self) -> None:
        size = self.cursor.number("Q", "the length of a frame")
        if size > self.cursor.remaining:
            self._fail(f"a frame of {size} bytes, {self.cursor.remaining} are left")

    def _check_protocol(self) -> None:
        protocol = self._byte()
        if protocol > 5:
            self._fail(f"pickle protocol {protocol}, known are 0 to 5")

    _OPCODES: "dict[int, Callable[[RestrictedUnpickler], None]]" = {
        ord("\x80"): _check_protocol,
        ord("\x95"): _check_frame,
        ord("N"): lambda self: self._push(None),
        ord("\x88"): lambda self: self._push(True),
        ord("\x89"): lambda self: self._push(False),
        ord("I"): _push_int_line,
        ord("L"): _push_long_line,
        ord("J"): lambda self: self._push_new(self.cursor.number("i", "an integer")),
        ord("K"): lambda self: self._push(self._byte()),
        ord("M"): lambda self: self._push_new(self.cursor.number("H", "an integer")),
        ord("\x8a"): lambda self: self._push_integer(self._take("B", "an integer")),
        ord("\x8b"): lambda self: self._push_integer(self._take("i", "an integer")),
        ord("F"): lambda self: self._push_new(float(self._text_number("a float"))),
        ord("G"): lambda self: self._push_new(struct.unpack(">d", self.cursor.take(8, "a float"))[0]),
        ord("S"): _push_string_line,
        ord("T"): lambda self: self._push_old_text("i"),
        ord("U"): lambda self: self._push_old_text("B"),
        ord("V"): lambda self: self._push_new(self._line("a text").decode("raw-unicode-escape")),
        ord("X"): lambda self: self._push_text("I"),
        ord("\x8c"): lambda self: self._push_text("B"),
        ord("\x8d"): lambda self: self._push_text("Q"),
        ord("B"): lambda self: self._push_bytes("I"),
        ord("C"): lambda self: self._push_bytes("B"),
        ord("\x8e"): lambda self: self._push_bytes("Q"),
        ord("\x96"): lambda self: self._push_bytes("Q"),
        ord("]"): lambda self: self._push_new([]),
        ord("}"): lambda self: self._push_new({}),
        ord(")"): lambda self: self._push(()),
        ord("\x8f"): lambda self: self._push_new(set()),
        ord("("): lambda self: self._push_mark(),
        ord("l"): lambda self: self._push_new(self._pop_to_mark()),
        ord("d"): PickleStack._make_dict,
        ord("t"): lambda self: self._push_new(tuple(self._pop_to_mark())),
        ord("\x85"): lambda self: self._make_tuple(1),
        ord("\x86"): lambda self: self._make_tuple(2),
        ord("\x87"): lambda self: self._make_tuple(3),
        ord("\x91"): PickleStack._make_frozenset,
        ord("a"): PickleStack._append,
        ord("e"): PickleStack._extend,
        ord("s"): PickleStack._set_item,
        ord("u"): PickleStack._set_items,
        ord("\x90"): PickleStack._add_items,
        ord("0"): lambda self: self._drop(),
        ord("1"): lambda self: self._drop_to_mark(),
        ord("2"): lambda self: self._duplicate(),
        ord("p"): lambda self: self._remember(int(self._text_number("a memo index"))),
        ord("q"): lambda self: self._remember(self._byte()),
        ord("r"): lambda self: self._remember(self.cursor.number("I", "a memo index")),
        ord("\x94"): lambda self: self._remember(len(self._memo) + len(self._scattered)),
        ord("g"): lambda self: self._recall(int(self._text_number("a memo index"))),
        ord("h"): lambda self: self._recall(self._byte()),
        ord("j"): lambda self: self._recall(self.cursor.number("I", "a memo index")),
        ord("c"): _push_global_line,
        ord("\x93"): _push_stack_global,
        ord("R"): _call,
        ord("\x81"): _call,
        ord("\x92"): _call_with_keywords,
        ord("b"): _build,
        ord("P"): lambda self: self._push_persistent(self._line("a persistent id").decode("ascii")),
        ord("Q"): lambda self: self._push_persistent(self._pop()),
    }
