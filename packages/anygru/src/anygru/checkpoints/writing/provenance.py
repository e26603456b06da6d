"""Where a converted file comes from: digests, the version and the options, as a text in its metadata.

The digest of the result covers its tensors, since a file cannot contain its own digest.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version

import numpy as np

from ...errors import CheckpointError
from ..checkpoint import Checkpoint
from ..conversion import Choices
from ..formats import FORMATS_WITH_METADATA
from ..gate import Gate
from ..reading.source import named_file
from ..stored import StoredTensor

KEY = "anygru.provenance"
_PIECE = 16 << 20


def describe(source: Checkpoint, tensors: Mapping[str, StoredTensor], choices: Choices, target_format: str) -> str:
    """Give the text for the metadata of a conversion's result.

    Raises:
        CheckpointError: the target's format holds no metadata.
    """
    if target_format not in FORMATS_WITH_METADATA:
        raise CheckpointError(
            f"--provenance: files of {target_format} hold no metadata; files of {', '.join(FORMATS_WITH_METADATA)} do"
        )
    chosen = {name: value for name, value in asdict(choices).items() if value}
    origin = {
        "anygru": version("anygru"),
        "source": os.path.basename(os.path.realpath(source.path)),
        "source_format": source.format,
        "source_sha256": _source_digest(source),
        "tensors_sha256": tensor_digest(tensors),
        "options": {name: value for name, value in chosen.items() if name not in ("provenance", "sandbox")},
    }
    return json.dumps(origin, sort_keys=True, default=list)


def lines(checkpoint: Checkpoint) -> Iterator[str]:
    """Describe the origin of a file, and whether its tensors are unchanged; empty without provenance metadata."""
    text = checkpoint.content.metadata.get(KEY)
    if text is None:
        return
    try:
        origin = json.loads(text)
    except (ValueError, RecursionError):
        origin = None
    if not isinstance(origin, dict):
        yield "provenance: damaged"
        return
    yield f"made by anygru {origin.get('anygru')} from {origin.get('source')} ({origin.get('source_format')})"
    yield f"  sha256 of the source: {origin.get('source_sha256')}"
    if origin.get("options"):
        yield f"  options: {json.dumps(origin['options'], sort_keys=True)[:400]}"
    same = tensor_digest(checkpoint.stored) == origin.get("tensors_sha256")
    yield (
        "  its tensors are those that were written" if same else "  ITS TENSORS ARE OTHERS THAN THOSE THAT WERE WRITTEN"
    )


def tensor_digest(tensors: Mapping[str, StoredTensor]) -> str:
    """Give the SHA-256 of names, dtypes, shapes and values, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        head = json.dumps([name, tensor.dtype, list(tensor.shape)])
        digest.update(f"{len(head)}:{head}".encode("utf-8", "surrogatepass"))
        plain = np.ascontiguousarray(tensor.values)
        data = plain.reshape(-1).view(np.uint8).data if plain.size else memoryview(b"")
        for begin in range(0, len(data), _PIECE):
            digest.update(data[begin : begin + _PIECE])
    return digest.hexdigest()


def _source_digest(source: Checkpoint) -> str:
    """The digest of a file; with other files that hold its values, of the names and digests of all, as of a folder."""
    if not source.content.files:
        return file_digest(source.path)
    names = {name: named_file(source.path, name, f"{source.path}: external data") for name in source.content.files}
    names[os.path.basename(os.path.realpath(source.path))] = source.path
    return _listed((name, file_digest(path)) for name, path in sorted(names.items()))


def _listed(digests: Iterable[tuple[str, str]]) -> str:
    listed = "".join(f"{name} {digest}\n" for name, digest in digests)
    return hashlib.sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file, or of the names and digests of a folder's files.

    Raises:
        CheckpointError: it is not a regular file, or a folder has a link or another thing that is not one.
    """
    if os.path.isdir(path):
        return _listed((name, file_digest(os.path.join(path, name))) for name in sorted(_names_below(path)))
    return Gate(path).digest()


def _names_below(folder: str) -> Iterator[str]:
    """The files below a folder, by their paths in it with slashes."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if os.path.islink(os.path.join(parent, name)):
                raise CheckpointError(f"{os.path.join(parent, name)}: a link, which could lead out of the folder")
        yield from (os.path.relpath(os.path.join(parent, name), folder).replace(os.sep, "/") for name in files)
