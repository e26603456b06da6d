"""The names that are allowed for a model in C and C++."""

import os
import re
from pathlib import Path

from ..errors import ArgumentError, ArgumentTypeError

_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
    typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
KEYWORDS = frozenset(_WORDS.split())
"""The words of C23 and C++20."""
LONGEST = 31
"""Letters; with the endings that the file appends, the 63 significant letters of C99 suffice."""


def check_name(name: object) -> str:
    """The name, if a model can have it.

    Raises:
        ArgumentError: it is not an identifier, a keyword, too long, or reserved for compilers.
        ArgumentTypeError: it is not a string.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a str, got {type(name).__name__}")
    if name in KEYWORDS:
        raise ArgumentError(f"name must not be a keyword of C or C++, got {name!r}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name) or len(name) > LONGEST:
        raise ArgumentError(
            f"name must be an identifier of C: letters, digits and single underscores between them, a letter first, "
            f"at most {LONGEST}; got {name!r:.80}"
        )
    return name


def name_from(path: str | os.PathLike[str]) -> str:
    """A name derived from a file's name."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", Path(path).stem) if word]
    name = "_".join(words)[:LONGEST].rstrip("_")
    return name if re.match(r"[A-Za-z]", name) and name not in KEYWORDS else f"gru_{name}"[:LONGEST].rstrip("_")


def as_comment(text: str) -> str:
    """A text without characters that end a comment in C or have a meaning for its preprocessor."""
    return re.sub(r"[^A-Za-z0-9_.,:;()=+ -]", "_", text)
