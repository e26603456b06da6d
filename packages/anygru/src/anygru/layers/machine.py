"""A model that computes one step at a time: a copy of its module tree; its GRUs keep their states in rows."""

import copy
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ArgumentError, ArgumentTypeError
from ..operator.frozen_weights import FrozenWeights
from .from_torch import from_torch
from .gru import GRU, FrozenGRU
from .memory import (
    CONVOLUTIONS,
    TRANSPOSED,
    ConvMemory,
    GRUMemory,
    InnerGRU,
    Memory,
    StateRows,
    look_back,
    remembering,
    stepping,
)
from .shared import evaluating

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 1e-2, torch.float16: 1e-2}
"""The greatest difference between whole-sequence and step-wise outputs, as a share of the greatest output."""
_ROUNDED = 1e-3
"""The same for a frozen layer; some of them round the rows that they multiply."""
_SENSITIVE = 8.0
"""The greatest difference of the steps, in units of the change that rounding causes in the model's own outputs."""
_STEPS = 256
"""Steps of the comparison in addition to the look back of the model's convolutions."""

_GRUS = (nn.GRU, GRU, FrozenGRU)


class Machine:
    """The stepped copy of a model, which shares its parameters.

    Args:
        model: its only memory along time are GRUs and convolutions that look back.
        example: an input of a few steps, [B, T, ...], [T, B, ...] or with time on `time_axis`; None: random numbers as wide as
            the first layer's input. Its steps are drawn to a sequence that is longer than the model's convolutions look back.
        batch_first: whether the model's input has the batch first; None: as its first GRU.
        time_axis: the axis of time in the model's input and output; None: 1 if the batch is first, otherwise 0.

    Raises:
        ArgumentError: the model has no GRU, or looks at more than one step at a time; the message names the module.
        ArgumentTypeError: `model` is not a module.
    """

    def __init__(
        self,
        model: nn.Module,
        example: Tensor | None = None,
        batch_first: bool | None = None,
        time_axis: int | None = None,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise ArgumentTypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
        first = next((module for module in model.modules() if isinstance(module, _GRUS)), None)
        if first is None:
            raise ArgumentError(f"model must contain a GRU of torch or anygru, got {type(model).__name__} without one")
        self.time = _time_axis(
            first.batch_first if batch_first is None else batch_first, batch_first, time_axis, example
        )
        self.batch = 1 if self.time == 0 else 0
        own: Any = first if isinstance(first, FrozenGRU) else from_torch(first)
        weights = own.stream_weights()
        like = weights if isinstance(weights, FrozenWeights) else weights[0]
        self.like = torch.empty(0, dtype=like.dtype, device=like.device)
        frozen = any(isinstance(module, FrozenGRU) for module in model.modules())
        self._tolerance = max(TOLERANCE.get(self.like.dtype, 1e-4), _ROUNDED if frozen else 0.0)
        given = self._example(model) if example is None else example
        if not isinstance(given, Tensor) or given.dim() < max(2, self.time + 1) or given.shape[self.time] < 2:
            raise ArgumentError("example must be a tensor [B, T, ...] or [T, B, ...] with at least 2 steps")
        self.step_shape = tuple(size for axis, size in enumerate(given.shape) if axis not in (self.time, self.batch))
        self.source = model
        self.memories: list[Memory] = []
        self._copies: dict[int, nn.Module] = {}
        with evaluating(model), torch.no_grad():
            guess = f"random numbers {list(given.shape)}, so give example=, an input of a few steps that it takes"
            self._build(model, given, guess if example is None else "example")
        words = ";".join(memory.fingerprint for memory in self.memories)
        self.digests = hashlib.sha256(words.encode()).digest()[:8], _digest(model)
        """Of the sizes, formulas and dtypes; and of the model's numbers as they are now."""

    def _build(self, model: nn.Module, given: Tensor, name: str) -> None:
        """Make the stepped copy, and compare it with the model. `name`: of the given input in errors."""
        self._called(lambda: first_tensor(model(given)), name)
        self.longer = self._longer(model, given)
        with _Shapes(model) as short:
            model(self.longer.narrow(self.time, 0, given.shape[self.time]))
        with _Shapes(model) as long:
            whole = self._called(
                lambda: first_tensor(model(self.longer)), f"{self.longer.shape[self.time]} steps of example"
            )
        self._shapes = {name: (short.inputs.get(name), shape) for name, shape in long.inputs.items()}
        self._lengths = given.shape[self.time], self.longer.shape[self.time]
        self._rows = self.longer.shape[self.batch]
        self.model = self._copy(model, "model").eval()
        self.size = 0
        for memory in self.memories:
            memory.offset = self.size
            self.size += memory.size
        self._compare(model, self.longer, whole)

    def step(self, rows: StateRows, x: Tensor) -> Tensor:
        """One step x [n, ...] of n rows; updates their states in place and returns the output [n, ...]."""
        with torch.no_grad(), stepping(rows):
            return first_tensor(self.model(x.unsqueeze(self.time))).select(self.time, 0)

    @property
    def advance(self) -> Any:
        """For a model that is only a GRU: the backend's call for one step, or None."""
        return self.model.advance if isinstance(self.model, GRUMemory) else None

    def state_of(self, states: Tensor, row: int) -> Tensor | None:
        """The state that `advance` takes: a row as [L, 1, H]."""
        if not isinstance(self.model, GRUMemory):
            return None
        return states[row].view(self.model.num_layers, 1, self.model.hidden_size)

    def zeros(self, rows: int) -> Tensor:
        """States of sequences that have seen nothing: [rows, size]."""
        return self.like.new_zeros((rows, self.size))

    def _copy(self, module: nn.Module, name: str) -> nn.Module:
        """The module tree with other memories; parameters and all other attributes are shared."""
        known = self._copies.get(id(module))
        if known is not None:
            return known
        path = "" if name == "model" else name
        memory: Memory | None = None
        # A copy of a GRU by `copy` would move its parameters into another buffer.
        made = nn.Module.__new__(type(module)) if isinstance(module, _GRUS) else copy.copy(module)
        made.__dict__ = dict(module.__dict__)
        made._modules = {
            key: child if child is None else self._copy(child, key if name == "model" else f"{name}.{key}")
            for key, child in module._modules.items()
        }
        if isinstance(module, _GRUS):
            made = self._stepped_gru(made, name, path)
            memory = made if isinstance(made, GRUMemory) else None
        elif isinstance(module, (*CONVOLUTIONS, *TRANSPOSED)) and (found := self._stepped_conv(made, name, path)):
            made, memory = found
        if memory is not None:
            self.memories.append(memory)
        self._copies[id(module)] = made
        return made

    def _moving_axis(self, path: str) -> tuple[int | None, Sequence[int]]:
        """The axis of a module's input that grows with the model's sequence, and its shape in the longer one.

        None: no axis but the first one, which may be of the batch, or the module was not called.
        """
        short, long = self._shapes.get(path, (None, ()))
        if short is None or len(short) != len(long):
            return None, long
        if self._lengths[0] != self._lengths[1]:
            moving = [axis for axis, (one, other) in enumerate(zip(short, long, strict=True)) if one != other]
        else:
            moving = [axis for axis, size in enumerate(long) if size == self._lengths[0]]
        return next(iter(moving), None), long

    def _stepped_gru(self, module: Any, name: str, path: str) -> nn.Module:
        axis, shape = self._moving_axis(path)
        sequence = 1 if module.batch_first else 0
        if len(shape) == 3 and axis is not None and axis != sequence:
            return InnerGRU(module, name)
        lanes = shape[1 - sequence] // self._rows if len(shape) == 3 else 1
        return GRUMemory(module, name, max(lanes, 1))

    def _stepped_conv(self, module: Any, name: str, path: str) -> tuple[nn.Module, ConvMemory] | None:
        axis, shape = self._moving_axis(path)
        spatial = len(module.kernel_size)
        if axis is None or len(shape) != spatial + 2 or axis < 2 or module.kernel_size[axis - 2] == 1:
            return None
        found = remembering(name, module, axis, max(shape[0] // self._rows, 1))
        if found is not None:
            found[1].fit(shape)
        return found

    def _example(self, model: nn.Module) -> Tensor:
        sizes = (getattr(module, name, None) for module in model.modules() for name in ("input_size", "in_features"))
        size = next((size for size in sizes if isinstance(size, int)), None)
        if size is None:
            raise ArgumentError("the model's input cannot be guessed: give example=, an input of a few steps")
        generator = torch.Generator().manual_seed(0)
        return torch.randn((2, 5, size) if self.time else (5, 2, size), generator=generator).to(self.like)

    def _longer(self, model: nn.Module, example: Tensor) -> Tensor:
        """Steps of the example, drawn at random: enough steps for the longest look back.

        A model that takes no such sequence gets the longest that it takes, within a quarter.
        """
        least, steps = example.shape[self.time], _STEPS + sum(look_back(module) for module in model.modules())
        generator = torch.Generator().manual_seed(0)
        while steps > least:
            for rows in sorted({max(2, example.shape[self.batch]), example.shape[self.batch]}, reverse=True):
                longer = torch.cat(
                    [
                        example.narrow(self.batch, row % example.shape[self.batch], 1).index_select(
                            self.time, torch.randint(least, (steps,), generator=generator).to(example.device)
                        )
                        for row in range(rows)
                    ],
                    self.batch,
                )
                try:
                    model(longer)
                except Exception:  # whatever the model raises for a length or a batch that it does not take
                    continue
                return longer
            steps = steps * 3 // 4
        return example

    def _called(self, call: Callable[[], Tensor], name: str) -> Tensor:
        try:
            return call()
        except Exception as error:  # any error of the user's model
            raise ArgumentError(f"the model cannot be called with {name}: {error}") from error

    def _compare(self, model: nn.Module, example: Tensor, whole: Tensor) -> None:
        batch = example.shape[self.batch]
        rows = StateRows(self.zeros(batch), None)
        if whole.dim() <= max(1, self.time) or whole.shape[self.time] != example.shape[self.time]:
            raise ArgumentError(
                f"the model must give an output for each step: [..., T = {example.shape[self.time]}, ...], "
                f"got {list(whole.shape)}"
            )
        with _Heard(model) as heard_whole:
            model(example)
        with _Heard(self.model) as heard_steps:
            steps = [
                self._called(lambda x=x: self.step(rows, x), "one step")  # type: ignore[misc]
                for x in example.unbind(self.time)
            ]
        found = torch.stack(steps, self.time)
        if differs(found, whole, self._tolerance) and not self._is_rounding(model, example, whole, found):
            name = heard_whole.first_difference(heard_steps, self.time, self._tolerance)
            raise ArgumentError(
                f"the model cannot be stepped: {name} gives another output for a step alone than within the sequence"
            )
        self._mixing = self._mixed(example.select(self.time, 0))

    def check_rows(self) -> None:
        """Raise ArgumentError if sequences that are stepped together change each other."""
        if self._mixing:
            raise ArgumentError(
                f"the sequences of a batch are mixed in {self._mixing}: flatten [B, F, ...] to [B * F, ...], with the "
                "batch first, or step one sequence"
            )

    def _mixed(self, frames: Tensor) -> str:
        """The layers with lanes if they mix the rows of a batch: the last of two rows also steps alone.

        The states are random numbers, so that rows differ whatever the example is.
        """
        names = ", ".join(memory.name for memory in self.memories if memory.lanes > 1)
        if not names:
            return ""
        states = torch.rand((2, self.size), generator=torch.Generator().manual_seed(2)).to(self.like)
        together, alone = StateRows(states.clone(), None), StateRows(states, torch.tensor([1], device=states.device))
        x = torch.cat((frames[:1], frames[-1:]))
        try:
            outputs = self.step(together, x)
        except Exception:  # whatever the model raises for two sequences, which it does not take
            return ""
        apart = differs(self.step(alone, x[1:]), outputs[1:], self._tolerance)
        return names if apart or differs(alone.states[1], together.states[1], self._tolerance) else ""

    def _is_rounding(self, model: nn.Module, example: Tensor, whole: Tensor, found: Tensor) -> bool:
        """Whether outputs are no further apart than the model moves them itself when its weights change in the last bit."""
        if found.shape != whole.shape or not whole.is_floating_point():
            return False
        moved, generator = copy.deepcopy(model), torch.Generator().manual_seed(1)
        for each in moved.parameters():
            if each.is_floating_point():
                signs = torch.randint(0, 2, each.shape, generator=generator).to(each.device) * 2 - 1
                each.mul_((1 + torch.finfo(each.dtype).eps * signs).to(each.dtype))
        axes = [axis for axis in range(whole.dim()) if axis != self.time]
        reached = (first_tensor(moved(example)) - whole).abs().float().amax(axes).cummax(0).values
        apart = (found - whole).abs().float().amax(axes)
        floor = self._tolerance * max(whole.abs().max().item(), 1e-6)
        return bool((apart <= torch.clamp(_SENSITIVE * reached, min=floor)).all())


class _Shapes:
    """The shapes that the GRUs and convolutions of a model took, in their first calls."""

    def __init__(self, model: nn.Module) -> None:
        self.inputs: dict[str, Sequence[int]] = {}
        self._model = model

    def __enter__(self) -> "_Shapes":
        self._handles = [
            module.register_forward_pre_hook(lambda _, inputs, name=name: self._hear(name, inputs))
            for name, module in self._model.named_modules()
            if isinstance(module, (*_GRUS, *CONVOLUTIONS, *TRANSPOSED))
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _hear(self, name: str, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor):
            self.inputs.setdefault(name, tuple(inputs[0].shape))


def _time_axis(batch_is_first: bool, given: bool | None, axis: int | None, example: Tensor | None) -> int:
    """The axis of time that the arguments name."""
    if axis is None:
        return 1 if batch_is_first else 0
    if given is not None or isinstance(axis, bool) or not isinstance(axis, int):
        raise ArgumentError(f"time_axis must be an axis of the input, without batch_first, got {axis!r}")
    if not isinstance(example, Tensor) or not -example.dim() <= axis < example.dim():
        raise ArgumentError(f"time_axis={axis} needs an example that has this axis")
    return axis % example.dim()


class _Heard:
    """The results of a model's modules, in the order of their first calls."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.outputs: dict[str, list[Tensor]] = {}

    def __enter__(self) -> "_Heard":
        self._handles = [
            module.register_forward_hook(lambda _, __, output, name=name: self._hear(name, output))
            for name, module in self.model.named_modules()
            if name
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _hear(self, name: str, output: Any) -> None:
        found = output[0] if isinstance(output, (tuple, list)) and output else output
        if isinstance(found, Tensor):
            self.outputs.setdefault(name, []).append(found)

    def first_difference(self, steps: "_Heard", time: int, tolerance: float) -> str:
        """The first module with different outputs; "the model itself" if all agree."""
        for name, (whole, *_) in self.outputs.items():
            alone = steps.outputs.get(name)
            if not alone:
                continue
            for axis in (time, whole.dim() - 1):
                if axis < whole.dim() and all(each.dim() == whole.dim() and each.shape[axis] == 1 for each in alone):
                    together = torch.cat(alone, axis)
                    if together.shape != whole.shape or differs(together, whole, tolerance):
                        return f"{name} ({type(self.model.get_submodule(name)).__name__})"
                    break
        return "the model itself"


def _digest(model: nn.Module) -> bytes:
    """8 bytes of the SHA-256 of the numbers in a state_dict, with their dtypes and shapes."""
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        if isinstance(value, Tensor):
            digest.update(f"{value.dtype} {list(value.shape)};".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()[:8]


def differs(found: Tensor, expected: Tensor, tolerance: float) -> bool:
    if found.shape != expected.shape:
        return True
    if not expected.is_floating_point():
        return not torch.equal(found, expected)
    most = expected.abs().max().item() if expected.numel() else 0.0
    return not torch.allclose(found, expected, rtol=0.0, atol=tolerance * max(most, 1e-6), equal_nan=True)


def first_tensor(output: Any) -> Tensor:
    """The output of a model: a tensor, or the first one of a tuple or list.

    Raises:
        ArgumentError: any other value.
    """
    found = output[0] if isinstance(output, (tuple, list)) and output else output
    if not isinstance(found, Tensor):
        raise ArgumentError(
            f"the model must return a tensor or a tuple that begins with one, got {type(output).__name__}"
        )
    return found
