"""The exceptions of anygru. Each class is also the built-in that a caller would expect."""

import json
import os
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

_PACKAGES = {
    "paddle": "anygru-paddle",
    "oneflow": "anygru-oneflow",
    "mxnet": "anygru-mxnet",
    "chainer": "anygru-chainer",
    "lab": "anygru-lab",
    "bench": "anygru-lab[bench]",
    "tensorboard": "anygru-lab[tensorboard]",
    "wandb": "anygru-lab[wandb]",
}
"""Extras that other packages of the repository bring."""


class AnygruError(Exception):
    """The root of every error that anygru raises itself."""


class ArgumentError(AnygruError, ValueError):
    """An argument has a value, shape or combination that cannot be honoured."""


class ArgumentTypeError(AnygruError, TypeError):
    """An argument is of a type or dtype that cannot be honoured."""


class BackendError(AnygruError, RuntimeError):
    """A backend that was asked for by name cannot take the problem; the message says why."""


class CheckpointError(AnygruError, ValueError):
    """A checkpoint is damaged, hostile, or cannot be expressed; the message names file, place and cause."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def how_to_install(extra: str) -> str:
    """The command that adds an extra, such as "pip install 'anygru[onnx]'"; in a clone, from the folder of the clone."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("anygru").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    url = urlparse(origin.get("url", ""))
    folder = Path(url2pathname(url.path)).parent
    name = _PACKAGES.get(extra, f"anygru[{extra}]")
    if url.scheme != "file" or not (folder / name.partition("[")[0] / "pyproject.toml").is_file():
        return f"pip install 'anygru[{extra}]'"
    here = Path.cwd()
    # Without it pip would put a copy in the place of a link to the clone.
    option = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {option}'{os.path.relpath(folder, here) if folder.is_relative_to(here) else folder}/{name}'"


def printable(text: str) -> str:
    """Escape unprintable letters, so that a name in a file cannot send control codes to the terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
