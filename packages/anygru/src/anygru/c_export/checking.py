"""Compiling a file, running it on random input, and comparing with the model."""

import copy
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import AnygruError, ArgumentError
from ..facts.quantization import WeightFormat
from ..patching.freeze import freeze
from .reading import is_row
from .residual import Residual
from .writing import Source

BOUNDS = {"float32": 2e-6, "bfloat16": 1e-5, "int8": 1e-5}
"""The greatest difference from the model with GRUs in such a format, for outputs up to 1, in proportion for larger ones."""
STEPS = 1000
_SENSITIVE = 8.0
"""How many times as far as the model has moved itself up to a step, when its input changes in the last bits, a file may be off
where that is more than the bound: of a network that amplifies rounding there are no more exact numbers than that."""
_LAST_BITS = 4 * torch.finfo(torch.float32).eps
_SECONDS = 600
COMPILERS = ("cc", "gcc", "clang")
_UNCHECKED = "check=False (--no-check) leaves the comparison out"


class CheckError(AnygruError, RuntimeError):
    """The file does not compile, or computes other numbers than the model."""


class CheckResult(NamedTuple):
    """How a file was compared with its model."""

    compiler: str
    difference: float
    """The greatest, of outputs up to 1."""
    bound: float
    steps: int


def find_compiler() -> list[str] | None:
    """The C compiler of the environment variable CC, with its options, or the first one that is found; None if there is none.

    Raises:
        ArgumentError: CC names a program that is not there.
    """
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise ArgumentError(f"CC must name a C compiler, got {chosen[0]!r}, which is not there; {_UNCHECKED}")
        return chosen
    path = next((path for name in COMPILERS if (path := shutil.which(name))), None)
    return None if path is None else [path]


def prepared(model: nn.Module, weights: WeightFormat | None) -> nn.Module:
    """A copy of the model on the CPU, in evaluation mode, whose GRUs have the numbers that the file has."""
    copied = copy.deepcopy(_plain(model)).cpu().eval()
    if weights in (None, "float32"):
        return copied
    holder = nn.Sequential(copied)
    freeze(holder, weights)  # a GRU that is the model itself has no place to be exchanged in
    return holder


def _plain(model: nn.Module) -> nn.Module:
    """The model, with each module that has `c_parts` replaced by the result of that method."""
    parts = getattr(model, "c_parts", None)
    if parts is not None:
        return _plain(parts())
    if is_row(model):
        kind = Residual if isinstance(model, Residual) else nn.Sequential
        return kind(*(_plain(child) for child in model._modules.values() if child is not None))
    return model


def outputs_of(model: nn.Module, input: Tensor) -> Tensor:
    """The outputs of a prepared model on one sequence [T, I], where a GRU in a row gives its outputs alone."""
    if isinstance(model, nn.Sequential):
        found = input
        for module in model:
            found = outputs_of(module, found)
        return found + input if isinstance(model, Residual) else found
    layer: Any = model
    if hasattr(model, "hidden_size") and not hasattr(model, "num_layers"):  # a cell
        state, outputs = None, []
        for step in input:
            state = layer(step) if state is None else layer(step, state)
            outputs.append(state)
        return torch.stack(outputs)
    result = layer(input)
    return result[0] if isinstance(result, tuple) else result


@torch.no_grad()
def check(
    source: Source,
    model: nn.Module,
    bound: float,
    steps: int = STEPS,
    command: Sequence[str] | None = None,
    runner: Sequence[str] = (),
) -> CheckResult:
    """Compares the file with a prepared model over some steps of normal numbers, or as many as the model's outputs are finite.

    Args:
        command, runner: those of `run`; None: the compiler that is found, with -O2.

    Raises:
        CheckError: the file does not compile, or the difference is above the bound; or the model has no finite output.
        ArgumentError: there is no compiler.
    """
    if command is None:
        found_compiler = find_compiler()
        if found_compiler is None:
            raise ArgumentError(f"check needs a C compiler: set CC, or install one of {', '.join(COMPILERS)}")
        command = [*found_compiler, "-O2"]
    compiler = os.path.basename(command[0])
    input = torch.randn(steps, source.inputs, generator=torch.Generator().manual_seed(0))
    expected = outputs_of(model, input).reshape(steps, source.outputs)
    finite = expected.isfinite().all(1).cummin(0).values
    steps = int(finite.sum())
    if not steps:
        raise CheckError(f"the model's own outputs for random input are infinite or NaN; {_UNCHECKED}")
    found = run(source, input, command, runner)[:steps]
    expected = expected[:steps]
    scale = _so_far(source, expected.abs().amax(1)).clamp(min=1.0)
    apart = (found - expected).abs().amax(1) / scale
    allowed = torch.full_like(apart, bound)
    if not bool((apart <= allowed).all()):  # also if one is NaN
        for moved in _moved(input):
            reached = (outputs_of(model, moved).reshape(-1, source.outputs)[:steps] - expected).abs().amax(1)
            allowed = torch.maximum(allowed, _SENSITIVE * _so_far(source, reached / scale))
    wrong = torch.nonzero(~(apart <= allowed)).flatten()
    difference, bound = apart.max().item(), allowed.max().item()
    if len(wrong):
        step = int(wrong[0])
        raise CheckError(
            f"the file in C computes other numbers than the model: in step {step} they are {apart[step].item():.3g} apart, and "
            f"at most {allowed[step].item():.3g} is allowed ({compiler}). This is a fault of anygru or of the compiler"
        )
    return CheckResult(compiler, difference, bound, steps)


def _moved(input: Tensor) -> Iterator[Tensor]:
    """The input with its last bits changed, a few times in other ways."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        yield input * (1 + _LAST_BITS * (torch.randint(0, 2, input.shape, generator=generator) * 2 - 1))


def _so_far(source: Source, values: Tensor) -> Tensor:
    """The greatest of the values [T] up to each step; of all, if a layer reads the sequence from its end."""
    return values.cummax(0).values if source.steps else values.max().expand_as(values)


def run(source: Source, input: Tensor, command: Sequence[str], runner: Sequence[str] = ()) -> Tensor:
    """The outputs [T, O] of a compiled file for input [T, I].

    Args:
        command: the compiler and its options.
        runner: a command that runs programs of another machine, such as qemu-aarch64.
    """
    with tempfile.TemporaryDirectory() as folder:
        header, program, binary = (Path(folder) / name for name in ("model.h", "program.c", "program"))
        header.write_text(source.text)
        program.write_text(_program(source))
        (Path(folder) / "input").write_bytes(input.contiguous().numpy().tobytes())
        math = ["-lm"] if source.math else []
        _call([*command, "-o", str(binary), str(program), *math], "does not compile")
        _call([*runner, str(binary), folder, str(len(input))], "does not run")
        data = bytearray((Path(folder) / "output").read_bytes())
        return torch.frombuffer(data, dtype=torch.float32).reshape(len(input), source.outputs).clone()


def _call(command: Sequence[str], words: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise CheckError(f"the file in C {words} within {_SECONDS} seconds; {_UNCHECKED}") from error
    except OSError as error:  # another machine's program, or a folder for temporary files that runs none
        raise CheckError(f"the file in C {words}: {command[0]}: {error.strerror}; {_UNCHECKED}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[:500] or f"exit status {done.returncode}"
        raise CheckError(f"the file in C {words}: {command[0]}: {said}; {_UNCHECKED}")


def _program(source: Source) -> str:
    text = _PROGRAM if source.steps else _PROGRAM.replace("steps, output);", "steps, output, scratch);")
    text = text.replace("<scratch>", "1" if source.steps else "@@_SCRATCH(steps)")
    return text.replace("@@", source.name.upper()).replace("@", source.name)


_PROGRAM = """\
#include "model.h"
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    char path[4096];
    const size_t steps = (size_t)atol(words[2]);
    float *input = (float *)malloc(steps * @@_INPUTS * sizeof(float));
    float *output = (float *)malloc(steps * @@_OUTPUTS * sizeof(float));
    float *scratch = (float *)malloc(<scratch> * sizeof(float));
    static @_state state;
    FILE *file;
    (void)count;
    snprintf(path, sizeof path, "%s/input", words[1]);
    file = fopen(path, "rb");
    if (!file || !input || !output || !scratch || fread(input, @@_INPUTS * sizeof(float), steps, file) != steps) return 1;
    fclose(file);
    @_reset(&state);
    @_run(&state, input, NULL, steps, output);
    snprintf(path, sizeof path, "%s/output", words[1]);
    file = fopen(path, "wb");
    if (!file || fwrite(output, @@_OUTPUTS * sizeof(float), steps, file) != steps) return 1;
    free(input);
    free(output);
    free(scratch);
    return fclose(file);
}
"""
