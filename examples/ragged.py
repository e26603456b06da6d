"""Sequences of different lengths without sorting, padding or packing: does a walk end above where it began?

python examples/ragged.py
"""

import torch
from torch import nn

import anygru


def walks(count: int, generator: torch.Generator) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Random walks of 1 to 60 steps, each [L, 1], and whether each ends above zero."""
    lengths = torch.randint(1, 61, (count,), generator=generator).tolist()
    steps = [torch.randn(length, 1, generator=generator) for length in lengths]
    return steps, torch.tensor([walk.sum() > 0 for walk in steps]).long()


def main() -> None:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    gru = anygru.GRU(None, 24)  # the input size is taken from the first batch
    head = nn.Linear(24, 2)
    batch, labels = walks(256, generator)
    gru(batch)
    optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=0.01)

    for step in range(61):
        batch, labels = walks(256, generator)
        outputs, h_n = gru(batch)  # a list in, a list out; h_n is each walk's own last state
        loss = nn.functional.cross_entropy(head(h_n[-1]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            right = (head(h_n[-1]).argmax(1) == labels).float().mean().item()
            print(f"step {step:2d}  loss {loss.item():.3f}  right {right:.0%}")

    # The same batch as a padded tensor with lengths, or nested, gives the same states.
    padded = nn.utils.rnn.pad_sequence(batch)
    _, from_padded = gru(padded, lengths=[len(walk) for walk in batch])
    _, from_nested = gru(torch.nested.nested_tensor(batch, layout=torch.jagged))
    _, from_list = gru(batch)
    print("padded and nested agree:", torch.allclose(from_padded, from_list), torch.allclose(from_nested, from_list))


if __name__ == "__main__":
    main()
