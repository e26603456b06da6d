"""Random damage and random bytes: anything but a checkpoint or a CheckpointError is a bug.

The quick part runs with the other tests. The long part, `pytest -m slow tests/checkpoints/test_fuzz.py`, goes on for
ANYGRU_FUZZ_SECONDS (120) with atheris where it can be imported, guided by coverage, else with hypothesis. What it finds goes into
FINDS, which is tried at every run.
"""

from __future__ import annotations

import importlib.util
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import ENDINGS

import anygru
from anygru.checkpoints import format_module, save_checkpoint
from anygru.checkpoints.budget import Budget
from anygru.errors import CheckpointError

SECONDS = float(os.environ.get("ANYGRU_FUZZ_SECONDS", "120"))

#: Files that once gave something else than a CheckpointError.
FINDS: dict[str, tuple[str, bytes]] = {
    "an empty array with an axis beyond NumPy's bounds": (
        "mxnet",
        struct.pack("<QQQ", 0x112, 0, 1)
        + struct.pack("<Iiiqqiii", 0xF993FAC9, 0, 2, 0, 1 << 62 >> 1, 1, 0, 0)
        + struct.pack("<Q", 0),
    ),
}


def samples(folder: Path) -> dict[str, bytes]:
    """A small file of each format (of OneFlow the pickle)."""
    net = torch.nn.Module()
    net.gru = anygru.GRU(1, 1)
    files = {}
    for format, ending in ENDINGS.items():
        path = folder / ("model" + ending)
        save_checkpoint(net, path)
        files[format] = (path / "pickled_data" if path.is_dir() else path).read_bytes()
    return files


def attempt(format: str, path: Path, data: bytes) -> None:
    """Read damaged bytes as a format."""
    target = path
    if format == "oneflow":
        path.mkdir(exist_ok=True)
        target = path / "pickled_data"
    target.write_bytes(data)
    try:
        format_module(format).read(path, Budget(path))
    except CheckpointError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the error does not name the file: {error}") from error


edits = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=6)


def damaged(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """Replace so many bytes at each place by others."""
    for place, length, new in changes:
        place %= len(data) or 1
        data = data[:place] + new + data[place + length :]
    return data


@pytest.mark.parametrize("name", FINDS)
def test_old_find(name: str, tmp_path: Path) -> None:
    format, data = FINDS[name]
    attempt(format, tmp_path / "file", data)


@pytest.mark.parametrize("format", ENDINGS)
def test_a_little_damage(format: str, tmp_path: Path) -> None:
    run_hypothesis(format, tmp_path, examples=60)


def run_hypothesis(format: str, folder: Path, examples: int, until: float | None = None) -> None:
    """Try random damage and random bytes."""
    good = samples(folder)[format]
    head = good[:16]

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(edits.map(lambda changes: damaged(good, changes)), st.binary(max_size=200).map(head.__add__)))
    def check(data: bytes) -> None:
        if until is None or time.monotonic() < until:
            attempt(format, folder / f"damaged_{format}", data)

    check()


_ATHERIS = """
import sys, pathlib
import atheris
with atheris.instrument_imports(include=["anygru.checkpoints"]):
    from anygru.checkpoints import format_module
sys.path[:0] = [{here!r}]
from test_fuzz import attempt
place = pathlib.Path({place!r})
atheris.Setup([sys.argv[0], "-max_total_time={seconds}", "-rss_limit_mb=1024", "-max_len=4096", {corpus!r}],
              lambda data: attempt({format!r}, place, data))
atheris.Fuzz()
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", ENDINGS)
def test_a_lot_of_damage(format: str, tmp_path: Path) -> None:
    seconds = SECONDS / len(ENDINGS)
    if importlib.util.find_spec("atheris") is None:
        run_hypothesis(format, tmp_path, examples=1_000_000, until=time.monotonic() + seconds)
        return
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "good").write_bytes(samples(tmp_path)[format])
    program = _ATHERIS.format(
        here=str(Path(__file__).parent),
        place=str(tmp_path / "damaged"),
        seconds=max(1, int(seconds)),
        corpus=str(corpus),
        format=format,
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
