"""The greatest error of frozen layers and of torch's `quantize_dynamic`, over random layers and trained ones.

    python benchmarks/frozen_accuracy.py [--layers N] [--steps N] [RUN ...]

Each RUN is a folder of `anygru train`: its model's layer reads what it was trained on. An error is the greatest difference
from the float32 layer's output over all steps of a sequence; the last column is that of int8 as a share of torch's.
"""

import argparse
import statistics
import warnings
from pathlib import Path

import torch
from torch import Tensor

import anygru
from anygru.cli.language_model.checkpoint import read_model
from anygru.weights import Layout, Weights

SIZES = [(16, 32), (64, 128), (32, 256), (128, 64), (8, 16)]
"""(input size, hidden size)"""
SCALES = (1.0, 1.0, 1.0, 1.0, 1e-3, 1e3)
"""Of inputs."""


def errors(layer: anygru.GRU, input: Tensor, h_0: Tensor | None = None) -> dict[str, float]:
    """The greatest error of each way to round a layer's weights."""
    theirs = torch.nn.GRU(layer.input_size, layer.hidden_size, layer.num_layers)
    theirs.load_state_dict(layer.state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(theirs), {torch.nn.GRU}, torch.qint8)[0]
    exact = layer(input, h_0)[0]
    ways = {"bfloat16": layer.freeze("bfloat16"), "int8": layer.freeze("int8"), "torch": quantized}
    return {name: float((way(input, h_0)[0] - exact).abs().max()) for name, way in ways.items()}


def random_case(seed: int, steps: int) -> tuple[anygru.GRU, Tensor, Tensor | None]:
    """A layer as it is made; every fifth of five starts from a state that leaves [-1, 1]."""
    torch.manual_seed(seed)
    features, hidden = SIZES[seed % len(SIZES)]
    layer = anygru.GRU(features, hidden)
    place = seed // len(SIZES) % len(SCALES)
    h_0 = 3 * torch.randn(1, 2, hidden) if place == 3 else None
    return layer, torch.randn(steps, 2, features) * SCALES[place], h_0


def trained_case(run: Path, steps: int) -> tuple[anygru.GRU, Tensor]:
    """The layer of a language model, and a text as it reads it."""
    _, tensors = read_model(run)
    weights = [tensors[f"gru.{kind}_l0"] for kind in Layout().kinds]
    text = torch.tensor(list(Path(__file__).with_name("README.md").read_bytes()[: 2 * steps]))
    return anygru.GRU.around(Weights.of(weights)), tensors["embed.weight"][text.view(2, steps).T]


def show(name: str, found: list[dict[str, float]]) -> None:
    shares = [one["int8"] / one["torch"] for one in found]
    greatest = {way: max(one[way] for one in found) for way in found[0]}
    print(
        f"| {name} | {len(found)} | {greatest['bfloat16']:.2g} | {greatest['int8']:.2g} | {greatest['torch']:.2g} "
        f"| {statistics.median(shares):.2f} | {max(shares):.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("runs", type=Path, nargs="*", metavar="RUN")
    args = parser.parse_args()
    torch.set_grad_enabled(False)
    print("| layers | number | bfloat16 | int8 | torch int8 | int8 / torch, median | greatest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    found: dict[str, list[dict[str, float]]] = {}
    for seed in range(args.layers):
        layer, input, h_0 = random_case(seed, args.steps)
        name = f"random, inputs of scale {SCALES[seed // len(SIZES) % len(SCALES)]:g}"
        found.setdefault(name + (", h_0 of scale 3" if h_0 is not None else ""), []).append(errors(layer, input, h_0))
    for run in args.runs:
        found.setdefault("trained", []).append(errors(*trained_case(run, args.steps)))
    for name, own in found.items():
        show(name, own)


if __name__ == "__main__":
    main()
