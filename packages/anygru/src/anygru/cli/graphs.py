"""Models that a framework exported with their graph: MXNet's `-symbol.json` becomes ONNX, or a program of torch.export.

The result is read back and compared with the dialect's module on random inputs.
"""

import argparse
import glob
import importlib
import io
import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from .. import dialects
from ..checkpoints.gate import Gate
from ..checkpoints.output.atomic import open_for_replace
from ..checkpoints.sandbox import Work
from ..errors import AnygruError, how_to_install, printable
from . import Failure, UsageError, existing, verified
from .running import Run, as_tuple, first_line, in_onnx_runtime
from .terminal import count

if TYPE_CHECKING:
    from torch import Tensor

_ENDING = "-symbol.json"
_TARGETS = (".onnx", ".pt2")
_PER_SECOND = 10**9
_COMPUTING = "anygru.cli.graphs:computing"
_MEMORY, _COPIES = 1 << 30, 6
"""Bytes for the libraries, and how often a graph's results may be in memory: in torch, in the file, and in its runtime."""
_SECONDS, _RUNS = 120, 8
"""Processor time to export, and how often a graph may be run to compare it."""
_SIZE_OF_NAMES = 3
"""The example size of the first axis that has a name; the next one is larger by one, so that torch distinguishes them."""


def is_graph(path: str) -> bool:
    """Whether a file is named like an exported graph."""
    return path.endswith(_ENDING)


def convert_graph(args: argparse.Namespace) -> int:
    """Write a graph with its values as a module, and print a report."""
    if os.path.splitext(args.target)[1] not in _TARGETS:
        raise UsageError(f"{args.target!r}: a graph becomes a file of ONNX (.onnx) or of torch.export (.pt2)")
    params = _newest(args.source) if args.params is None else existing(args.params)
    if "mxnet" not in dialects.roots():
        raise UsageError(f"{args.source!r} is MXNet's; to read it: {how_to_install('mxnet')}")
    sizes = dict(_sizes(text) for text in args.inputs)
    given = sum(
        4 * math.prod(_SIZE_OF_NAMES + 9 if isinstance(part, str) else part for part in each) for each in sizes.values()
    )
    gate = Gate(args.source, args.limit, args.sandbox)
    limit = gate.most(gate.size + Gate(params).size + given)
    seconds = 60 if args.seconds is None else args.seconds
    if seconds < 1:
        raise UsageError(f"--seconds must be at least 1, got {seconds}")
    order = {"params": params, "sizes": sizes, "limit": limit, "work": seconds * _PER_SECOND}
    order["ending"] = os.path.splitext(args.target)[1]
    answer, data = _answer(gate, order)
    with open_for_replace(args.target) as file:
        file.write(data)
    for line in (f"{args.source} with {params} -> {args.target}", *answer["lines"], f"wrote {args.target}"):
        print(printable(line))
    return 0


def _answer(gate: Gate, order: dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
    """The lines of the report, and the bytes of the file."""
    here = os.path.realpath(os.curdir)  # `python -m anygru` puts it first, with files that are no modules
    modules = [each for each in sys.path if os.path.isdir(each) and os.path.realpath(each) != here]
    memory, seconds = _MEMORY + _COPIES * order["limit"], _SECONDS + _RUNS * order["work"] // _PER_SECOND
    answer, data = gate.work(_COMPUTING, order, (order["params"], *modules), memory, seconds)
    if "failure" in answer:
        raise (UsageError if answer.get("usage") else Failure)(str(answer["failure"]))
    if not isinstance(answer.get("lines"), list):
        raise Failure(f"{gate.path}: the process that computes it gave no answer")
    return {"lines": list(map(str, answer["lines"]))}, data


def computing(order: dict[str, Any]) -> Work:
    """Import and use the modules that export a graph: under the limits, no library can be opened."""
    import torch

    if order["contained"]:
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]  # it compiles code, which the limits refuse
    dialect = importlib.import_module(f"{dialects.roots()['mxnet']}.graphs")
    make = _onnx if order["ending"] == ".onnx" else _exported
    _use(make, dialect.small())

    def work(memory: IO[bytes]) -> dict[str, Any]:
        try:
            return _computed(dialect, make, order, memory)
        except (AnygruError, Failure) as error:
            return {"failure": str(error), "usage": isinstance(error, AnygruError)}

    return work


def _use(make: Callable[..., "Made"], module: Any) -> None:
    """Export and run a small graph: torch and its exporter import most of their modules when they are first needed."""
    sizes: dict[str, list[int | str]] = {"data": ["N", 2]}
    examples, open_sizes = _examples(module, sizes)
    module.cost({"data": (3, 2)})
    verified.judge(module, [examples], _made(make, module, examples, open_sizes)[2], "")


def _computed(dialect: Any, make: Callable[..., "Made"], order: dict[str, Any], memory: IO[bytes]) -> dict[str, Any]:
    """Write the file of a graph into the memory, and return the lines of a report on it."""
    sizes = order["sizes"]
    try:
        module = dialect.load(order["path"], order["params"])
    except RuntimeError as error:  # the dialect raises the errors of its framework
        raise UsageError(str(error)) from error
    examples, open_sizes = _examples(module, sizes)
    further = [_examples(module, sizes, 2)[0]] if any(open_sizes.values()) else []
    _bound(module, [examples, *further], order)
    data, by, opened = _made(make, module, examples, open_sizes)
    verdict = verified.judge(module, [examples, *further], opened, by)
    view = memoryview(data)
    while view:
        view = view[memory.write(view[: 1 << 30]) :]
    numbers = sum(parameter.numel() for parameter in module.parameters())
    lines = [f"{count(len(list(module.parameters())), 'parameter')} of {count(numbers, 'number')}"]
    lines += [f"input {name}: {', '.join(map(str, sizes[name]))}" for name in module.input_names]
    return {"lines": [*lines, f"outputs: {', '.join(module.output_names)}", verdict]}


def _bound(module: Any, examples: list[list["Tensor"]], order: dict[str, Any]) -> None:
    """Refuse a graph that asks for more memory or time than `--limit` and `--seconds`, before anything is computed."""
    for inputs in examples:
        try:
            memory, work = module.cost({name: t.shape for name, t in zip(module.input_names, inputs, strict=True)})
        except RuntimeError as error:
            raise Failure(f"the graph cannot be exported: {first_line(error)}") from error
        if memory > order["limit"]:
            raise UsageError(
                f"{order['path']}: its results take up to {memory} bytes, more than --limit {order['limit']}"
            )
        if work > order["work"]:
            raise UsageError(
                f"{order['path']}: one run takes up to {work} multiplications, more than --seconds "
                f"{order['work'] // _PER_SECOND} allows, at {_PER_SECOND} in each"
            )


def _newest(source: str) -> str:
    found = sorted(glob.glob(glob.escape(source.removesuffix(_ENDING)) + "-[0-9]*.params"))
    if not found:
        raise UsageError(f"no values beside {source!r}: name their file (--params)")
    return found[-1]


def _sizes(text: str) -> tuple[str, list[int | str]]:
    """An input's name and its sizes: numbers, and names of sizes that stay open."""
    name, equals, sizes = text.partition("=")
    parts = sizes.split(",")
    if not (equals and all(re.fullmatch(r"[1-9]\d{0,8}|[A-Za-z]\w*", part) for part in parts)):
        raise UsageError(f"--input must be a name and its sizes, such as data=N,35, got {text!r}")
    return name, [int(part) if part.isdigit() else part for part in parts]


def _examples(
    module: Any, sizes: dict[str, list[int | str]], more: int = 0
) -> tuple[list["Tensor"], dict[str, dict[int, str]]]:
    """Random inputs, open sizes by `more` larger, and for each input its axes with open sizes, with their names."""
    import torch

    if set(sizes) != set(module.input_names):
        needed = " ".join(f"--input {name}=SIZES" for name in module.input_names)
        raise UsageError(f"the graph's inputs need their sizes: {needed}; got {', '.join(sizes) or 'none'}")
    names = dict.fromkeys(part for each in sizes.values() for part in each if isinstance(part, str))
    example_of = {name: _SIZE_OF_NAMES + place + more for place, name in enumerate(names)}
    generator = torch.Generator().manual_seed(0)
    examples, open_sizes = [], {}
    for name in module.input_names:
        shape = [example_of[part] if isinstance(part, str) else part for part in sizes[name]]
        rows = module.numbers_below.get(name)
        if rows is None:
            examples.append(torch.randn(shape, generator=generator))
        else:  # MXNet's positions are floats
            examples.append(torch.randint(rows, shape, generator=generator).float())
        open_sizes[name] = {axis: part for axis, part in enumerate(sizes[name]) if isinstance(part, str)}
    return examples, open_sizes


def _dynamic(module: Any, open_sizes: dict[str, dict[int, str]]) -> Any:
    import torch

    names = dict.fromkeys(name for axes in open_sizes.values() for name in axes.values())
    dims = {name: torch.export.Dim(name) for name in names}
    if not dims:
        return None
    axes = tuple({axis: dims[name] for axis, name in open_sizes[each].items()} for each in module.input_names)
    return (axes,)  # of the one parameter `*inputs`


Made = tuple[bytes, str, Callable[[], Run | None]]


def _made(
    make: Callable[..., Made], module: Any, examples: list["Tensor"], open_sizes: dict[str, dict[int, str]]
) -> Made:
    """The bytes of a file, the name of its runtime, and a function that opens it; errors of torch's exporter become one line."""
    logging.disable(logging.WARNING)  # of constants that are not folded
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns about its internals, and about other tensors of the process
            return make(module, examples, open_sizes)
    except (MemoryError, AnygruError):
        raise
    except Exception as error:
        first: BaseException = error
        while first.__cause__ is not None:
            first = first.__cause__
        reason = first_line(first)
        hint = "; with numbers for the open sizes it may be possible" if any(open_sizes.values()) else ""
        raise Failure(f"the graph cannot be exported: {reason}{hint}") from error
    finally:
        logging.disable(logging.NOTSET)


def _exported(module: Any, examples: list["Tensor"], open_sizes: dict[str, dict[int, str]]) -> Made:
    import torch

    program = torch.export.export(module, tuple(examples), dynamic_shapes=_dynamic(module, open_sizes))
    file = io.BytesIO()
    torch.export.save(program, file)
    data = file.getvalue()

    def opened() -> Run:
        again = torch.export.load(io.BytesIO(data)).module()
        return lambda inputs: as_tuple(again(*inputs))

    return data, "the written program", opened


def _onnx(module: Any, examples: list["Tensor"], open_sizes: dict[str, dict[int, str]]) -> Made:
    from ..onnx import export

    dynamic = _dynamic(module, open_sizes)
    names = {"input_names": module.input_names, "output_names": module.output_names}
    program = export(module, tuple(examples), dynamic_shapes=dynamic, **names)
    data = program.model_proto.SerializeToString()
    return data, "ONNX Runtime", lambda: in_onnx_runtime(data, threads=1)
