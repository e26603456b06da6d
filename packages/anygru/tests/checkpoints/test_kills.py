"""Writers killed with SIGKILL at random moments: the target is the old file or the new one, bit for bit."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

KILLS = 25
"""For each way to write."""

DRIVER = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from test_kills import kill_writers

kill_writers(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
"""


def writers(folder: Path, way: str) -> tuple[Path, list[Callable[[Path], object]]]:
    """A target, and two functions that write unlike content to it."""
    import torch

    import anygru
    from anygru.checkpoints.writing.convert import convert

    torch.set_num_threads(1)
    layers = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        layers.append(anygru.GRU(32, 64))
    if way == "export.h":
        return folder / way, [lambda path, g=layer: anygru.export_c(g, path, check=False) for layer in layers]
    if way.startswith("convert"):
        sources = [folder / f"source{number}.safetensors" for number in (1, 2)]
        for source, layer in zip(sources, layers, strict=True):
            anygru.save_checkpoint(layer, source)
        return folder / way, [lambda path, s=source: convert(s, path) for source in sources]
    return folder / way, [lambda path, g=layer: anygru.save_checkpoint(g, path) for layer in layers]


def kill_writers(folder: Path, way: str, kills: int, seed: int) -> None:
    """Kill a process that writes the two contents in turns, `kills` times, and look at the target after each."""
    target, both = writers(folder, way)
    contents, seconds = [], 0.0
    for write in both:
        started = time.monotonic()
        write(target)
        seconds = max(seconds, time.monotonic() - started)  # the first call of each process is slow
        contents.append(target.read_bytes())
        write(target)
        assert target.read_bytes() == contents[-1], "the same content gives other bits"
    assert contents[0] != contents[1]
    draw = random.Random(seed)
    changed = 0
    for _ in range(kills):
        before = target.read_bytes()
        child = os.fork()
        if child == 0:
            while True:
                for write in both:
                    write(target)
        time.sleep(draw.uniform(0.0, 2.0 * seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        after = target.read_bytes()
        assert after in contents, f"{len(after)} bytes that are neither the old nor the new content"
        changed += after != before
    print(kills, changed)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("way", ["save.pt", "save.safetensors", "convert.params", "convert.npz", "export.h"])
def test_a_killed_writer_leaves_the_old_or_the_new_file(way: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", DRIVER, str(Path(__file__).parent), str(tmp_path), way, str(KILLS), "1"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    kills, changed = map(int, ran.stdout.split())
    assert kills == KILLS
    assert changed  # some of them came after a write
