"""Functions that the tests run in several processes; they import nothing of the tests."""

import os
import signal
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

import anygru
from anygru import parallel

LENGTHS = [7, 2, 5, 3, 1, 4]


def place() -> list[object]:
    """The place of a process in the job, and its collectives."""
    world = parallel.start()
    total = torch.tensor([world.rank + 1.0])
    dist.all_reduce(total)
    return [world.rank, world.size, world.local_rank, world.local_size, total.item()]


class Tagger(nn.Module):
    """Two ragged GRU layers, one of them with reset before the product, and a head."""

    def __init__(self, seed: int = 0, hidden: int = 5) -> None:
        torch.manual_seed(seed)
        super().__init__()
        self.first = anygru.GRU(3, hidden, bidirectional=True, dtype=torch.float64)
        self.second = anygru.GRU(2 * hidden, hidden, reset="before", dtype=torch.float64)
        self.head = nn.Linear(hidden, 2, dtype=torch.float64)
        self.register_buffer("seen", torch.tensor([float(seed)]))
        self.register_buffer("scratch", torch.tensor([float(seed)]), persistent=False)

    def forward(self, sequences: list[torch.Tensor]) -> torch.Tensor:
        outputs, _ = self.first(sequences)
        _, last = self.second(outputs)
        return self.head(last[-1])


def ragged_batch() -> tuple[list[torch.Tensor], torch.Tensor]:
    generator = np.random.RandomState(3)
    sequences = [torch.from_numpy(generator.randn(length, 3)) for length in LENGTHS]
    return sequences, torch.from_numpy(generator.randn(len(LENGTHS), 2))


def gradients(model: nn.Module, rank: int, size: int) -> dict[str, np.ndarray]:
    """The gradients of the mean loss over this process's share of the sequences."""
    sequences, targets = ragged_batch()
    ((model(sequences[rank::size]) - targets[rank::size]) ** 2).mean().backward()
    return {name: parameter.grad.numpy() for name, parameter in model.named_parameters()}


def ragged_gradients(model_type: type[nn.Module] = Tagger) -> dict[str, np.ndarray]:
    world = parallel.start()
    model = parallel.DataParallel(model_type(seed=world.rank))
    found = gradients(model, world.rank, world.size)
    return {name.removeprefix("module."): grad for name, grad in found.items()}


def state_after_wrapping() -> dict[str, object]:
    world = parallel.start()
    model = parallel.DataParallel(Tagger(seed=world.rank))
    return {"keys": list(model.state_dict()), "head": model.module.head.bias.detach().numpy()} | {
        name: float(buffer) for name, buffer in model.module.named_buffers()
    }


def accumulate() -> list[np.ndarray]:
    """The gradient inside no_sync, after the synchronizing backward, and averaged by hand."""
    world = parallel.start()
    model = parallel.DataParallel(nn.Linear(2, 1, dtype=torch.float64))
    weight = model.module.weight
    value = torch.full((1, 2), world.rank + 1.0, dtype=torch.float64)
    with model.no_sync():
        model(value).sum().backward()
    alone = weight.grad.numpy().copy()
    model(value).sum().backward()
    together = weight.grad.numpy().copy()
    model.zero_grad()
    with model.no_sync():
        model(value).sum().backward()
    parallel.average_gradients(model.parameters())
    return [alone, together, weight.grad.numpy()]


def average_many() -> list[np.ndarray]:
    """Gradients of several dtypes, one missing everywhere, with a bucket that holds less than one of them."""
    world = parallel.start()
    parameters = [nn.Parameter(torch.zeros(size)) for size in (3, 400, 1)] + [nn.Parameter(torch.zeros(2).double())]
    unused = nn.Parameter(torch.zeros(1))
    for index, parameter in enumerate(parameters):
        parameter.grad = torch.full_like(parameter, 10.0 * index + world.rank)
    parallel.average_gradients([parameters[0], unused, *parameters[1:]], bucket_mb=1e-4)
    assert unused.grad is None
    return [parameter.grad.numpy() for parameter in parameters]


def average_of_some() -> str:
    world = parallel.start()
    parameter = nn.Parameter(torch.zeros(4))
    if world.rank == 1:
        parameter.grad = torch.ones(4)
    try:
        parallel.average_gradients([parameter])
    except parallel.ModelMismatchError as error:
        return str(error)
    return "no error"


def bucket_sizes(comm: float, last: float) -> list[int]:
    """The bytes of the buckets that DDP uses once it has seen a backward."""
    parallel.start()
    layers = nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(6)))  # 1 MB each
    model = parallel.DataParallel(layers, comm_buffer_size=comm, last_comm_buffer_size=last)
    for _ in range(3):
        model(torch.ones(1, 512)).sum().backward()
    logged = model._engine._get_ddp_logging_data()
    return [int(size) for size in logged["rebuilt_bucket_sizes"].split(",")]


class TwoBranches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(1, 1), nn.Linear(1, 1)

    def forward(self, x: torch.Tensor, right: bool) -> torch.Tensor:
        return self.right(x) if right else self.left(x)


def unused_parameters() -> list[bool]:
    world = parallel.start()
    model = parallel.DataParallel(TwoBranches(), find_unused_parameters=True)
    for _ in range(2):
        model(torch.ones(1, 1) * (world.rank + 1), right=False).sum().backward()
    return [model.module.left.weight.grad.item() == 3.0, model.module.right.weight.grad is None]


def other_model(kind: str) -> str:
    """The errors of rank 0 and rank 1 for models that differ."""
    world = parallel.start()
    odd = world.rank == 1
    model = nn.Module()
    model.first = nn.Linear(2, 3)
    model.second = nn.Linear(3, 4 if odd and kind == "shape" else 3)
    if odd and kind == "more":
        model.third = nn.Linear(1, 1)
    if odd and kind == "dtype":
        model.second.double()
    if odd and kind == "frozen":
        model.second.bias.requires_grad_(False)
    if kind == "order":
        model.add_module("b" if odd else "a", nn.Linear(1, 1))
        model.add_module("a" if odd else "b", nn.Linear(1, 1))
    try:
        parallel.DataParallel(model)
    except parallel.ModelMismatchError as error:
        return str(error)
    return "no error"


def run_all(calls: list[tuple[str, tuple[object, ...]]]) -> list[object]:
    """Several of these functions in one job, because the start of processes takes the time."""
    return [globals()[name](*arguments) for name, arguments in calls]


def fail(how: str) -> None:
    """Rank 1 ends in some way while rank 0 waits for it, and would wait for half an hour."""
    world = parallel.start()
    if world.rank == 1:
        if how == "raise":
            raise ValueError("the data of rank 1 are bad")
        if how == "exit":
            os._exit(7)
        os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSEGV)
    dist.barrier()
    time.sleep(1800)


def answer(number: int) -> torch.Tensor:
    """More than a pipe holds, without a connection."""
    return torch.full((200_000,), float(number))
