"""`export_c`: a model as one file in C."""

import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor, nn

from ..checkpoints.formats import checked_path
from ..checkpoints.output.atomic import open_for_replace
from ..errors import ArgumentError, ArgumentTypeError
from ..facts.quantization import WeightFormat, check_format
from ..layers.machine import Machine
from .checking import BOUNDS, STEPS, CheckResult, after, find_compiler, frames, outputs_of_graph, prepared, unwrapped
from .checking import check as check_against
from .checking import compare as compare_with
from .files import Source
from .graph import graph_of
from .graph_writing import takes, write_graph
from .identifiers import check_name, name_from
from .operations import Operation, input_width, recurrences
from .reading import is_chain, operations
from .rest import rest_of_chain, rest_of_graph
from .writing import write

UNCHECKED = (
    "was not compared with the model, because no C compiler was found: set the environment variable CC or install gcc or "
    "clang, and export again"
)
ACCEPTED = "check=False omits the comparison without this warning"


class Exported(NamedTuple):
    """The result of `export_c`."""

    path: str
    source: Source
    verdict: CheckResult | None
    """The comparison with the model; None if there was none."""

    def __str__(self) -> str:
        source = self.source
        lines = [
            f"wrote {self.path}: "
            + (f"{source.name}_step" if source.steps else f"{source.name}_run (whole sequences only)"),
            f"  {source.inputs} inputs, {source.outputs} outputs, {source.constants:,} bytes of constants, "
            f"a state of {source.state:,} bytes",
        ]
        lines.append(f"  {in_words(self.verdict)}")
        return "\n".join(lines)


def in_words(verdict: CheckResult | None) -> str:
    """How the file in C was compared with the model."""
    if verdict is None:
        return "NOT CHECKED: nothing was run, and it was not compared with the model"
    by, difference, bound, steps = verdict
    return f"run by {by}: at most {difference:.2g} from the model over {steps} steps (bound {bound:.2g})"


def export_c(
    model: nn.Module,
    path: str | os.PathLike[str],
    *,
    weights: WeightFormat | None = None,
    name: str | None = None,
    check: bool | None = None,
    example: Tensor | None = None,
    time_axis: int | None = None,
    rest: Tensor | float | None = None,
    sample_rate: int | None = None,
) -> Exported:
    """Write a model as one file in C99 (also C++11) that needs no library, for programs without Python.

    The file holds the numbers as constants, a state as a struct, and functions to reset it, to run one step and to run many.
    It computes the model's inference in float32.

    Args:
        model: an `anygru.GRU`, `GRUCell`, `FrozenGRU`, `FrozenGRUCell`, `torch.nn.GRU` or `GRUCell`; or an
            `nn.Sequential` or an `anygru.c_export.Residual` of them with `Linear`, `LayerNorm` and activations, in which the
            outputs of a GRU are passed on. A module of your own with a method `c_parts()` that returns such a module is
            written as that module. Any other module is written from the graph of one step by `torch.export` (torch 2.6
            or later); docs/deploy.md lists its operators.
        path: the file to write; it is replaced whole or not at all.
        weights: how the matrices of GRUs are stored: "float32", "bfloat16" or "int8", with the numbers of `anygru.freeze`; None:
            float32, and of a frozen layer its own. Other modules are float32.
        name: with which every name in the file begins; None: made from that of the file.
        check: whether to compile the file, run it, and compare it with the model's own forward; None: if a C compiler is found
            (the environment variable CC, cc, gcc or clang). If none is found, the file comes with a UserWarning.
        example: one sequence [T, I], [1, T, I] or [T, 1, I], as the model's forward takes it, for the comparison; None: 1000
            steps of normal numbers. For a graph: an input of a few steps with any axes, such as [B, C, T, F], which also
            gives the shape of a step; None: random numbers [B, T, I] or [T, B, I], as wide as the first layer's input.
        time_axis: for a graph, the axis of time in `example` and in the output; None: 1 if the first GRU has
            `batch_first`, otherwise 0. For other models it must be None.
        rest: a constant input, one number or a step: a reset gives the state that such an input leads to, such as an amplifier's
            in silence (0.0), and not zeros, so that no click is heard after it. None: zeros.
        sample_rate: in Hz, of the sound that the model was trained with; the file defines it as `<NAME>_SAMPLE_RATE`.

    Returns:
        Exported: the sizes and the greatest difference from the model; `print` shows them.

    Raises:
        ArgumentError, ArgumentTypeError: a module, an option or a name that the file cannot have; a state that does not come
            to rest within 16,384 steps.
        CheckError: the compiled file computes other numbers than the model; no file is written.

    Warns:
        UserWarning: the file was not compared with its model, because no C compiler was found.

    Example:
        >>> model = torch.nn.Sequential(anygru.GRU(1, 16), torch.nn.Linear(16, 1))
        >>> exported = anygru.export_c(model, "amplifier.h", weights="int8")
    """
    path = checked_path(path)
    exported = source_of(
        model, name_from(path) if name is None else name, weights, check, example, time_axis, rest, sample_rate
    )
    with open_for_replace(path, "w") as file:
        file.write(exported.source.text)
    if check is None and exported.verdict is None:
        warnings.warn(f"{path} {UNCHECKED}; {ACCEPTED}", stacklevel=2)
    return exported._replace(path=path)


def source_of(
    model: nn.Module,
    name: str,
    weights: WeightFormat | None = None,
    compare: bool | None = None,
    example: Tensor | None = None,
    time_axis: int | None = None,
    rest: Tensor | float | None = None,
    sample_rate: int | None = None,
) -> Exported:
    """The file as a text, compared with the model if asked for; the arguments are those of `export_c`."""
    return compared(model, name, weights, compare, example, time_axis, rest, sample_rate)[0]


def compared(
    model: nn.Module,
    name: str,
    weights: WeightFormat | None,
    compare: bool | None,
    example: Tensor | None,
    time_axis: int | None,
    rest: Tensor | float | None = None,
    sample_rate: int | None = None,
) -> tuple[Exported, Callable[..., CheckResult]]:
    """As `source_of`, with a function for more comparisons; its keywords are those of `checking.compare`."""
    check_name(name)
    if compare is not None and not isinstance(compare, bool):
        raise ArgumentTypeError(f"check must be True, False or None, got {type(compare).__name__}")
    command = None if compare is False else find_compiler()
    if compare and command is None:
        raise ArgumentError("check=True needs a C compiler: set the environment variable CC, or install gcc or clang")
    if sample_rate is not None and (type(sample_rate) is not int or not 0 < sample_rate < 2**31):
        raise ArgumentError(f"sample_rate must be a whole number of Hz above 0, got {sample_rate!r}")
    source, verify = written(model, name, weights, example, time_axis, rest, sample_rate)
    verdict = None if command is None else verify(command=[*command, "-O2"])
    return Exported("", source, verdict), verify


def written(
    model: nn.Module,
    name: str,
    weights: WeightFormat | None,
    example: Tensor | None,
    time_axis: int | None,
    rest: Tensor | float | None = None,
    sample_rate: int | None = None,
) -> tuple[Source, Callable[..., CheckResult]]:
    """The file, and the function that `compared` gives."""
    if is_chain(model):
        if time_axis is not None:
            raise ArgumentError("time_axis is only for models that are not a sequence of modules")
        found = operations(model, weights)
        used = prepared(model, weights)
        start = None if rest is None else rest_of_chain(used, input_width(found), rest)
        if start is not None and any(gru.directions > 1 for gru in recurrences(found)):
            raise ArgumentError("rest is for models with single steps, and a layer reads the sequence from its end")
        source = write(found, name, () if start is None else start.states, sample_rate)
        before = None if start is None else start.input
        return source, partial(check_against, source, used, bound_of(found), example=example, before=before)
    if weights is not None:
        check_format(weights)
    machine = Machine(unwrapped(prepared(model, weights)), example, time_axis=time_axis)
    graph = graph_of(machine, None, takes)
    start = None if rest is None else rest_of_graph(machine, rest)
    source = write_graph(graph, name, None if start is None else start.states[0], sample_rate)
    input = frames(machine, machine.sequence(STEPS))
    outputs = after(None if start is None else start.input, partial(outputs_of_graph, machine))
    bound = max(BOUNDS[gru.weights] for gru in graph.grus)
    return source, partial(compare_with, source, input, outputs, bound)


def bound_of(found: Sequence[Operation]) -> float:
    """How far a file of these operations may be from its model."""
    return max(BOUNDS[gru.weights] for gru in recurrences(found))
