"""`anygru launch`: torchrun with dialects inside, an end that names the rank, and restarts that lose nothing."""

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import mostly_slow, needs_dialects

WARM = pytest.mark.usefixtures("warm_python")  # not where a signal or the whole of a launcher's life is the subject
RESUMABLE = Path(__file__).parent.parent / "parallel" / "train_resumable.py"


def launch(*arguments, cwd, **options):
    """Runs a job of two processes; the result also has the seconds it took."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        **options,
    )
    done.seconds = time.monotonic() - begin
    return done


@pytest.fixture
def program(tmp_path):
    def write(code):
        (tmp_path / "program.py").write_text(textwrap.dedent(code))
        return tmp_path / "program.py"

    return write


@WARM
@needs_dialects("paddle")
def test_workers_speak_the_dialects_and_a_failing_one_is_named(program, tmp_path):
    """Rank 1 fails after both have printed their results; rank 0 would wait for it for half an hour."""
    script = program(
        """
        import importlib.util, json, os, sys
        from anygru import parallel
        import torch.distributed as dist
        world = parallel.start()
        seen = [world.rank, world.size, os.environ["LOCAL_RANK"], importlib.util.find_spec("paddle").loader.actual]
        open(f"rank{world.rank}", "w").write(json.dumps(seen + sys.argv[1:]))
        dist.barrier()
        def load():
            raise ValueError("rank 1 has bad data")
        if world.rank == 1:
            load()
        dist.barrier()
        """
    )
    done = launch(script, "--lr", "0.1", cwd=tmp_path)
    for rank in range(2):
        seen = json.loads((tmp_path / f"rank{rank}").read_text())
        assert seen == [rank, 2, str(rank), "anygru_paddle", "--lr", "0.1"]
    assert done.returncode == 1
    report = done.stderr[done.stderr.rindex("anygru launch: rank 1 (local rank 1, process ") :]
    assert "ended with exit status 1" in report.splitlines()[0]
    assert 'in load\n      raise ValueError("rank 1 has bad data")\n  ValueError: rank 1 has bad data\n' in report


@pytest.mark.slow  # by default a training is killed and restarted: test_train_launched.py
def test_a_killed_worker_restarts_the_job_where_it_was(tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    alone.mkdir()
    together.mkdir()
    subprocess.run([sys.executable, str(RESUMABLE), str(alone)], check=True, timeout=60)
    done = launch("--max-restarts", 1, RESUMABLE, together, 3, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = json.loads((alone / "losses.json").read_text())
    found = json.loads((together / "losses.json").read_text())
    assert expected["resumed_at"] == 0
    assert found["resumed_at"] == 3
    np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-12)


@WARM
@pytest.mark.parametrize(
    ("ending", "status", "words"),
    mostly_slow(
        [
            ("sys.exit(5)", 5, "ended with exit status 5\n"),
            ("os._exit(6)", 6, "ended with exit status 6\n"),
            ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by signal 9 (SIGKILL)"),
            ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "was killed by signal 11 (SIGSEGV)"),
            ("signal.signal(signal.SIGTERM, signal.SIG_IGN); raise KeyError('x')", 1, "ended with exit status 1\n"),
        ],
    ),
)
def test_every_end_of_a_worker_ends_the_job(ending, status, words, program, tmp_path):
    """Rank 0 fails by an exception because rank 1 has ended, and may be seen first."""
    script = program(
        f"""
        import os, signal, sys
        from anygru import parallel
        import torch.distributed as dist
        if parallel.start().rank == 1:
            {ending}
        dist.barrier()
        """
    )
    done = launch(script, cwd=tmp_path)
    assert done.returncode == status
    assert "anygru launch: rank 1 (local rank 1, process " in done.stderr
    assert words in done.stderr
    assert done.seconds < 60


@WARM
@pytest.mark.slow
def test_restarts_end(program, tmp_path):
    script = program("import sys; open('attempts', 'a').write('x'); sys.exit(4)")
    done = launch("--max-restarts", 2, script, cwd=tmp_path)
    assert done.returncode == 4
    assert 3 <= len((tmp_path / "attempts").read_text()) <= 6


@pytest.mark.slow
@pytest.mark.parametrize("meeting", ["static", "c10d"])
def test_two_machines(meeting, program, tmp_path):
    """Two launchers, as on two machines, one process each."""
    script = program(
        """
        import os
        from anygru import parallel
        import torch, torch.distributed as dist
        world = parallel.start()
        total = torch.tensor([world.rank + 1.0])
        dist.all_reduce(total)
        open(f"rank{world.rank}", "w").write(f"{world.size} {world.local_size} {total.item()}")
        """
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    launchers = []
    for node in range(2):
        where = (
            ["--node-rank", str(node), "--master-addr", "127.0.0.1", "--master-port", str(port)]
            if meeting == "static"
            else ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "job"]
        )
        command = [
            sys.executable,
            "-m",
            "anygru",
            "launch",
            "--nnodes",
            "2",
            "--nproc-per-node",
            "1",
            *where,
            str(script),
        ]
        launchers.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True))
    for process in launchers:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    for rank in range(2):
        assert (tmp_path / f"rank{rank}").read_text() == "2 1 3.0"


@pytest.mark.slow
def test_interrupting_the_launcher_ends_the_workers(program, tmp_path):
    script = program(
        "import os, time; open(f\"pid{os.environ['RANK']}\", 'w').write(str(os.getpid())); time.sleep(100)"
    )
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", str(script)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        files = [tmp_path / f"pid{rank}" for rank in range(2)]
        begin = time.monotonic()
        while not all(file.exists() and file.read_text() for file in files):
            assert time.monotonic() - begin < 60
            time.sleep(0.1)
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "anygru launch: ended by SIGTERM" in errors
    for file in files:
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)


STOPPING = """
import os, signal
import torch, torch.distributed as dist
dist.init_process_group("gloo")  # its own timeout is half an hour
if dist.get_rank() == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os.kill(os.getpid(), signal.SIGSTOP)
dist.all_reduce(torch.zeros(1))
dist.destroy_process_group()
"""


@WARM
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system which process is stopped")
@pytest.mark.parametrize("restarts", ["0", pytest.param("1", marks=pytest.mark.slow)])
def test_a_stopped_worker_is_named_and_ended(restarts, program, tmp_path):
    done = launch("--timeout", 4, "--max-restarts", restarts, program(STOPPING), cwd=tmp_path)
    assert done.returncode == (1 if restarts == "0" else 0), done.stderr
    if restarts == "0":
        words = r"anygru launch: rank 1 \(process \d+ on .*\) was stopped and did not answer"
        assert re.search(words, done.stderr)
    assert done.seconds < 4 + 15 + 15  # with the start of the processes


RESTARTING = """
import os, signal, sys, time
from datetime import timedelta
import torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=timedelta(seconds=30))
for step in range(8):
    if step == 3 and dist.get_rank() == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if sys.argv[1] == "raise":
            raise ValueError("once")
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.zeros(1))
open(f"finished{dist.get_rank()}", "w").close()
dist.destroy_process_group()
"""


@WARM
@pytest.mark.slow
@pytest.mark.parametrize("again", range(5))
@pytest.mark.parametrize("standalone", [True, False])
@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_program_that_connects_by_torch_restarts(how, standalone, again, program, tmp_path):
    """20 jobs: under torchrun 2.13 workers find the addresses of the attempt before, and a third of the jobs fail."""
    options = ["--standalone"] if standalone else []
    done = launch(*options, "--max-restarts", 2, program(RESTARTING), how, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"finished0", "finished1"} <= set(os.listdir(tmp_path))
    assert done.seconds < 30


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="bounds the size of files")
def test_an_error_is_kept_whole_or_not_at_all(tmp_path, monkeypatch):
    """The launcher ended with its own traceback where a full disk took a part of the file."""
    import resource

    from anygru.parallel import _worker

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "whole.json"))
    _worker._show_and_keep(ValueError, ValueError("bad data"), None)
    assert json.loads((tmp_path / "whole.json").read_text())["message"]["message"] == "ValueError: bad data"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "part.json"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            _worker._show_and_keep(ValueError, ValueError("bad data"), None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "part.json").exists()


def test_torchruns_options_and_help(capsys):
    from anygru.cli import main

    with pytest.raises(SystemExit):
        main(["launch", "--help"])
    shown = capsys.readouterr().out
    assert "--nproc-per-node" in shown
    assert "--max-restarts" in shown
    assert main(["launch", "--no-such-option", "x.py"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nproc-per-node", "abc"], "an option of torchrun does not fit: Unsupported nproc_per_node value: abc"),
        (["--nproc-per-node", "0"], "--nproc-per-node must be at least 1, got 0"),
        (["--nnodes", "x"], "an option of torchrun does not fit: invalid literal for int() with base 10: 'x'"),
        (["--nnodes", "3:2"], "an option of torchrun does not fit"),
        (["--max-restarts", "-1"], "an option of torchrun does not fit"),
        (["--timeout", "0"], "--timeout must be above 0 seconds, got 0.0"),
    ],
)
def test_a_number_that_makes_no_sense_is_one_line(arguments, words, capsys):
    from anygru.cli import main

    assert main(["launch", *arguments, __file__]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error


def test_a_missing_script_is_one_line(capsys):
    from anygru.cli import main

    assert main(["launch", "absent.py"]) == 2
    assert capsys.readouterr().err == "anygru launch: error: there is no file 'absent.py'\n"


LISTENING = """
import json, os, subprocess, sys
from anygru import parallel
def targets(folder):
    for fd in os.listdir(folder):
        try:
            yield os.readlink(f"{folder}/{fd}")
        except FileNotFoundError:
            pass  # closed by now
def listening():
    parallel.start()
    import torch, torch.distributed as dist
    dist.all_reduce(torch.zeros(1))
    inodes = {*targets("/proc/self/fd"), *targets(f"/proc/{os.getppid()}/fd")}
    found = []
    for table in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{table}").read().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                found.append(words[1].split(":")[0])
    dist.barrier()
    return found
"""


@WARM
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the sockets in /proc")
@pytest.mark.parametrize("way", mostly_slow(["launch", "restartable", "spawn"]))
def test_a_job_on_one_machine_listens_on_loopback_alone(way, program, tmp_path):
    if way == "spawn":
        script = program(
            LISTENING + "if __name__ == '__main__':\n    print(parallel.spawn(listening, nprocs=2).result(0))\n"
        )
        command = [sys.executable, str(script)]
    else:
        script = program(LISTENING + "print(listening(), flush=True)\n")
        restarts = ["--max-restarts", "1"] if way == "restartable" else []
        command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", *restarts, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Two processes write at the same time, so the ends of their lines may come together.
    assert set(re.findall(r"'(\w+)'", done.stdout)) == {"0100007F"}  # 127.0.0.1


@WARM
@pytest.mark.parametrize("status", mostly_slow([0, 3]))
def test_nothing_is_left_in_the_temporary_folder(status, tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "program.py").write_text(f"import sys\nsys.exit({status})\n")
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", str(tmp_path / "program.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == status, done.stderr
    assert os.listdir(tmp_path / "tmp") == []
