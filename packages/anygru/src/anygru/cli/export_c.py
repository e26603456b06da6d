"""Write a GRU of a checkpoint as one file in C, which needs no Python and no library; and as a web page.

Files of RTNeural, AIDA-X and GuitarML hold the order of their layers, so that the whole model is written.

The file is compiled, run and compared with the layer. Without a C compiler it is written and not checked, which is status 1
unless --no-check asks for it.
"""

import argparse
import warnings
from typing import TYPE_CHECKING

from ..checkpoints import NAMES, Checkpoint
from ..errors import printable
from . import Failure, UsageError
from .inspect import BIDIRECTIONAL, NO_SANDBOX
from .terminal import STANDARD_INPUT, count, given, writable

if TYPE_CHECKING:
    from torch import nn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    formats = sorted(NAMES)
    parser.add_argument(
        "source", metavar="FROM", help="the checkpoint to read, of any framework, or - for standard input"
    )
    parser.add_argument("--out", metavar="F.h", help="the file to write (needed unless --wasm is given)")
    parser.add_argument("--name", help="with which every name in the file begins (default: made from F.h or FROM)")
    parser.add_argument(
        "--gru", metavar="PATH", help="the GRU, if FROM holds several, or a whole model (RTNeural, GuitarML)"
    )
    parser.add_argument("--from", dest="source_format", choices=formats, help="the format of FROM")
    parser.add_argument("--bidirectional", metavar="PATH", action="append", default=[], help=BIDIRECTIONAL)
    parser.add_argument(
        "--weights",
        choices=("float32", "bfloat16", "int8"),
        help="how matrices are stored: in 4, 2 or 1 bytes a number (default: as in FROM if it is frozen, or float32)",
    )
    parser.add_argument(
        "--check",
        action=argparse.BooleanOptionalAction,
        help="compile the file, run it and compare it with the layer (default: yes; without a C compiler the status is 1)",
    )
    parser.add_argument(
        "--rest",
        type=float,
        metavar="X",
        help="a reset gives the state after a constant input X, such as 0 for silence (default: zeros)",
    )
    parser.add_argument("--sample-rate", type=int, metavar="HZ", help="of the sound that the model was trained with")
    parser.add_argument("--no-sandbox", dest="sandbox", action="store_false", help=NO_SANDBOX)
    parser.add_argument(
        "--wasm",
        metavar="DIR",
        help="also write a WebAssembly module and a page that runs it (needs clang and lld, or anygru[wasm])",
    )


def main(args: argparse.Namespace) -> int:
    """Write the file, and print a description of it and how far its results are from the layer's."""
    if args.out is None and args.wasm is None:
        raise UsageError("missing target: --out F.h, --wasm DIR, or both")
    from ..c_export import CheckError, export_c, export_wasm, exporting, wasm
    from ..c_export.identifiers import check_name, name_from

    if args.name is not None:
        named = check_name(args.name)
    else:
        named = name_from(args.out or ("model" if args.source == STANDARD_INPUT else args.source))
    if args.out is not None:
        writable("--out", args.out, args.source)
    if args.wasm is not None:
        writable("--wasm", args.wasm, args.source, args.out, folder=True)
        wasm.find_tools()  # before the other file is written
    unchecked: list[str] = []
    options = {
        "weights": args.weights,
        "name": named,
        "check": args.check,
        "rest": args.rest,
        "sample_rate": args.sample_rate,
    }
    with given(args.source, sandbox=args.sandbox) as source, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* was not compared with the model")
        layer = _layer(Checkpoint.behind(source, args.source_format, args.bidirectional), args.gru)
        try:
            if args.out is not None:
                exported = export_c(layer, args.out, **options)
                _print(str(exported))
                unchecked += [] if exported.verdict else [f"{args.out} {exporting.UNCHECKED}"]
            if args.wasm is not None:
                pages = export_wasm(layer, args.wasm, **options)
                _print(str(pages))
                unchecked += [] if pages.verdict else [f"{args.wasm} {wasm.UNCHECKED}"]
        except CheckError as error:
            raise Failure(str(error)) from error
    if unchecked and args.check is None:
        raise Failure(f"{'; '.join(unchecked)}, or accept it by --no-check")
    return 0


def _print(text: str) -> None:
    for line in text.splitlines():
        print(printable(line))


def _layer(checkpoint: Checkpoint, path: str | None) -> "nn.Module":
    """The whole model of a file that holds its layers' order, or the GRU, in float32; prints notes on what was changed."""
    from ..c_export.stacks import module_of
    from ..checkpoints import stack

    model = stack.model_of(checkpoint.content.metadata, checkpoint.path)
    if path is None and model is not None:
        print(printable(f"the layers of the file, one after another: {stack.describe(model)}"))
        return module_of(checkpoint, model).float()
    found = checkpoint.find(path)
    layer = checkpoint.gru(path)
    print(printable(f"GRU {found.path or '(the whole file)'}: {found.describe()}"))
    if found.dtype != "float32":
        print(f"  note: its numbers are {found.dtype} in the file, and become float32")
        layer = layer.float()
    others = len(set(checkpoint.stored) - set(found.names))
    if others:
        print(
            f"  left out: {count(others, 'other tensor')}. A checkpoint does not say how modules are connected; to export a "
            "whole model, call anygru.export_c on it"
        )
    return layer
