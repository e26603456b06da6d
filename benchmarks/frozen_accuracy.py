"""The greatest error of frozen layers and of torch's `quantize_dynamic`, over random layers and trained ones.

    python benchmarks/frozen_accuracy.py [--layers N] [--steps N] [RUN ...]

Each RUN is a folder of `anygru train`: its model's layer reads what it was trained on. An error is the greatest difference
from the float32 layer's output over all steps of a sequence; the last column is that of int8 as a share of torch's.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from pathlib import Path

import torch
from torch import Tensor

import anygru

SIZES = [(16, 32), (64, 128), (32, 256), (128, 64), (8, 16)]
"""(input size, hidden size)"""
SCALES = (1.0, 1.0, 1.0, 1e-3, 1e3)


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
    """A layer as it is made, with inputs of a scale that varies, and a state that leaves [-1, 1] in every third case."""
    torch.manual_seed(seed)
    features, hidden = SIZES[seed % len(SIZES)]
    layer = anygru.GRU(features, hidden)
    h_0 = 3 * torch.randn(1, 2, hidden) if seed % 3 == 2 else None
    return layer, torch.randn(steps, 2, features) * SCALES[seed // len(SIZES) % len(SCALES)], h_0


def trained_case(run: Path, steps: int) -> tuple[anygru.GRU, Tensor]:
    """The layer of a language model and what it reads in its own training text."""
    from anygru.cli.language_model import model as models

    model = models.load(run)
    text = torch.randint(32, 127, (steps, 2))
    return model.gru, model.embedding(text)


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
    random = [(seed, errors(*random_case(seed, args.steps))) for seed in range(args.layers)]
    for scale in dict.fromkeys(SCALES):
        own = [found for seed, found in random if SCALES[seed // len(SIZES) % len(SCALES)] == scale]
        if own:
            show(f"random, inputs of scale {scale:g}", own)


if __name__ == "__main__":
    main()
