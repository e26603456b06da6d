"""Export the trained model: one step as an ONNX file, or frozen weights as a safetensors file."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

from anygru.errors import printable
from anygru.extend import UsageError, convert, writable

from .checkpoint import read_model
from .generate import build
from .model import LanguageModel


class Step(nn.Module):
    """One step: symbols int64 [B] and state [L, B, H] to logits [B, 257] and the next state."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, symbols: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        output, state = self.model.gru(self.model.embed(symbols).unsqueeze(0), state)
        return self.model.head(output[0]), state


def check(files: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise UsageError before training if a file cannot be written, is an input, or has an unknown suffix."""
    for number, file in enumerate(files):
        if Path(file).suffix not in (".onnx", ".safetensors"):
            raise UsageError(f"--export writes files that end in .onnx or .safetensors, got {file!r}")
        writable("--export", file, *inputs, *files[:number])
    if any(Path(file).suffix == ".onnx" for file in files):
        from anygru.extend import onnxscript_operators

        onnxscript_operators()  # raises if the extra is not installed


def write(files: Sequence[str], model: Path, weights: str) -> None:
    """Write the model to each file and print its name; `weights` is the format of a frozen file."""
    for file in files:
        if Path(file).suffix == ".onnx":
            _write_step(file, model)
            print(printable(f"exported one step (symbols, state -> logits, next_state): {file}"))
        else:
            convert(model, file, weights=weights)
            print(printable(f"exported with {weights} weights: {file}"))


def _write_step(file: str, model: Path) -> None:
    from anygru.onnx import export

    shape, weights = read_model(model)
    step = Step(build(shape, weights, model)).eval()
    # A batch of two: torch.export treats a dimension of 1 as fixed.
    example = torch.zeros(2, dtype=torch.int64), torch.zeros(shape.layers, 2, shape.hidden)
    batch = Dim("batch", min=1)
    export(
        step,
        example,
        file,
        dynamic_shapes={"symbols": {0: batch}, "state": {1: batch}},
        input_names=["symbols", "state"],
        output_names=["logits", "next_state"],
    )
