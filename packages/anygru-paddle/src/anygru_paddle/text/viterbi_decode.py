"""The likeliest sequence of tags (A. Viterbi, 1967). Source: Paddle 2.6, `viterbi_decode`, documentation and records."""

import torch

from ..nn.layer.layers import Layer
from ..tensor.operation import need_tensor, operation, plain
from ..tensor.tensor import Tensor

__all__ = ["ViterbiDecoder", "viterbi_decode"]


@operation
def viterbi_decode(
    potentials: torch.Tensor,
    transition_params: torch.Tensor,
    lengths: torch.Tensor,
    include_bos_eos_tag: bool = True,
    name: str | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The tags with the highest sum of scores.

    Args:
        potentials: scores of each tag [B, T, tags].
        transition_params: scores of tag j after tag i [tags, tags].
        lengths: steps of each sequence, int64 [B].
        include_bos_eos_tag: the last row of `transition_params` has the scores of beginning a sequence, the previous row of
        ending it.

    Returns:
        The sums [B], and the tags [B, longest], 0 past the end of a sequence.
    """
    for value, word in ((potentials, "potentials"), (transition_params, "transition_params"), (lengths, "lengths")):
        need_tensor(value, word, "viterbi_decode")
    scores, moves, steps = (plain(each).detach() for each in (potentials, transition_params, lengths))  # no gradients
    longest = int(steps.max())
    best = scores[:, 0] + (moves[-1] if include_bos_eos_tag else 0.0)
    best = best + torch.where((steps == 1).unsqueeze(1), moves[-2], 0.0) if include_bos_eos_tag else best
    before = []
    for step in range(1, longest):
        highest, origin = (best.unsqueeze(2) + moves).max(1)
        then = highest + scores[:, step]
        if include_bos_eos_tag:
            then = then + torch.where((steps == step + 1).unsqueeze(1), moves[-2], 0.0)
        best = torch.where((step < steps).unsqueeze(1), then, best)
        before.append(origin)
    total, tag = best.max(1)
    tags = [torch.where(longest - 1 < steps, tag, 0)]
    for step in range(longest - 2, -1, -1):
        inside = step + 1 < steps  # otherwise the sequence ends at or before `step`, and `tag` is its last one
        tag = torch.where(inside, before[step].gather(1, tag.unsqueeze(1)).squeeze(1), tag)
        tags.append(torch.where(step < steps, tag, 0))
    return total, torch.stack(tags[::-1], 1)


class ViterbiDecoder(Layer):
    """`viterbi_decode` with its transitions."""

    def __init__(self, transitions: torch.Tensor, include_bos_eos_tag: bool = True, name: str | None = None) -> None:
        super().__init__()
        self.transitions, self.include_bos_eos_tag, self.name = transitions, include_bos_eos_tag, name

    def forward(self, potentials: torch.Tensor, lengths: torch.Tensor) -> tuple[Tensor, Tensor]:
        """The sums, and the tags."""
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag, self.name)
