"""paddle.distributed and paddle.DataParallel, through the commands that users type."""

import importlib
import json
import lzma
import multiprocessing
import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import paddle_two_processes
import pytest
import test_random_programs
import torch

from anygru.dialects.finder import install
from anygru.parallel import World
from anygru_paddle.distributed.environment import place, set_torch_variables
from anygru_paddle.distributed.launch import main as launcher

HERE = Path(__file__).parent
RUN = [sys.executable, "-m", "anygru", "run"]


def run(*arguments, cwd):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}  # one GPU is too few for two
    return subprocess.run(
        [*RUN, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.slow  # a conformance program spawns two processes in every run
def test_spawn_as_on_paddles_page(tmp_path):
    done = run(str(HERE / "paddle_spawned.py"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done 0 1\n"), done.stderr


@pytest.mark.slow
def test_launch_as_on_paddles_page(tmp_path):
    arguments = ["-m", "paddle.distributed.launch", "--gpus=0,1", str(HERE / "paddle_launched.py"), "--lr", "0.1"]
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout == (tmp_path / "log" / "workerlog.0").read_text()
    assert done.stdout.endswith("done 0\n")
    assert (tmp_path / "log" / "workerlog.1").read_text().endswith("done 1\n")


def different(codes, recorded, path, monkeypatch):
    """The programs whose answers, in files with the rank behind `path`, are not Paddle's."""
    monkeypatch.setitem(test_random_programs.TOLERANCE, "float32", 5e-3)
    found = []
    for rank, theirs in enumerate(recorded):
        mine = json.loads(Path(f"{path}.{rank}").read_text())
        rows = zip(codes, mine, theirs, strict=True)
        found += [code for code, one, other in rows if not test_random_programs.agree(one, other)]
    return found


@pytest.mark.slow
def test_programs_of_two_processes_train_as_in_paddle(tmp_path, monkeypatch):
    """Programs and recorded answers of `paddle_two_processes.py`: both processes have Paddle's numbers."""
    codes, *recorded = json.loads(lzma.decompress((HERE / "paddle_two_processes.json.xz").read_bytes()))
    assert len(codes) == 40
    (tmp_path / "codes").write_text(json.dumps(codes))
    done = run(str(HERE / "paddle_two_processes.py"), "answer", "codes", str(tmp_path / "answers"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert different(codes, recorded, tmp_path / "answers", monkeypatch) == []


def _answer_in_a_fork(rank, ends, codes, path):
    torch.set_num_threads(1)  # the threads of the parent are not in its fork
    os.environ |= {"PADDLE_TRAINER_ID": rank, "PADDLE_TRAINERS_NUM": "2", "PADDLE_TRAINER_ENDPOINTS": ends}
    install()
    paddle_two_processes.answer(codes, path)


def test_one_program_of_two_processes_trains_as_in_paddle(tmp_path, monkeypatch):
    """The first of these programs, in two forks of this process: they import nothing, and have the launcher's variables."""
    codes, *recorded = json.loads(lzma.decompress((HERE / "paddle_two_processes.json.xz").read_bytes()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        ends = ",".join(f"127.0.0.1:{free.getsockname()[1] + rank}" for rank in (0, 1))
    importlib.import_module("torch._dynamo")  # DataParallel needs it; here both forks have it
    fork = multiprocessing.get_context("fork")
    started = [
        fork.Process(target=_answer_in_a_fork, args=(rank, ends, codes[:1], str(tmp_path / "answers"))) for rank in "01"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
        for process in started:
            process.start()
    for process in started:
        process.join(120)
    assert [process.exitcode for process in started] == [0, 0]
    assert different(codes[:1], [each[:1] for each in recorded], tmp_path / "answers", monkeypatch) == []


def torchrun_arguments(*arguments):
    return launcher.torchrun_arguments(launcher._parser().parse_args(arguments))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "--nproc_per_node 2 a.py --lr 1",
            "--nnodes 1 --nproc-per-node 2 --rdzv-id default --max-restarts 0 a.py --lr 1",
        ),
        ("--gpus=0,3,4 a.py", "--nnodes 1 --nproc-per-node 3 --rdzv-id default --max-restarts 0 a.py"),
        (
            "--nproc_per_node 1 --master 10.0.0.1:6070 --nnodes 2:4 --job_id j --max_restart 3 a.py",
            "--nnodes 2:4 --nproc-per-node 1 --rdzv-id j --rdzv-backend c10d --rdzv-endpoint 10.0.0.1:6070 "
            "--max-restarts 3 a.py",
        ),
        (
            "--nproc_per_node 1 --master 10.0.0.1:6070 --nnodes 2 --rank 1 --elastic_level 1 a.py",
            "--nnodes 2 --nproc-per-node 1 --rdzv-id default --node-rank 1 --master-addr 10.0.0.1 --master-port 6070 "
            "--max-restarts 3 a.py",
        ),
        (
            "--nproc_per_node 1 --ips 10.0.0.1,10.0.0.2 a.py",
            "--nnodes 2 --nproc-per-node 1 --rdzv-id default --rdzv-backend c10d --rdzv-endpoint 10.0.0.1:6070 "
            "--max-restarts 0 a.py",
        ),
        (
            "--nproc_per_node 1 ./job.sh",
            "--nnodes 1 --nproc-per-node 1 --rdzv-id default --max-restarts 0 --no-python ./job.sh",
        ),
    ],
)
def test_options_in_torchruns_words(given, expected):
    assert torchrun_arguments(*given.split()) == expected.split()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("--server_num 2 a.py", "--server_num is not covered"),
        ("--run_mode ps a.py", "--run_mode must be collective, got ps"),
        ("--master etcd://10.0.0.1:2379 --nnodes 2 a.py", "must be host:port"),
        ("--nnodes 2 a.py", "several machines need --master"),
    ],
)
def test_options_that_are_refused(given, words):
    with pytest.raises(SystemExit, match=words):
        torchrun_arguments(*given.split())


@pytest.fixture
def variables(monkeypatch):
    """The launchers' variables, none set; they are restored after the test."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch.setenv


def test_another_launchers_variables_are_understood(variables):
    variables("PADDLE_TRAINER_ID", "3")
    variables("PADDLE_TRAINERS_NUM", "4")
    variables("PADDLE_RANK_IN_NODE", "1")
    variables("PADDLE_LOCAL_SIZE", "2")
    variables("PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:6070,10.0.0.1:6071,10.0.0.2:6070,10.0.0.2:6071")
    assert place() == World(3, 4, 1, 2)
    set_torch_variables()
    assert (os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]) == ("10.0.0.1", "6070")
    assert place() == World(3, 4, 1, 2)


def test_a_meeting_point_is_needed(variables):
    variables("PADDLE_TRAINER_ID", "0")
    variables("PADDLE_TRAINERS_NUM", "2")
    variables("PADDLE_TRAINER_ENDPOINTS", "")
    with pytest.raises(ValueError, match="has the address of the rendezvous"):
        set_torch_variables()
