"""Paddle's launcher options, for torchrun."""

import argparse
import os
import sys
from collections.abc import Sequence

import torch

from anygru import dialects, parallel

_PARAMETER_SERVER = ("servers", "trainers", "trainer_num", "server_num", "gloo_port", "with_gloo")
_NOT_HONOURED = ("auto_parallel_config", "auto_tuner_json", *_PARAMETER_SERVER)
_DEFAULT_RESTARTS = 3


def launch() -> None:
    """Read the command line, run the job and exit with its status."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the job that the arguments describe; its exit status."""
    options = _parser().parse_args(arguments)
    environment = dialects.environment(os.environ) | {"PADDLE_DISTRI_BACKEND": "auto"}
    if options.devices and torch.cuda.is_available():
        environment["CUDA_VISIBLE_DEVICES"] = options.devices
    return parallel.launch(torchrun_arguments(options), environment=environment, log_dir=options.log_dir)


def torchrun_arguments(options: argparse.Namespace) -> list[str]:
    """The same job as arguments of torchrun.

    Raises SystemExit for options that torchrun lacks: parameter servers, etcd, automatic tuning.
    """
    for name in _NOT_HONOURED:
        if getattr(options, name) is not None:
            raise SystemExit(f"paddle.distributed.launch: --{name} is not covered by anygru; collective training is")
    if options.run_mode not in (None, "collective"):
        raise SystemExit(f"paddle.distributed.launch: --run_mode must be collective, got {options.run_mode}")
    if options.ips and "," in options.ips and options.master is None:
        machines = options.ips.split(",")
        options.nnodes, options.master = str(len(machines)), f"{machines[0]}:{options.start_port}"
    arguments = ["--nnodes", options.nnodes, "--nproc-per-node", str(_processes(options)), "--rdzv-id", options.job_id]
    arguments += _meeting_point(options)
    arguments += ["--max-restarts", str(_restarts(options))]
    if not options.training_script.endswith(".py"):
        arguments.append("--no-python")
    return [*arguments, options.training_script, *options.training_script_args]


def _processes(options: argparse.Namespace) -> int:
    if options.nproc_per_node is not None:
        return options.nproc_per_node
    return len(options.devices.split(",")) if options.devices else torch.cuda.device_count() or 1


def _restarts(options: argparse.Namespace) -> int:
    """Paddle restarts in its elastic mode; a number of restarts turns this on."""
    if options.max_restart is not None:
        return options.max_restart
    return _DEFAULT_RESTARTS if options.elastic_level >= 1 else 0


def _meeting_point(options: argparse.Namespace) -> list[str]:
    """Where several machines meet."""
    master = options.master
    if master is None:
        if options.nnodes not in ("1", "1:1"):
            raise SystemExit("paddle.distributed.launch: several machines need --master host:port")
        return []
    if "://" in master and not master.startswith("http://"):
        raise SystemExit(
            f"paddle.distributed.launch: --master must be host:port, got {master}; etcd is not covered by anygru"
        )
    endpoint = master.removeprefix("http://")
    host, _, port = endpoint.rpartition(":")
    if options.rank >= 0:  # this machine's number is given: the machines wait for exactly each other
        return ["--node-rank", str(options.rank), "--master-addr", host, "--master-port", port]
    return ["--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="paddle.distributed.launch",
        description="Start the processes of a distributed job, on one machine or on several.",
        allow_abbrev=False,
    )
    base = parser.add_argument_group("Base Parameters")
    base.add_argument("--master", help="where the machines meet, ip:port")
    base.add_argument("--rank", type=int, default=-1, help="this machine's number; -1 lets them agree on it")
    base.add_argument("--nnodes", default=os.environ.get("PADDLE_NNODES", "1"), help="machines, or MIN:MAX of them")
    base.add_argument("--nproc_per_node", type=int, help="processes a machine; one a device unless given")
    base.add_argument("--devices", "--gpus", dest="devices", help="the GPUs to use, such as 0,1")
    base.add_argument("--log_dir", default="log", help="folder of the processes' output (default: log)")
    base.add_argument("--run_mode", help="collective")
    base.add_argument("--job_id", default="default", help="one name for the job on all machines")
    base.add_argument("--ips", help="the machines, such as 10.10.1.1,10.10.1.2; the first is where they meet")
    base.add_argument("--start_port", type=int, default=6070, help="the port there, with --ips")
    for name in ("--legacy", "--log_level", "--log_overwrite", "--sort_ip", "--enable_gpu_log", "--host"):
        base.add_argument(name, help=argparse.SUPPRESS)  # they do not change results
    elastic = parser.add_argument_group("Elastic Parameters")
    elastic.add_argument("--max_restart", type=int, help="how often to start all processes again when one fails")
    elastic.add_argument("--elastic_level", type=int, default=-1, help="1 restarts failed jobs, 3 times by default")
    elastic.add_argument("--elastic_timeout", type=int, default=30, help=argparse.SUPPRESS)
    for name in _NOT_HONOURED:
        parser.add_argument("--" + name, help=argparse.SUPPRESS)
    parser.add_argument("training_script", help="the program that every process runs")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser
