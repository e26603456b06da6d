"""The recurrence on GPUs by kernels in Triton, for calls that torch's kernels lack: reset="before", and decay of the
state.

A layer is one product for the inputs of all steps, one kernel for all of its steps, and in the backward pass one product a
gradient. The products are torch's. docs/kernels.md explains the kernels. Under TRITON_INTERPRET=1 they run on the CPU, for tests.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache

import torch
from torch import Tensor

from ..errors import how_to_install
from ..facts.problem import Call, Problem
from . import recorded
from .backend import Backend, Gradients

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_OLDEST = (8, 0)
"""The first compute capability of NVIDIA's that has the kernels' products."""
_OLDEST_TRITON = (3, 7)
"""Older ones do not compile the kernels: they cannot pass named tuples with None in them from one function to another."""


def refuse(problem: Problem) -> str | None:
    if problem.device_type != "cuda" and not _interprets():
        return f"it computes on CUDA, and the input is on {problem.device_type}"
    missing = _missing()
    if missing is not None:
        return missing
    if problem.dtype not in _DTYPES:
        return f"it computes float32, bfloat16 and float16, and the input is {problem.dtype}"
    return _refuse_formula(problem)


def _refuse_formula(problem: Problem) -> str | None:
    others = [name for name in problem.modified if name != "decay"]
    if others:
        return f"it knows resets and decay, and the call has {_MODIFIERS[others[0]]}"
    if not problem.formula.standard():
        return "it knows the activations sigmoid and tanh only"
    if problem.layout.norm:
        return "it knows no layer norm"
    if problem.layout.groups > 1:
        return "it knows no groups of hidden units"
    if problem.formula.gradient_clipping is not None and problem.needs_grad:
        return "it knows no clipping of gradients inside the recurrence"
    if problem.empty:
        return "it refuses empty batches and sequences"
    if problem.recorded:
        return "torch.jit.trace and the legacy ONNX exporter cannot record its kernels"
    if problem.transformed:
        return "it does not run under torch.func transforms, dispatch modes or tensor subclasses"
    return None


_MODIFIERS = {
    "offset": "states to reset to",
    "candidate": "recurrent dropout",
    "mask": "recurrent dropout",
    "zoneout": "zoneout",
}


def _interprets() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def _missing() -> str | None:
    """Why this machine cannot run the kernels, and the remedy; None if it can."""
    if importlib.util.find_spec("triton") is None:
        return f"Triton is not installed: {how_to_install('gpu')}"
    version = importlib.import_module("triton").__version__
    if tuple(map(int, version.split(".")[:2])) < _OLDEST_TRITON:
        oldest = ".".join(map(str, _OLDEST_TRITON))
        return f"it needs Triton {oldest} or newer, and {version} is installed, which may have come with torch: update both"
    if _interprets():
        return None
    if not any(map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))):
        return "Triton needs a C compiler, and there is none: install gcc or clang, or name one in CC"
    if torch.cuda.is_available() and not torch.version.hip and torch.cuda.get_device_capability() < _OLDEST:
        return "it needs a GPU of compute capability 8.0 or newer"
    return None


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """As `reference.run`."""
    return recorded.compute(BACKEND, problem, call)


def reserve_numel(problem: Problem, call: Call) -> int:
    """Elements, of the input's dtype, that `forward` keeps for `backward`; symbolic where the shapes are.

    Four values for each row and hidden unit, and the outputs of all layers except the last.
    """
    input = call.input
    rows = input.shape[0] if call.batch_sizes is not None else input.shape[0] * input.shape[1]
    units: int = rows * call.h_0.shape[2] * problem.layout.directions()
    return units * (5 * problem.layout.num_layers - 1)


def forward(problem: Problem, call: Call, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Output and h_n as `reference.run`, and the reserve for `backward` (empty unless keep): a flat tensor of the
    input's dtype."""
    from .triton_passes import Pass

    with _on(call.input):
        reserve = call.input.new_empty(reserve_numel(problem, call) if keep else 0)
        output, h_n = Pass(problem, call, reserve if keep else None).forward()
    return output, h_n, reserve


def backward(
    problem: Problem, call: Call, kept: tuple[Tensor, Tensor], grads: Gradients, needs: Sequence[bool]
) -> list[Tensor | None]:
    """As `cpu.backward`."""
    from .triton_passes import Pass

    output, reserve = kept
    with _on(call.input):
        return Pass(problem, call, reserve).backward(*grads, output, needs)


@contextmanager
def _on(tensor: Tensor) -> Iterator[None]:
    """Triton launches on the current device. Every tensor has been cast for autocast; autograd may run under the
    caller's autocast."""
    place = torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
    with place, torch.autocast(tensor.device.type, enabled=False):
        yield


BACKEND = Backend("triton", refuse, run, reserve_numel=reserve_numel, forward=forward, backward=backward)
