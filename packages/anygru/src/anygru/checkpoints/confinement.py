"""Restrict the process that reads an untrusted file to the permissions needed for reading.

On Linux (x86-64, AArch64) a seccomp filter allows a few dozen system calls and refuses all others with EPERM, including calls
of later kernels. If the kernel has Landlock, the process can open only the files that it reads.
Sources: seccomp(2), landlock(7), and the tables of system calls in Linux 6.18.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MACHINES = ("x86_64", "aarch64")
"""The processors for which the filter is written."""


class Rule(NamedTuple):
    """A system call that the process may make.

    Attributes:
        x86_64, aarch64: its numbers; None: the processor has no such call.
        argument: the place of the argument that is checked; None: any arguments are allowed.
        values: the values that this argument may have.
        without: bits that this argument must not have; used where `values` is empty.
    """

    x86_64: int | None
    aarch64: int | None
    argument: int | None = None
    values: tuple[int, ...] = ()
    without: int = 0


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_EXECUTABLE = 4
_F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC = 1, 2, 3, 1030
"""To map a file, Python duplicates its descriptor."""


def allowed_calls(writable: tuple[int, ...]) -> dict[str, Rule]:
    """List the system calls that a reader needs.

    Args:
        writable: the file descriptors that it may write to.
    """
    return {
        # memory, without code that is made later
        "brk": Rule(12, 214),
        "madvise": Rule(28, 233),
        "mmap": Rule(9, 222, argument=2, without=_EXECUTABLE),
        "mprotect": Rule(10, 226, argument=2, without=_EXECUTABLE),
        "mremap": Rule(25, 216),
        "munmap": Rule(11, 215),
        # reading
        "access": Rule(21, None),
        "close": Rule(3, 57),
        "faccessat": Rule(269, 48),
        "faccessat2": Rule(439, 439),
        "fcntl": Rule(72, 25, argument=1, values=(_F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC)),
        "fstat": Rule(5, 80),
        "getcwd": Rule(79, 17),
        "lseek": Rule(8, 62),
        "lstat": Rule(6, None),
        "newfstatat": Rule(262, 79),
        "open": Rule(2, None, argument=1, without=_WRITES),
        "openat": Rule(257, 56, argument=2, without=_WRITES),
        "pread64": Rule(17, 67),
        "read": Rule(0, 63),
        "readlink": Rule(89, None),
        "readlinkat": Rule(267, 78),
        "readv": Rule(19, 65),
        "stat": Rule(4, None),
        "statx": Rule(332, 291),
        # the answer
        "pwrite64": Rule(18, 68, argument=0, values=writable),
        "write": Rule(1, 64, argument=0, values=writable),
        # the process itself
        "clock_getres": Rule(229, 114),
        "clock_gettime": Rule(228, 113),
        "exit": Rule(60, 93),
        "exit_group": Rule(231, 94),
        "futex": Rule(202, 98),
        "getegid": Rule(108, 177),
        "geteuid": Rule(107, 175),
        "getgid": Rule(104, 176),
        "getpid": Rule(39, 172),
        "getrandom": Rule(318, 278),
        "getrusage": Rule(98, 165),
        "gettid": Rule(186, 178),
        "gettimeofday": Rule(96, 169),
        "getuid": Rule(102, 174),
        "rt_sigaction": Rule(13, 134),
        "rt_sigprocmask": Rule(14, 135),
        "rt_sigreturn": Rule(15, 139),
        "sched_getaffinity": Rule(204, 123),
        "sched_yield": Rule(24, 124),
        "sigaltstack": Rule(131, 132),
        "sysinfo": Rule(99, 179),
        "time": Rule(201, None),
        "uname": Rule(63, 160),
    }


def confine(places: Sequence[str], memory: int, seconds: int, writable: tuple[int, ...]) -> bool:
    """Permanently drop all permissions except reading a few files.

    Args:
        places: the files that may be opened, and folders: any file in them may be opened.
        memory: further bytes that the process may allocate.
        seconds: of processor time.
        writable: the file descriptors that may be written to.

    Returns:
        Whether system calls are filtered; always True on Linux on the processors in `MACHINES`.

    Raises:
        OSError: this Linux takes no filter.
    """
    _limit_resources(memory, seconds)
    if sys.platform != "linux" or os.uname().machine not in MACHINES:
        return False
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0))):
        raise OSError(ctypes.get_errno(), "the system takes no limits of privileges")
    _allow_places(places)
    program = ctypes.create_string_buffer(filter_program(os.uname().machine, writable))
    steps = (len(program) - 1) // 8
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", steps, ctypes.addressof(program)))
    if prctl(_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(header), ctypes.c_ulong(0), ctypes.c_ulong(0)):
        raise OSError(ctypes.get_errno(), "the system takes no filter of system calls")
    return True


def end_with_parent() -> None:
    """Let the system kill this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, *map(ctypes.c_ulong, (9, 0, 0, 0)))


def _limit_resources(memory: int, seconds: int) -> None:
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


_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # refused with EPERM
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_OTHER_NUMBERS = 0x40000000
"""From here on x86-64 has the same calls a second time (the x32 interface)."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER, _PARENT_DEATH_SIGNAL = 38, 22, 2, 1

Step = tuple[int, int, int, int]
"""An instruction of the filter: code, steps to skip if it holds, steps to skip if not, operand."""


def filter_program(machine: str, writable: tuple[int, ...]) -> bytes:
    """Give the instructions of the filter for a processor; calls without a rule are refused."""
    steps: list[Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, _OTHER_NUMBERS), (_RETURN, 0, 0, _REFUSE)]
    for rule in allowed_calls(writable).values():
        number = rule.x86_64 if machine == "x86_64" else rule.aarch64
        if number is not None:
            block = list(_block(rule))
            steps += [(_EQUAL, 0, len(block), number), *block]
    steps.append((_RETURN, 0, 0, _REFUSE))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _block(rule: Rule) -> Iterator[Step]:
    """The steps after a call's number has been found; the last one returns."""
    if rule.argument is None:
        yield _RETURN, 0, 0, _ALLOW
        return
    yield _LOAD, 0, 0, 16 + 8 * rule.argument  # the lower half, the only part of these arguments that the kernel reads
    if not rule.values:
        yield _ANY_BIT, 0, 1, rule.without
        yield _RETURN, 0, 0, _REFUSE
        yield _RETURN, 0, 0, _ALLOW
        return
    for place, value in enumerate(rule.values):
        yield _EQUAL, len(rule.values) - place, 0, value
    yield _RETURN, 0, 0, _REFUSE
    yield _RETURN, 0, 0, _ALLOW


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_ACCESS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""The rights on files that each version of Landlock can remove; later versions use `_NEWEST`."""
_NEWEST = (1 << 16) - 1
_NETWORK, _SCOPES = 3, 3
"""Binding and connecting TCP (version 4); abstract sockets and signals of other processes (version 6)."""


def _allow_places(places: Sequence[str]) -> None:
    """Allow opening only these paths, if the kernel has Landlock."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return
    handled = [_FILE_ACCESS.get(version, _NEWEST), _NETWORK if version >= 4 else 0, _SCOPES if version >= 6 else 0]
    fields = 1 if version < 4 else 2 if version < 6 else 3
    attributes = struct.pack(f"{fields}Q", *handled[:fields])
    ruleset = call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "the system takes no rules for files")
    for path in filter(os.path.exists, places):  # the reader reports a file that is not there
        place = os.open(path, os.O_PATH)
        rights = _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0)
        rule = struct.pack("=Qi", rights, place)
        if call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0)):
            raise OSError(ctypes.get_errno(), "the system takes no rule for the file")
        os.close(place)
    if call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)):
        raise OSError(ctypes.get_errno(), "the system takes no rules for files")
    os.close(ruleset)
