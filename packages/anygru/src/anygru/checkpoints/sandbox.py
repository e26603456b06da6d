"""Work on a stranger's file in a separate process with limits: formats that libraries in C parse, and graphs that are computed.

The process has a bound on memory and processor time derived from the file's size, a separate session without a
terminal, and the few system calls of `confinement`. Its arrays come back in shared memory, and the structure around them as
a pickle that the restricted unpickler reads: a process that a file has taken over can do no more than answer wrongly.
"""

import codecs
import contextlib
import importlib
import io
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import IO, Any

import numpy as np

from ..errors import AnygruError, CheckpointError, ExtraMissingError, printable
from . import confinement
from .formats import format_module
from .reading.budget import FREE, RATIO, Budget
from .reading.content import Content, EntryMark
from .reading.source import array_from, naming, open_bytes, size_of
from .reading.unpickle import RestrictedUnpickler
from .stored import StoredTensor, holder

FORMATS = ("hdf5", "keras", "onnx")
"""The formats that libraries in C parse; the others are read by this package alone."""

_MEGABYTE = 1 << 20
_MEMORY = 256 * _MEGABYTE
"""Bytes in addition to the budget, for the libraries."""
_SECONDS, _SECONDS_PER_MEGABYTE = 10, 1
"""Processor time of the process: to start, and for each megabyte of the file."""
_WAIT = 20
"""The most time by the clock, as a multiple of the processor time: other processes may be running."""
_LONGEST_ANSWER = 1 << 20
"""Bytes of the answer on standard output: a place in the shared memory, a few facts, or the text of an error."""
_LONGEST_TEXT = 1000
_NO_ANSWER = "the process that reads it gave no answer"


Work = Callable[[IO[bytes]], dict[str, Any]]
"""Work in the process: it writes into the shared memory and returns the answer."""

_READING = "anygru.checkpoints.sandbox:reading"
_CLASSES = {each.__name__: each for each in (CheckpointError, ExtraMissingError)}
"""The errors that an answer may name."""

CODE = "from anygru.checkpoints.sandbox import serve; serve()"
"""The program of the process."""


def can_contain(format: str) -> bool:
    """Return whether a file of this format is read in a separate process with `sandbox=True`."""
    return format in FORMATS and os.name == "posix"


def read_contained(path: str, format: str, limit: int | None, budget: Budget) -> Content:
    """Read a file in a separate process.

    Args:
        path: the file.
        format: its format, one of `FORMATS`.
        limit: of the memory that is made from it; None: as usual.
        budget: counts the answer.

    Raises:
        CheckpointError: the file is damaged, or the process went over its limits, or came to an end by a signal.
        ImportError: the library is not installed.
    """
    size = size_of(path)
    place = os.path.realpath(path)  # /dev/stdin is another file in another process
    seconds = _SECONDS + math.ceil(_SECONDS_PER_MEGABYTE * (size + (limit or 0) / RATIO) / _MEGABYTE)
    memory = 2 * (FREE + RATIO * size if limit is None else limit) + 2 * size + _MEMORY
    # An ONNX file may name files of its folder that hold its weights.
    opened = os.path.dirname(place) if format == "onnx" else place
    order = {"path": place, "format": format, "limit": limit}
    with naming(path, instead=place):
        answer, data = run_contained(_READING, order, (opened,), memory, seconds, budget)
        if type(answer.get("structure")) is not int:
            raise CheckpointError(f"{path}: {_NO_ANSWER}")
    return _content(data, answer["structure"], path, budget)


def run_contained(
    job: str, order: dict[str, Any], places: Sequence[str], memory: int, seconds: int, budget: Budget
) -> tuple[dict[str, Any], memoryview]:
    """Do a piece of work in a separate process.

    Args:
        job: MODULE:FUNCTION; the function takes the order, imports the modules that the work needs, and returns the `Work`.
        order: with the "path" of the file, for errors.
        places: the files and folders that the work may open.
        memory: bytes that the work may allocate.
        seconds: of processor time.
        budget: counts the bytes in the shared memory.

    Returns:
        The answer, and the shared memory; nothing in them can be believed.

    Raises:
        CheckpointError: the work failed, went over its limits, or came to an end by a signal.
        ExtraMissingError: a library is not installed.
    """
    limits = {"job": job, "places": places, "memory": memory, "seconds": seconds}
    with _shared_memory() as shared:
        text = json.dumps({**order, **limits, "memory_file": shared.fileno()})
        answer = _run(text, shared.fileno(), seconds, order["path"])
        if "error" in answer:
            raise _CLASSES.get(str(answer.get("kind")), CheckpointError)(printable(str(answer["error"])))
        return answer, open_bytes(f"/dev/fd/{shared.fileno()}", budget)


def function_of_job(job: str) -> Callable[[dict[str, Any]], Work]:
    """Return the function with the name MODULE:FUNCTION."""
    module, _, name = job.partition(":")
    found: Callable[[dict[str, Any]], Work] = getattr(importlib.import_module(module), name)
    return found


def _shared_memory() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("anygru", os.MFD_CLOEXEC), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _run(order: str, descriptor: int, seconds: int, path: str) -> dict[str, Any]:
    # isolated from the environment and the working folder; the same modules as here
    code = f"import sys; sys.path[:] = {sys.path!r}; {CODE}"
    # each thread would reserve memory; a lock on the file is a system call that no reader needs
    settings = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[descriptor],
        env={**os.environ, **settings},
        start_new_session=True,  # it has no terminal
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(_WAIT * seconds, stop)
    timer.start()
    try:
        with process:
            answer = _exchange(process, order.encode("utf-8", "surrogateescape"))
    finally:
        timer.cancel()
    if late.is_set():
        raise CheckpointError(f"{path}: reading it took more than {_WAIT * seconds} s: it is damaged or hostile")
    if process.returncode or len(answer) > _LONGEST_ANSWER:
        end = "too long an answer" if len(answer) > _LONGEST_ANSWER else _end(process.returncode)
        raise CheckpointError(
            f"{path}: the process that reads it was ended ({end}): it is damaged, hostile, or over the limits"
        )
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found:
        raise CheckpointError(f"{path}: {_NO_ANSWER}")
    return found


def _exchange(process: "subprocess.Popen[bytes]", order: bytes) -> bytes:
    """Send the order and return the answer, reading at most one byte beyond the bound."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(order)
        answer = process.stdout.read(_LONGEST_ANSWER + 1)
        if len(answer) > _LONGEST_ANSWER:
            process.kill()
        process.wait()
    except BaseException:
        process.kill()
        raise
    return answer


def _end(status: int) -> str:
    known = {-signal.SIGXCPU: "too much processor time", -signal.SIGKILL: "too much processor time or memory"}
    return known.get(status, f"signal {-status}" if status < 0 else f"status {status}")


def _content(data: memoryview, start: int, path: str, budget: Budget) -> Content:
    """The content that the process left in the shared memory; nothing in there is believed."""
    if not 0 <= start <= len(data):
        raise CheckpointError(f"{path}: {_NO_ANSWER}")

    def array(offset: object, size: object, dtype: object, shape: object) -> StoredTensor:
        if (
            type(offset) is not int
            or type(size) is not int
            or not isinstance(dtype, str)
            or not isinstance(shape, tuple)
        ):
            raise ValueError("an array without its place")
        if not 0 <= offset <= offset + size <= start:
            raise ValueError("an array outside of the shared memory")
        return StoredTensor(array_from(data[offset : offset + size], holder(dtype), shape, path, budget), dtype)

    allowed = {("anygru.checkpoints.sandbox", "SharedArray"): array}
    answer = RestrictedUnpickler(data[start:], allowed, where=path, budget=budget).load()
    if not isinstance(answer, tuple) or tuple(map(type, answer[1:])) != (dict, dict, tuple):
        raise CheckpointError(f"{path}: {_NO_ANSWER}")
    tree, marks, places, files = answer
    found = {str(name): place for name, place in places.items() if _is_place(place)}
    read = {str(name): _mark(mark) for name, mark in marks.items()}
    return Content(tree, marks=read, places=found, files=tuple(map(str, files)))


def _is_place(found: object) -> bool:
    return isinstance(found, tuple) and len(found) == 2 and type(found[0]) is int and isinstance(found[1], str)


def _mark(mark: object) -> EntryMark:
    entries = mark if isinstance(mark, dict) else {}
    formula = entries.get("formula")
    read = EntryMark.of_metadata(formula if isinstance(formula, dict) else {})
    notes = entries.get("notes")
    return EntryMark(
        read.formula,
        entries.get("reverse") is True,
        entries.get("batch_first") is True,
        read.problem or str(entries.get("problem", "")),
        tuple(str(note) for note in notes) if isinstance(notes, tuple) else (),
        entries.get("covers") is True,
    )


# -- in the process ---------------------------------------------------------------------------------------------


def serve() -> None:
    """Do the job that standard input names, under the limits that it names, and answer on standard output."""
    confinement.end_with_parent()
    order = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    try:
        work = function_of_job(order["job"])(order)
        try:
            confinement.confine(order["places"], order["memory"], order["seconds"], (1, order["memory_file"]))
        except OSError as error:
            hint = "sandbox=False or --no-sandbox reads it in the process itself"
            raise CheckpointError(f"{order['path']}: cannot be contained: {error.strerror}; {hint}") from error
        with open(order["memory_file"], "r+b", buffering=0, closefd=False) as memory:
            answer = work(memory)
    except MemoryError:
        answer = {
            "error": f"{order['path']}: more memory would be made from it than is allowed: it is damaged or hostile"
        }
    except AnygruError as error:
        answer = {"error": str(error), "kind": type(error).__name__}
    except OSError as error:
        answer = {"error": f"{order['path']}: cannot be read within the limits: {error.strerror or error}"}
    except Exception as error:  # of a library, from bytes that it does not expect
        answer = {"error": f"{order['path']}: cannot be read: {type(error).__name__}: {str(error)[:_LONGEST_TEXT]}"}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # a library that was led astray runs no code at exit


def reading(order: dict[str, Any]) -> Work:
    """Import the modules of a format's reader: modules take memory, and their files cannot be opened under the limits."""
    module = format_module(order["format"])
    _import_libraries(order["format"])

    def work(memory: IO[bytes]) -> dict[str, Any]:
        budget = Budget(order["path"], order["limit"], contained=True)
        return {"structure": _write(module.read(order["path"], budget), memory)}

    return work


def _import_libraries(format: str) -> None:
    for encoding in ("ascii", "latin-1", "cp437", "utf-8", "utf-16", "utf-32"):
        codecs.lookup(encoding)
    libraries = ("onnx", "onnx.helper", "onnx.numpy_helper", "ml_dtypes") if format == "onnx" else ("h5py",)
    try:
        for name in libraries:
            importlib.import_module(name)
    except ImportError:  # the reader names the package to install
        return


def _write(content: Content, memory: IO[bytes]) -> int:
    """Write the arrays and then the structure; gives the structure's place."""
    position = 0
    places: dict[int, tuple[int, int]] = {}

    def put(values: np.ndarray) -> tuple[int, int]:
        nonlocal position
        if id(values) not in places:
            plain = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False))
            begin = position
            view = plain.reshape(-1).view(np.uint8).data if plain.size else memoryview(b"")
            while len(view):
                view = view[memory.write(view[: 1 << 30]) :]
            position = begin + plain.nbytes
            position += memory.write(bytes(-position % 64))
            places[id(values)] = begin, plain.nbytes
        return places[id(values)]

    structure = io.BytesIO()
    pickler = _Pickler(structure, put)
    marks = {name: {**asdict(mark)} for name, mark in content.marks.items()}
    pickler.dump((content.tree, marks, content.places, content.files))
    memory.write(structure.getvalue())
    return position


class SharedArray:
    """A placeholder in the structure for a tensor in the shared memory."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], put: Callable[[np.ndarray], tuple[int, int]]):
        super().__init__(file, 4)
        self._put = put

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, StoredTensor):
            return SharedArray, (*self._put(obj.values), obj.dtype, tuple(int(axis) for axis in obj.shape))
        return NotImplemented
