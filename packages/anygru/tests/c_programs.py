"""Shared by the tests of the export to C: compilers, programs around an exported file, and random models."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import anygru
from anygru.c_export import Residual
from anygru.facts.formula import ACTIVATIONS

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def tool(name: str, package: str) -> str:
    """The path of a program; without it the test is skipped with the name of its Debian package."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name} (Debian package {package})")
    return path


def compiled(folder: Path, program: str, *command: str, ending: str = "c") -> Path:
    """A program that may include the headers of the folder, compiled."""
    source = folder / f"program.{ending}"
    source.write_text(program)
    binary = folder / "program"
    done = subprocess.run(
        [*command, "-I", str(folder), "-o", str(binary), str(source), "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:3000]
    assert done.stderr == ""
    return binary


def floats(text: str) -> torch.Tensor:
    """The output of a program, with one number on each line."""
    return torch.tensor([float(line) for line in text.split()])


def random_model(seed: int) -> tuple[nn.Module, str | None]:
    """A model of any kind that can be exported, and the format of its weights."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    weights = draw.choice([None, None, "bfloat16", "int8"])
    inputs, hidden = draw.choice([1, 2, 3, draw.randint(1, 70)]), draw.choice([1, 2, 8, 16, draw.randint(1, 70)])
    options: dict = {"bias": draw.random() < 0.8, "reset": draw.choice(["after", "before"])}
    if draw.random() < 0.3:
        bounded = ["sigmoid", "hardsigmoid", "tanh", "hardtanh", "softsign"]
        options |= {"gate_activation": draw.choice(bounded), "activation": draw.choice([*bounded, "elu", "relu"])}
    if weights is None and draw.random() < 0.3:
        options |= draw.choice([{"norm": "layer", "bias": True}, {"zoneout": 0.1}])
    layers, both = draw.choice([1, 1, 2, 3]), draw.random() < 0.2
    if draw.random() < 0.15:
        gru: nn.Module = anygru.GRUCell(inputs, hidden, **options)
        width = hidden
    else:
        gru = anygru.GRU(inputs, hidden, layers, bidirectional=both, **options)
        width = hidden * (2 if both else 1)
    parts: list[nn.Module] = [gru]
    if draw.random() < 0.6:
        outputs = inputs if draw.random() < 0.5 else draw.randint(1, 40)
        parts.append(nn.Linear(width, outputs, bias=draw.random() < 0.8))
        if outputs == inputs and draw.random() < 0.5:
            parts = [Residual(*parts)]
        activation = {nn.Tanh: 1, nn.Sigmoid: 1, nn.ReLU: 1, nn.GELU: 1, nn.SiLU: 1, nn.Softplus: 1, nn.ELU: 1}
        parts += [draw.choice([*activation])()] if draw.random() < 0.5 else []
        if draw.random() < 0.3 and outputs > 1:
            parts.append(nn.LayerNorm(outputs))
    return nn.Sequential(*parts).eval(), weights


assert len(ACTIVATIONS) == 11, "a new activation needs a function in C"
