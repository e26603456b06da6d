"""Measure the loss that frozen weights add to three trained models: a language model, a tagger and a forecast.

    python benchmarks/frozen_models.py [--steps 500] [--models language tagger forecast]

Each model trains for a minute or two on sources of Python's standard library or on a chaotic series. Its loss is measured on
unseen data: as trained, frozen in each format, and with torch's int8 layer (`quantize_dynamic`).
"""

import argparse
import copy
import io
import math
import sysconfig
import tokenize
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import anygru

KINDS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP, tokenize.COMMENT)


class Model(nn.Module):
    """A torch.nn.GRU with a layer before and after it."""

    def __init__(self, before: nn.Module, gru: nn.GRU, outputs: int) -> None:
        super().__init__()
        self.before, self.gru = before, gru
        self.head = nn.Linear(gru.hidden_size * (2 if gru.bidirectional else 1), outputs)

    def forward(self, input: Tensor) -> Tensor:
        return self.head(self.gru(self.before(input))[0])


def sources(count: int) -> list[str]:
    paths = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    return [path.read_text(encoding="utf-8", errors="ignore") for path in paths[:count]]


def kinds(source: str) -> list[int]:
    """The kind of token that each character is part of; 0 between tokens."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = [0] * len(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in KINDS:
            begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            found[begin:end] = [KINDS.index(token.type) + 1] * (end - begin)
    return found


def pieces(*rows: Tensor, length: int = 200) -> list[Tensor]:
    """Cut long rows into sequences [T, N]."""
    return [row[: len(row) // length * length].view(-1, length).t() for row in rows]


def language_model() -> tuple[Model, list[Tensor], list[Tensor], Callable[..., Tensor], str]:
    data = torch.tensor(list("".join(sources(60)).encode("ascii", "replace")))
    input, target = pieces(data[:-1], data[1:])
    model = Model(nn.Embedding(128, 64), nn.GRU(64, 256), 128)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(output.flatten(0, 1), target.flatten()) / math.log(2)

    return model, [input], [target], loss, "bits per byte"


def tagger() -> tuple[Model, list[Tensor], list[Tensor], Callable[..., Tensor], str]:
    texts = [text for text in sources(40) if text.isascii()]
    data = torch.tensor(list("".join(texts).encode()))
    labels = torch.tensor([kind for text in texts for kind in kinds(text)])
    input, target = pieces(data, labels)
    model = Model(nn.Embedding(128, 32), nn.GRU(32, 96, 2, bidirectional=True), 1 + len(KINDS))

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(output.flatten(0, 1), target.flatten())

    return model, [input], [target], loss, "wrong characters, %"


def forecast() -> tuple[Model, list[Tensor], list[Tensor], Callable[..., Tensor], str]:
    """Return a model for the next value of the Mackey-Glass equation with a delay of 17, in steps of 1."""
    series = [1.2] * 18
    for _ in range(200_000):
        delayed = series[-18]
        series.append(series[-1] + 0.2 * delayed / (1 + delayed**10) - 0.1 * series[-1])
    values = torch.tensor(series[1000:])
    values = ((values - values.mean()) / values.std()).view(-1, 1)
    input, target = (part.view(-1, 200, 1).transpose(0, 1) for part in (values[:198_000], values[1:198_001]))
    model = Model(nn.Identity(), nn.GRU(1, 64), 1)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        return (output - target).square().mean().sqrt()

    return model, [input], [target], loss, "RMS error, % of the deviation"


MODELS = {"language": language_model, "tagger": tagger, "forecast": forecast}


def measure(model: nn.Module, name: str, input: Tensor, target: Tensor, loss: Callable[..., Tensor]) -> float:
    with torch.no_grad():
        output = model(input)
    if name == "tagger":
        return 100 * (output.argmax(-1) != target).float().mean().item()
    return (100 if name == "forecast" else 1) * loss(output, target).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.models:
        torch.manual_seed(0)
        model, (input,), (target,), loss, unit = MODELS[name]()
        held = max(8, input.shape[1] // 20)
        anygru.accelerate(model)
        optimizer = torch.optim.Adam(model.parameters(), 3e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, args.steps)
        for _ in range(args.steps):
            chosen = torch.randint(held, input.shape[1], (32,))
            optimizer.zero_grad()
            loss(model(input[:, chosen]), target[:, chosen]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        anygru.restore(model)
        model.eval()
        found = {"as trained": model}
        for weights in ("float32", "bfloat16", "int8"):
            found[weights] = copy.deepcopy(model)
            anygru.freeze(found[weights], weights=weights)
        found["torch int8"] = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.GRU}, torch.qint8)
        seen = input[:, :held].contiguous(), target[:, :held].contiguous()
        results = {kind: measure(one, name, *seen, loss) for kind, one in found.items()}
        print(f"{name}, {unit}: " + ", ".join(f"{kind} {value:.4f}" for kind, value in results.items()), flush=True)


if __name__ == "__main__":
    main()
