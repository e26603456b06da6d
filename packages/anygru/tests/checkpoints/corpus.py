"""Write every hostile file of the tests into a folder, one folder per format, with the reason for its refusal.

    python packages/anygru/tests/checkpoints/corpus.py FOLDER [--page docs/refused.md]

For people who test other readers. `--page` writes the documentation's list of these files.
"""

import argparse
import itertools
import re
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import test_bounds
import test_budget
import test_hostile

from anygru.checkpoints import load_checkpoint
from anygru.checkpoints.formats import recognise
from anygru.errors import CheckpointError


def makers() -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Yield each file's name with the function that writes it below a folder and returns its path."""
    for name, data in test_hostile.PICKLES.items():
        yield name, lambda folder, data=data: test_hostile.written(folder, "x.pdparams", data)  # type: ignore[misc]
    yield from test_hostile.HOSTILE.items()
    yield from test_budget.REFUSED.items()
    for make in test_bounds.HOSTILE:
        yield make.__name__, make


_LARGEST = 16 << 20
"""Bytes of a file that is copied; some are sparse and have gigabytes."""


def _copy(made: Path, target: Path) -> None:
    """Copy a file or folder, without FIFOs, links and large files."""

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


TITLES = {
    "chainer": "Chainer (`.npz`)",
    "hdf5": "HDF5 (`.h5`, `.hdf5`, Keras's `.weights.h5`)",
    "keras": "Keras (`.keras`)",
    "mxnet": "MXNet (`.params`, `.nd`)",
    "oneflow": "OneFlow (a folder)",
    "onnx": "ONNX (`.onnx`)",
    "paddle": "Paddle (`.pdparams`, `.pdopt`) and other plain pickles",
    "paddle_binary": "Paddle's programs (`.pdiparams`)",
    "rtneural": "RTNeural, AIDA-X (`.json`, `.aidax`)",
    "safetensors": "safetensors (`.safetensors`)",
    "torch": "torch (`.pt`, `.pth`, `.bin`, `.ckpt`)",
    "torch_json": "GuitarML and other state_dicts as JSON (`.torch.json`)",
    "unknown": "Files that are not checkpoints",
}


_UNKNOWN = "An unknown formula in the metadata"
OPTIONS = {
    "chainer": "A file has tensors and no options.",
    "hdf5": "Of a whole model of Keras, the options that [Keras](keras.md) names; other files have tensors and no options.",
    "keras": "An unknown activation, way to join directions, option or class is refused by its name when the GRU is built."
    " A GRU without a configuration is also refused.",
    "mxnet": "A file has tensors and no options. In a graph (`NAME-symbol.json`), an operator or an attribute that MXNet does"
    " not have, and a flag or an integer that it cannot read, is refused by its name.",
    "oneflow": "A file has tensors and no options.",
    "onnx": "An unknown attribute, activation, clip or set of operators is refused by its name; a note lists stored"
    " lengths and initial states of a GRU.",
    "paddle": "A file has tensors and no options. A parameter that pruning or weight norm computes does not count as missing.",
    "paddle_binary": "A file has tensors and no options.",
    "rtneural": "A type of layer that is not covered can be read, and is refused by its name when the model is built.",
    "safetensors": f"{_UNKNOWN} is refused by its name when the GRU is built.",
    "torch": f"{_UNKNOWN}, or a function as activation, is refused by its name when the GRU is built."
    " A parameter that pruning or a parametrization computes does not count as missing.",
    "torch_json": "A file has tensors and few options; a type other than a GRU is refused when the model is built.",
    "unknown": "",
}
"""The options of each format that are refused, in addition to damage."""


def page(refusals: dict[str, str]) -> str:
    """A page of Markdown with a table per format: each file, and why it is refused."""
    text = (
        "# Files that are refused\n\nHostile and damaged files that the tests read, and the reason that the error"
        " gives, without its way\nout; N is a long number."
        " `python packages/anygru/tests/checkpoints/corpus.py FOLDER` writes the files\nand, with `--page`, this page."
        " `SECURITY.md` at the root of the repository lists the guarantees.\n"
    )
    for format, paths in itertools.groupby(sorted(refusals), lambda path: path.partition("/")[0]):
        options = "\n".join(textwrap.wrap(OPTIONS[format], 100))
        text += f"\n## {TITLES[format]}\n\n" + (f"{options}\n\n" if options else "")
        text += "| file | refused, because |\n|---|---|\n"
        for path in paths:
            # the file's own name comes first, and often again
            reason = re.sub(r"(^|: )[xy]\.\w+: ", r"\1", refusals[path]).partition(";")[0]
            reason = re.sub(r"\d{6,}", "N", reason).replace("|", "\\|")
            text += f"| {Path(path).stem.replace('_', ' ').replace('-', ' ')} | `{reason}` |\n"
    return text


def main() -> None:
    """Write the corpus and, on request, the page."""
    parser = argparse.ArgumentParser(description="Write the hostile files of the tests.", allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", type=Path, help="a file for the list in Markdown")
    args = parser.parse_args()
    found = write(args.folder)
    if args.page:
        args.page.write_text(page(found))
    print(f"{len(found)} files, {sum(reason.startswith('read') for reason in found.values())} of them are read")


if __name__ == "__main__":
    main()
