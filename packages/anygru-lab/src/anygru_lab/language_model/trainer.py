"""One training step and one validation, alone or together with other processes.

Every process advances all lanes, which is cheap, and computes its own share. The loss is divided by the symbols of the
whole window before gradients are summed over the processes. The sum is therefore the gradient of a single process, even
if the shares have unequal sizes.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
import torch.distributed
from torch import Tensor
from torch.nn.functional import cross_entropy

from anygru.errors import AnygruError
from anygru.extend import Failure, UsageError

from .corpus import Corpus
from .lanes import BOUNDARY, Batch, Lanes, Stream
from .model import LanguageModel, Masks, Shape
from .options import Options

VALIDATION_WINDOW = 512
FINAL_LEARNING_RATE = 0.02  # of the peak
ADAM = "exp_avg", "exp_avg_sq"
T = TypeVar("T")


class ConnectionLost(Failure):
    """The connection to another process broke."""


@dataclass(frozen=True)
class Group:
    """The rank of this process and the number of processes that train together."""

    rank: int = 0
    size: int = 1

    def add_up(self, tensor: Tensor) -> Tensor:
        """Sum the tensor over all processes, in place."""
        if self.size > 1:
            self._collective(torch.distributed.all_reduce, tensor)
        return tensor

    def of_rank_0(self, read: Callable[[], T]) -> T:
        """Call `read` on rank 0; return its result, or raise its error, on every process."""
        if self.size == 1:
            return read()
        shared: list[Any] = [None]
        if self.rank == 0:
            try:
                shared = [read()]
            except (AnygruError, Failure, OSError) as error:
                shared = [error]
        self._collective(torch.distributed.broadcast_object_list, shared)
        if isinstance(shared[0], Exception):
            raise shared[0]
        result: T = shared[0]
        return result

    def all_equal(self, value: object) -> bool:
        """Return whether the value is the same on all processes."""
        everyone: list[object] = [value] * self.size
        if self.size > 1:
            self._collective(torch.distributed.all_gather_object, everyone, value)
        return all(other == value for other in everyone)

    def _collective(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            function(*arguments)
        except RuntimeError as error:
            raise _lost(error) from None


def _lost(error: RuntimeError) -> ConnectionLost:
    """The error for a broken connection, with torch's words."""
    return ConnectionLost(f"the connection between the processes broke: {error}")


class Step(NamedTuple):
    bits_per_byte: float
    stop: bool  # whether a process was asked to stop


class Trainer:
    """Model, optimizer, lanes and random state: everything that a training step changes.

    The lanes, the random draws and the saved state stay on the CPU, so that a run is the same on every device, up to rounding.
    """

    def __init__(self, options: Options, corpus: Corpus, group: Group) -> None:
        self.options, self.group = options, group
        self.device = torch.device(options.device)
        torch.manual_seed(options.seed)
        self.model = LanguageModel(Shape.of(options), options.layer, options.backend).to(self.device)
        self.model.probe()
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [p for p in self.parameters if p.ndim > 1], "weight_decay": options.weight_decay},
                {"params": [p for p in self.parameters if p.ndim == 1], "weight_decay": 0.0},
            ],
            betas=(0.9, 0.99),
            fused=True,
        )
        self.stream = Stream(corpus.training)
        self.lanes = Lanes(self.stream, options.batch, options.bptt, options.seed)
        shares = np.array_split(np.arange(options.batch), group.size)
        self.first_lane, self.end_lane = int(shares[group.rank][0]), int(shares[group.rank][-1]) + 1
        self.state = self.model.initial_state(self.end_lane - self.first_lane)
        self.held_out = Stream(corpus.held_out)
        self.validated = range(group.rank, len(corpus.held_out), group.size)  # this process's held-out documents

    def step(self, learning_rate: float, stop: bool = False) -> Step:
        """Train on the next windows of every lane; `stop` asks all processes to stop."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        facts = torch.zeros(3)
        for _ in range(self.options.accumulate):
            facts += self._window()
        facts[2] = float(stop)
        nats, size, stops = self._add_up_gradients(facts).tolist()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.options.clip)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = learning_rate
        self.optimizer.step()
        return Step(nats / math.log(2) / max(size, 1), stops > 0)

    def _window(self) -> Tensor:
        """Add the gradients of the next window; return its loss in nats, its bytes, and 0."""
        options = self.options
        segments = self.lanes.next().of_lanes(self.first_lane, self.end_lane)
        batch = self.stream.pack(segments.start, segments.length, segments.slot).to(self.device)
        state = self.model.initial_state(batch.rows)
        state[:, segments.carried] = self.state[:, segments.lane[segments.carried]]
        with self._precision():
            logits, state = self.model(batch, state, self._masks(batch))
        self.state[:, segments.lane[segments.last]] = state.detach()[:, segments.last].to(self.state.dtype)
        loss = cross_entropy(logits.float(), batch.targets, reduction="sum")
        (loss / (options.batch * options.bptt * options.accumulate)).backward()
        return torch.stack([loss.detach().cpu(), (batch.targets != BOUNDARY).sum().cpu(), torch.tensor(0.0)])

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16")

    def _masks(self, batch: Batch) -> Masks:
        """Draw masks for all lanes, with generators that are equal on every process, and return the rows of this process."""
        options = self.options
        head = self._mask(options.dropout, batch) if options.dropout else None
        between = range(1, options.layers) if options.layer_dropout else ()
        return Masks(head, tuple(self._mask(options.layer_dropout, batch) for _ in between))

    def _mask(self, probability: float, batch: Batch) -> Tensor:
        kept = torch.rand(self.options.batch * self.options.bptt, self.options.hidden) >= probability
        assert batch.slots is not None  # as in training
        return (kept[batch.slots] / (1 - probability)).to(self.device)

    def _add_up_gradients(self, facts: Tensor) -> Tensor:
        """Sum gradients and facts over the processes in one message; return the sum of the facts."""
        if self.group.size == 1:
            return facts
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        message = self.group.add_up(torch.cat([facts, *(gradient.flatten().cpu() for gradient in gradients)]))
        place = len(facts)
        for gradient in gradients:
            gradient.copy_(message[place : place + gradient.numel()].view_as(gradient))
            place += gradient.numel()
        return message[: len(facts)]

    @torch.no_grad()
    def validate(self) -> float:
        """Return bits per byte on the held-out documents, each read from its beginning to its end from a zero state.

        The bits include the predictions of each document's end.
        """
        self.model.eval()
        mine = sorted(self.validated, key=lambda i: -self.held_out.lengths[i])
        starts, lengths = self.held_out.starts[mine], self.held_out.lengths[mine]
        state = self.model.initial_state(len(mine))
        sums = torch.zeros(2, dtype=torch.float64)
        while len(lengths):
            batch = self.held_out.pack(starts, np.minimum(lengths, VALIDATION_WINDOW)).to(self.device)
            with self._precision():
                logits, state = self.model(batch, state)
            sums[0] += cross_entropy(logits.float(), batch.targets, reduction="sum").cpu()
            sums[1] += (batch.targets != BOUNDARY).sum().cpu()
            going_on = lengths > VALIDATION_WINDOW
            starts, lengths = starts[going_on] + VALIDATION_WINDOW, lengths[going_on] - VALIDATION_WINDOW
            state = state[:, : len(lengths)].contiguous()
        nats, size = self.group.add_up(sums).tolist()
        return nats / math.log(2) / size

    def weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().cpu() for name, weight in self.model.state_dict().items()}

    def tensors(self) -> dict[str, Tensor]:
        """Return the state from which `load_tensors` resumes to the same losses. All processes must call it together."""
        tensors = {f"model.{name}": weight for name, weight in self.weights().items()}
        for name, parameter in self.model.named_parameters():
            if moments := self.optimizer.state.get(parameter):
                tensors |= {f"optimizer.{kind}.{name}": moments[kind].cpu() for kind in ADAM}
        tensors |= {f"lanes.{name}": value for name, value in self.lanes.state().items()}
        state = self.model.initial_state(self.options.batch).cpu()
        state[:, self.first_lane : self.end_lane] = self.state.cpu()
        tensors["lanes.state"] = self.group.add_up(state)
        tensors["random"] = torch.get_rng_state()
        return tensors

    def load_tensors(self, tensors: Mapping[str, Tensor], step: int) -> None:
        """Resume from `tensors`, saved after `step` steps. Raise KeyError or ValueError if they do not fit the model."""
        self.load_weights({name.removeprefix("model."): tensor for name, tensor in tensors.items()})
        for name, parameter in self.model.named_parameters():
            if step:
                self.optimizer.state[parameter] = {
                    "step": torch.tensor(float(step), device=self.device if self.device.type == "cuda" else None),
                    **{
                        kind: _like(tensors, f"optimizer.{kind}.{name}", parameter).to(self.device, copy=True)
                        for kind in ADAM
                    },
                }
        shapes = self.lanes.state()
        self.lanes.load_state({name: _like(tensors, f"lanes.{name}", shapes[name]) for name in shapes})
        state = _like(tensors, "lanes.state", self.model.initial_state(self.options.batch))
        self.state = state[:, self.first_lane : self.end_lane].to(self.device, copy=True)
        torch.set_rng_state(_like(tensors, "random", torch.get_rng_state()))

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Start from these weights. Raise KeyError or ValueError if they do not fit the model."""
        own = self.model.state_dict()
        found = {name: _like(weights, name, weight) for name, weight in own.items()}
        for name, weight in own.items():
            weight.copy_(found[name])


def _like(tensors: Mapping[str, Tensor], name: str, expected: Tensor) -> Tensor:
    tensor = tensors[name]
    if tensor.shape != expected.shape or tensor.dtype != expected.dtype:
        raise ValueError(
            f"{name} is {tensor.dtype} {list(tensor.shape)}, expected {expected.dtype} {list(expected.shape)}"
        )
    return tensor


def check_device(name: str) -> torch.device:
    """Return the device; raise UsageError if it does not exist."""
    if name.split(":")[0] not in ("cpu", "cuda"):
        raise UsageError(f"--device must be cpu or a CUDA device, got {name}")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises the second
        reason = " ".join(str(error).split("\n")[0].split())
        raise UsageError(f"--device {name} cannot be used: {reason}") from None
    return device


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Return the rate of step `step` (from 0): a linear warm-up, then half a cosine."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return peak * (FINAL_LEARNING_RATE + (1 - FINAL_LEARNING_RATE) * 0.5 * (1 + math.cos(math.pi * progress)))
