"""Loops over a cell inside torch's wrappers: the last loss after four steps of training, against torch.

As in an ordinary training loop, the graph of a step is alive while the next one is built.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import anygru

pytestmark = pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")


class Net(nn.Module):
    """A loop over a cell behind a linear layer."""

    def __init__(self, kind: type[nn.Module], saves: bool = False) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Linear(4, 4, dtype=torch.float64)
        self.cell = kind(4, 5, dtype=torch.float64)
        self.saves = saves

    def loop(self, x: Tensor) -> Tensor:
        state = None
        for step in x:
            state = self.cell(step, state)
        assert state is not None
        return state

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return checkpoint(self.loop, x, use_reentrant=False) if self.saves else self.loop(x)


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    """A process group of one."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def sharded(net: Net, parts: bool) -> nn.Module:
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
    if parts:
        fsdp.fully_shard(net.cell, mesh=mesh)
    return fsdp.fully_shard(net, mesh=mesh)


def test_four_steps_in_a_pipeline() -> None:
    """One stage, which takes the batch in two parts."""
    pipelining = pytest.importorskip("torch.distributed.pipelining")

    class Stage(Net):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.transpose(0, 1))

    def losses_of(kind: type[nn.Module]) -> list[Tensor]:
        net = Stage(kind)
        stage = pipelining.PipelineStage(net, 0, 1, torch.device("cpu"))
        schedule = pipelining.ScheduleGPipe(stage, 2, loss_fn=lambda output, target: (output - target).square().mean())
        optimizer = torch.optim.SGD(net.parameters(), 0.5)
        kept: list[Tensor] = []
        for step in range(4):
            x = torch.randn(4, 6, 4, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
            losses: list[Tensor] = []
            optimizer.zero_grad()
            schedule.step(x, target=torch.zeros(4, 5, dtype=torch.float64), losses=losses)
            optimizer.step()
            kept += losses
        return [loss.detach() for loss in kept]

    torch.testing.assert_close(losses_of(anygru.GRUCell), losses_of(nn.GRUCell))


def loss_of(output: Tensor) -> Tensor:
    return output.square().mean()


def train(kind: type[nn.Module], wrap: str) -> list[Tensor]:
    """The losses and the last parameters."""
    net = Net(kind, saves=wrap == "checkpointing")
    model: Any = net
    if wrap in ("DDP", "ZeRO"):
        model = nn.parallel.DistributedDataParallel(net)
    elif wrap.startswith("FSDP2"):
        model = sharded(net, parts="cell" in wrap)
    if wrap == "ZeRO":
        zero = pytest.importorskip("torch.distributed.optim").ZeroRedundancyOptimizer
        optimizer: Any = zero(model.parameters(), torch.optim.SGD, lr=0.5)
    else:
        optimizer = torch.optim.SGD(net.parameters(), 0.5)
    losses, kept = [], []
    for step in range(4):
        x = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        kept.append(loss)  # its graph is alive in all following steps
        losses.append(loss.detach())
    parameters = [getattr(parameter, "full_tensor", parameter.detach)() for parameter in net.parameters()]
    return [*losses, *map(torch.clone, parameters)]


@pytest.mark.parametrize("wrap", ["nothing", "DDP", "ZeRO", "FSDP2", "FSDP2 of the cell", "checkpointing"])
def test_four_steps_are_those_of_torch(wrap: str) -> None:
    torch.testing.assert_close(train(anygru.GRUCell, wrap), train(nn.GRUCell, "nothing"))
