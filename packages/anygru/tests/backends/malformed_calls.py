"""Native calls with wrong arguments: each is refused with a ValueError or TypeError, or stays within its memory.

    python packages/anygru/tests/backends/malformed_calls.py COUNT [SEED]

The program records calls of real layers and damages copies of their arguments. Where a refusal says how many bytes an
argument must have, the argument gets them: so the checks after the first are reached, too, and shapes that no layer asks
for. Each address has all the bytes that its length claims. Memory has an unmapped page behind it, or red zones under
AddressSanitizer: see `test_malformed_calls.py`.
"""

import ctypes
import functools
import random
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

import torch
from guard_pages import LIBC, Memory, compute
from torch import Tensor

import anygru
from anygru.backends.cpu_calls import PLAIN, _table, native

SECONDS = 20
"""Of processor time that a call may take."""

_LARGEST = 1 << 20
"""Bytes that an argument gets because a refusal asks for them."""

_RECORDED = ["forward", "backward", "gradients", "pack", "unpack", "dense", "cell"]
_RECORDED += ["advance", "advance_rows", "backward_of_layer"]
_NUMBERS = [0, 1, -1, 2, 3, 7, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 60, 1 << 62, (1 << 63) - 1, -(1 << 63)]
_STRANGE = [None, "x", b"x", 1.5, True, 10**30, [], (), {}, (1, 2, 3), ("x", 4), (0, 8), torch, object()]
_WORDS = ["float32", "float64", "bfloat16", "int8", "words", "uniform32", "normal64", "highest", "high", "baseline", ""]

Call = tuple[str, list[Any]]


class _Heap(Memory):
    """Memory that a sanitizer watches from both ends."""

    def new(self, size: int) -> int:
        kept = torch.zeros(size, dtype=torch.uint8)
        self.kept = [*getattr(self, "kept", []), kept]
        return kept.data_ptr()


class _Other(Tensor):
    pass


def _new_memory() -> Memory:
    return _Heap() if hasattr(LIBC, "__asan_init") else Memory()


# -- good calls -------------------------------------------------------------------------------------------------


@functools.cache
def calls() -> dict[str, list[Call]]:
    """Good calls of each function of the native module, with arguments that are copied before they are used."""
    found: dict[str, list[Call]] = {}
    originals = {name: getattr(native, name) for name in _RECORDED}

    def recorder(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            found.setdefault(name, []).append((name, [Memory().argument(one) for one in arguments]))
            return originals[name](*arguments)

        return call

    for name in _RECORDED:
        setattr(native, name, recorder(name))
    try:
        _compute()
    finally:
        for name, original in originals.items():
            setattr(native, name, original)
    values, state = Memory().new(400), Memory().new(8 * 312)
    ctypes.memset(state, 7, 8 * 312)
    kinds = [("words", 50), ("uniform32", 100), ("normal64", 50)]
    found["mersenne"] = [("mersenne", [(state, 2496), 311, (values, 400), count, kind]) for kind, count in kinds]
    found["sum_float32"] = [("sum_float32", [(values, 400), 100])]
    cells, sums = [(Memory().new(40), 40) for _ in range(5)], [(Memory().new(160), 160) for _ in range(2)]
    found["lstm"] = [("lstm", [4, 10, cells[0], sums[0], *cells[1:3]])]
    found["lstm_gradients"] = [("lstm_gradients", [4, 10, cells[0], sums[0], *cells[1:4], sums[1], cells[4]])]
    found["Kind"] = [("Kind", [True, True, False, False, False, "highest", 2, True])]
    found["use"] = [("use", [native.isa()])]
    found["set_tensor_types"] = [("set_tensor_types", [_table, *PLAIN])]
    return found


def _compute() -> None:
    torch.set_num_threads(2)
    single = torch.float32
    compute({"reset": "after"}, single)
    compute({"reset": "before", "bidirectional": True}, torch.float64)
    compute({"reset": "after", "norm": "layer", "bias": False}, single)
    compute({"reset": "before", "groups": 3, "input_groups": 3, "gradient_clipping": 0.1}, single)
    for options in ({}, {"bidirectional": True}, {"groups": 2, "norm": "layer"}, {"groups": 2, "input_groups": 2}):
        layer = anygru.GRU(2, 4, **options)
        for shape in ((0, 2, 2), (3, 0, 2), (1, 1, 2), (5, 9, 2)):
            input = torch.randn(shape, requires_grad=True)
            for lengths in (None, [shape[0] // 2] * shape[1]):
                output, h_n = layer(input, lengths=lengths)
                (output.sum() + h_n.sum()).backward()
    for weights in ("float32", "bfloat16", "int8"):
        anygru.GRU(3, 5, 2).freeze(weights).state_dict()


# -- damage -----------------------------------------------------------------------------------------------------


def _unaligned(given: Tensor) -> Tensor:
    raw = bytearray(given.nbytes + 9)
    return torch.frombuffer(raw, dtype=given.dtype, offset=1, count=max(1, given.numel()))


_FORMS: list[Callable[[Tensor], Any]] = [
    lambda t: t.reshape(-1)[:-1],
    lambda t: t[:0],
    lambda t: t.reshape(-1)[::2],
    lambda t: t.transpose(0, -1),
    lambda t: t.transpose(0, -1).contiguous(),
    lambda t: t.flip(0),
    lambda t: t.sum(),
    lambda t: t.unsqueeze(0),
    lambda t: t.reshape(-1),
    lambda t: t.new_zeros(1).expand(t.shape),
    lambda t: t.expand(3, *t.shape),
    lambda t: t.new_zeros(()).expand(1 << 30, 1 << 20, max(1, t.shape[-1] if t.dim() else 1)),
    lambda t: torch.cat([t.reshape(-1), t.reshape(-1)]),
    lambda t: t.double() if t.dtype is torch.float32 else t.float(),
    lambda t: t.half(),
    lambda t: t.long(),
    lambda t: t.to(torch.complex64),
    lambda t: t.to(torch.complex64).imag,
    lambda t: t.to(torch.complex64).conj().imag,
    lambda t: t.to("meta"),
    lambda t: t.to_sparse(),
    lambda t: t.numpy(),
    lambda t: t.as_subclass(_Other),
    lambda t: torch.nn.Parameter(t),
    lambda t: t.new_zeros(0, 3, 1 << 40),
    _unaligned,
    lambda t: t.data_ptr(),
    lambda t: (t.data_ptr(), t.nbytes) if t.is_contiguous() else None,
]


def _piece(given: tuple[int, int], draw: random.Random) -> Any:
    """Another (address, bytes), of which no more is said than is there."""
    address, size = given
    skip = draw.choice((0, 0, 1, 2, 4, 8))
    return draw.choice(
        (
            (address + min(skip, size), size - min(skip, size)),
            (address, size // draw.choice((1, 2, 3, 8))),
            (address, 0),
            (address, -size),
            (0, size),
            (-address, size),
            (address, -(1 << 63)),
            [address, size],
            (address, float(size)),
            (address,),
        )
    )


def _kind(draw: random.Random) -> Any:
    both, bias, before, reverse, norm, split = (draw.random() < 0.3 for _ in range(6))
    precision = draw.choice(("highest", "high", "bfloat16"))
    names = draw.choices(("sigmoid", "tanh", "relu", "gelu"), k=2)
    return native.Kind(
        both, bias, before, reverse and not both, norm, precision, draw.choice((1, 1, 2, 3, 1 << 20)), split, *names
    )


def _other(value: Any, draw: random.Random) -> Any:
    """The replacements of an argument."""
    if draw.random() < 0.15:
        return draw.choice(_STRANGE)
    if isinstance(value, bool):
        return draw.choice((not value, 1, None))
    if isinstance(value, int):
        return draw.choice([*_NUMBERS, value + 1, value - 1, 2 * value, value // 2])
    if isinstance(value, Tensor):
        if value.numel() > _LARGEST:  # one of the forms below; torch would compute for hours with another one of it
            value = value.new_zeros(3)
        try:
            return draw.choice(_FORMS)(value.detach())
        except (RuntimeError, TypeError, ValueError, IndexError):  # of torch: there is no such form of this tensor
            return value.numel()
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int):
        return _piece(value, draw)
    if isinstance(value, (list, tuple)):
        forms = [list(value[:-1]), [*value, *value[-1:]], list(value), list(value[::-1]), [*value, *value]]
        return draw.choice([*forms, tuple(value)])
    if isinstance(value, str):
        return draw.choice(_WORDS)
    if value is None:
        return draw.choice((torch.zeros(draw.choice((0, 1, 4, 20))), 0, 1))
    packed = draw.choice(draw.choice([calls()[name] for name in ("advance", "unpack")]))[1][0]
    return draw.choice((_kind(draw), packed))


def _damage(given: Any, draw: random.Random) -> None:
    """Change one argument of a dict or list."""
    places = list(given) if isinstance(given, dict) else list(range(len(given)))
    place = draw.choice(places)
    value = given[place]
    if isinstance(value, (dict, list)) and value and draw.random() < 0.9:
        _damage(value, draw)
    elif isinstance(given, dict) and draw.random() < 0.1:
        del given[place]
    else:
        given[place] = _other(value, draw)


# -- attempts ---------------------------------------------------------------------------------------------------


def _size(given: Any) -> int | None:
    if isinstance(given, Tensor):
        return given.nbytes if given.layout is torch.strided and not given.is_quantized else None
    return given[1] if isinstance(given, tuple) and len(given) == 2 else None


def _fitted(given: Any, name: str, got: int, wanted: int, memory: Memory) -> Any:
    """The arguments with as many bytes as are wanted in each that is called so, or is one of a list."""
    if isinstance(given, dict):
        return {
            key: _fitted(value, name, got, wanted, memory) if key == name or isinstance(value, (list, dict)) else value
            for key, value in given.items()
        }
    if isinstance(given, list):
        return [_fitted(value, name, got, wanted, memory) for value in given]
    return (memory.new(wanted), wanted) if _size(given) == got else given


def _call(function: Callable[..., Any], arguments: list[Any], memory: Memory) -> None:
    for _ in range(40):
        try:
            function(*arguments)
            return
        except ValueError as error:
            found = re.search(r"(\w+) must have (\d+) bytes, got (-?\d+)", str(error))
            if not found or int(found[2]) > _LARGEST:
                raise
            arguments = _fitted(arguments, found[1], int(found[3]), int(found[2]), memory)


def attempt(seed: bytes | int) -> str:
    """One call with damaged arguments; returns its outcome.

    Raises:
        Exception: any result except a refusal; a call that leaves its memory ends the process.
    """
    draw = random.Random(seed)
    name, template = draw.choice(calls()[draw.choice(sorted(calls()))])
    memory = _new_memory()
    arguments = [memory.argument(one) for one in template]
    isa = native.isa()
    try:
        for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
            _damage(arguments, draw)
        _call(getattr(native, name), arguments, memory)
    except (ValueError, TypeError) as error:
        if not str(error):
            raise
        return f"{name}: {error}".splitlines()[0]
    except MemoryError:
        return f"{name}: no memory"
    finally:
        native.use(isa)
        native.set_tensor_types(_table, *PLAIN)
        memory.written.clear()
        memory.give_back()
    return f"{name}: computed"


def main() -> int:
    """Attempts with as many seeds as are asked for; the last seed that is printed is that of a crash or hang."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    calls()
    computed, failed = 0, 0
    for seed in range(first, first + count):
        print(seed, file=sys.stderr, end="\r", flush=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            result = attempt(seed)
        except Exception as error:
            result, failed = f"{type(error).__name__}: {error}", failed + 1
            print(f"{seed}: {result}")
        computed += result.endswith(": computed")
        if count == 1:
            print(result)
    print(f"{count} calls: {computed} computed, {failed} neither computed nor refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
