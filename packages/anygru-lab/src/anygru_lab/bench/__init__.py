"""anygru bench: this machine, your sizes, side by side with torch and every installed peer.

Every implementation runs in a process of its own and they take turns, block after block; a time is the median of all calls.
"""

import argparse
import importlib.util
import itertools
import math
import os
from pathlib import Path

from anygru.extend import UsageError

from .measure import OF_HALF_WORKER, Cell, compare, installed
from .report import Row, print_rows, write_json, write_plot

PEERS = ("anygru", "torch", "onnxruntime", "openvino")
GPU_PEERS = ("anygru", "triton", "reference", "torch", "torch_without_cudnn", "torchrl", "flashrnn")
FROZEN_PEERS = ("anygru", "torch", "torch_int8", "onnxruntime", "openvino", "openvino_default")
"""For a frozen layer: also torch's int8 layer, and OpenVINO at the precision that it chooses itself."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    def sizes(name: str, default: list[int], help: str) -> None:
        parser.add_argument(f"--{name}", type=int, nargs="+", default=default, metavar="N", help=help)

    sizes("hidden", [64, 256], "hidden sizes (default: 64 256)")
    sizes("batch", [1, 32], "batch sizes (default: 1 32)")
    sizes("steps", [100], "lengths of the sequences, in steps (default: 100)")
    sizes("layers", [1], "numbers of layers (default: 1)")
    sizes("input", [], "input sizes (default: the hidden size)")
    parser.add_argument("--bidirectional", action="store_true", help="two directions")
    parser.add_argument("--train", action="store_true", help="forward and backward instead of inference")
    parser.add_argument(
        "--weights",
        choices=("float32", "bfloat16", "int8"),
        help="freeze anygru's layer with weights in this format, and compare with int8 and bfloat16 peers, too",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute (default: cpu)")
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help="with --device cuda"
    )
    parser.add_argument("--reset", choices=("after", "before"), default="after", help="with --device cuda")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads of each implementation (default: 1)"
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="turns of each implementation (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="length of a turn (default: 0.2)")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="also compare with paddle, mxnet, chainer, oneflow or jax as that Python interpreter has it; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the comparison there (.png, .svg)")


def main(args: argparse.Namespace) -> int:
    check_files(args)
    rows = run(cells(args), peers(args.peer, usual_peers(args)), args.threads, args.rounds, args.seconds)
    if args.json:
        write_json(args.json, rows, args.threads)
    if args.plot:
        write_plot(args.plot, rows, args.threads)
    return 0


def usual_peers(args: argparse.Namespace) -> tuple[str, ...]:
    if args.device == "cuda":
        return GPU_PEERS
    return FROZEN_PEERS if args.weights else PEERS


def check_device(args: argparse.Namespace) -> None:
    """Refuses options that have nothing to act on, and a GPU that is not there."""
    if args.device == "cpu":
        for name, usual in (("dtype", "float32"), ("reset", "after")):
            if getattr(args, name) != usual:
                raise UsageError(f"--{name} goes with --device cuda")
        return
    for name in ("weights", "peer"):
        if getattr(args, name):
            raise UsageError(f"--{name} goes with --device cpu")
    import torch

    if not torch.cuda.is_available():
        raise UsageError("--device cuda needs a GPU, and torch sees none")


def check_files(args: argparse.Namespace) -> None:
    """Refuses at once what could not be written after minutes of measuring."""
    for name in ("json", "plot"):
        path: Path | None = getattr(args, name)
        if path is not None and ((path.exists() and not path.is_file()) or not path.absolute().parent.is_dir()):
            raise UsageError(f"--{name} must be a regular file in a folder that exists, got {str(path)!r}")
    if args.plot is not None and args.plot.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"--plot must end in .png or .svg, got {str(args.plot)!r}")


def cells(args: argparse.Namespace) -> list[Cell]:
    """Every combination of the sizes."""
    for name in ("hidden", "batch", "steps", "layers", "input", "threads", "rounds"):
        given = getattr(args, name)
        if min(given if isinstance(given, list) else [given], default=1) < 1:
            raise UsageError(f"--{name} must be at least 1, got {given}")
    if args.threads > (cpus := os.cpu_count() or 1):
        raise UsageError(f"--threads must be at most {cpus}, the CPUs of this machine, got {args.threads}")
    if not 0 < args.seconds < math.inf:
        raise UsageError(f"--seconds must be more than 0 and finite, got {args.seconds}")
    check_device(args)
    if args.weights and args.train:
        raise UsageError("--weights freezes the layer, which --train cannot train")
    combinations = itertools.product(args.steps, args.batch, args.input or [0], args.hidden, args.layers)
    common = {"frozen": args.weights or "", "device": args.device, "dtype": args.dtype, "reset": args.reset}
    return [
        Cell(steps, batch, input or hidden, hidden, layers, args.bidirectional, args.train, **common)
        for steps, batch, input, hidden, layers in combinations
    ]


def peers(extra: list[str], usual: tuple[str, ...] = PEERS) -> dict[str, str]:
    """Name and interpreter of every implementation to compare: the usual ones that are installed, and the extra ones."""
    from .worker import RUNNERS

    found = installed(usual, importlib.util.find_spec)
    for entry in extra:
        name, equals, python = entry.partition("=")
        if name not in (*RUNNERS, *OF_HALF_WORKER) or not equals or not Path(python).exists():
            known = ", ".join((*RUNNERS, *OF_HALF_WORKER))
            raise UsageError(
                f"--peer must be NAME=PYTHON with NAME one of {known} and an existing interpreter, got {entry}"
            )
        found[name] = python
    return found


def run(cells: list[Cell], peers: dict[str, str], threads: int, rounds: int, seconds: float) -> list[Row]:
    """Compares cell after cell and prints each as it is done."""
    rows = []
    for cell in cells:
        results, limits = compare(cell, peers, threads, rounds, seconds)
        rows.append(Row(cell, results, limits))
        print_rows(rows[-1:])
    return rows
