"""The loss curve of a run: in memory, in its checkpoint, and in loss.csv."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from anygru.extend import open_for_replace

from .checkpoint import RunFolder


@dataclass
class History:
    """Bits per byte of every training step, and (step, bits per byte) of every validation."""

    training: list[float] = field(default_factory=list)
    held_out: list[tuple[int, float]] = field(default_factory=list)

    def tensors(self) -> dict[str, Tensor]:
        return {
            "history.training": torch.tensor(self.training, dtype=torch.float64),
            "history.held_out": torch.tensor(self.held_out, dtype=torch.float64).reshape(-1, 2),
        }

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "History":
        held_out = [(int(step), bits) for step, bits in tensors["history.held_out"].tolist()]
        return cls(tensors["history.training"].tolist(), held_out)

    def write(self, folder: RunFolder) -> None:
        """Write loss.csv: one line per step, with the full precision of the numbers."""
        held_out = dict(self.held_out)
        with open_for_replace(folder.path / "loss.csv", "w") as out:
            out.write("step,training,held_out\n")
            for step, bits in enumerate(self.training, 1):
                out.write(f"{step},{bits!r},{held_out[step]!r}\n" if step in held_out else f"{step},{bits!r},\n")
