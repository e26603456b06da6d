"""Start the processes of a distributed job, on one machine or many, with restarts: torchrun, its options and defaults.
The workers import Paddle, OneFlow, MXNet and Chainer as under `anygru run`.
"""

import argparse
import os

from .. import dialects
from ..parallel.launch import parser, run
from . import existing
from .spinning import bounded
from .terminal import writable


def parents() -> list[argparse.ArgumentParser]:
    """Return torchrun's parser as the parent of this command's."""
    return [parser()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that torchrun does not have."""
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="how long a process waits for the others before the job ends (default: 120; 1800 under a dialect's names)",
    )


def main(args: argparse.Namespace) -> int:
    """Run the job and return its exit status."""
    if not (args.module or args.no_python):
        existing(args.training_script)
    if args.log_dir is not None:
        writable("--log-dir", args.log_dir, folder=True)
    return run(args, environment=bounded(dialects.environment(os.environ)))
