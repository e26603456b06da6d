"""Compiling a file, running it on random input, and comparing with the model."""

import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import AnygruError, ArgumentError
from ..facts.quantization import WeightFormat
from ..layers.gru import FrozenGRUCell, GRUCell
from ..layers.machine import Machine
from ..layers.recording import first_tensor
from ..layers.shared import deep_copy
from ..patching.freeze import freeze
from .files import Source
from .reading import PAIRS, is_row
from .residual import Residual

BOUNDS = {"float32": 2e-6, "bfloat16": 1e-5, "int8": 1e-5}
"""The greatest difference from the model with GRUs in such a format, for outputs up to 1, in proportion for larger ones."""
STEPS = 1000
_SENSITIVE = 8.0
"""If the model amplifies rounding errors, the bound at a step is this multiple of the change of its own output when the last
bits of the input change."""
_LAST_BITS = 4 * torch.finfo(torch.float32).eps
_SECONDS = 600
COMPILERS = ("cc", "gcc", "clang")
NODE = "node"
_UNCHECKED = "check=False (--no-check) leaves the comparison out"


class CheckError(AnygruError, RuntimeError):
    """The file does not compile, or computes other numbers than the model."""


class CheckResult(NamedTuple):
    """How a file was compared with its model."""

    by: str
    """The compiler of the file in C, or node for a module of WebAssembly."""
    difference: float
    """The greatest from the model's own forward, of outputs up to 1."""
    bound: float
    steps: int


def find_compiler() -> list[str] | None:
    """The C compiler of the environment variable CC, with its options, or the first compiler found; None if there is none.

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
    """A copy of the model on the CPU, in evaluation mode; its GRUs have the weights of the file."""
    copied = deep_copy(model).cpu().eval()
    if weights in (None, "float32"):
        return copied
    holder = nn.Sequential(copied)
    freeze(holder, weights)  # a GRU that is the model itself has no place to be exchanged in
    return holder


def unwrapped(model: nn.Module) -> nn.Module:
    """The model that `prepared` put into a row of one."""
    return model[0] if isinstance(model, nn.Sequential) and len(model) == 1 else model


def frames(machine: Machine, sequence: Tensor) -> Tensor:
    """The first sequence of a batch as rows [T, numbers of a step]."""
    return sequence.narrow(machine.batch, 0, 1).movedim(machine.time, 0).flatten(1).float()


def outputs_of_graph(machine: Machine, input: Tensor) -> Tensor:
    """The outputs [T, O] of a model's own forward for the rows of one sequence."""
    like = machine.longer.narrow(machine.batch, 0, 1).movedim(machine.time, 0)
    given = input.reshape(len(input), *like.shape[1:]).to(like.dtype).movedim(0, machine.time)
    return first_tensor(machine.source(given)).movedim(machine.time, 0).flatten(1)


def outputs_of(model: nn.Module, input: Tensor) -> Tensor:
    """The outputs of a prepared model on one sequence [T, I], where a GRU in a row gives its outputs alone.

    Raises:
        CheckError: a module with `c_parts` cannot be called with one sequence.
    """
    if is_row(model) and not hasattr(model, "c_parts"):
        found = input
        for module in filter(None, model._modules.values()):  # a repeated module acts twice
            found = outputs_of(module, found)
        return found + input if isinstance(model, Residual) else found
    layer: Any = model
    if isinstance(model, nn.GRUCell | GRUCell | FrozenGRUCell):
        state, outputs = None, []
        for step in input:
            state = layer(step) if state is None else layer(step, state)
            outputs.append(state)
        return torch.stack(outputs)
    if hasattr(model, "c_parts"):
        parts: Any = model.c_parts() if callable(model.c_parts) else model
        batch_first = next((each.batch_first for each in parts.modules() if isinstance(each, PAIRS)), True)
        return called(model, input.unsqueeze(0 if batch_first else 1))
    result = layer(input)
    return result[0] if isinstance(result, tuple) else result


def called(model: nn.Module, input: Tensor) -> Tensor:
    """The outputs [T, O] of a model's own forward on one sequence, in the form that it accepts.

    Raises:
        CheckError: it cannot be called so, or does not return a tensor or a tuple that begins with one.
    """
    name = type(model).__name__
    try:
        result = model(input)
    except Exception as error:  # errors of the user's code
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise CheckError(
            f"{name} cannot be called with {list(input.shape)} ({reason}), so that the file cannot be compared with it; give "
            f"example=, an input that it takes; {_UNCHECKED}"
        ) from error
    result = result[0] if isinstance(result, tuple | list) and result else result
    if not isinstance(result, Tensor):
        raise CheckError(f"{name} must return a tensor or a tuple that begins with one, got {type(result).__name__}")
    steps = max(input.shape[:-1])
    if steps not in result.shape or result.numel() % steps:
        raise CheckError(
            f"{name} must return {steps} steps for {list(input.shape)}, got {list(result.shape)}; {_UNCHECKED}"
        )
    return result.reshape(steps, -1)


def check(
    source: Source,
    model: nn.Module,
    bound: float,
    steps: int = STEPS,
    command: Sequence[str] | None = None,
    runner: Sequence[str] = (),
    *,
    example: Tensor | None = None,
    execute: Callable[[Tensor], Tensor] | None = None,
    by: str = "",
    before: Tensor | None = None,
) -> CheckResult:
    """Compares the exported file with a prepared model on steps of normal numbers, up to the first output that is not finite.

    Args:
        command, runner: as in `run`; None: the compiler found, with -O2.
        example: one sequence in the form that the model's own forward takes, instead of normal numbers.
        execute: gives the outputs [T, O] for input [T, I]; None: compiles the file in C and runs it.
        by: the name of the program that `execute` runs.
        before: steps [N, I] that the model reads first, and that the reset of the file stands for.

    Raises:
        CheckError: the file does not compile, or the difference is above the bound; or the model has no finite output.
        ArgumentError: there is no compiler.
    """
    if example is None:
        input = torch.randn(steps, source.inputs, generator=torch.Generator().manual_seed(0))
        outputs: Callable[[Tensor], Tensor] = functools.partial(outputs_of, model)
    else:
        input = _one_sequence(example, source)
        whole = unwrapped(model)
        if hasattr(whole, "c_parts"):
            outputs = functools.partial(_called_as, whole, example.shape)
        else:
            outputs = functools.partial(outputs_of, model)
    return compare(source, input, after(before, outputs), bound, command, runner, execute=execute, by=by)


def after(before: Tensor | None, outputs: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function that gives a model's outputs for an input that follows some steps."""
    if before is None:
        return outputs
    first = before
    return lambda input: outputs(torch.cat((first, input)))[len(first) :]


@torch.no_grad()
def compare(
    source: Source,
    input: Tensor,
    outputs: Callable[[Tensor], Tensor],
    bound: float,
    command: Sequence[str] | None = None,
    runner: Sequence[str] = (),
    *,
    execute: Callable[[Tensor], Tensor] | None = None,
    by: str = "",
) -> CheckResult:
    """As `check`, on an input [T, I], with the function that gives the model's outputs [T, O] for it."""
    if execute is None:
        chosen = [*(command or _found_compiler())]
        by, execute = os.path.basename(chosen[0]), functools.partial(run, source, command=chosen, runner=runner)
    steps = len(input)
    expected = outputs(input.clone()).reshape(steps, -1).float()
    if expected.shape[1] != source.outputs:
        raise CheckError(f"the model gives {expected.shape[1]} outputs in a step, the file {source.outputs}")
    finite = expected.isfinite().all(1).cummin(0).values
    steps = int(finite.sum())
    if not steps:
        raise CheckError(f"the model's own outputs for random input are infinite or NaN; {_UNCHECKED}")
    found = execute(input)[:steps]
    expected = expected[:steps]
    scale = _so_far(source, expected.abs()).clamp(min=1.0)  # of each output, so that a large one hides no fault
    apart = ((found - expected).abs() / scale).amax(1)
    allowed = torch.full_like(apart, bound)
    if not bool((apart <= allowed).all()):  # also if one is NaN
        for moved in _moved(input):
            reached = (outputs(moved).reshape(-1, source.outputs)[:steps] - expected).abs()
            allowed = torch.maximum(allowed, _SENSITIVE * _so_far(source, (reached / scale).amax(1)))
    wrong = torch.nonzero(~(apart <= allowed)).flatten()
    difference, bound = apart.max().item(), allowed.max().item()
    if len(wrong):
        step, what = int(wrong[0]), "the file in C" if by != NODE else "the module of WebAssembly"
        raise CheckError(
            f"{what} computes other numbers than the model: in step {step} they are {apart[step].item():.3g} apart, and at "
            f"most {allowed[step].item():.3g} is allowed ({by}). Either c_parts() leaves out a part of forward, or forward "
            f"takes the batch on another axis (give example=), or the model remembers hundreds of steps by other means than a "
            f"GRU or a convolution, or this is a fault of anygru or of the compiler"
        )
    return CheckResult(by, difference, bound, steps)


def _called_as(model: nn.Module, shape: torch.Size, input: Tensor) -> Tensor:
    sizes = list(shape)
    sizes[next((axis for axis, size in enumerate(sizes[:-1]) if size > 1), 0)] = -1
    return called(model, input.reshape(sizes))


def _found_compiler() -> list[str]:
    found = find_compiler()
    if found is None:
        raise ArgumentError(f"check needs a C compiler: set CC, or install one of {', '.join(COMPILERS)}")
    return [*found, "-O2"]


def _one_sequence(example: Tensor, source: Source) -> Tensor:
    """The steps [T, I] of an example [T, I], [1, T, I] or [T, 1, I].

    Raises:
        ArgumentError: it has another shape.
    """
    shape = list(example.shape) if isinstance(example, Tensor) else []
    if (
        len(shape) not in (2, 3)
        or shape[-1] != source.inputs
        or 0 in shape
        or sum(size != 1 for size in shape[:-1]) > 1
    ):
        came = shape if isinstance(example, Tensor) else type(example).__name__
        raise ArgumentError(
            f"example must be one sequence [T, I], [1, T, I] or [T, 1, I], I = {source.inputs}, got {came}"
        )
    return example.detach().cpu().float().reshape(-1, source.inputs)


def _moved(input: Tensor) -> Iterator[Tensor]:
    """The input with its last bits changed, a few times in other ways.

    Whole numbers stay: they are exact, and an index with other last bits is another index.
    """
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        moved = input * (1 + _LAST_BITS * (torch.randint(0, 2, input.shape, generator=generator) * 2 - 1))
        yield torch.where(input == input.round(), input, moved)


def _so_far(source: Source, values: Tensor) -> Tensor:
    """The greatest of the values [T, ...] up to each step; of all, if a layer reads the sequence from its end."""
    return values.cummax(0).values if source.steps else values.amax(0, keepdim=True).expand_as(values)


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
