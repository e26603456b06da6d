"""Random damage and random bytes: the result is a checkpoint or a CheckpointError.

A bounded run is part of the other tests; `pytest -m slow .../test_fuzz.py` tries 3,000 mutations of each
format, `make fuzz MINUTES=10` goes on for that long, with seeds of its own, and `make fuzz-covered` by coverage. Each file is
read by a process of its own with limits on memory and time, so that a crash or a hang is a finding, too. Findings
stay in the folder `fuzz-findings`; a mended one goes into FINDS, which every run tries.
"""

import contextlib
import io
import os
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest
from fuzzing import SEEDS, Fuzzer, attempt, read

#: Files that once raised another error than a CheckpointError.
FINDS: dict[str, tuple[str, bytes]] = {
    "an empty array with an axis beyond NumPy's bounds": (
        "mxnet",
        struct.pack("<QQQ", 0x112, 0, 1)
        + struct.pack("<Iiiqqiii", 0xF993FAC9, 0, 2, 0, 1 << 62 >> 1, 1, 0, 0)
        + struct.pack("<Q", 0),
    ),
}

_WITHOUT_MXNET = find_spec("anygru_mxnet") is None
_FORMATS = [
    pytest.param(
        format,
        marks=pytest.mark.skipif(
            _WITHOUT_MXNET and format in ("block", "states", "symbol"), reason="needs anygru-mxnet"
        ),
    )
    for format in sorted(SEEDS)
]


@pytest.mark.parametrize("name", FINDS)
def test_old_find(name: str, tmp_path: Path) -> None:
    format, data = FINDS[name]
    assert attempt(format, tmp_path, data) is None


def fuzz(format: str, folder: Path, mutations: int) -> None:
    found = Fuzzer(format, folder, seed=mutations).run(mutations)
    assert not found, "\n".join(found)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork and limits on memory")
@pytest.mark.parametrize("format", _FORMATS)
def test_a_little_damage(format: str, tmp_path: Path) -> None:
    mutations = "60" if format == "block" else "150"  # each makes a net
    fuzz(format, tmp_path, int(os.environ.get("ANYGRU_FUZZ_MUTATIONS", mutations)))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork and limits on memory")
@pytest.mark.parametrize("format", _FORMATS)
def test_a_lot_of_damage(format: str, tmp_path: Path) -> None:
    fuzz(format, tmp_path, 3000)


def test_a_bug_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anygru.checkpoints.formats import mxnet

    def read(path: object, budget: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(mxnet, "read", read)
    found = Fuzzer("mxnet", tmp_path, seed=0).run(3)
    assert len(found) == 3
    assert "KeyError" in found[0]
    assert len(list(tmp_path.glob("mxnet-*.bin"))) == 3


def test_damage_gets_past_the_checksums_of_an_archive(tmp_path: Path) -> None:
    fuzzer = Fuzzer("keras", tmp_path, seed=0)
    whole = 0
    for _ in range(200):
        with contextlib.suppress(
            zipfile.BadZipFile, NotImplementedError, OSError, RuntimeError, ValueError, zlib.error
        ):
            whole += zipfile.ZipFile(io.BytesIO(fuzzer._mutated())).testzip() is None
    assert whole > 100


@pytest.mark.slow
def test_coverage_of_the_readers_is_seen(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    program = Path(__file__).with_name("covered_fuzzing.py")
    command = [sys.executable, str(program), "safetensors", "-runs=300"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    last = re.search(r"#\d+\s+DONE\s+cov: (\d+)", done.stderr)
    assert last, done.stderr[-2000:]
    assert int(last[1]) > 100


@pytest.mark.parametrize("format", _FORMATS)
def test_the_files_to_be_damaged_are_good(format: str, tmp_path: Path) -> None:
    for data in SEEDS[format](tmp_path):
        read(format, tmp_path / f"good-{format}", data)
