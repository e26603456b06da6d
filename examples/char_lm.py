"""A character-level language model by hand: what `anygru train` does, in one file to edit.

    python examples/char_lm.py                          # the manual that comes with Python, for some seconds
    python examples/char_lm.py --text notes.txt --steps 3000 --hidden 256
    python examples/char_lm.py --sample "Once" --length 500

It trains on bytes, keeps the best model by held-out loss in char_lm.pt, and prints a sample. The parts to change are marked
by their headings: the data, the model, one training step, the loop, and sampling.
"""

import argparse
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

import anygru

SYMBOLS = 256  # bytes


@dataclass
class Settings:
    """All numbers of a run."""

    hidden: int = 96
    embedding: int = 32
    layers: int = 1
    dropout: float = 0.1
    batch: int = 16  # lanes that are read side by side
    window: int = 64  # bytes of a training step, in each lane
    steps: int = 150
    rate: float = 4e-3  # of learning, at its peak
    clip: float = 1.0  # norm of the gradient
    seed: int = 0


# The data


def read(path: str | None) -> bytes:
    """The text: a file, or the manual that Python carries with it."""
    if path is not None:
        return Path(path).read_bytes()
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics)).encode()


def split(text: bytes, share: float = 0.05) -> tuple[Tensor, Tensor]:
    """The text as numbers, in two parts: to train on, and its end to measure with."""
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    held_out = max(2, min(int(share * len(data)), 65536))
    return data[:-held_out], data[-held_out:]


class Lanes:
    """Reads a text in `batch` places at once, window after window, so that each lane's state can be carried on.

    `restarted` tells which lanes have jumped back to a place of their own: their states begin at zero.
    """

    def __init__(self, data: Tensor, batch: int, window: int) -> None:
        if len(data) < batch * (window + 1):
            raise SystemExit(f"the text has {len(data)} bytes to train on; {batch * (window + 1)} are needed for --batch "
                             f"{batch} and --window {window}")  # fmt: skip
        self.data, self.window = data, window
        self.length = len(data) // batch  # of a lane
        self.begins = torch.arange(batch) * self.length
        self.at = torch.zeros(batch, dtype=torch.int64)

    def next(self) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs and targets [batch, window], and a bool for each lane that has restarted."""
        restarted = self.at + self.window + 1 > self.length
        self.at[restarted] = 0
        places = (self.begins + self.at)[:, None] + torch.arange(self.window + 1)
        self.at += self.window
        window = self.data[places]
        return window[:, :-1], window[:, 1:], restarted


# The model


class CharModel(nn.Module):
    """Embedding, GRU, and a head with a number for each byte that may come next."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.share = settings.dropout
        self.embedding = nn.Embedding(SYMBOLS, settings.embedding)
        self.gru = anygru.GRU(settings.embedding, settings.hidden, settings.layers, batch_first=True)
        self.head = nn.Linear(settings.hidden, SYMBOLS)

    def forward(self, symbols: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits [batch, window, 256] for symbols [batch, window], and the state after the last one."""
        outputs, state = self.gru(self.embedding(symbols), state)
        return self.head(dropout(outputs, self.share, self.training)), state


def bits(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean loss in bits per byte; 8 is what guessing gives."""
    return cross_entropy(logits.flatten(0, 1), targets.flatten()) / math.log(2)


# One training step


class Trainer:
    """The model, its optimizer and the state of the lanes."""

    def __init__(self, model: CharModel, lanes: Lanes, settings: Settings) -> None:
        self.model, self.lanes, self.settings = model, lanes, settings
        self.optimizer = torch.optim.AdamW(model.parameters(), settings.rate, betas=(0.9, 0.99))
        self.state: Tensor | None = None

    def step(self, number: int) -> float:
        """Learn from the next windows; return their loss in bits per byte."""
        self.model.train()
        inputs, targets, restarted = self.lanes.next()
        if self.state is not None:
            # Gradients end at the window; the state goes on, but not over the place where a lane jumps.
            self.state = self.state.detach() * (~restarted).to(self.state.dtype)[:, None]
        logits, self.state = self.model(inputs, self.state)
        loss = bits(logits, targets)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate_of(number, self.settings)
        self.optimizer.step()
        return loss.item()


def rate_of(number: int, settings: Settings) -> float:
    """The learning rate: a line up over a twentieth of the steps, then half a cosine down."""
    warm_up = max(1, settings.steps // 20)
    if number < warm_up:
        return settings.rate * (number + 1) / warm_up
    progress = (number - warm_up) / max(1, settings.steps - warm_up)
    return settings.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))


@torch.no_grad()
def held_out_bits(model: CharModel, data: Tensor, window: int = 512) -> float:
    """Bits per byte of a text that is read from its beginning to its end."""
    model.eval()
    total, state = 0.0, None
    for begin in range(0, len(data) - 1, window):
        part = data[begin : begin + window + 1][None]
        logits, state = model(part[:, :-1], state)
        total += bits(logits, part[:, 1:]).item() * (part.shape[1] - 1)
    return total / (len(data) - 1)


# The loop


def train(settings: Settings, text: bytes, out: Path) -> CharModel:
    """Train, print a line now and then, and keep the best model by held-out loss."""
    torch.manual_seed(settings.seed)
    training, held_out = split(text)
    model = CharModel(settings)
    size = sum(weight.numel() for weight in model.parameters())
    print(f"{len(training):,} bytes to train on, {len(held_out):,} held out; {size:,} parameters")
    trainer = Trainer(model, Lanes(training, settings.batch, settings.window), settings)
    every, best, recent = max(1, settings.steps // 5), math.inf, []
    begin = time.perf_counter()
    for number in range(settings.steps):
        recent.append(trainer.step(number))
        if (number + 1) % every and number + 1 < settings.steps:
            continue
        found = held_out_bits(model, held_out)
        speed = (number + 1) * settings.batch * settings.window / (time.perf_counter() - begin)
        mean = sum(recent) / len(recent)
        mark = "  best" if found < best else ""
        print(f"step {number + 1:5}/{settings.steps}  training {mean:.3f}  held-out {found:.3f} bits/byte  "
              f"{speed:,.0f} bytes/s{mark}", flush=True)  # fmt: skip
        recent.clear()
        if found < best:
            best = found
            save(model, settings, out)
    return load(out)[0]


def save(model: CharModel, settings: Settings, out: Path) -> None:
    """Write beside and rename, so that a kill leaves the model before."""
    beside = out.with_suffix(".new")
    torch.save({"settings": asdict(settings), "weights": model.state_dict()}, beside)
    beside.replace(out)


def load(path: Path) -> tuple[CharModel, Settings]:
    """The model of a file, and the settings it was trained with."""
    saved = torch.load(path, weights_only=True)
    settings = Settings(**saved["settings"])
    model = CharModel(settings)
    model.load_state_dict(saved["weights"])
    return model.eval(), settings


# Sampling


@torch.no_grad()
def sample(model: CharModel, prompt: bytes, length: int, temperature: float = 0.7, top: int = 40) -> bytes:
    """Continue a text, a byte at a time; `top` bytes at most are ever possible."""
    model.eval()
    written = bytearray(prompt or b"\n")
    logits, state = model(torch.tensor([list(written)]))
    for _ in range(length):
        scores = logits[0, -1] / temperature
        least = scores.topk(min(top, SYMBOLS)).values[-1]
        chances = torch.where(scores >= least, scores, -math.inf).softmax(0)
        symbol = int(torch.multinomial(chances, 1))
        written.append(symbol)
        logits, state = model(torch.tensor([[symbol]]), state)
    return bytes(written)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--text", metavar="FILE", help="to train on (default: Python's own manual)")
    parser.add_argument("--out", type=Path, default=Path("char_lm.pt"), metavar="FILE", help="the model")
    parser.add_argument("--sample", metavar="TEXT", help="do not train: continue TEXT with the model in --out")
    parser.add_argument("--length", type=int, default=200, metavar="N", help="bytes of the sample")
    for name, value in asdict(Settings()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help="default: %(default)s")
    args = parser.parse_args()
    if args.sample is None:
        settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
        model = train(settings, read(args.text), args.out)
    else:
        model, settings = load(args.out)
    torch.manual_seed(settings.seed)
    print(sample(model, (args.sample or "The ").encode(), args.length).decode(errors="replace"))


if __name__ == "__main__":
    main()
