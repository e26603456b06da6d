"""Compare GRU implementations on this machine, at sizes of your choice.

    python benchmarks/bench.py [--hidden 64 256] [--batch 1 32] [--train] [--peer NAME=PYTHON] (or: make bench ARGS=...)

Each implementation runs in a separate process; the processes take turns. A time is the median of all calls.
`requirements.txt` in this folder lists the packages of the peers that are installed by pip.
"""

import argparse
import importlib.util
import itertools
import math
import os
from pathlib import Path

import torch
from side_by_side.measure import OF_HALF_WORKER, Cell, compare, installed
from side_by_side.report import Row, print_rows, write_json, write_plot
from side_by_side.worker import RUNNERS

PEERS = ("anygru", "torch", "onnxruntime", "openvino")
GPU_PEERS = ("anygru", "triton", "reference", "torch", "torch_without_cudnn", "torchrl", "flashrnn")
FROZEN_PEERS = ("anygru", "torch", "torch_int8", "onnxruntime", "openvino", "openvino_default")
"""For a frozen layer: also torch's int8 layer, and OpenVINO at its default precision."""


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Parse and check the command line; print an error and exit with status 2 if it cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])

    def sizes(name: str, default: list[int], help: str) -> None:
        parser.add_argument(f"--{name}", type=int, nargs="+", default=default, metavar="N", help=help)

    sizes("hidden", [64, 256], "hidden sizes (default: 64 256)")
    sizes("batch", [1, 32], "batch sizes (default: 1 32)")
    sizes("steps", [100], "lengths of the sequences, in steps (default: 100)")
    sizes("layers", [1], "numbers of layers (default: 1)")
    sizes("input", [], "input sizes (default: the hidden size)")
    parser.add_argument("--bidirectional", action="store_true", help="two directions")
    parser.add_argument("--train", action="store_true", help="forward and backward instead of inference")
    formats = ("float32", "bfloat16", "bfloat16_rows", "int8")
    parser.add_argument("--weights", choices=formats, help="freeze anygru's layer with weights in this format")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute (default: cpu)")
    dtypes = ("float32", "bfloat16", "float16")
    parser.add_argument("--dtype", choices=dtypes, default="float32", help="with --device cuda")
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
        help="also compare with paddle, mxnet, chainer, oneflow or jax in that Python interpreter; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times to FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the comparison in FILE (.png, .svg)")
    args = parser.parse_args(arguments)
    try:
        check(args)
    except ValueError as error:
        parser.error(str(error))
    return args


def check(args: argparse.Namespace) -> None:
    """Check the options before anything is measured.

    Raises:
        ValueError: an option is out of range, does not go with another one, or names a file that cannot be written.
    """
    for name in ("hidden", "batch", "steps", "layers", "input", "threads", "rounds"):
        given = getattr(args, name)
        if min(given if isinstance(given, list) else [given], default=1) < 1:
            raise ValueError(f"--{name} must be at least 1, got {given}")
    if args.threads > (cpus := os.cpu_count() or 1):
        raise ValueError(f"--threads must be at most {cpus}, the CPUs of this machine, got {args.threads}")
    if not 0 < args.seconds < math.inf:
        raise ValueError(f"--seconds must be more than 0 and finite, got {args.seconds}")
    if args.weights and args.train:
        raise ValueError("--weights freezes the layer, which --train cannot train")
    for name in ("weights", "peer") if args.device == "cuda" else ("dtype", "reset"):
        if getattr(args, name) not in (None, [], "float32", "after"):
            raise ValueError(f"--{name} goes with --device {'cpu' if args.device == 'cuda' else 'cuda'}")
    if args.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda needs a GPU, and torch sees none")
    for name in ("json", "plot"):
        path: Path | None = getattr(args, name)
        if path is not None and ((path.exists() and not path.is_file()) or not path.absolute().parent.is_dir()):
            raise ValueError(f"--{name} must be a regular file in a folder that exists, got {str(path)!r}")
    if args.plot is not None and args.plot.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"--plot must end in .png or .svg, got {str(args.plot)!r}")
    args.peers = peers(args.peer, GPU_PEERS if args.device == "cuda" else FROZEN_PEERS if args.weights else PEERS)


def cells(args: argparse.Namespace) -> list[Cell]:
    """Return every combination of the sizes."""
    combinations = itertools.product(args.steps, args.batch, args.input or [0], args.hidden, args.layers)
    common = {"frozen": args.weights or "", "device": args.device, "dtype": args.dtype, "reset": args.reset}
    return [
        Cell(steps, batch, input or hidden, hidden, layers, args.bidirectional, args.train, **common)
        for steps, batch, input, hidden, layers in combinations
    ]


def peers(extra: list[str], usual: tuple[str, ...] = PEERS) -> dict[str, str]:
    """Return the implementations to compare: name -> Python interpreter.

    Args:
        extra: entries "NAME=PYTHON".
        usual: names that are added if this interpreter has their packages.

    Raises:
        ValueError: an entry has another form, or names an unknown implementation or no interpreter.
    """
    found = installed(usual, importlib.util.find_spec)
    for entry in extra:
        name, equals, python = entry.partition("=")
        if name not in (*RUNNERS, *OF_HALF_WORKER) or not equals or not Path(python).exists():
            known = ", ".join((*RUNNERS, *OF_HALF_WORKER))
            raise ValueError(
                f"--peer must be NAME=PYTHON with NAME one of {known} and an existing interpreter, got {entry}"
            )
        found[name] = python
    return found


def run(cells: list[Cell], peers: dict[str, str], threads: int, rounds: int, seconds: float) -> list[Row]:
    """Compare cell by cell, and print each result at once."""
    rows = []
    for cell in cells:
        results, limits = compare(cell, peers, threads, rounds, seconds)
        rows.append(Row(cell, results, limits))
        print_rows(rows[-1:])
    return rows


def main(arguments: list[str] | None = None) -> None:
    args = parsed(arguments)
    rows = run(cells(args), args.peers, args.threads, args.rounds, args.seconds)
    if args.json:
        write_json(args.json, rows, args.threads)
    if args.plot:
        write_plot(args.plot, rows, args.threads)


if __name__ == "__main__":
    main()
