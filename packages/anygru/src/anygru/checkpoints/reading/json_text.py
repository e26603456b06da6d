"""Untrusted JSON: parsed only if the result fits into the budget."""

import json
from typing import Any

from .budget import Budget
from .source import Bytes

_COSTS = {b"{": 120, b"[": 120, b":": 240, b",": 48, b'"': 40}
"""Bytes that Python makes of each of these characters, at most: a list or dict, the pair of a key and its value with
their place in a dict, one more value in a list, half of a text. (CPython 3.10 to 3.14, on 64 bits.)"""
_PER_BYTE = 5
"""Bytes per byte of the text: a copy, and up to four for each letter."""


def parse_json(data: Bytes, budget: Budget) -> Any:
    """Parse JSON in UTF-8; an object with a name twice is refused.

    Raises:
        ValueError: it is no such JSON, or is nested too deeply.
        CheckpointError: the budget is spent.
    """
    budget.take(len(data))
    text = bytes(data)
    budget.take(_PER_BYTE * len(text) + sum(cost * text.count(character) for character, cost in _COSTS.items()))
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name occurs twice")
    return entries
