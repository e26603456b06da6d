"""Version numbers that can be compared."""

import functools
import re
from typing import Any


@functools.total_ordering
class Version:
    """A version; it compares with others and with texts."""

    version: Any

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Read a text."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"

    def _other(self, other: Any) -> Any:
        return type(self)(other) if isinstance(other, str) else other

    def __eq__(self, other: object) -> bool:
        other = self._other(other)
        return isinstance(other, Version) and self._key() == other._key()

    def __lt__(self, other: Any) -> bool:
        return bool(self._key() < self._other(other)._key())

    def _key(self) -> Any:
        return self.version

    __hash__ = None  # type: ignore[assignment]


class LooseVersion(Version):
    """Any text; its numbers and its words, split at dots, are compared one by one."""

    vstring: str

    def parse(self, vstring: str) -> None:
        self.vstring = vstring
        parts = [part for part in re.split(r"(\d+|[a-z]+|\.)", vstring) if part and part != "."]
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def __str__(self) -> str:
        return self.vstring


class StrictVersion(Version):
    """Two or three numbers and perhaps a or b with a number: 1.0, 1.0.2, 1.0a3 (ValueError for anything else)."""

    prerelease: tuple[str, int] | None = None

    def parse(self, vstring: str) -> None:
        match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", vstring)
        if match is None:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, letter, number = match.groups()
        self.version = (int(major), int(minor), int(patch or 0))
        self.prerelease = (letter, int(number)) if letter else None

    def __str__(self) -> str:
        numbers = self.version[:2] if self.version[2] == 0 else self.version
        return ".".join(map(str, numbers)) + ("{}{}".format(*self.prerelease) if self.prerelease else "")

    def _key(self) -> Any:
        return self.version, self.prerelease or ("z", 0)
