"""Each command with options over each hostile file: its exit status, its one line, no changed file, bounded memory and time."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("h5py")
pytest.importorskip("onnx")
if sys.platform != "linux":
    pytest.skip("the limits need Linux", allow_module_level=True)

import corpus
from commands import FILES_OF_HERE, GRAPH, LINES, Commands, graphs, is_slow

from anygru.checkpoints import NAMES

HOSTILE = {**dict(corpus.makers()), **FILES_OF_HERE}


def cases() -> Iterator[object]:
    """Each file with one line, and with all others in the slow tests."""
    quick = [line for line in LINES if not is_slow(line)]
    for number, name in enumerate(HOSTILE):
        short = quick[number % len(quick)]
        for line in LINES:
            yield pytest.param(line, name, marks=[pytest.mark.slow] * (line != short), id=f"{line}-{name}")


@pytest.mark.parametrize(("line", "name"), [*cases()])
def test_a_command_does_no_harm(line: str, name: str, tmp_path: Path, commands: Commands) -> None:
    file = HOSTILE[name](tmp_path)
    format = NAMES[len(name) % len(NAMES)]
    assert commands.complaints(line, file, format) == []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "memory")) for name in graphs()]
)
def test_a_graph_does_no_harm(name: str, tmp_path: Path, commands: Commands) -> None:
    pytest.importorskip("anygru_mxnet")
    assert commands.complaints(GRAPH, graphs()[name](tmp_path)) == []


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        ("sys.exit(3)", "status 3"),
        ("raise KeyError('W_l0')", "said"),
        ("print('anygru: error: a\\nb', file=sys.stderr); sys.exit(2)", "said"),
        ("open(sys.argv[1], 'a').write('x')", "changed"),
        ("open('out/x.pt', 'w'); sys.exit('anygru x')", "left"),
        ("open('out/.x.tmp', 'w')", "left"),
        pytest.param("while True: pass", "status -9", marks=pytest.mark.slow),
        ("bytearray(1 << 40)", "said"),
    ],
)
def test_each_harm_is_seen(work: str, complaint: str, tmp_path: Path, commands: Commands) -> None:
    """`anygru run` represents a command with that fault: it runs a script with the limits of all commands."""
    (tmp_path / "x.py").write_text(f"import sys\nif True:\n    {work}")
    found = commands.complaints("run {file} {file} {out}.pt", tmp_path / "x.py")
    assert any(complaint in each for each in found), found
