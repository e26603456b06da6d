"""A model that uses torch.nn.GRU, made to compute through anygru and put back again.

python examples/drop_in.py
"""

import torch
from torch import nn

import anygru


class Tagger(nn.Module):
    """A label for every step of a sequence."""

    def __init__(self, features: int, hidden: int, labels: int) -> None:
        super().__init__()
        self.gru = nn.GRU(features, hidden, num_layers=2, bidirectional=True)
        self.head = nn.Linear(2 * hidden, labels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.gru(x)[0])


def main() -> None:
    torch.manual_seed(0)
    model = Tagger(features=8, hidden=32, labels=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # made before: the parameters stay the same objects
    x = torch.randn(20, 4, 8)
    before = model(x)

    print(anygru.accelerate(model))
    difference = (model(x) - before).abs().max().item()
    print(f"largest difference to torch.nn.GRU: {difference:.1e}")
    print(anygru.explain(model.gru, x))

    labels = (x.cumsum(0).sum(-1) > 0).long()
    for step in range(30):
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:2d}  loss {loss.item():.3f}")

    anygru.restore(model)
    print(f"back on torch's own kernel: {type(model.gru).__module__}.{type(model.gru).__name__}")


if __name__ == "__main__":
    main()
