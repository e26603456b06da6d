"""Write a checkpoint in another framework's form: GRUs in its layout, other tensors unchanged.

The result is read back, and its GRUs are run against the source's on the same random input: by a second description of the
frameworks' tensors, and by torch, Keras or ONNX Runtime where these define the GRU and are installed.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from typing import TYPE_CHECKING

from ..checkpoints import NAMES, format_module
from ..errors import printable
from . import UsageError, existing, graphs, removing_temporary_files
from .inspect import BIDIRECTIONAL, NO_SANDBOX, byte_count
from .terminal import STANDARD_INPUT, count, given, writable

if TYPE_CHECKING:
    from ..checkpoints.conversion import Choices, Conversion, Verdict

_LONG_WORK = 64 << 20
"""Smaller files are written before a progress bar could be read."""
_LONGEST_LIST = 12
_UNDECIDED = (
    "NOT TRANSPOSED, and wrong if one is a linear layer's weight: Paddle keeps those as [in, out], all others as "
    "[out, in] (--transpose NAME, --no-transpose NAME)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    formats = sorted(NAMES)
    parser.add_argument(
        "source", metavar="FROM", help="the checkpoint to read, of any framework, or - for standard input"
    )
    parser.add_argument(
        "target", metavar="TO", help="the file (or OneFlow's folder) to write; its ending determines the format"
    )
    parser.add_argument("--from", dest="source_format", choices=formats, help="the format of FROM")
    parser.add_argument("--to", dest="target_format", choices=formats, help="the format of TO")
    parser.add_argument(
        "--map",
        dest="mapping",
        metavar="NAMES.json",
        help='new names by old ones: {"old": "new", ...}; parts of GRUs too: {"rnn:l0": "a"}',
    )
    parser.add_argument(
        "--style", metavar="NAME", help=f"the kind of GRU to write, where the target has several: {_styles()}"
    )
    parser.add_argument("--bidirectional", metavar="NAME", action="append", default=[], help=BIDIRECTIONAL)
    parser.add_argument(
        "--transpose",
        metavar="NAME",
        action="append",
        default=[],
        help="a tensor of two dimensions to transpose, such as a linear layer's to or from Paddle; * and ? are patterns",
    )
    parser.add_argument(
        "--no-transpose",
        metavar="NAME",
        action="append",
        default=[],
        help="a tensor or a pattern of names to keep unchanged",
    )
    _add_models(parser)
    parser.add_argument(
        "--layer-names", action="store_true", help="name the parts of other layers as the target does (gamma, W, _mean)"
    )
    parser.add_argument(
        "--approximate", action="store_true", help="also write values that are not exact, and list them"
    )
    parser.add_argument(
        "--weights",
        choices=("float32", "bfloat16", "int8"),
        help="write the GRUs as frozen layers with half or a quarter of the bytes (safetensors, torch)",
    )
    _add_other_sources(parser)
    parser.add_argument("--no-sandbox", dest="sandbox", action="store_false", help=NO_SANDBOX)
    parser.add_argument(
        "--provenance",
        action="store_true",
        help="write digests of source and result, the version and the options into TO (safetensors); inspect checks them",
    )
    parser.add_argument("--verbose", action="store_true", help="show the source and target rows of each tensor")
    parser.add_argument("--all", action="store_true", help="list every tensor (default: the first 12 of each list)")


def _add_models(parser: argparse.ArgumentParser) -> None:
    """Declare the options for files that hold a model beside its weights."""
    parser.add_argument(
        "--like", metavar="FILE", help="a file of Keras: TO becomes a copy of it that holds the weights of FROM"
    )
    parser.add_argument(
        "--layers",
        metavar="NAME,...",
        type=lambda text: text.split(","),
        default=[],
        help="the layers of FROM in the order in which they compute, for a file of RTNeural, such as rec,lin or "
        "gru,dense,tanh,out,+input: activations stand between them, +input adds the input to the output",
    )


def _add_other_sources(parser: argparse.ArgumentParser) -> None:
    """Declare the options for other results than a checkpoint: an optimizer's state, a model."""
    parser.add_argument(
        "--model",
        metavar="FILE.pdparams",
        help="FROM is a .pdopt of Paddle's Adam, and this its model: TO becomes a state_dict of torch.optim.Adam",
    )
    parser.add_argument(
        "--script",
        metavar="FILE.py:NAME",
        help="a function that returns the model, or the model and a tuple of example inputs: TO becomes its ONNX file, with "
        "the weights of FROM; the script's code is run",
    )
    parser.add_argument(
        "--input",
        dest="inputs",
        metavar="SIZES",
        action="append",
        default=[],
        help="an example input of the script's model, such as 4,10,3 or 4,10:int64; or an input of a graph "
        "(NAME-symbol.json) by its name, such as data=N,35, where a letter is a size that stays open",
    )
    parser.add_argument(
        "--params", metavar="FILE", help="the values of a graph (NAME-symbol.json); the newest NAME-*.params by default"
    )
    parser.add_argument(
        "--limit",
        type=byte_count,
        metavar="BYTES",
        help="the most memory that a graph (NAME-symbol.json) may compute in, as 500M or 2G (default: 64M and 32 times the "
        "sizes of its files and inputs)",
    )
    parser.add_argument(
        "--seconds",
        type=int,
        metavar="N",
        help="the most time that a graph may compute, counted before as 1e9 multiplications a second (default: 60)",
    )
    parser.add_argument("--betas", type=float, nargs=2, metavar="BETA", help="of that Adam (default: 0.9 0.999)")
    parser.add_argument("--lr", type=float, help="the learning rate of that Adam (default: the scheduler's in FROM)")


def _styles() -> str:
    """The values of --style, for each format with several kinds of layer or cell."""
    kinds = {name: dict.fromkeys(layout.name for layout in format_module(name).LAYOUT) for name in ("mxnet", "paddle")}
    return "; ".join(f"{name}: {', '.join(map(repr, styles))}" for name, styles in kinds.items())


def main(args: argparse.Namespace) -> int:
    """Convert, and print a report."""
    if args.source != STANDARD_INPUT:
        existing(args.source)
    script = (args.script or "").rpartition(":")[0]
    read = (args.source, args.mapping, args.like, args.model, args.params, script)
    writable("TO", args.target, *read, folder=None)
    with removing_temporary_files():
        if graphs.is_graph(args.source):
            return graphs.convert_graph(args)
        for name in ("params", "limit", "seconds"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} belongs to a graph (NAME-symbol.json)")
        if args.model is not None:
            return _convert_optimizer(args)
        if args.script is not None:
            return _convert_model(args)
        return _convert_checkpoint(args)


def _convert_checkpoint(args: argparse.Namespace) -> int:
    from ..checkpoints.writing.convert import convert

    if args.betas or args.lr is not None:
        raise UsageError("--betas and --lr belong to an optimizer's state: name its model (--model)")
    if args.inputs:
        raise UsageError("--input belongs to the model of a script (--script) or to a graph (NAME-symbol.json)")
    _load_keras(args)
    with given(args.source) as source, _progress(source.size) as progress:
        report = convert(source.path, args.target, _choices(args), progress=progress)
    for line in describe(report, None if args.all else _LONGEST_LIST, args.verbose):
        print(printable(line))
    folder = ", a folder: a name without an ending is that of a OneFlow state" if report.target == "oneflow" else ""
    print(printable(f"wrote {args.target}{folder}"))
    return 0


def _convert_model(args: argparse.Namespace) -> int:
    from . import scripted

    _refuse_options(args, "for the model of a script (--script)", ())
    if args.betas or args.lr is not None:
        raise UsageError("--betas and --lr have no meaning for the model of a script (--script)")
    for line in scripted.convert(args):
        print(printable(line))
    print(printable(f"wrote {args.target}"))
    return 0


def _convert_optimizer(args: argparse.Namespace) -> int:
    from ..checkpoints import save_checkpoint
    from ..checkpoints.writing.optimizer import adam_state

    _refuse_options(args, "for an optimizer's state (--model)", ("script", "inputs"))
    betas = tuple(args.betas or (0.9, 0.999))
    state = adam_state(args.source, existing(args.model), betas=(betas[0], betas[1]), lr=args.lr)
    save_checkpoint(state, args.target, "torch")
    group, steps = state["param_groups"][0], max(int(entry["step"]) for entry in state["state"].values())
    print(f"Adam of {count(len(group['params']), 'parameter')} after {count(steps, 'step')}, lr {group['lr']:g}")
    without = len(group["params"]) - len(state["state"])
    if without:
        print(f"note: {count(without, 'parameter')} without moments (frozen or unused) keep their numbers")
    print("note: parameters are numbered in the order of the model's file; eps and weight decay are torch's defaults")
    print(printable(f"wrote {args.target}"))
    return 0


def _refuse_options(args: argparse.Namespace, where: str, others: tuple[str, ...]) -> None:
    """Raise UsageError for an option that only a plain conversion has, and for the `others`."""
    unused = ("mapping", "style", "bidirectional", "transpose", "no_transpose", "like", "layer_names", "approximate")
    for name in (*unused, "weights", "layers", "provenance", "source_format", "target_format", *others):
        if getattr(args, name):
            options = {"mapping": "map", "source_format": "from", "target_format": "to", "inputs": "input"}
            raise UsageError(f"--{options.get(name, name.replace('_', '-'))} has no meaning {where}")


def _load_keras(args: argparse.Namespace) -> None:
    """Import Keras where a file of it is read or written: `verify` uses it if it is set, and never imports it itself."""
    if any(str(path).lower().endswith(".keras") for path in (args.source, args.like)):
        os.environ.setdefault("KERAS_BACKEND", "torch")
        with suppress(ImportError):
            importlib.import_module("keras")


def _choices(args: argparse.Namespace) -> "Choices":
    """The options under their names in `Choices`."""
    from ..checkpoints.conversion import Choices
    from ..checkpoints.gate import Gate

    given = {option.name: getattr(args, option.name) for option in fields(Choices)}
    given["mapping"] = {} if args.mapping is None else Gate(args.mapping).texts()
    return Choices(**given)


def _verdict(verdict: "Verdict") -> str:
    if verdict.reason:
        return f"not verified, because {verdict.reason}"
    agreement = "the same bits" if verdict.same_bits else f"at most {verdict.difference:.2g} apart"
    return f"verified: source and result, run on the same random input by {verdict.by}, give {agreement}"


def describe(report: "Conversion", longest: int | None, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of a report; each list is cut to `longest` entries; `verbose` shows where each gate's rows went."""
    yield f"{report.source} -> {report.target}"
    for (gru, path, layout), verdict in zip(report.converted, report.verdicts, strict=True):
        yield f"GRU {gru.path or '(the whole file)'}: {gru.describe()}"
        yield f"  became {layout.name} {path or '(the whole file)'}"
        yield f"  {_verdict(verdict)}"
        if verbose:
            yield from (f"    {line}" for line in report.moves.get(path, ()))
        for note in gru.notes:
            yield f"  note: {note}"
    if not report.converted:
        yield "no GRU found"
    yield from _listing(f"{count(len(report.kept), 'other tensor')} kept unchanged", report.kept, longest)
    transposed = [f"{name}: {reason}" for name, reason in report.transposed.items()]
    yield from _listing("transposed", transposed, longest) if transposed else ()
    yield from _listing(_UNDECIDED, report.undecided, longest) if report.undecided else ()
    names = [f"{old}: {report.target} would write {new}" for old, new in report.other_names.items()]
    yield from _listing("OTHER NAMES (--layer-names writes them)", names, longest) if names else ()
    renamed = [f"{old} -> {new}" for old, new in report.renamed.items()]
    yield from _listing("renamed", renamed, longest) if renamed else ()
    left_out = [f"{name}: {reason}" for name, reason in report.left_out.items()]
    yield from _listing(f"LEFT OUT, {report.target} has no room for it", left_out, longest) if left_out else ()
    yield from _listing("APPROXIMATED", report.approximated, longest) if report.approximated else ()
    for note in report.notes:
        yield f"note: {note}"


def _listing(title: str, entries: list[str], longest: int | None) -> Iterator[str]:
    yield title + (":" if entries else "")
    shown = entries if longest is None else entries[:longest]
    for entry in shown:
        yield f"  {entry}"
    if len(shown) < len(entries):
        yield f"  ... and {len(entries) - len(shown)} more (--all lists them)"


@contextmanager
def _progress(size: int) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar on standard error for a large file, if that is a terminal."""
    if size < _LONG_WORK or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("writing"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("writing", total=size)
        yield lambda count: bars.advance(task, count)
