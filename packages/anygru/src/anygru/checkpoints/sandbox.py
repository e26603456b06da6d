"""Reading a file whose format needs a library in C (HDF5, protocol buffers) in a process of its own, with limits.

The process may take so much memory and processor time as the file's size allows, and on Linux can neither start programs, nor
open connections, nor open files for writing (seccomp). Its arrays come back in shared memory, and the structure around them
as a pickle that the restricted unpickler reads: whoever got hold of the process has got no further.
"""

import ctypes
import io
import json
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from typing import IO, Any

import numpy as np

from ..errors import CheckpointError
from .formats import format_module
from .reading.budget import FREE, RATIO, Budget
from .reading.content import Content, EntryMark
from .reading.source import array_from, open_bytes
from .reading.unpickle import RestrictedUnpickler
from .stored import StoredTensor, holder

FORMATS = ("hdf5", "keras", "onnx")
"""The formats that libraries in C parse; the others are read by this package alone."""

_MEGABYTE = 1 << 20
_MEMORY = 256 * _MEGABYTE
"""Bytes beside the budget: what the libraries take for themselves."""
_SECONDS, _SECONDS_PER_MEGABYTE = 10, 1
"""Processor time of the process: to start, and for each megabyte of the file."""
_WAIT = 20
"""How much longer the process may take by the clock, on a machine with much to do."""


def can_contain(format: str) -> bool:
    """Tell whether a file of this format is read in a process of its own when that is asked for."""
    return format in FORMATS and os.name == "posix"


def read_contained(path: str, format: str, limit: int | None, budget: Budget) -> Content:
    """Read a file in a process of its own.

    Args:
        path: the file.
        format: its format, one of `FORMATS`.
        limit: of the memory that is made from it; None: as usual.
        budget: counts what comes back.

    Raises:
        CheckpointError: the file is damaged, or the process went over its limits, or came to an end by a signal.
        ImportError: the library is not installed.
    """
    size = os.path.getsize(path) if os.path.exists(path) else 0
    seconds = _SECONDS + math.ceil(_SECONDS_PER_MEGABYTE * (size + (limit or 0) / RATIO) / _MEGABYTE)
    order = {"path": path, "format": format, "limit": limit, "seconds": seconds}
    order["memory"] = 2 * (FREE + RATIO * size if limit is None else limit) + 2 * size + _MEMORY
    with _shared_memory() as memory:
        answer = _run(json.dumps({**order, "memory_file": memory.fileno()}), memory.fileno(), seconds, path)
        if "error" in answer:
            raise {"ImportError": ImportError}.get(str(answer.get("kind")), CheckpointError)(str(answer["error"]))
        data = open_bytes(f"/dev/fd/{memory.fileno()}", budget)
    return _content(data, int(answer["structure"]), path, budget)


def _shared_memory() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("anygru", os.MFD_CLOEXEC), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _run(order: str, descriptor: int, seconds: int, path: str) -> dict[str, Any]:
    # isolated from the environment and the working folder; the same modules as here
    code = f"import sys; sys.path[:] = {sys.path!r}; from anygru.checkpoints.sandbox import serve; serve()"
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # each would reserve memory
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-B", "-c", code],
            input=order.encode("utf-8", "surrogateescape"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor],
            env={**os.environ, **threads},
            timeout=_WAIT * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CheckpointError(
            f"{path}: reading it took more than {_WAIT * seconds} s: it is damaged or hostile"
        ) from None
    if done.returncode:
        raise CheckpointError(
            f"{path}: the process that reads it was ended ({_end(done.returncode)}): it is damaged, hostile, or over the limits"
        )
    answer = json.loads(done.stdout)
    return answer if isinstance(answer, dict) else {}


def _end(status: int) -> str:
    known = {-signal.SIGXCPU: "too much processor time", -signal.SIGKILL: "too much processor time or memory"}
    return known.get(status, f"signal {-status}" if status < 0 else f"status {status}")


def _content(data: memoryview, start: int, path: str, budget: Budget) -> Content:
    """The content that the process left in the shared memory; nothing in there is believed."""
    if not 0 <= start <= len(data):
        raise CheckpointError(f"{path}: the process that reads it gave no answer")

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
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], dict):
        raise CheckpointError(f"{path}: the process that reads it gave no answer")
    marks = {str(name): _mark(mark) for name, mark in answer[1].items()}
    return Content(answer[0], marks=marks)


def _mark(told: object) -> EntryMark:
    entries = told if isinstance(told, dict) else {}
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
    """Read the file that standard input names, under the limits that it names, and answer on standard output."""
    order = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    try:
        module = format_module(order["format"])
        _import_libraries(order["format"])
        _limit(order["memory"], order["seconds"])
        budget = Budget(order["path"], order["limit"], contained=True)
        content = module.read(order["path"], budget)
        with open(order["memory_file"], "r+b", buffering=0, closefd=False) as memory:
            answer: dict[str, object] = {"structure": _write(content, memory)}
    except MemoryError:
        answer = {
            "error": f"{order['path']}: more memory would be made from it than is allowed: it is damaged or hostile"
        }
    except ImportError as error:
        answer = {"error": str(error), "kind": "ImportError"}
    except CheckpointError as error:
        answer = {"error": str(error)}
    except OSError as error:
        answer = {"error": f"{order['path']}: cannot be read within the limits: {error.strerror or error}"}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # a library that was led astray runs no code at exit


def _import_libraries(format: str) -> None:
    """Import what the reader will, before the limits: modules take memory, too."""
    import importlib

    for name in ("onnx", "onnx.helper", "onnx.numpy_helper") if format == "onnx" else ("h5py",):
        try:
            importlib.import_module(name)
        except ImportError:  # the reader says what to install
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
    pickler.dump((content.tree, {name: {**asdict(mark)} for name, mark in content.marks.items()}))
    memory.write(structure.getvalue())
    return position


class SharedArray:
    """Stands in the structure for a tensor in the shared memory."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], put: Callable[[np.ndarray], tuple[int, int]]):
        super().__init__(file, 4)
        self._put = put

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, StoredTensor):
            return SharedArray, (*self._put(obj.values), obj.dtype, tuple(int(axis) for axis in obj.shape))
        return NotImplemented


def _limit(memory: int, seconds: int) -> None:
    import resource

    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        used = 1 << 30
    for name, most in (("AS", used + memory), ("CPU", seconds), ("CORE", 0), ("FSIZE", memory), ("NOFILE", 64)):
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
    _forbid_calls()


_MACHINES = {
    "x86_64": (
        0xC000003E,
        (41, 42, 43, 44, 46, 49, 50, 56, 57, 58, 59, 62, 76, 82, 83, 84, 85, 86, 87, 88, 90, 92, 101, 133, 165, 200)
        + (258, 259, 260, 263, 264, 265, 266, 268, 272, 310, 311, 316, 321, 322, 425, 435, 437, 438),
        ((2, 1), (257, 2)),
    ),
    "aarch64": (
        0xC00000B7,
        (33, 34, 35, 36, 37, 38, 40, 45, 53, 54, 97, 117, 129, 130, 198, 200, 201, 202, 203, 206, 211, 220, 221)
        + (270, 271, 276, 280, 281, 425, 435, 437, 438),
        ((56, 2),),
    ),
}
"""By the machine's name: its number for seccomp; the calls that are forbidden, which start programs and processes, open
connections, reach other processes, or change files by their names; and the calls that open files, with the place of flags."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # the second one with EPERM
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def _forbid_calls() -> bool:
    """Forbid the process what no reader needs; gives whether the system took it. Linux's prctl(2), seccomp(2)."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in _MACHINES:
        return False
    number, forbidden, opens = _MACHINES[machine]
    # each step: code, how many to skip where it holds, where it does not, its number
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, number), (_RETURN, 0, 0, _REFUSE), (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _REFUSE)]  # the same calls under other numbers
    for call in forbidden:
        steps += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _REFUSE)]
    for call, place in opens:
        steps += [(_EQUAL, 0, 4, call), (_LOAD, 0, 0, 16 + 8 * place), (_ANY_BIT, 0, 1, _WRITES)]
        steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    if prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero):
        return False
    return not prctl(_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(header), zero, zero)
