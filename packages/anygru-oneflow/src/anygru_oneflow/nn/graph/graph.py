"""`oneflow.nn.Graph`: a model and its training step as one callable, run eagerly."""

import inspect
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...framework.tensor import Tensor
from ...optim.lr_scheduler.formulas import LRScheduler
from ...optim.optimizer import Optimizer
from ..modules.graph_block import mapped, running
from ..modules.module import Module
from .graph_config import GraphConfig

# How a graph's state calls the tensors of optimizers (recorded in 0.9.0).
_STATES = {
    "momentum_buf": "momentum", "exp_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "max_v",
    "square_avg": "mean_square", "grad_avg": "mean_gradient",
}  # fmt: skip
_TRAIN_STEP = "System-Train-TrainStep"
_made: Counter[str] = Counter()


class Graph:
    """A computation in `build`, and with an optimizer a training step: backward, clipping, update, next learning rate.

    OneFlow traces `build` once and compiles it. Here it runs at every call, with the same results. As in OneFlow all calls must
    have the shapes and types of the first call, and results are outside of the autograd graph.
    """

    def __init__(self) -> None:
        kind = type(self).__name__
        self.config = GraphConfig()
        self.name = f"{kind}_{_made[kind]}"
        _made[kind] += 1
        self._blocks: OrderedDict[str, Module] = OrderedDict()
        self._optimizers: list[tuple[Optimizer, LRScheduler | None]] = []
        self._expected: list[tuple[Any, ...]] | None = None
        self._to_load: dict[str, Tensor] = {}

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """The computation, defined by the subclass; in training it calls `backward()` on its loss."""
        raise NotImplementedError("nn.Graph.build() method must be overridden when subclassing the nn.Graph.")

    def add_optimizer(self, optim: Optimizer, *, lr_sch: Any = None, is_sparse: bool = False) -> None:
        """Let each call end with a step of the optimizer and of its schedule."""
        assert optim is not None, "optimizer cannot be None"
        assert isinstance(optim, Optimizer), "optimizer must be an instance of Optimizer"
        if lr_sch is not None:
            assert isinstance(lr_sch, LRScheduler), "lr_sch must be an instance of LRScheduler"
            assert lr_sch.optimizer is optim, "lr_scheduler's optimizer must be the same optimizer in add_optimizer."
        self._optimizers.append((optim, lr_sch))
        self.config.training = True

    @staticmethod
    def trace(func: Callable[..., Any]) -> "Graph":
        """A graph of a function of tensors, by a decorator."""
        assert inspect.isfunction(func), (
            f"nn.Graph.trace only support function currently, so {func} must be a function."
        )
        kind = type(f"{func.__name__}_graph", (Graph,), {"build": lambda self, *args, **kwargs: func(*args, **kwargs)})
        return kind()

    def _compile(self, *args: Any, **kwargs: Any) -> None:
        """Take note of the inputs, which may not change from now on, as programs do to compile before the first step."""
        self._check(args, kwargs)

    def set_grad_scaler(self, grad_scaler: object = None) -> None:
        """Accepted: the loss is scaled up and the gradients down again, by powers of two."""

    @property
    def training(self) -> bool:
        return self.config.training

    @property
    def is_compiled(self) -> bool:
        return self._expected is not None

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module):
            if "_blocks" not in vars(self):
                raise AttributeError("Base class nn.Graph has not been initialized, call super().__init__() first")
            self._blocks[name] = value
        super().__setattr__(name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check(args, kwargs)
        with running(), torch.set_grad_enabled(self.training), self._precision():
            for optimizer, _ in self._optimizers:
                # A graph begins each step without gradients; in eager programs that is the program's task.
                optimizer.zero_grad(set_to_none=True)
            count = self.config.accumulation if self.training else 1
            if count == 1:
                result = mapped(_outside, self.build(*args, **kwargs))
            else:
                result = _joined([mapped(_outside, self.build(*a, **k)) for a, k in _parts((args, kwargs), count)])
                self._divide_gradients(count)
        for optimizer, schedule in self._optimizers:
            if any("clip_grad_max_norm" in group for group in optimizer.param_groups):
                optimizer.clip_grad()
            with _scaled(optimizer):
                optimizer.step()
            if schedule is not None:
                schedule.step()
        return result

    def _check(self, *inputs: Any) -> None:
        found: list[tuple[Any, ...]] = []
        mapped(lambda leaf: found.append(_meta(leaf)), inputs)
        if self._expected is None:
            self._expected = found
            self._load_optimizers()
        elif found != self._expected:
            raise RuntimeError(
                "nn.Graph ONLY accepts static inputs tensor meta, please check whether your input tensor meta each step is "
                f"the same as the input of first call graph. Expected {self._expected}, got {found}"
            )

    def _precision(self) -> torch.autocast:
        dtype = self.config.amp
        # Disabled unless a type was given.
        return torch.autocast("cuda", torch.float16 if dtype is None else dtype.torch, dtype is not None)

    def _divide_gradients(self, count: int) -> None:
        for optimizer, _ in self._optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad = parameter.grad / count

    # State

    def _optimizer_tensors(self) -> Iterator[tuple[str, Optimizer, Any, str]]:
        """The name in the graph's state, the optimizer, the parameter and the optimizer's name, of each of their tensors."""
        names: dict[int, str] = {}
        for block, module in self._blocks.items():
            for name, parameter in module.named_parameters():
                names.setdefault(id(parameter), f"{block}.{name}")
        for optimizer, _ in self._optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    for state in optimizer._state_names(group):
                        full = f"{names.get(id(parameter), 'free')}-{_STATES.get(state, state)}"
                        yield full, optimizer, parameter, state

    def state_dict(self, destination: dict[str, Any] | None = None) -> dict[str, Any]:
        """The states of the modules by their names in the graph, and after a call the states of the optimizers."""
        state: dict[str, Any] = OrderedDict() if destination is None else destination
        for name, module in self._blocks.items():
            state[name] = module.state_dict()
        if not self.is_compiled:
            return {**state, **self._to_load} if destination is None else state
        for name, optimizer, parameter, own in self._optimizer_tensors():
            if own in optimizer.state.get(parameter, {}):
                state[name] = mapped(_dressed, optimizer.state[parameter][own])
        if self._optimizers:
            state[_TRAIN_STEP] = Tensor([self._optimizers[0][0].steps]).long()
        return state

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take over a state, before the first call; the optimizers take their part at that call."""
        assert not self.is_compiled, "nn.Graph's state dict can only be loaded before the first call of a graph."
        for name, value in state_dict.items():
            if name in self._blocks:
                self._blocks[name].load_state_dict(value, strict)
            else:
                assert isinstance(value, Tensor), f"nn.Graph.load_state_dict: {name} is neither a module nor a tensor"
                self._to_load[name] = value

    def _load_optimizers(self) -> None:
        for name, optimizer, parameter, own in self._optimizer_tensors():
            if name in self._to_load:
                optimizer.state[parameter][own] = self._to_load[name].detach().clone()
        if _TRAIN_STEP in self._to_load:
            steps = int(self._to_load[_TRAIN_STEP].item())
            for optimizer, schedule in self._optimizers:
                optimizer.steps = steps
                if schedule is not None:
                    schedule.last_step = steps - 1  # step() adds one and sets the rate
                    schedule.step()
        self._to_load = {}

    def debug(self, *arguments: object, **keywords: object) -> None:
        """Accepted without effect: this graph is not compiled."""

    def __repr__(self) -> str:
        lines = [repr(self.config), *(f"(MODULE:{name}:{module!r})" for name, module in self._blocks.items())]
        inside = "\n".join(lines).replace("\n", "\n  ")
        return f"(GRAPH:{self.name}:{type(self).__name__}): (\n  {inside}\n)"


@contextmanager
def _scaled(optimizer: Optimizer) -> Iterator[None]:
    """The rates of groups times their option `lr_scale`, which only graphs look at in 0.9.0."""
    scaled: list[dict[str, Any]] = [group for group in optimizer.param_groups if "lr_scale" in group]
    rates = [group["lr"] for group in scaled]
    for group in scaled:
        group["lr"] = group["lr"] * group["lr_scale"]
    try:
        yield
    finally:
        for group, rate in zip(scaled, rates, strict=True):
            group["lr"] = rate


def _meta(leaf: Any) -> tuple[Any, ...]:
    """The properties of an argument that may not change from call to call."""
    if not isinstance(leaf, Tensor):
        return (leaf,)
    return (tuple(leaf.shape), leaf.dtype, *((leaf.placement, leaf.sbp) if leaf.is_global else (leaf.device,)))


def _outside(leaf: Any) -> Any:
    """A result outside of the autograd graph."""
    if leaf is not None and not isinstance(leaf, Tensor):
        raise NotImplementedError(
            f"nn.Graph.build()'s input/output item only support types: Tensor/None, got {type(leaf).__name__}"
        )
    return None if leaf is None else leaf.detach()


def _dressed(tensor: Any) -> Any:
    return Tensor(tensor) if not isinstance(tensor, Tensor) else tensor


def _parts(inputs: Any, count: int) -> list[Any]:
    """The inputs, with each tensor cut into `count` parts along its first dimension."""

    def part(number: int) -> Any:
        def of(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor) or not leaf.dim():
                return leaf
            if leaf.shape[0] % count:
                raise RuntimeError(
                    f"gradient accumulation: {leaf.shape[0]} entries of an input cannot be cut into {count} equal parts"
                )
            return leaf.chunk(count)[number]

        return mapped(of, inputs)

    return [part(number) for number in range(count)]


def _joined(results: list[Any]) -> Any:
    """The parts' results beneath each other; of single values a vector."""
    first = results[0]
    if isinstance(first, dict):
        return type(first)((name, _joined([result[name] for result in results])) for name in first)
    if isinstance(first, (list, tuple)):
        return type(first)(_joined(list(parts)) for parts in zip(*results, strict=True))
    if first is None:
        return None
    return torch.cat(results) if first.dim() else torch.stack(results)
