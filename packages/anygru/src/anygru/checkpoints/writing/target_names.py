"""Renaming tensors before they are written."""

from collections.abc import Mapping
from typing import Any

from ...errors import CheckpointError


class TargetNames:
    """The new names of tensors.

    Args:
        mapping: new names by old ones: of tensors, or of layers and other prefixes that end at a separator.
    """

    def __init__(self, mapping: Mapping[str, str]):
        self._mapping = mapping
        self._lengths = sorted(set(map(len, mapping)), reverse=True)  # few, so that many entries cost no more time
        self._used: set[str] = set()

    def rename(self, name: object) -> Any:
        """Give the new name: by the longest entry that is the name or a prefix of it."""
        if not isinstance(name, str):
            return name
        beginnings = (name[:length] for length in self._lengths if length <= len(name))
        old = next((old for old in beginnings if old in self._mapping and (old == name or _is_prefix(old, name))), None)
        if old is None:
            return name
        self._used.add(old)
        rest = name[len(old) :]
        new = self._mapping[old]
        return new + rest if new else rest.lstrip("./:")

    def check_used(self) -> None:
        """Refuse a mapping with entries that fit nothing, which are mistakes."""
        unused = sorted(set(self._mapping) - self._used)
        if unused:
            raise CheckpointError(f"mapping: no tensor and no layer has the name {', '.join(map(repr, unused))}")


def _is_prefix(prefix: str, name: str) -> bool:
    return prefix[-1:] in tuple("./:_") or name[len(prefix)] in "./:"
