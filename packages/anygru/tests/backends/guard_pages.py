"""Runs layers with native calls that get every tensor at the end of its memory, before an unmapped page.

A kernel that reads or writes one byte past a tensor ends the process. `python guard_pages.py VARIANT` prints how many calls
and tensors it has guarded; with `overrun` instead of a variant it reads such a byte on purpose.
"""

import ctypes
import itertools
import mmap
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import anygru
from anygru.backends.cpu_calls import native
from anygru.facts.quantization import DTYPES

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
counts = {"calls": 0, "tensors": 0}


class Memory:
    """Memory for one native call, each piece of it up to the last byte before an unmapped page."""

    def __init__(self) -> None:
        self.pages: list[tuple[int, int]] = []
        self.written: list[tuple[int, int, int]] = []

    def new(self, size: int) -> int:
        length = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        start = LIBC.mmap(None, length + mmap.PAGESIZE, 3, 0x22, -1, 0)  # private, anonymous
        assert LIBC.mprotect(start + length, mmap.PAGESIZE, 0) == 0
        self.pages.append((start, length + mmap.PAGESIZE))
        counts["tensors"] += 1
        return start + length - size

    def tensor(self, given: Tensor) -> Tensor:
        """A copy with the same strides."""
        if type(given) not in (Tensor, torch.nn.Parameter) or not given.numel() or given.is_neg():
            return given
        given = given.detach()
        span = 1 + sum((size - 1) * stride for size, stride in zip(given.shape, given.stride(), strict=True))
        size = span * given.element_size()
        raw = (ctypes.c_char * size).from_address(self.new(size))
        copy = torch.frombuffer(raw, dtype=given.dtype).as_strided(given.shape, given.stride())
        source = torch.as_strided(given, (span,), (1,))
        torch.frombuffer(raw, dtype=given.dtype).copy_(source)
        self.written.append((given.data_ptr(), ctypes.addressof(raw), size))
        return copy

    def argument(self, given: Any) -> Any:
        if isinstance(given, Tensor):
            return self.tensor(given)
        if isinstance(given, tuple) and len(given) == 2 and given[1] and all(isinstance(one, int) for one in given):
            copy = self.new(given[1])
            ctypes.memmove(copy, given[0], given[1])
            self.written.append((given[0], copy, given[1]))
            return copy, given[1]
        if isinstance(given, (list, tuple)):
            return type(given)(map(self.argument, given))
        if isinstance(given, dict):
            return {name: self.argument(value) for name, value in given.items()}
        return given

    def give_back(self) -> None:
        """Copies what may have been written to where the caller looks for it."""
        for original, copy, size in self.written:
            ctypes.memmove(original, copy, size)
        for page in self.pages:
            LIBC.munmap(*page)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        memory = Memory()
        found = function(*map(memory.argument, arguments))
        memory.give_back()
        counts["calls"] += 1
        return found

    return call


def compute(options: dict[str, Any], dtype: torch.dtype) -> list[Tensor]:
    """Outputs and gradients of a layer with these options, in every form of batch, and of a stream and a cell."""
    torch.manual_seed(0)
    parts = {name: options.get(name, 1) for name in ("groups", "input_groups")}
    features, hidden = 5 * parts["input_groups"], 17 * parts["groups"]
    layer = anygru.GRU(features, hidden, 2, dtype=dtype, **options)
    steps = torch.randn(7, 3, features, dtype=dtype)
    decay = torch.rand(2 * (1 + layer.bidirectional), 7, 3, 1, dtype=dtype)
    found = []
    for input, call in ((steps, {}), (steps, {"decay": decay}), (steps, {"lengths": [7, 2, 4]}), (steps[:1, :1], {})):
        output, h_n = layer(input, **call)
        loss = output.square().sum() + h_n.sum()
        found += [output, h_n, *torch.autograd.grad(loss, list(layer.parameters()))]
    cell, h = anygru.GRUCell(features, hidden, dtype=dtype, reset=options["reset"], **parts), None
    for step in steps:
        h = cell(step, h)
    assert h is not None
    found += [h, *torch.autograd.grad(h.sum(), list(cell.parameters()))]
    with torch.no_grad():
        found += layer(steps)
        if not layer.bidirectional:
            stream = layer.stream(3)
            states = torch.zeros(5, 2 * hidden)
            rows = torch.tensor([4, 0, 2])
            found += [stream.step(steps[0]), stream.run(steps)]
            found += [stream.advance_rows(steps[0], states.to(dtype), 0, rows)]
        if layer.norm is None and dtype is torch.float32:
            for weights in DTYPES:
                found += layer.freeze(weights)(steps)
    return found


def lstms() -> list[Tensor]:
    """Cells, outputs and gradients of LSTM units, of numbers that fill vectors and that do not."""
    found = []
    for dtype, units in itertools.product((torch.float32, torch.float64), (1, 4, 15, 16, 33)):
        generator = torch.Generator().manual_seed(units)
        c, cells, output, g_cells, g_output, g_c = torch.randn(6, units, dtype=dtype, generator=generator).unbind()
        sums, g_sums = torch.randn(2, units, 4, dtype=dtype, generator=generator).unbind()
        place = {
            id(each): (each.data_ptr(), each.nbytes)
            for each in (c, cells, output, g_cells, g_output, g_c, sums, g_sums)
        }
        given = [place[id(each)] for each in (c, sums, cells)]
        native.lstm(dtype.itemsize, units, *given, place[id(output)])
        for upstream in ((g_cells, g_output), (None, g_output), (g_cells, None)):
            places = [None if each is None else place[id(each)] for each in upstream]
            native.lstm_gradients(dtype.itemsize, units, *given, *places, place[id(g_sums)], place[id(g_c)])
            found += [cells.clone(), output.clone(), g_sums.clone(), g_c.clone()]
    return found


def main(variant: str) -> None:
    if variant == "overrun":
        ctypes.string_at(Memory().new(100), 101)
    native.use(variant)
    torch.set_num_threads(2)
    cases = [
        ({"reset": reset, "bidirectional": both, "bias": not both, "norm": norm}, dtype)
        for reset, both, norm, dtype in itertools.product(
            ("after", "before"), (False, True), (None, "layer"), (torch.float32, torch.float64)
        )
    ]
    groups = ({"groups": 2}, {"groups": 3, "input_groups": 3, "gradient_clipping": 0.1})
    cases += [
        ({"reset": reset, "bidirectional": both, "norm": norm, **own}, torch.float32)
        for reset, both, norm, own in itertools.product(("after", "before"), (False, True), (None, "layer"), groups)
    ]
    expected, of_lstms = [compute(*case) for case in cases], lstms()
    calls = (
        "forward backward gradients pack unpack dense cell advance advance_rows backward_of_layer lstm lstm_gradients"
    )
    for name in calls.split():
        setattr(native, name, guarded(getattr(native, name)))
    for case, results in zip(cases, expected, strict=True):
        for one, other in zip(compute(*case), results, strict=True):
            assert torch.equal(one, other), case
    assert all(map(torch.equal, lstms(), of_lstms))
    print(counts["calls"], counts["tensors"])


if __name__ == "__main__":
    main(sys.argv[1])
