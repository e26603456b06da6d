"""Looking into a checkpoint needs no torch, so that `anygru inspect` can answer at once."""

import subprocess
import sys
from pathlib import Path

import pytest
from samples import DATA, FILES

import anygru

_LOOK = """
import sys, types
package = types.ModuleType("anygru")
package.__path__ = [sys.argv[1]]
sys.modules["anygru"] = package
from anygru.checkpoints import load_checkpoint
for path in sys.argv[2:]:
    checkpoint = load_checkpoint(path)
    print(path, len(checkpoint.stored), *(gru.describe() for gru in checkpoint.gru_layers))
assert "torch" not in sys.modules
"""


def test_no_format_imports_torch_to_look(tmp_path: Path) -> None:
    import torch

    torch.save({"gru": torch.nn.GRU(2, 3).state_dict()}, tmp_path / "x.pt")
    files = [str(tmp_path / "x.pt"), *(str(DATA / file) for file in FILES)]
    pytest.importorskip("h5py")
    folder = str(Path(anygru.__file__).parent)
    done = subprocess.run([sys.executable, "-c", _LOOK, folder, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(files)
    assert "torch.nn.GRU(2, 3)" in done.stdout
