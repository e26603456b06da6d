"""The model: bytes are embedded, a GRU reads them, a linear head predicts the next one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ...layers import GRU
from .lanes import SYMBOLS, Batch
from .options import Options


@dataclass(frozen=True)
class Shape:
    """The sizes needed to build the model of a weight file."""

    layers: int
    hidden: int
    embedding: int

    @classmethod
    def of(cls, options: Options) -> "Shape":
        return cls(options.layers, options.hidden, options.embedding)

    @classmethod
    def from_json(cls, stored: Any) -> "Shape":
        """ValueError unless `stored` is a dict of the three positive sizes."""
        names = ("layers", "hidden", "embedding")
        if not isinstance(stored, Mapping) or set(stored) != set(names):
            raise ValueError(f"the shape of the model must give {', '.join(names)}, got {stored!r}")
        for name in names:
            if type(stored[name]) is not int or not 1 <= stored[name] <= 1 << 16:
                raise ValueError(f"the model's {name} must be a positive whole number, got {stored[name]!r}")
        return cls(**stored)


class LanguageModel(nn.Module):
    """Embedding, GRU and head over 257 symbols: the bytes and the boundary between documents."""

    def __init__(
        self, shape: Shape, layer: str = "anygru", backend: str | None = None, device: str | torch.device = "cpu"
    ) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(SYMBOLS, shape.embedding, device=device)
        if layer == "torch":
            self.gru: GRU | nn.GRU = nn.GRU(shape.embedding, shape.hidden, shape.layers, device=device)
        else:
            self.gru = GRU(shape.embedding, shape.hidden, shape.layers, device=device, backend=backend)
        self.head = nn.Linear(shape.hidden, SYMBOLS, device=device)

    def describe(self) -> str:
        shape = self.shape
        return f"{type(self.gru).__module__.split('.')[0]}.GRU({shape.embedding}, {shape.hidden}, {shape.layers})"

    def probe(self) -> None:
        """Compute a tiny ragged batch, so that a backend that cannot do it fails before the training starts."""
        symbols = torch.zeros(3, dtype=torch.int64)
        self(Batch(symbols, symbols, torch.tensor([2, 1])), self.initial_state(2))

    def initial_state(self, rows: int) -> Tensor:
        return torch.zeros(self.shape.layers, rows, self.shape.hidden)

    def forward(self, batch: Batch, state: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits [N, 257] of the packed rows, and the state [layers, rows, hidden] in which each sequence ends.

        The GRU's outputs are multiplied by `mask` [N, hidden], for dropout.
        """
        packed = PackedSequence(self.embed(batch.inputs), batch.batch_sizes)
        output, state = self.gru(packed, state)
        features = output.data if mask is None else output.data * mask
        return self.head(features), state
