"""Write every hostile file of the tests into a folder, one folder per format, with the reason for its refusal beside it.

    python packages/anygru/tests/checkpoints/corpus.py FOLDER

For people who test other readers.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import test_bounds
import test_budget
import test_hostile

from anygru.checkpoints import load_checkpoint
from anygru.checkpoints.formats import recognise
from anygru.errors import CheckpointError


def makers() -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Yield each file's name with what writes it below a folder and gives its path."""
    for name, data in test_hostile.PICKLES.items():
        yield name, lambda folder, data=data: test_hostile.written(folder, "x.pdparams", data)  # type: ignore[misc]
    yield from test_hostile.HOSTILE.items()
    yield from test_budget.REFUSED.items()
    for make in test_bounds.HOSTILE:
        yield make.__name__, make


_LARGEST = 16 << 20
"""Bytes of a file that is copied; some are sparse and have gigabytes."""


def _copy(made: Path, target: Path) -> None:
    """Copy a file or folder, without FIFOs, links and what is too large."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        paths = {name: Path(folder) / name for name in names}
        return {name for name, path in paths.items() if path.is_symlink() or not (path.is_dir() or path.is_file())}

    if made.is_dir():
        shutil.copytree(made, target, ignore=left_out, dirs_exist_ok=True)
    elif made.is_file() and made.stat().st_size <= _LARGEST:
        shutil.copyfile(made, target)


def write(out: Path) -> dict[str, str]:
    """Write the files; gives the refusal of each by its path below the folder."""
    refusals = {}
    for name, make in makers():
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder))
            try:
                format = recognise(made)
            except CheckpointError:
                format = "unknown"
            target = out / format / (name.replace(" ", "-") + made.suffix)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                checkpoint = load_checkpoint(made, sandbox=True)
                refusals[str(target.relative_to(out))] = f"read: {len(checkpoint.stored)} tensors"
            except CheckpointError as error:
                refusals[str(target.relative_to(out))] = str(error).replace(str(made), made.name)
            _copy(made, target)
    lines = [f"{path}\t{reason}\n" for path, reason in sorted(refusals.items())]
    (out / "refusals.txt").write_text("".join(lines))
    return refusals


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = write(Path(sys.argv[1]))
    print(f"{len(found)} files, {sum(reason.startswith('read') for reason in found.values())} of them are read")
