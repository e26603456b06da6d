"""A model that computes one step at a time: a copy of its module tree; its GRUs keep their states in rows."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ArgumentError, ArgumentTypeError
from ..operator.frozen_weights import FrozenWeights
from .from_torch import from_torch
from .gru import GRU, FrozenGRU, FrozenGRUCell, GRUCell
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
from .recording import Recorded, Shapes, apart, differs, first_tensor
from .shared import deep_copy, evaluating, shallow_copy

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 1e-2, torch.float16: 1e-2}
"""The greatest difference between whole-sequence and step-wise outputs, as a share of the greatest output of its channel."""
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
            raise ArgumentError(f"model must contain a GRU of torch or anygru, got {_without_gru(model)}")
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
        called = given.clone()
        self._called(lambda: first_tensor(model(called)), name)
        self._writes = not torch.equal(called, given)
        """Whether the model computes in the memory of its input."""
        self.longer = self._longer(model, given, _STEPS + sum(look_back(module) for module in model.modules()))
        kinds = (*_GRUS, *CONVOLUTIONS, *TRANSPOSED)
        with Shapes(model, kinds) as short:
            model(self.longer.narrow(self.time, 0, given.shape[self.time]).clone())
        with Shapes(model, kinds) as long:
            whole = self._called(
                lambda: first_tensor(model(self.longer.clone())), f"{self.longer.shape[self.time]} steps of example"
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
        x = x.clone() if self._writes else x
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

    def _copy(self, module: nn.Module, name: str) -> Any:
        """The module tree with other memories; parameters and all other attributes are shared."""
        known = self._copies.get(id(module))
        if known is not None:
            return known
        compiled = module._modules.get("_orig_mod")
        if compiled is not None:  # torch.compile put it into a module of its own
            return self._copy(compiled, "_orig_mod" if name == "model" else f"{name}._orig_mod")
        path = "" if name == "model" else name
        memory: Memory | None = None
        made: Any = shallow_copy(module)
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

    def sequence(self, steps: int) -> Tensor:
        """An input for a longer comparison, `steps` long if the model takes them."""
        with evaluating(self.source), torch.no_grad():
            return self._longer(self.source, self.longer, steps)

    def _longer(self, model: nn.Module, example: Tensor, steps: int) -> Tensor:
        """Steps of the example, drawn at random.

        A model that takes no such sequence gets the longest that it takes, within a quarter.
        """
        least = example.shape[self.time]
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
                    found = first_tensor(model(longer.clone()))
                except Exception:  # whatever the model raises for a length or a batch that it does not take
                    continue
                if rows == example.shape[self.batch] or found.shape[self.batch : self.batch + 1] == (rows,):
                    return longer
            steps = steps * 3 // 4
        return example

    def _called(self, call: Callable[[], Tensor], name: str) -> Tensor:
        try:
            return call()
        except ArgumentError:
            raise
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
        if bool(whole.isnan().any()) or not bool(whole.isfinite().any()):
            raise ArgumentError(
                "the model's own outputs for the example are infinite or NaN, so that nothing can be compared: look for "
                "such weights, or give example=, an input for which the outputs are finite"
            )
        with Recorded(model) as whole_recorded:
            again = first_tensor(model(example.clone()))
        if not self._agree(again, whole):
            raise ArgumentError(
                "the model gives other outputs for the same input: it draws random numbers also in evaluation mode, as "
                "functional.dropout does without training=self.training, or keeps something from call to call"
            )
        with Recorded(self.model) as steps_recorded:
            steps = [
                self._called(lambda x=x: self.step(rows, x), "one step")  # type: ignore[misc]
                for x in example.clone().unbind(self.time)
            ]
        found = torch.stack(steps, self.time)
        if not self._agree(found, whole) and not self._is_rounding(model, example, whole, found):
            names = [memory.name for memory in self.memories]
            reason = whole_recorded.first_difference(steps_recorded, len(steps), self.time, self._tolerance, names)
            raise ArgumentError(
                f"the model cannot be stepped: {reason}. What keeps a state are GRUs along time, and convolutions that the "
                "model pads in front, both as modules of torch or anygru, and one call of each in a step"
            )
        self._mixing = self._mixed(example)

    def _agree(self, found: Tensor, whole: Tensor) -> bool:
        return found.shape == whole.shape and bool(
            (apart(found, whole, self.time, self.batch) <= self._tolerance).all()
        )

    def check_rows(self) -> None:
        """Raise ArgumentError if sequences that are stepped together change each other, or cannot be stepped together."""
        if self._mixing:
            raise ArgumentError(self._mixing)

    def _mixed(self, example: Tensor) -> str:
        """A fault of sequences that step together: four rows of a batch are also stepped one at a time. Otherwise "".

        The states are random numbers, so that rows differ whatever the example is.
        """
        frames = example.movedim((self.time, self.batch), (0, 1)).flatten(0, 1)
        x = frames[torch.linspace(0, len(frames) - 1, 4, device=frames.device).long()]
        states = torch.rand((4, self.size), generator=torch.Generator().manual_seed(2)).to(self.like)
        together = StateRows(states.clone(), None)
        try:
            outputs = self.step(together, x)
        except Exception as error:  # whatever the model raises for more sequences than one
            return f"the model takes one sequence, and not a batch of four: {error}"
        for row in range(4):
            alone = StateRows(states, torch.tensor([row], device=states.device))
            output = self.step(alone, x[row : row + 1])
            if differs(output, outputs[row : row + 1], self._tolerance) or differs(
                states[row], together.states[row], self._tolerance
            ):
                names = ", ".join(memory.name for memory in self.memories if memory.lanes > 1)
                return (
                    f"the sequences of a batch are mixed in {names}: flatten [B, F, ...] to [B * F, ...], with the batch "
                    "first, or step one sequence"
                    if names
                    else "the sequences of a batch change each other: compute means, norms and softmax over other axes than "
                    "the batch, or step one sequence"
                )
        return ""

    def _is_rounding(self, model: nn.Module, example: Tensor, whole: Tensor, found: Tensor) -> bool:
        """Whether outputs are no further apart than the model moves them itself when its weights change in the last bit."""
        if found.shape != whole.shape or not whole.is_floating_point():
            return False
        moved, generator = deep_copy(model), torch.Generator().manual_seed(1)
        for each in moved.parameters():
            if each.is_floating_point():
                signs = torch.randint(0, 2, each.shape, generator=generator).to(each.device) * 2 - 1
                each.mul_((1 + torch.finfo(each.dtype).eps * signs).to(each.dtype))
        reached = apart(first_tensor(moved(example.clone())), whole, self.time, self.batch).cummax(0).values
        allowed = torch.clamp(_SENSITIVE * reached, min=self._tolerance)
        return bool((apart(found, whole, self.time, self.batch) <= allowed).all())


def _without_gru(model: nn.Module) -> str:
    """The words for a model without a GRU."""
    cells = (nn.GRUCell, GRUCell, FrozenGRUCell)
    name = next((name for name, module in model.named_modules() if isinstance(module, cells)), None)
    words = f"{type(model).__name__} without one"
    return words if name is None else f"{words}: put a GRU with the weights of the cell {name!r} in place of the loop"


def _time_axis(batch_is_first: bool, given: bool | None, axis: int | None, example: Tensor | None) -> int:
    """The axis of time that the arguments name."""
    if axis is None:
        return 1 if batch_is_first else 0
    if given is not None or isinstance(axis, bool) or not isinstance(axis, int):
        raise ArgumentError(f"time_axis must be an axis of the input, without batch_first, got {axis!r}")
    if not isinstance(example, Tensor) or not -example.dim() <= axis < example.dim():
        raise ArgumentError(f"time_axis={axis} needs an example that has this axis")
    return axis % example.dim()


def _digest(model: nn.Module) -> bytes:
    """8 bytes of the SHA-256 of the numbers in a state_dict, with their dtypes and shapes."""
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        if isinstance(value, Tensor):
            digest.update(f"{value.dtype} {list(value.shape)};".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()[:8]
