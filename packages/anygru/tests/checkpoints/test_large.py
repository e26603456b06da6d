"""Large files are mapped: two gigabytes take little memory to convert and to look at."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ENDINGS

from anygru.checkpoints import load_checkpoint

GIGABYTE = 1 << 30
#: Resident memory beyond the page cache: the pages that the process has written to.
MOST_MEMORY = 300 << 20

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")

_CONVERT = """
import sys, threading, time
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))
peak, done = [0], threading.Event()
def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], anonymous())
threading.Thread(target=watch, daemon=True).start()
from anygru.cli import main
status = main(["convert", *sys.argv[1:]])
done.set()
print("peak", peak[0])
sys.exit(status)
"""


def large_file(path: Path) -> Path:
    """Two gigabytes: an embedding, and a GRU of 1024 features and 2048 hidden ones; all holes on the disk."""
    hidden, features = 2048, 1024
    shapes = {
        "gru.weight_ih_l0": [3 * hidden, features],
        "gru.weight_hh_l0": [3 * hidden, hidden],
        "gru.bias_ih_l0": [3 * hidden],
        "gru.bias_hh_l0": [3 * hidden],
    }
    rows = (2 * GIGABYTE - 4 * sum(a * (b[0] if b else 1) for a, *b in shapes.values())) // (4 * features)
    shapes["embedding.weight"] = [rows, features]
    header, offset = {}, 0
    for name, (first, *rest) in shapes.items():
        size = 4 * first * (rest[0] if rest else 1)
        header[name] = {"dtype": "F32", "shape": shapes[name], "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
    return path


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("target", [name for name in ENDINGS if name != "torch_json"])  # numbers as text take more
def test_two_gigabytes_convert_in_little_memory(target: str, tmp_path: Path) -> None:
    source = large_file(tmp_path / "large.safetensors")
    result = tmp_path / ("result" + ENDINGS[target])
    done = subprocess.run(
        [sys.executable, "-c", _CONVERT, str(source), str(result)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the same bits" in done.stdout
    peak = int(done.stdout.split("peak ")[1])
    assert peak < MOST_MEMORY, f"{peak >> 20} MiB"


def _mapped() -> int:
    """Bytes of mapped files that this process has touched."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssFile"))


@needs_proc
def test_a_look_at_two_gigabytes_touches_few_of_them(tmp_path: Path) -> None:
    source = large_file(tmp_path / "large.safetensors")
    before = _mapped()
    checkpoint = load_checkpoint(source)
    assert [gru.describe() for gru in checkpoint.gru_layers]
    assert _mapped() - before < MOST_MEMORY
