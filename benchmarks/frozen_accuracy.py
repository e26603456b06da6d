"""Compare the errors of frozen layers, random and trained by `anygru train`, with torch's `quantize_dynamic`.

    python benchmarks/frozen_accuracy.py [--layers N] [--steps N] [--trained FOLDER]

An error is the greatest difference from the output of the float32 layer over all steps of a sequence; the last column is the
error of int8 as a share of torch's. With --trained, ten language models are trained in FOLDER unless it has them (half a minute
to three minutes each on one core); a second table has their bits per byte on held-out text.
"""

import argparse
import copy
import statistics
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

import anygru
from anygru_lab.language_model import corpus
from anygru_lab.language_model.checkpoint import RunFolder, read_model
from anygru_lab.language_model.model import LanguageModel
from anygru_lab.language_model.trainer import Group, Trainer

SIZES = [(16, 32), (64, 128), (32, 256), (128, 64), (8, 16)]
"""(input size, hidden size)"""
SCALES = (1.0, 1.0, 1.0, 1.0, 1e-3, 1e3)
"""Scales of the inputs."""

MANUAL = ""
MODELS = {
    "manual": (MANUAL, "--hidden 192 --embedding 64 --seed 1 --steps 600"),
    "manual, defaults": (MANUAL, "--seed 2 --steps 400"),
    "manual, two layers": (MANUAL, "--layers 2 --hidden 96 --embedding 48 --seed 3 --steps 800"),
    "manual, high rate": (MANUAL, "--hidden 96 --embedding 32 --lr 0.02 --weight-decay 0 --seed 4 --steps 900"),
    "sources": ("stdlib asyncio/*.py", "--hidden 128 --embedding 64 --seed 5 --steps 800"),
    "sources, tied": ("stdlib email/*.py", "--hidden 128 --embedding 128 --tie --seed 6 --steps 800"),
    "C headers": ("include **/*.h", "--hidden 256 --embedding 64 --seed 7 --steps 500"),
    "tables of numbers": ("stdlib encodings/*.py", "--hidden 64 --embedding 32 --seed 8 --steps 1000"),
    "news": ("stdlib idlelib/NEWS.txt", "--hidden 128 --embedding 32 --bptt 64 --seed 9 --steps 700"),
    "HTML, small": ("stdlib idlelib/help.html", "--hidden 32 --embedding 16 --seed 10 --steps 1200"),
}
"""Texts of the running Python (None: its manual) and options of `anygru train`."""


def quantized_by_torch(model: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.GRU}, torch.qint8)


def torch_layer(layer: anygru.GRU) -> nn.GRU:
    theirs = nn.GRU(layer.input_size, layer.hidden_size, layer.num_layers)
    theirs.load_state_dict(layer.state_dict())
    return theirs


def errors(layer: anygru.GRU, input: Tensor, h_0: Tensor | None = None) -> dict[str, float]:
    """Return the greatest error of each format of the weights."""
    quantized = quantized_by_torch(nn.Sequential(torch_layer(layer)))[0]
    exact = layer(input, h_0)[0]
    ways = {"bfloat16": layer.freeze("bfloat16"), "int8": layer.freeze("int8"), "torch": quantized}
    return {name: float((way(input, h_0)[0] - exact).abs().max()) for name, way in ways.items()}


def random_case(seed: int, steps: int) -> tuple[anygru.GRU, Tensor, Tensor | None]:
    """Return a new layer; every fifth one starts from a state outside [-1, 1]."""
    torch.manual_seed(seed)
    features, hidden = SIZES[seed % len(SIZES)]
    layer = anygru.GRU(features, hidden)
    place = seed // len(SIZES) % len(SCALES)
    h_0 = 3 * torch.randn(1, 2, hidden) if place == 3 else None
    return layer, torch.randn(steps, 2, features) * SCALES[place], h_0


def train(folder: Path, name: str) -> Path:
    """Return the folder of a finished run."""
    text, options = MODELS[name]
    run = folder / name.replace(", ", "-").replace(" ", "_")
    if RunFolder(run).holds_a_run():
        return run
    paths: list[Path] = []
    if text != MANUAL:
        where, pattern = text.split()
        paths = sorted(Path(sysconfig.get_paths()[where]).glob(pattern))
    command = [sys.executable, "-m", "anygru", "train", *map(str, paths), *options.split(), "--out", str(run)]
    subprocess.run([*command, "--threads", "1", "--no-progress", "--no-xz"], check=True, stdout=subprocess.DEVNULL)
    return run


def trained_model(run: Path) -> tuple[Trainer, bytes]:
    """Return a trainer with the best model of a run, and the held-out text."""
    progress = RunFolder(run).read()
    assert progress is not None
    documents = corpus.load(progress.texts, (), progress.options.val_fraction)
    trainer = Trainer(progress.options, documents, Group())
    trainer.load_weights(read_model(run)[1])
    return trainer, b"".join(document.data for document in documents.held_out)


def trained_case(model: LanguageModel, text: bytes, steps: int) -> tuple[anygru.GRU, Tensor]:
    """Return the GRU of a language model and its inputs for two texts."""
    assert isinstance(model.gru, anygru.GRU)
    return model.gru, model.embed(torch.tensor(list(text[: 2 * steps])).view(2, -1).T)


def bits_per_byte(trainer: Trainer) -> Iterator[float]:
    """Return bits per byte of the trained model, with bfloat16 and int8 weights, and with torch's int8 layer."""
    yield trainer.validate()
    layer = trainer.model.gru
    assert isinstance(layer, anygru.GRU)
    for weights in ("bfloat16", "int8"):
        trainer.model.gru = layer.freeze(weights)
        yield trainer.validate()
    trainer.model.gru = torch_layer(layer)
    trainer.model = quantized_by_torch(trainer.model)
    yield trainer.validate()


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
    parser.add_argument("--trained", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    found: dict[str, list[dict[str, float]]] = {}
    for seed in range(args.layers):
        layer, input, h_0 = random_case(seed, args.steps)
        name = f"random, inputs of scale {SCALES[seed // len(SIZES) % len(SCALES)]:g}"
        found.setdefault(name + (", h_0 of scale 3" if h_0 is not None else ""), []).append(errors(layer, input, h_0))
    lines = []
    for name in MODELS if args.trained else ():
        trainer, text = trained_model(train(args.trained, name))
        found.setdefault("trained", []).append(errors(*trained_case(trainer.model, text, args.steps)))
        trained, *others = bits_per_byte(trainer)
        lines.append(
            f"| {name} | {trained:.4f} | " + " | ".join(f"{100 * (one / trained - 1):+.3f}" for one in others) + " |"
        )
    print("| layers | number | bfloat16 | int8 | torch int8 | int8 / torch, median | greatest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, own in found.items():
        show(name, own)
    print("\n| model | bits per byte | bfloat16, % | int8, % | torch int8, % |")
    print("| --- | ---: | ---: | ---: | ---: |", *lines, sep="\n")


if __name__ == "__main__":
    main()
