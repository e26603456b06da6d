"""Models that a framework exported with their graph: MXNet's `-symbol.json` becomes ONNX, or a program of torch.export.

The result is read back and compared with the dialect's module on random inputs.
"""

import argparse
import glob
import importlib
import io
import logging
import os
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import dialects
from ..checkpoints.output.atomic import open_for_replace
from ..checkpoints.reading.budget import FREE, RATIO
from ..errors import AnygruError, how_to_install, printable
from . import Failure, UsageError, existing, removing_temporary_files, verified
from .running import Run, as_tuple, first_line, in_onnx_runtime
from .terminal import count

if TYPE_CHECKING:
    from torch import Tensor

_ENDING = "-symbol.json"
_TARGETS = (".onnx", ".pt2")
_PER_SECOND = 10**9
_SIZE_OF_NAMES = 3
"""The example size of the first axis that has a name; the next one is larger by one, so that torch distinguishes them."""


def is_graph(path: str) -> bool:
    """Whether a file is named like an exported graph."""
    return path.endswith(_ENDING)


def convert_graph(args: argparse.Namespace) -> int:
    """Write a graph with its values as a module, and print a report."""
    ending = os.path.splitext(args.target)[1]
    if ending not in _TARGETS:
        raise UsageError(f"{args.target!r}: a graph becomes a file of ONNX (.onnx) or of torch.export (.pt2)")
    params = existing(args.params) if args.params else _newest(args.source)
    package = dialects.roots().get("mxnet")
    if package is None:
        raise UsageError(f"{args.source!r} is MXNet's; to read it: {how_to_install('mxnet')}")
    try:
        module = importlib.import_module(f"{package}.graphs").load(args.source, params)
    except RuntimeError as error:  # the dialect raises the errors of its framework
        raise UsageError(str(error)) from error
    sizes = dict(_sizes(text) for text in args.inputs)
    examples, open_sizes = _examples(module, sizes)
    further = [_examples(module, sizes, 2)[0]] if any(open_sizes.values()) else []
    _bound(args, module, params, [examples, *further])
    make = _onnx if ending == ".onnx" else _exported
    with removing_temporary_files():
        data, by, run = _made(make, module, examples, open_sizes)
        verdict = verified.compare(module, [examples, *further], run, by) if run is not None else verified.NOT_VERIFIED
        with open_for_replace(args.target) as file:
            file.write(data)
    print(printable(f"{args.source} with {params} -> {args.target}"))
    numbers = sum(parameter.numel() for parameter in module.parameters())
    print(f"{count(len(list(module.parameters())), 'parameter')} of {count(numbers, 'number')}")
    for name in module.input_names:
        print(printable(f"input {name}: {', '.join(map(str, sizes[name]))}"))
    print(printable(f"outputs: {', '.join(module.output_names)}"))
    print(verdict)
    print(printable(f"wrote {args.target}"))
    return 0


def _bound(args: argparse.Namespace, module: Any, params: str, examples: list[list["Tensor"]]) -> None:
    """Refuse a graph that asks for more memory or time than `--limit` and `--seconds`, before anything is computed."""
    read = os.path.getsize(args.source) + os.path.getsize(params)
    for inputs in examples:
        given = sum(tensor.nbytes for tensor in inputs)
        limit = FREE + RATIO * (read + given) if args.limit is None else args.limit
        try:
            memory, work = module.cost({name: t.shape for name, t in zip(module.input_names, inputs, strict=True)})
        except RuntimeError as error:
            raise Failure(f"the graph cannot be exported: {first_line(error)}") from error
        if memory > limit:
            raise UsageError(f"{args.source}: its results take up to {memory} bytes, more than --limit {limit}")
        if work > args.seconds * _PER_SECOND:
            raise UsageError(
                f"{args.source}: one run takes up to {work} multiplications, more than --seconds {args.seconds} allows, at "
                f"{_PER_SECOND} in each"
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
    """Random inputs, open sizes by `more` larger, and for each input the axes whose sizes stay open, with their names."""
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


Made = tuple[bytes, str, Run | None]


def _made(
    make: Callable[..., Made], module: Any, examples: list["Tensor"], open_sizes: dict[str, dict[int, str]]
) -> Made:
    """The bytes of a file, the name of its runtime, and a function that runs it; errors of torch's exporter become one line."""
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
    again = torch.export.load(io.BytesIO(data)).module()
    return data, "the written program", lambda inputs: as_tuple(again(*inputs))


def _onnx(module: Any, examples: list["Tensor"], open_sizes: dict[str, dict[int, str]]) -> Made:
    from ..onnx import export

    dynamic = _dynamic(module, open_sizes)
    names = {"input_names": module.input_names, "output_names": module.output_names}
    program = export(module, tuple(examples), dynamic_shapes=dynamic, **names)
    data = program.model_proto.SerializeToString()
    run = in_onnx_runtime(data)
    return data, "" if run is None else "ONNX Runtime", run
