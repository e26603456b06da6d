"""`anygru train`: runs, resumed runs, several processes, signals, and every bad input."""

import contextlib
import csv
import errno
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.torch
import torch
from cli.command_line import TINY, start

from anygru_lab.language_model import session
from anygru_lab.language_model.checkpoint import RunFolder
from anygru_lab.language_model.progress import Screen

HERE = Path(__file__).parent


def losses(folder):
    """The numbers of loss.csv, with every digit."""
    with open(folder / "loss.csv") as lines:
        return list(csv.reader(lines))


# A whole run


def test_a_run_leaves_its_files_and_nothing_else(finished):
    names = sorted(path.name for path in finished.iterdir() if path.name not in ("printed", "said"))
    index = json.loads((finished / "checkpoint.json").read_text())
    expected = [
        ".lock",
        "checkpoint.json",
        "loss.csv",
        "loss.png",
        index["state"]["file"],
        index["best"]["file"]["file"],
    ]
    assert names == sorted(expected)
    assert (finished / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_reports_what_it_did(finished):
    said = (finished / "said").read_text()
    assert "held out: " in said
    assert "anygru.GRU(4, 8, 1)" in said
    assert [line.split("/")[0] for line in said.splitlines() if line.startswith("step")] == [
        "step 2",
        "step 4",
        "step 6",
    ]
    assert "tokens/s" in said
    printed = (finished / "printed").read_text()
    assert "xz -9e alone" in printed
    assert "xz -9e that has seen the training text first" in printed
    assert "sample at temperature" in printed


def test_the_loss_falls_and_the_best_model_is_kept(finished):
    rows = losses(finished)
    assert rows[0] == ["step", "training", "held_out"]
    assert [row[0] for row in rows[1:]] == list("123456")
    assert float(rows[1][1]) > float(rows[6][1])
    held_out = {int(row[0]): float(row[2]) for row in rows[1:] if row[2]}
    best = json.loads((finished / "checkpoint.json").read_text())["best"]
    assert sorted(held_out) == [2, 4, 6]
    assert held_out[best["step"]] == best["bits_per_byte"] == min(held_out.values())


def test_xz_is_measured_on_the_held_out_bytes(text):
    import lzma

    from anygru_lab.language_model import corpus, report

    found = corpus.load([str(text)])
    alone, after = report.compressed(found)
    held_out = b"".join(document.data for document in found.held_out)
    assert alone * len(held_out) / 8 == pytest.approx(len(lzma.compress(held_out, preset=9)), abs=16)
    assert after < alone


def test_the_same_seed_gives_the_same_losses_and_another_does_not(train, tmp_path, finished):
    assert train("--steps", 6, "--every", 2).status == 0
    assert losses(tmp_path / "run") == losses(finished)
    assert train("--steps", 6, "--every", 2, "--seed", 1, "--out", tmp_path / "other").status == 0
    assert losses(tmp_path / "other") != losses(finished)


def test_torch_and_anygru_layers_train_alike(train, tmp_path, finished):
    assert train("--steps", 6, "--every", 2, "--layer", "torch").status == 0
    expected, found = losses(finished), losses(tmp_path / "run")
    for one, other in zip(expected[1:], found[1:], strict=True):
        assert float(one[1]) == pytest.approx(float(other[1]), rel=1e-4)


@pytest.fixture
def clock(monkeypatch):
    """A clock on which each step takes 5 ms."""
    ticks = itertools.count()
    monkeypatch.setattr(session, "time", SimpleNamespace(perf_counter=lambda: next(ticks) * 0.005))


def test_seconds_become_steps(train, tmp_path, clock):
    result = train("--seconds", 0.5)
    assert result.status == 0
    index = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    assert index["steps"] == index["step"] == len(losses(tmp_path / "run")) - 1
    # the rest of the time after the timed steps and the validations
    assert index["steps"] == pytest.approx(0.5 / 0.005 - session.TIMED_STEPS - session.VALIDATIONS, abs=1)
    assert "timing a few steps" in result.error


def test_timing_leaves_no_trace_in_the_losses(train, tmp_path, clock):
    train("--seconds", 0.5, "--dropout", 0.5)
    timed = losses(tmp_path / "run")
    steps = str(len(timed) - 1)
    train("--steps", steps, "--dropout", 0.5, "--out", tmp_path / "plain")
    assert losses(tmp_path / "plain") == timed


# Resuming


def interrupt_after(step, monkeypatch, number=signal.SIGINT):
    """Send this process a signal once the given step is done."""
    original = Screen.step

    def with_signal(self, done, bits):
        original(self, done, bits)
        if done == step:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Screen, "step", with_signal)


OPTIONS = ("--steps", 9, "--every", 4, "--layers", 2, "--dropout", 0.2)


@pytest.mark.parametrize(("step", "number"), [(1, signal.SIGINT), (4, signal.SIGTERM), (6, signal.SIGINT)])
def test_an_interrupted_run_resumes_bit_for_bit(train, tmp_path, monkeypatch, step, number):
    assert train(*OPTIONS, "--out", tmp_path / "whole").status == 0
    with monkeypatch.context() as patch:
        interrupt_after(step, patch, number)
        result = train(*OPTIONS)
    assert result.status == 128 + number
    assert f"stopped by {signal.Signals(number).name}; saved up to step {step + 1}" in result.out
    assert f"anygru train --out {tmp_path / 'run'} --resume" in result.out
    result = train("--resume")
    assert result.status == 0
    assert f"going on from step {step + 1} of 9" in result.out
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")
    weights = [RunFolder(tmp_path / name).read().best for name in ("run", "whole")]
    assert weights[0] == weights[1]


def test_the_handlers_of_signals_are_put_back(train, monkeypatch):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    train("--steps", 1)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_finished_run_can_be_extended(train, copy):
    result = train("--resume", "--steps", 8, "--out", copy)
    assert result.status == 0
    assert [row[0] for row in losses(copy)[1:]] == list("12345678")
    assert "lowered for a run of 6 steps; a new run of 8 steps (--fresh) usually ends with a lower loss" in result.out


def test_resuming_a_finished_run_reports_again(train, copy):
    before = losses(copy)
    result = train("--resume", "--out", copy)
    assert result.status == 0
    assert "finished" in result.out
    assert losses(copy) == before


def test_an_unfinished_run_goes_on_without_being_asked(train, tmp_path, monkeypatch, finished):
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        assert train("--steps", 6, "--every", 2).status == 130
    result = train("--steps", 6, "--every", 2)
    assert "going on from step 4 of 6" in result.out
    assert "--fresh would start over" in result.out
    assert losses(tmp_path / "run") == losses(finished)


def test_fresh_starts_an_unfinished_run_over(train, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        assert train("--steps", 6).status == 130
    with monkeypatch.context() as patch:
        patch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
        assert "going on from step 4 of 6" in train("--steps", 6, "--fresh").out  # a launcher's second attempt
    assert len(losses(tmp_path / "run")) == 1 + 6
    assert train("--steps", 2, "--fresh").status == 0
    assert len(losses(tmp_path / "run")) == 1 + 2
    assert len(losses(tmp_path / "run" / "previous")) == 1 + 6


def test_a_finished_run_is_kept_when_another_starts_in_its_place(anygru, train, copy):
    before = losses(copy)
    result = train("--steps", 2, "--out", copy)
    assert result.status == 0
    assert "holds a run: starting a new one" in result.out
    assert losses(copy / "previous") == before
    assert len(losses(copy)) == 1 + 2
    assert anygru("sample", copy / "previous", "--length", 5).status == 0


def test_a_folder_serves_one_training_at_a_time(train, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.prepare()
    with folder.locked():
        result = train("--steps", 1)
    assert result.status == 2
    assert "another training is writing into" in result.error


# Kills


def killed_at_every_write(tmp_path, text, stride):
    command = [sys.executable, HERE / "kill_at_every_write.py", tmp_path, stride, "train", text, *TINY]
    command += ["--steps", 4, "--every", 2]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    for instant, killed, resumed, same, orphans in lines[:-1]:
        assert (instant, killed, resumed, same, orphans) == (instant, "-9", "0", "True", "0"), result.stderr
    assert lines[-1][1:] == ["0", "0", "True", "0"]
    return len(lines)


def test_killed_in_some_writes_a_run_resumes_to_the_same_losses(tmp_path, text):
    assert killed_at_every_write(tmp_path, text, stride=29) > 2


@pytest.mark.slow
def test_killed_in_any_write_a_run_resumes_to_the_same_losses(tmp_path, text):
    assert killed_at_every_write(tmp_path, text, stride=1) > 60


@pytest.mark.slow
def test_killed_at_random_again_and_again_a_run_ends_as_it_would_have(tmp_path, text):
    options = [text, *TINY, "--steps", 600, "--every", 3, "--dropout", 0.1, "--layers", 2]
    whole, run = tmp_path / "whole", tmp_path / "run"
    process = start("train", *options, "--out", whole)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    moments = np.random.default_rng(0)
    killed = 0
    for _ in range(20):
        process = start("train", *options, "--out", run)
        try:
            process.communicate(timeout=2.5 + 2 * moments.random())
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
        else:
            assert process.returncode == 0
            break
    else:  # a machine may be too slow to end in one of these times
        process = start("train", *options, "--out", run)
        _, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
    assert killed > 0
    assert losses(run) == losses(whole)


def test_ctrl_c_in_a_terminal(tmp_path, text):
    process = start("train", text, *TINY, "--steps", 100_000, "--every", 20, "--out", tmp_path / "run")
    for line in process.stderr:
        if line.startswith("step"):
            break
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "stopped by SIGINT; saved up to step" in out
    assert "Traceback" not in error


# Several processes


def test_two_processes_train_as_one_does(train, tmp_path, text):
    options = ["--steps", 8, "--every", 3, "--layers", 2, "--dropout", 0.3]
    assert train(*options).status == 0
    process = start("train", text, *TINY, *options, "--nproc", 2, "--out", tmp_path / "two")
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    expected, found = losses(tmp_path / "run"), losses(tmp_path / "two")
    assert len(found) == 1 + 8
    for one, other in zip(expected[1:], found[1:], strict=True):
        for a, b in zip(one, other, strict=True):
            assert a == b == "" or float(a) == pytest.approx(float(b), rel=2e-5)


def workers_of(process):
    """Process numbers of the workers, once there are two."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        with contextlib.suppress(OSError):  # the process ended between two reads
            pids = [int(pid) for pid in children.read_text().split()]
            workers = [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            if len(workers) == 2:
                return workers
        time.sleep(0.05)
    raise AssertionError(process.communicate()[1])


def started_in_two(tmp_path, text):
    """A long run in two processes that has begun to train, and its workers."""
    process = start("train", text, *TINY, "--steps", 1_000_000, "--every", 50, "--nproc", 2, "--out", tmp_path / "run")
    workers = workers_of(process)
    for line in process.stderr:
        if line.startswith("step"):
            return process, workers
    raise AssertionError(process.communicate())


linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")


@linux
def test_a_worker_that_dies_takes_the_job_down(tmp_path, text):
    process, workers = started_in_two(tmp_path, text)
    os.kill(workers[1], signal.SIGKILL)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "anygru train: error: worker 1 was killed by SIGKILL; saved up to step" in error.splitlines()[-1]
    assert "Traceback" not in error
    assert all_gone(workers)


@linux
@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path, text):
    process, workers = started_in_two(tmp_path, text)
    process.kill()
    process.communicate(timeout=600)
    assert all_gone(workers)


@linux
@pytest.mark.slow
def test_ctrl_c_stops_two_processes_and_one_resumes(tmp_path, text, train):
    process, workers = started_in_two(tmp_path, text)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=600)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert all_gone(workers)
    step = RunFolder(tmp_path / "run").read().step
    assert f"saved up to step {step:,}" in out
    assert train("--resume", "--nproc", 1, "--steps", step + 2).status == 0


def all_gone(pids):
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}").exists() and "Z" not in state(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_an_error_of_the_user_in_a_worker_is_one_line(tmp_path, text):
    from anygru.cli import UsageError
    from anygru_lab.language_model.processes import _outcome
    from anygru_lab.language_model.trainer import ConnectionLost

    with pytest.raises(UsageError, match="the cause"):
        _outcome([ConnectionLost("gone"), UsageError("the cause")])
    with pytest.raises(ConnectionLost):
        _outcome([ConnectionLost("gone")])


# Bad input


def only_line(result, *words):
    assert result.status == 2, result
    assert result.error.startswith("anygru train: error: ")
    assert result.error.count("\n") == 1
    for word in words:
        assert word in result.error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--hidden", 0], "--hidden must be from 1 to 65536, got 0"),
        (["--hidden", -3], "--hidden must be from 1 to 65536, got -3"),
        (["--layers", 0], "--layers must be from 1 to 64, got 0"),
        (["--embedding", 0], "--embedding must be from 1"),
        (["--batch", 0], "--batch must be from 1"),
        (["--bptt", 0], "--bptt must be from 1"),
        (["--steps", 0], "--steps must be at least 1, got 0"),
        (["--steps", 5, "--seconds", 5], "--steps and --seconds both set the length"),
        (["--seconds", 0], "--seconds must be at least 0.1, got 0.0"),
        (["--seconds", "nan"], "--seconds must be a finite number, got nan"),
        (["--seconds", "inf"], "--seconds must be a finite number, got inf"),
        (["--lr", -1], "--lr must be from 0 to 1000, got -1.0"),
        (["--lr", "nan"], "--lr must be"),
        (["--dropout", 1], "--dropout must be from 0 to 0.99, got 1.0"),
        (["--clip", 0], "--clip must be at least"),
        (["--warmup", -1], "--warmup must be at least 0, got -1"),
        (["--every", 0], "--every must be at least 1, got 0"),
        (["--seed", -1], "--seed must be from 0 to 9223372036854775807, got -1"),
        (["--threads", 0], "--threads must be from 1"),
        (["--nproc", 0], "--nproc must be from 1"),
        (["--nproc", 4], "--nproc 4 is more than --batch 3"),
        (["--backend", "abacus"], "backend must be one of"),
        (["--backend", "reference", "--layer", "torch"], "--backend reference belongs to --layer anygru"),
        (["--layer", "lstm"], "argument --layer: invalid choice: 'lstm'"),
        (["--resume", "--fresh"], "not allowed with argument"),
        (["--batch", "3.5"], "argument --batch: invalid int value: '3.5'"),
    ],
)
def test_a_bad_option_is_named(train, tmp_path, arguments, words):
    before = set(tmp_path.rglob("*.safetensors"))
    only_line(train(*arguments), words)
    assert set(tmp_path.rglob("*.safetensors")) == before


def test_a_backend_refuses_before_a_file_is_written(train, copy):
    before = sorted(copy.iterdir())
    only_line(train("--backend", "cudnn", "--steps", 1, "--out", copy), "cudnn")
    assert sorted(copy.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("absent", None, "there is no file"),
        ("empty.txt", b"", "is empty"),
        ("short.bin", b"\0\1\2", "the text is too short"),
    ],
)
def test_a_bad_text_is_named(anygru, tmp_path, name, contents, words):
    path = tmp_path / name
    if contents is not None:
        path.write_bytes(contents)
    only_line(anygru("train", path, "--out", tmp_path / "run"), words)
    only_line(anygru("train", path, "--out", tmp_path / "run", "--nproc", 2), words)
    (tmp_path / "own").mkdir()
    only_line(anygru("train", path, "--out", tmp_path / "own"), words)
    only_line(anygru("train", path, "--out", tmp_path / "own/a/run"), words)
    assert {each.name for each in tmp_path.rglob("*")} <= {name, "own"}  # no lock, no folder


def test_an_output_folder_that_cannot_be_written_is_named(train, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    only_line(train("--out", file), f"--out {file}: it is not a folder")
    only_line(train("--out", file / "below"), "cannot write into", "Not a directory")
    only_line(train("--out", ""), "--out must not be empty")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        closed = Path("/proc/self")  # root may write anywhere but here
    only_line(train("--out", closed), "cannot write into")


def test_a_full_disk_is_named_with_the_way_to_go_on(train, copy, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RunFolder, "save", full)
    result = train("--out", copy, "--resume", "--steps", 40)
    assert result.status == 1
    line = result.error.splitlines()[-1]
    assert line.startswith(f"anygru train: error: {copy}: No space left on device; saved up to step ")
    assert line.endswith(f"go on with: anygru train --out {copy} --resume")


def test_what_a_kill_left_unfinished_goes_with_the_next_checkpoint(train, copy):
    for name in ("loss.csv", "loss.png", ".writable", "checkpoint.json", "state-1.safetensors"):
        (copy / f".{name}.abcd1234.tmp").write_text("half")
    assert train("--out", copy, "--resume", "--steps", 40).status == 0
    assert not list(copy.glob("*.tmp"))


def test_there_must_be_a_run_to_resume(train, tmp_path):
    only_line(train("--resume"), "there is no run to resume in")


def test_a_resumed_run_keeps_its_options(train, copy):
    only_line(
        train("--resume", "--hidden", 9, "--steps", 9, "--out", copy),
        "holds a run at step 6 of 6, which cannot go on with --hidden 9 (was 8)",
        "--fresh",
    )
    only_line(train("--resume", "--steps", 3, "--out", copy), "--steps 3 is less than the 6 steps")


def test_a_resumed_run_keeps_its_text(anygru, train, copy, tmp_path):
    other = tmp_path / "other.txt"
    other.write_bytes(b"something else\n" * 100)
    only_line(anygru("train", other, "--resume", "--out", copy), "cannot go on with other texts")


def test_a_text_that_has_changed_is_noticed(anygru, text, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_bytes(text.read_bytes())
    assert anygru("train", mine, *TINY, "--steps", 2, "--out", tmp_path / "run").status == 0
    mine.write_bytes(text.read_bytes() + b"!")
    result = anygru("train", "--resume", "--steps", 4, "--out", tmp_path / "run")
    only_line(result, "the text differs from the text that the run was started with")


def index_and_tensors(folder):
    index = folder / "checkpoint.json"
    return index, folder / json.loads(index.read_text())["state"]["file"]


@pytest.mark.parametrize("keep", [0, 1, 100, -2])
def test_a_truncated_index_is_damaged(train, copy, keep):
    index, _ = index_and_tensors(copy)
    index.write_bytes(index.read_bytes()[:keep])
    only_line(train("--resume", "--out", copy), str(index), "damaged")
    only_line(train("--steps", 9, "--out", copy), str(index), "damaged")
    assert train("--steps", 1, "--fresh", "--out", copy).status == 0


@pytest.mark.parametrize(
    "contents", [b"[]", b"null", b'{"format": "anygru train, 1"}', b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}']
)
def test_an_index_of_another_kind_is_damaged(train, copy, contents):
    index, _ = index_and_tensors(copy)
    index.write_bytes(contents)
    only_line(train("--resume", "--out", copy), str(index), "damaged")


def test_an_edited_index_is_damaged(train, copy):
    index, _ = index_and_tensors(copy)
    for old, new in [('"step": 6', '"step": 5'), ('"hidden": 8', '"hidden": 9'), ('"sha256": "', '"sha256": "0')]:
        text = index.read_text()
        assert old in text
        index.write_text(text.replace(old, new, 1))
        only_line(train("--resume", "--out", copy), str(index), "do not match its digest")
        index.write_text(text)


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "longer", "absent"])
def test_damaged_tensors_are_noticed(train, copy, damage):
    _, tensors = index_and_tensors(copy)
    data = bytearray(tensors.read_bytes())
    if damage == "absent":
        tensors.unlink()
    else:
        data[len(data) // 2] ^= 1
        changed = {"truncated": data[:-100], "empty": b"", "flipped": data, "longer": data + b"x"}[damage]
        tensors.write_bytes(changed)
    only_line(train("--resume", "--steps", 9, "--out", copy), str(tensors))


def test_a_loss_that_is_not_finite_stops_the_run(train, tmp_path):
    result = train("--steps", 400, "--every", 1, "--lr", 1000, "--clip", 1e30, "--warmup", 0)
    if result.status == 0:
        pytest.skip("the model survived")
    assert result.status == 1
    assert "the loss is no longer finite" in result.error
    assert "try a lower --lr than 1000" in result.error


def test_checkpoints_are_plain_safetensors(finished):
    folder = RunFolder(finished)
    progress = folder.read()
    tensors = safetensors.torch.load_file(finished / progress.state.file)
    weights = safetensors.torch.load_file(finished / progress.best.file.file)
    assert {f"model.{name}" for name in weights} <= set(tensors)
    assert weights["gru.weight_hh_l0"].shape == (24, 8)
    assert tensors["lanes.state"].shape == (1, 3, 8)
    assert tensors["history.training"].dtype == torch.float64


# Older checkpoints


def indices(folder):
    return sorted(path.name for path in folder.glob("checkpoint*.json"))


def test_keep_keeps_older_checkpoints_with_their_files(train, tmp_path):
    folder = tmp_path / "run"
    assert train("--steps", 8, "--every", 2, "--keep", 3).status == 0
    assert indices(folder) == ["checkpoint-00000004.json", "checkpoint-00000006.json", "checkpoint.json"]
    named = set()
    for name in indices(folder):
        index = json.loads((folder / name).read_text())
        named |= {index["state"]["file"], index["best"]["file"]["file"]}
    assert {path.name for path in folder.glob("*.safetensors")} == named
    assert train("--resume", "--steps", 10, "--keep", 1).status == 0
    assert indices(folder) == ["checkpoint.json"]


@pytest.mark.parametrize("damaged", ["checkpoint.json", "state"])
def test_an_older_checkpoint_is_used_if_the_newest_is_damaged(train, tmp_path, damaged):
    assert train("--steps", 9, "--every", 3, "--out", tmp_path / "whole").status == 0
    assert train("--steps", 9, "--every", 3, "--keep", 2).status == 0
    folder = tmp_path / "run"
    index, state = index_and_tensors(folder)
    path = index if damaged == "checkpoint.json" else state
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    result = train("--resume")
    assert result.status == 0, result
    assert "damaged" in result.out
    assert "going on from the older checkpoint of step 6" in result.out
    assert losses(folder) == losses(tmp_path / "whole")
    assert json.loads(index.read_text())["step"] == 9


def test_there_is_an_error_if_no_checkpoint_is_whole(train, tmp_path):
    assert train("--steps", 6, "--every", 3, "--keep", 2).status == 0
    for name in indices(tmp_path / "run"):
        (tmp_path / "run" / name).write_text("{")
    only_line(train("--resume"), "checkpoint.json", "damaged")


@pytest.mark.parametrize(
    "changes",
    [
        {"step": "1"},
        {"step": True},
        {"steps": -1},
        {"seconds": 10**400},
        {"corpus": None},
        {"texts": "abc"},
        {"texts": [1]},
        {"options": []},
        {"state": None},
        {"state": {"file": "../../secret.safetensors", "bytes": 1, "sha256": ""}},
        {"state": {"file": 5, "bytes": 1, "sha256": ""}},
        {"state": {"file": "state-00000001-0123456789ab.safetensors", "bytes": "1", "sha256": ""}},
        {"best": 5},
        {"best": {"step": 1}},
        {"best": {"step": 1, "bits_per_byte": "x", "file": None}},
        {"more": 1},
    ],
)
def test_an_index_of_wrong_types_is_damaged(train, copy, changes):
    from anygru_lab.language_model.index import digest

    index, _ = index_and_tensors(copy)
    contents = json.loads(index.read_text()) | changes
    del contents["digest"]
    index.write_text(json.dumps({**contents, "digest": digest(contents)}))
    only_line(train("--resume", "--out", copy), str(index), "damaged")
