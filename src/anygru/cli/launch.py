"""Start the processes of a distributed job, on one machine or many, with restarts: torchrun, its options and defaults.
The workers import Paddle, OneFlow, MXNet and Chainer as under `anygru run`.
"""

import argparse
import os

from .. import dialects
from ..parallel.launch import run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare torchrun's arguments."""
    from torch.distributed.run import get_args_parser

    for action in get_args_parser()._actions:
        if "--help" not in action.option_strings:
            parser._add_action(action)


def main(args: argparse.Namespace) -> int:
    """Run the job and return its exit status."""
    return run(args, environment=dialects.environment(os.environ))
