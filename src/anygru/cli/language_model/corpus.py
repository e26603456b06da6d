"""Text as documents, some of them held out for validation.

A document is a run of bytes that belongs together: a topic of the Python manual, a file, or a piece of a long file. A
model starts each one from a zero state. Which documents are held out depends on their contents alone, so that runs
with different seeds can be compared.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import UsageError

HELD_OUT_SHARE = 0.06
HELD_OUT_BYTES = 1 << 16  # an upper bound, so that validation stays quick on a large corpus
SMALLEST_PIECE, LARGEST_PIECE = 256, 1 << 15


@dataclass(frozen=True)
class Document:
    name: str
    data: bytes

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True)
class Corpus:
    """Training and held-out documents, none of them empty."""

    training: tuple[Document, ...]
    held_out: tuple[Document, ...]

    @property
    def digest(self) -> str:
        """Return a digest of every byte and document border, which a resumed run compares."""
        digest = hashlib.sha256()
        for part in (self.training, self.held_out):
            digest.update(b"part")
            for document in part:
                digest.update(len(document).to_bytes(8, "little") + document.data)
        return digest.hexdigest()

    def describe(self) -> str:
        training, held_out = sum(map(len, self.training)), sum(map(len, self.held_out))
        lengths = [len(document) for document in self.training]
        return (
            f"{len(self.training)} documents of {min(lengths):,} to {max(lengths):,} bytes, {training:,} bytes in all; "
            f"held out: {len(self.held_out)} documents, {held_out:,} bytes"
        )


def load(paths: Sequence[str]) -> Corpus:
    """Load the corpus of these files, or the Python manual if there are none.

    Raises UsageError for a file that is missing, empty or unreadable, and for a text too short to hold anything out.
    """
    documents = read_files(paths) if paths else python_manual()
    if len(documents) < 2:
        size = sum(map(len, documents))
        raise UsageError(f"the text is too short to hold out a part: {size} bytes, at least 512 are needed")
    return split(documents)


def python_manual() -> list[Document]:
    """Return the topics of Python's manual, which CPython carries for `help()`, without repetitions.

    A topic such as "compound" contains "if", "while" and "for", which are topics, too. Held out, they would have been
    seen in training. So, from the longest to the shortest, a topic more than half of whose lines already stand in
    longer ones is left out.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise UsageError("this Python has no manual (pydoc_data.topics); name text files") from None
    seen: set[bytes] = set()
    documents = []
    for name in sorted(topics, key=lambda name: (-len(topics[name]), name)):
        data = topics[name].encode()
        lines = [line.strip() for line in data.split(b"\n") if len(line.strip()) >= 20]
        if 2 * sum(line in seen for line in lines) <= len(lines):
            documents.append(Document(name, data))
        seen.update(lines)
    return documents


def read_files(paths: Sequence[str]) -> list[Document]:
    """Return each file as a document; files that are long compared with the whole are cut into several."""
    files = [Document(path, _read(path)) for path in paths]
    piece = min(max(sum(map(len, files)) // 20, SMALLEST_PIECE), LARGEST_PIECE)
    return [document for file in files for document in cut(file, piece)]


def _read(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot read {path!r}: {reason}") from None
    if not data:
        raise UsageError(f"{path!r} is empty")
    return data


def cut(document: Document, size: int) -> list[Document]:
    """Pieces of `size` to 1.5 * `size` bytes, cut where a paragraph ends, else a line, else anywhere."""
    pieces: list[Document] = []
    data = document.data
    while len(data) > 1.5 * size:
        end = size
        for border in (b"\n\n", b"\n"):
            found = data.find(border, size, size + size // 2)
            if found >= 0:
                end = found + len(border)
                break
        pieces.append(Document(f"{document.name}#{len(pieces)}", data[:end]))
        data = data[end:]
    if data:
        pieces.append(Document(f"{document.name}#{len(pieces)}" if pieces else document.name, data))
    return pieces


def split(documents: Sequence[Document]) -> Corpus:
    """Hold out about 6 % of the bytes, at most 64 KiB, in several documents of moderate length."""
    budget = min(HELD_OUT_SHARE * sum(map(len, documents)), HELD_OUT_BYTES)
    by_content = sorted(range(len(documents)), key=lambda i: (hashlib.sha256(documents[i].data).digest(), i))
    held_out: set[int] = set()
    size = 0
    for index in by_content:
        length = len(documents[index])
        if 3 * length <= budget and size + length <= budget:
            held_out.add(index)
            size += length
    if not held_out:
        held_out.add(min(by_content, key=lambda i: len(documents[i])))
    return Corpus(
        training=tuple(document for i, document in enumerate(documents) if i not in held_out),
        held_out=tuple(document for i, document in enumerate(documents) if i in held_out),
    )
