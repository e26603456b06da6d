"""Random programs for torch compute the same, or raise the same error, with an accelerated layer."""

import pytest
import torch
from helpers import close, mostly_slow
from torch import nn
from torch_programs import Program

import anygru

COUNT = 40
"""Programs in a test."""


def plain(layer: nn.Module) -> None:
    """Changes nothing."""


@pytest.mark.filterwarnings("ignore")  # of torch, about operations of the programs
@pytest.mark.parametrize("first", mostly_slow(range(0, 8 * COUNT, COUNT)))
def test_an_accelerated_layer_is_torchs(first: int) -> None:
    for seed in range(first, first + COUNT):
        program = Program(seed)
        expected = program.run(plain)
        program = Program(seed)
        found = program.run(anygru.accelerate)
        assert len(found) == len(expected), (seed, found, expected)
        for one, other in zip(found, expected, strict=True):
            if not isinstance(other, torch.Tensor):
                assert one == other, seed
                continue
            close(one.detach(), other.detach(), times=5.0, seed=seed)
            assert one.requires_grad == other.requires_grad, seed
