"""The model: an embedding of bytes, a GRU and a linear head that predicts the next byte."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils.rnn import PackedSequence

from anygru import GRU, FrozenGRU
from anygru.functional import gru

from .lanes import SYMBOLS, Batch
from .options import Options


@dataclass(frozen=True)
class Shape:
    """The sizes needed to build the model of a weight file."""

    layers: int
    hidden: int
    embedding: int
    tied: bool = False

    def __str__(self) -> str:
        sizes = f"--layers {self.layers} --hidden {self.hidden} --embedding {self.embedding}"
        return f"{sizes} --tie" if self.tied else sizes

    @classmethod
    def of(cls, options: Options) -> "Shape":
        return cls(options.layers, options.hidden, options.embedding, options.tie)

    @classmethod
    def from_json(cls, stored: Any) -> "Shape":
        """Parse a dict of three positive sizes and an optional `tied`; raise ValueError for other values."""
        names = ("layers", "hidden", "embedding")
        if not isinstance(stored, Mapping) or set(stored) - {"tied"} != set(names):
            raise ValueError(f"the shape of the model must give {', '.join(names)}, got {stored!r}")
        for name in names:
            if type(stored[name]) is not int or not 1 <= stored[name] <= 1 << 16:
                raise ValueError(f"the model's {name} must be a positive whole number, got {stored[name]!r}")
        if type(stored.get("tied", False)) is not bool:
            raise ValueError(f"the model's tied must be true or false, got {stored['tied']!r}")
        if stored.get("tied") and stored["hidden"] != stored["embedding"]:
            raise ValueError("a model with tied weights must have an embedding of its hidden size")
        return cls(**stored)


class Masks(NamedTuple):
    """Dropout factors [N, hidden] for the outputs of the last GRU layer and of each layer below it."""

    head: Tensor | None
    between: tuple[Tensor, ...]


NO_MASKS = Masks(None, ())


class TiedHead(nn.Module):
    """A linear head that shares its weights with the embedding (Press and Wolf 2017)."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(SYMBOLS, device=embedding.weight.device))
        self._embedding: nn.Embedding
        object.__setattr__(self, "_embedding", embedding)  # no submodule: its weights are saved once

    def forward(self, features: Tensor) -> Tensor:
        return linear(features, self._embedding.weight, self.bias)


class LanguageModel(nn.Module):
    """Embedding, GRU and head over 257 symbols: the bytes and the boundary between documents."""

    def __init__(
        self, shape: Shape, layer: str = "anygru", backend: Any = None, device: str | torch.device = "cpu"
    ) -> None:
        super().__init__()
        self.shape, self.backend = shape, backend
        self.embed = nn.Embedding(SYMBOLS, shape.embedding, device=device)
        if layer == "torch":
            self.gru: GRU | nn.GRU | FrozenGRU = nn.GRU(shape.embedding, shape.hidden, shape.layers, device=device)
        else:
            self.gru = GRU(shape.embedding, shape.hidden, shape.layers, device=device, backend=backend)
        if shape.tied:
            nn.init.normal_(self.embed.weight, std=shape.hidden**-0.5)  # logits of unit variance
            self.head: nn.Module = TiedHead(self.embed)
        else:
            self.head = nn.Linear(shape.hidden, SYMBOLS, device=device)

    def describe(self) -> str:
        shape = self.shape
        return f"{type(self.gru).__module__.split('.')[0]}.GRU({shape.embedding}, {shape.hidden}, {shape.layers})"

    def probe(self) -> None:
        """Compute a tiny ragged batch, so that an unsuitable backend fails before training."""
        symbols = torch.zeros(3, dtype=torch.int64, device=self.embed.weight.device)
        self(Batch(symbols, symbols, torch.tensor([2, 1])), self.initial_state(2))

    def initial_state(self, rows: int) -> Tensor:
        return torch.zeros(self.shape.layers, rows, self.shape.hidden, device=self.embed.weight.device)

    def forward(self, batch: Batch, state: Tensor, masks: Masks = NO_MASKS) -> tuple[Tensor, Tensor]:
        """Return logits [N, 257] of the packed rows and the final state [layers, rows, hidden] of each sequence."""
        packed = PackedSequence(self.embed(batch.inputs), batch.batch_sizes)
        if masks.between:
            assert isinstance(self.gru, GRU)  # options.py refuses layer_dropout otherwise
            output, state = gru(
                packed,
                state,
                self.gru.flat_weights,
                dropout=lambda layer, below: below * masks.between[layer - 1],
                backend=self.backend,
            )
        else:
            output, state = self.gru(packed, state)
        features = output.data if masks.head is None else output.data * masks.head
        return self.head(features), state
