"""The contents of `checkpoint.json`: step, options and files of a run, with a digest of the whole."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from anygru.extend import shown

from .options import Options
from .options import from_json as read_options

_FILE_NAME = re.compile(r"(?:state|model)-\d{8,19}-[0-9a-f]{12}\.safetensors", re.ASCII)
FORMAT = "anygru train, 1"


@dataclass(frozen=True)
class TensorFile:
    """Name, size and digest of a safetensors file."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Best:
    """The best model so far: after which step, its bits per byte on the held-out documents, and its file."""

    step: int
    bits_per_byte: float
    file: TensorFile


@dataclass(frozen=True)
class Progress:
    """The part of a checkpoint in the JSON file."""

    step: int
    steps: int
    every: int
    seconds: float  # spent in training, over all resumptions
    options: Options
    texts: tuple[str, ...]
    corpus: str  # digest of the documents
    best: Best | None = None
    state: TensorFile | None = None
    val_texts: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return self.step >= self.steps

    def files(self) -> list[TensorFile]:
        """The tensor files of the checkpoint."""
        return [entry for entry in (self.state, self.best.file if self.best else None) if entry is not None]


def to_json(progress: Progress) -> dict[str, Any]:
    lists = {"texts": list(progress.texts), "val_texts": list(progress.val_texts)}
    contents = {"format": FORMAT, **asdict(progress), **lists}
    return {**contents, "digest": digest(contents)}


def from_json(stored: Any) -> Progress:
    """Parse the output of `to_json`; raise ValueError, TypeError or KeyError for other values."""
    if not isinstance(stored, dict) or stored.pop("format", None) != FORMAT:
        raise ValueError(f"it is not in the format {FORMAT!r}")
    if stored.pop("digest", None) != digest({"format": FORMAT, **stored}):
        raise ValueError("its contents do not match its digest")
    best, state = stored.pop("best"), _tensor_file(stored.pop("state"))
    options, texts, val_texts = stored.pop("options"), stored.pop("texts"), stored.pop("val_texts", [])
    kinds = {"step": int, "steps": int, "every": int, "seconds": float, "corpus": str}
    if stored.keys() != kinds.keys() or not all(_is_a(stored[name], kind) for name, kind in kinds.items()):
        raise ValueError(f"expected the values {', '.join(kinds)}, each of its type")
    if not isinstance(options, dict) or not _are_paths(texts) or not _are_paths(val_texts):
        raise ValueError("the options must be an object and the texts a list of paths")
    if best is not None:
        if not isinstance(best, dict) or not _is_a(best["step"], int) or not _is_a(best["bits_per_byte"], float):
            raise ValueError("the best model must have a step and bits per byte")
        best = Best(best["step"], best["bits_per_byte"], _tensor_file(best["file"]))
    parsed = read_options(options)
    return Progress(options=parsed, texts=tuple(texts), val_texts=tuple(val_texts), best=best, state=state, **stored)


def _are_paths(stored: Any) -> bool:
    return isinstance(stored, list) and all(isinstance(path, str) for path in stored)


def _tensor_file(stored: Any) -> TensorFile:
    """An entry for a file; only a name that this program gives, so that it cannot lead out of the folder."""
    if not isinstance(stored, dict) or stored.keys() != {"file", "bytes", "sha256"}:
        raise ValueError("a file must have a name, a size and a digest")
    name, size, sha256 = stored["file"], stored["bytes"], stored["sha256"]
    if (
        not isinstance(name, str)
        or not _FILE_NAME.fullmatch(name)
        or not _is_a(size, int)
        or not isinstance(sha256, str)
    ):
        raise ValueError(f"the file {shown(name)} does not belong to a run, or its size or digest is invalid")
    return TensorFile(name, size, sha256)


def _is_a(value: Any, kind: type) -> bool:
    """Whether a value is a number from 0 on, or a text; JSON writes 2.0 as 2.0, so a float may not be an integer."""
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    return not isinstance(value, int | float) or 0 <= value < 1 << 62


def digest(contents: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
