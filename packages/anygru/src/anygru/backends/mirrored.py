"""A reverse call on a backend that only reads forward: turn every sequence around, compute, turn the output around."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..facts.problem import Call, Problem


def run(
    forward: Callable[[Problem, Call], tuple[Tensor, Tensor]], problem: Problem, call: Call
) -> tuple[Tensor, Tensor]:
    """As `reference.run` for a problem with reverse; `forward` is the same function for a layer without a reverse
    direction."""
    problem = problem._replace(layout=problem.layout._replace(reverse=False))
    if call.batch_sizes is None:
        output, h_n = forward(problem, call._replace(input=call.input.flip(0)))
        return output.flip(0), h_n
    index = _mirror(call.batch_sizes).to(call.input.device)
    output, h_n = forward(problem, call._replace(input=call.input[index]))
    return output[index], h_n


def _mirror(batch_sizes: Tensor) -> Tensor:
    """For each packed row, the row of the same sequence's step counted from its end."""
    starts = batch_sizes.cumsum(0) - batch_sizes
    steps = torch.repeat_interleave(torch.arange(len(batch_sizes), device="cpu"), batch_sizes)
    sequences = torch.arange(len(steps), device="cpu") - starts[steps]
    lengths = (batch_sizes.unsqueeze(1) > torch.arange(int(batch_sizes[0]), device="cpu")).sum(0)
    return starts[lengths[sequences] - 1 - steps] + sequences
