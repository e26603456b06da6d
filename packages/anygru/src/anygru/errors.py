"""The exceptions of anygru. Each class is also the built-in that a caller would expect."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname


class AnygruError(Exception):
    """The root of every error that anygru raises itself."""


class ArgumentError(AnygruError, ValueError):
    """An argument has a value, shape or combination that cannot be honoured."""


class ArgumentTypeError(AnygruError, TypeError):
    """An argument is of a type or dtype that cannot be honoured."""


class BackendError(AnygruError, RuntimeError):
    """A backend chosen by name cannot compute the problem; the message has the reason."""


class ExtraMissingError(AnygruError, ImportError):
    """A command or function needs a package that an extra of anygru installs."""


class CheckpointError(AnygruError, ValueError):
    """A checkpoint is damaged, hostile, or cannot be expressed; the message names file, place and cause."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def how_to_install(extra: str) -> str:
    """The command that installs an extra, such as "pip install 'anygru[onnx]'"; in a clone, a command for its folders."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        own = distribution("anygru")
    except PackageNotFoundError:
        return f"pip install 'anygru[{extra}]'"
    origin = json.loads(own.read_text("direct_url.json") or "{}")
    url = urlparse(origin.get("url", ""))
    folder = Path(url2pathname(url.path)).parent
    # An extra may be another package of the repository, with an extra of that package.
    requirement = re.compile(rf"(anygru-\w+(?:\[\w+\])?)[^;]*; *extra == [\"']{extra}[\"']")
    matches = (requirement.fullmatch(each) for each in own.requires or ())
    name = next((match[1] for match in matches if match is not None), f"anygru[{extra}]")
    if url.scheme != "file" or not (folder / name.partition("[")[0] / "pyproject.toml").is_file():
        return f"pip install 'anygru[{extra}]'"
    here = Path.cwd()
    # Without --editable pip would replace a link to the clone by a copy.
    option = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {option}'{os.path.relpath(folder, here) if folder.is_relative_to(here) else folder}/{name}'"


def near(word: str, known: Iterable[str], prefix: str = "") -> str:
    """The end of a message about a misspelt word, such as "; did you mean paddle.nn.GRU?"; "" if no known word is near.

    Args:
        word: what was written.
        known: the words that would be right.
        prefix: printed before the known word, such as "paddle.nn.".
    """
    from difflib import get_close_matches

    plain = {each.lower(): each for each in known if each not in ("", word)}
    # One wrong letter of three or four is a typing error as well.
    found = get_close_matches(word.lower(), plain, 1, 0.65 if len(word) < 5 else 0.8)
    return f"; did you mean {prefix}{plain[found[0]]}?" if found else ""


def printable(text: str) -> str:
    """Escape unprintable letters, so that a name in a file cannot send control codes to the terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
