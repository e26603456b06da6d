"""Names, paths and checkpoints made to break a file: each gives an error, or a file that compiles."""

import json
import random
import string
import struct
from pathlib import Path

import pytest
import torch
from c_programs import WARNINGS, compiled, tool
from helpers import mostly_slow
from torch import nn

import anygru
from anygru.c_export.exporting import source_of
from anygru.c_export.identifiers import KEYWORDS, LONGEST, check_name, name_from
from anygru.checkpoints import save_checkpoint
from anygru.cli import main
from anygru.facts import torch_private

DATA = Path(__file__).parent.parent / "checkpoints" / "data"
LETTERS = string.ascii_letters + string.digits + "____" + " -.*/\\\"'?#\n\0\té²\u202e\udc80$"
WORDS = [
    "int",
    "class",
    "main",
    "NULL",
    "errno",
    "linux",
    "unix",
    "INT32",
    "UINT8",
    "size",
    "std",
    "M",
    "E",
    "memcpy",
    "tanh",
]


def names(seed: int, count: int) -> list[str]:
    """Names of any letters, and names near the rules: keywords, words of headers, long ones."""
    draw = random.Random(seed)
    found = ["".join(draw.choices(LETTERS, k=draw.randint(0, 40))) for _ in range(count)]
    found += [word.upper() if draw.random() < 0.2 else word for word in sorted(KEYWORDS)]
    return [*found, *WORDS, *(f"{word}_{draw.choice(WORDS)}" for word in WORDS), "a" * LONGEST, "a" * (LONGEST + 1)]


def test_a_name_is_refused_or_compiles(tmp_path: Path) -> None:
    """Also with the headers of the language: it must not use their names and macros."""
    compilers = {"c": tool("gcc", "gcc"), "cpp": tool("g++", "g++")}
    source = source_of(nn.Sequential(nn.GRU(1, 2), nn.Linear(2, 1)), "stands_for_it", "int8", False).source.text
    program = "".join(f"#include <{each}.h>\n" for each in ("errno", "float", "limits", "math", "stdio", "stdlib"))
    seen: set[str] = set()
    for name in names(0, 400):
        try:
            check_name(name)
        except ValueError:
            continue
        if name.upper() in seen:  # macros of two such models would be the same
            continue
        seen.add(name.upper())
        text = source.replace("STANDS_FOR_IT", name.upper()).replace("stands_for_it", name)
        (tmp_path / f"{name}.h").write_text(text)
        program += f'#include "{name}.h"\n'
    assert {"LINUX", "INT32", "MAIN"} <= seen
    assert not {"INT", "CLASS"} & seen
    for ending, compiler in compilers.items():
        options = [*WARNINGS, "-O0", "-I", str(tmp_path)]
        compiled(tmp_path, program + "int main(void) { return 0; }\n", compiler, *options, ending=ending)


@pytest.mark.parametrize("seed", range(3))
def test_any_path_gives_a_name(seed: int) -> None:
    for text in names(seed, 2000):
        for path in (text, f"{text}.h", f"folder/{text}", f"../{text}.tar.gz"):
            check_name(name_from(path))


@pytest.mark.parametrize(
    "name", ["a\nb.h", "x \\*.h", '"; rm.h', "-Wall.h", "$(x).h", "été \u202e.h", "udc80\udc80.h", " .h"]
)
def test_a_hostile_path_is_written_and_printed_safely(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    save_checkpoint(nn.GRU(2, 3), tmp_path / "gru.safetensors")
    assert main(["export-c", str(tmp_path / "gru.safetensors"), "--out", str(tmp_path / name)]) == 0
    text = (tmp_path / name).read_text()
    assert text.startswith("/* ")
    assert text.count("*/") == text.count("/*")
    assert text.isascii()
    assert all(letter.isprintable() for letter in capsys.readouterr().out.replace("\n", ""))


CHECKPOINTS = [
    "mxnet/model.params",
    "mxnet/cell.params",
    "chainer/square.npz",
    "paddle/model.pdparams",
    "paddle/cell.pdparams",
    "torch.pt",
    "chainer/model.h5",
    "gru.onnx",
]


def is_exported(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the command `export-c`, which may refuse in one line and then leaves no file, writes its header."""
    status = main(["export-c", *arguments, "--no-check"])
    error = capsys.readouterr().err
    assert (status, error.count("\n")) in ((0, 0), (2, 1)), error
    assert Path(arguments[arguments.index("--out") + 1]).exists() == (status == 0)
    return status == 0


def check_some_compile(exported: list[bool], folder: Path) -> None:
    """Some of the checkpoints were refused, and the headers `m<number>.h` of the others compile in one program."""
    assert set(exported) == {True, False}
    headers = "".join(f'#include "m{number}.h"\n' for number, written in enumerate(exported) if written)
    text = headers + "int main(void) { return 0; }\n"
    compiled(folder, text, tool("gcc", "gcc"), "-std=c99", *WARNINGS, "-O0")


@pytest.mark.parametrize("source", mostly_slow(CHECKPOINTS, 6))
def test_a_damaged_checkpoint_of_any_format(source: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Bytes are exchanged, cut and doubled; where a model is still found, its file compiles."""
    draw, good, exported = random.Random(source), stored(source, tmp_path), []
    for number in range(40):
        data = bytearray(good)
        for _ in range(draw.randint(1, 6)):
            at = draw.randrange(len(data) if draw.random() < 0.5 else min(600, len(data)))
            data[at] = draw.choice([0, 1, 127, 128, 255, 34, 42, 47])
        at = draw.randrange(len(data))
        changed = draw.choice([data, data, data, data[:at], data + data, data[:at] + data[at // 2 :]])
        (tmp_path / "bad").write_bytes(changed)
        exported.append(is_exported([str(tmp_path / "bad"), "--out", str(tmp_path / f"m{number}.h")], capsys))
    check_some_compile(exported, tmp_path)


def stored(source: str, folder: Path) -> bytes:
    """The bytes of a checkpoint."""
    if source == "torch.pt":
        torch.save(nn.GRU(2, 3).state_dict(), folder / source)
    elif source == "gru.onnx":
        pytest.importorskip("onnxscript")
        if not torch_private.at_least(2, 6):
            pytest.skip("needs torch 2.6: anygru.onnx.export needs it")
        anygru.onnx.export(anygru.GRU(2, 3).eval(), (torch.randn(4, 1, 2),), folder / source)
    else:
        path = DATA / source
        return (
            path if path.is_file() else sorted(each for each in path.parent.rglob("*") if each.is_file())[0]
        ).read_bytes()
    return (folder / source).read_bytes()


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """A file with these tensors, written by hand, because no library writes such values."""
    header, data = {}, b""
    for name, (kind, shape, values) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


VALUES = [0.0, -0.0, 1e-45, -1e-40, 1e30, 3.4e38, -3.4e38, float("nan"), float("inf"), 0.5]


@pytest.mark.parametrize("seed", mostly_slow(range(3)))
def test_a_checkpoint_with_unusual_values_shapes_and_names(
    seed: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    draw, exported = random.Random(seed), []
    for number in range(60):
        inputs, hidden = draw.choice([1, 2, 5]), draw.choice([1, 2, 5])
        prefix = "".join(draw.choices(LETTERS.replace("\udc80", ""), k=draw.randint(0, 6)))
        shapes = {"weight_ih_l0": [3 * hidden, inputs], "weight_hh_l0": [3 * hidden, hidden]}
        shapes |= {"bias_ih_l0": [3 * hidden], "bias_hh_l0": [3 * hidden]} if draw.random() < 0.8 else {}
        tensors = {}
        for name, shape in shapes.items():
            if draw.random() < 0.03:
                shape = draw.choice([[0, *shape[1:]], [*shape, 1], shape[::-1], [shape[0] + 1, *shape[1:]]])
            usual = VALUES[:5] + VALUES[-1:] if draw.random() < 0.9 else VALUES
            values = [draw.choice(usual) for _ in range(torch.Size(shape).numel())]
            tensors[prefix + name] = ("F32", shape, struct.pack(f"<{len(values)}f", *values))
        (tmp_path / "bad.safetensors").write_bytes(safetensors(tensors))
        files = [str(tmp_path / "bad.safetensors"), "--out", str(tmp_path / f"m{number}.h")]
        exported.append(is_exported([*files, "--weights", draw.choice(["float32", "bfloat16", "int8"])], capsys))
    check_some_compile(exported, tmp_path)
