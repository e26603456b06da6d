"""`python -m oneflow.distributed.launch`: OneFlow's command line for torchrun."""

import argparse
import sys
from collections.abc import Sequence

from anygru.parallel import launch  # absolute: `python -m` runs this file as part of the package `oneflow`


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the processes and give the exit status of the first to fail, or 0."""
    parser = argparse.ArgumentParser(prog="python -m oneflow.distributed.launch")
    parser.add_argument("--nnodes", type=int, default=1, help="how many machines")
    parser.add_argument("--node_rank", type=int, default=0, help="which of them this is")
    parser.add_argument("--nproc_per_node", type=int, default=1, help="how many processes on each")
    parser.add_argument("--master_addr", default="127.0.0.1", help="the address of machine 0")
    parser.add_argument("--master_port", type=int, default=29500, help="a free port there")
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module's name")
    parser.add_argument("--no_python", action="store_true", help="the script is a program")
    parser.add_argument("--redirect_stdout_and_stderr", action="store_true", help="write output to files in --logdir")
    parser.add_argument("--logdir", default="log", help="the folder for output")
    parser.add_argument("training_script", help="the program of each process")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    flags = ["--module"] if options.module else ["--no-python"] if options.no_python else []
    command = [
        f"--nnodes={options.nnodes}",
        f"--node-rank={options.node_rank}",
        f"--nproc-per-node={options.nproc_per_node}",
        f"--master-addr={options.master_addr}",
        f"--master-port={options.master_port}",
        *flags,
        options.training_script,
        *options.training_script_args,
    ]
    return launch(command, log_dir=options.logdir if options.redirect_stdout_and_stderr else None)


if __name__ == "__main__":
    sys.exit(main())
