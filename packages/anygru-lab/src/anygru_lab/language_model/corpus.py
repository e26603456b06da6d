"""Split text into documents, some of them held out for validation.

A document is a topic of the Python manual, a file, or a piece of a long file. The model starts each document from a
zero state. The held-out documents depend only on the contents of the text, so runs with different seeds can be compared.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anygru.errors import CheckpointError
from anygru.extend import STANDARD_INPUT, UsageError, count, read_regular

HELD_OUT_SHARE = 0.06
HELD_OUT_BYTES = 1 << 16  # an upper bound, for quick validation on a large corpus
HELD_OUT_PIECES = 8  # or more, spread over the text
SMALLEST_PIECE, LARGEST_PIECE = 256, 1 << 15
SMALLEST_GRAIN = 64
SHOWN_REPETITIONS = 5
OVERLAP = 0.25  # share of the held-out lines; more in the training text cause a warning


@dataclass(frozen=True)
class Document:
    name: str
    data: bytes
    number: int | None = None  # of a piece in its text

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True)
class Corpus:
    """Training and held-out documents. Each has at least one byte."""

    training: tuple[Document, ...]
    held_out: tuple[Document, ...]
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Return a digest of all bytes and document boundaries; a resumed run compares it."""
        digest = hashlib.sha256()
        for part in (self.training, self.held_out):
            digest.update(b"part")
            for document in part:
                digest.update(len(document).to_bytes(8, "little") + document.data)
        return digest.hexdigest()

    def describe(self) -> str:
        training, held_out = sum(map(len, self.training)), sum(map(len, self.held_out))
        lengths = [len(document) for document in self.training]
        sizes = f"of {min(lengths):,} to {max(lengths):,} bytes, {training:,} bytes in all"
        return (
            f"{count(len(lengths), 'document')} {sizes}; held out: {count(len(self.held_out), 'document')}, {held_out:,} bytes, "
            f"{held_out / (training + held_out):.2%}"
        )


def load(paths: Sequence[str], val_paths: Sequence[str] = (), val_fraction: float | None = None) -> Corpus:
    """Load the corpus of these texts, or the Python manual if there are none.

    Args:
        paths: files, folders (all files below them) or "-" for standard input; a repeated text is omitted.
        val_paths: the same for the held-out part; without it, pieces spread over the texts are held out.
        val_fraction: the share of the bytes to hold out; None: `HELD_OUT_SHARE`, at most `HELD_OUT_BYTES`.

    Raises:
        UsageError: a text is missing, empty or unreadable, or too short to hold anything out.
    """
    documents, warnings = _without_repetitions(read_texts(paths) if paths else python_manual())
    if val_paths:
        held_out, more = _without_repetitions(read_texts(val_paths))
        contents = {document.data for document in held_out}
        repeated = [document for document in documents if document.data in contents]
        more += [f"left out of training, because it is held out: {document.name!r}" for document in repeated]
        training = [document for document in documents if document.data not in contents]
        if not training:
            raise UsageError("nothing is left to train on: every text is held out by --val-file")
        corpus = Corpus(tuple(_pieces(training)), tuple(held_out), (*warnings, *more))
    else:
        whole = sum(map(len, documents))
        budget = val_fraction * whole if val_fraction else min(HELD_OUT_SHARE * whole, HELD_OUT_BYTES)
        if not paths:
            return split(documents, budget)
        grains = _grains(documents, budget)
        if len(grains) < 2:
            raise UsageError(
                f"the text is too short to hold out a part: {count(whole, 'byte')}, at least 512 are needed"
            )
        found = split(grains, budget)
        corpus = Corpus(tuple(_pieces(_joined(found.training))), found.held_out, tuple(warnings))
    return _with_overlap_warning(corpus)


def _without_repetitions(documents: Sequence[Document]) -> tuple[list[Document], list[str]]:
    """Omit texts with repeated contents; return the others and warnings that name the first omitted ones."""
    first: dict[bytes, str] = {}
    warnings = []
    for document in documents:
        if document.data in first:
            warnings.append(f"left out, because it repeats {first[document.data]!r}: {document.name!r}")
        first.setdefault(document.data, document.name)
    if len(warnings) > SHOWN_REPETITIONS:
        more = len(warnings) - SHOWN_REPETITIONS
        warnings[SHOWN_REPETITIONS:] = [f"left out, because they repeat others: {more:,} more"]
    return [Document(name, data) for data, name in first.items()], warnings


def _with_overlap_warning(corpus: Corpus) -> Corpus:
    """Warn if much of the held-out text is also in the training text: the number of bits would be too low."""
    seen = {line for document in corpus.training for line in _long_lines(document)}
    lines = [line for document in corpus.held_out for line in _long_lines(document)]
    share = sum(line in seen for line in lines) / len(lines) if lines else 0.0
    if share < OVERLAP:
        return corpus
    warning = f"{share:.0%} of the held-out lines are also in the training text, so its bits per byte are too low"
    return replace(corpus, warnings=(*corpus.warnings, warning))


def _long_lines(document: Document) -> list[bytes]:
    """Return the lines of at least 20 bytes; shorter ones are equal by chance."""
    return [line.strip() for line in document.data.split(b"\n") if len(line.strip()) >= 20]


def python_manual() -> list[Document]:
    """Return the topics of Python's manual, which CPython carries for `help()`, without repetitions.

    A topic such as "compound" contains "if", "while" and "for", which are also topics. Held out, they would have been
    seen in training. From the longest to the shortest, a topic is omitted if longer topics contain more than half of its
    lines.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise UsageError("this Python has no manual (pydoc_data.topics); name text files") from None
    seen: set[bytes] = set()
    documents = []
    for name in sorted(topics, key=lambda name: (-len(topics[name]), name)):
        data = topics[name].encode()
        lines = _long_lines(Document(name, data))
        if 2 * sum(line in seen for line in lines) <= len(lines):
            documents.append(Document(name, data))
        seen.update(lines)
    return documents


def read_texts(paths: Sequence[str]) -> list[Document]:
    """Return each file as a document; "-" is standard input."""
    return [Document(file, _read(file)) for path in paths for file in files_of(path)]


def files_of(path: str) -> list[str]:
    """Return the file itself, or the files below a folder, in the order of their names.

    Files and folders whose names begin with a dot, and the folders of runs, are left out.

    Raises:
        UsageError: there is no file below the folder.
    """
    if path == STANDARD_INPUT or not os.path.isdir(path):
        return [path]
    files = []
    for folder, below, names in os.walk(path):
        if "checkpoint.json" in names:
            below.clear()
            continue
        below[:] = sorted(name for name in below if not name.startswith("."))
        files += [os.path.join(folder, name) for name in sorted(names) if not name.startswith(".")]
    files = [file for file in files if os.path.isfile(file) and os.path.getsize(file)]
    if not files:
        raise UsageError(f"the folder {path!r} holds no text")
    return files


def _read(path: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if path == STANDARD_INPUT else read_regular(path)
    except (CheckpointError, OSError) as error:
        raise UsageError(str(error)) from None
    if not data:
        raise UsageError("standard input is empty" if path == STANDARD_INPUT else f"{path!r} is empty")
    return data


def _pieces(documents: Sequence[Document]) -> list[Document]:
    """Cut documents that are long compared with the whole text."""
    size = min(max(sum(map(len, documents)) // 20, SMALLEST_PIECE), LARGEST_PIECE)
    return [piece for document in documents for piece in cut(document, size)]


def _grains(documents: Sequence[Document], budget: float) -> list[Document]:
    """Cut documents into pieces so small that several fit into the budget of held-out text."""
    size = max(int(budget / HELD_OUT_PIECES), SMALLEST_GRAIN)
    return [grain for document in documents for grain in cut(document, size)]


def _joined(grains: Sequence[Document]) -> list[Document]:
    """Join consecutive pieces of a text."""
    runs: list[list[Document]] = []
    for grain in grains:
        last = runs[-1][-1] if runs else None
        if last is not None and grain.number and (last.name, last.number) == (grain.name, grain.number - 1):
            runs[-1].append(grain)
        else:
            runs.append([grain])
    return [Document(run[0].name, b"".join(grain.data for grain in run)) for run in runs]


def cut(document: Document, size: int) -> list[Document]:
    """Cut after a paragraph or line into pieces of `size` to 1.5 * `size` bytes; the last has at least half of `size`."""
    data, start = document.data, 0
    pieces: list[Document] = []
    while len(data) - start > 1.5 * size:
        least, most = start + size, min(start + size + size // 2, len(data) - size // 2)
        end = least
        for border in (b"\n\n", b"\n"):
            found = data.find(border, least, most)
            if found >= 0 and found + len(border) <= most:
                end = found + len(border)
                break
        pieces.append(Document(document.name, data[start:end], len(pieces)))
        start = end
    if start < len(data):
        pieces.append(Document(document.name, data[start:], len(pieces) or None))
    return pieces


def split(documents: Sequence[Document], budget: float) -> Corpus:
    """Hold out about `budget` bytes in several documents of moderate length, chosen by a hash of their contents."""
    by_content = sorted(range(len(documents)), key=lambda i: (hashlib.sha256(documents[i].data).digest(), i))
    held_out: set[int] = set()
    size = 0
    for index in by_content:
        length = len(documents[index])
        if 3 * length <= budget and size + length <= budget:
            held_out.add(index)
            size += length
    if not held_out:
        held_out.add(min(by_content, key=lambda i: abs(len(documents[i]) - budget)))
    return Corpus(
        training=tuple(document for i, document in enumerate(documents) if i not in held_out),
        held_out=tuple(document for i, document in enumerate(documents) if i in held_out),
    )
