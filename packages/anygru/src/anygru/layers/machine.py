"""A model that computes one step at a time: a copy of its module tree; its GRUs keep their states in rows."""

import copy
import hashlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ArgumentError, ArgumentTypeError
from .gru import GRU, FrozenGRU
from .memory import CausalConv1d, ConvMemory, GRUMemory, Memory, StateRows, stepping

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 1e-2, torch.float16: 1e-2}
"""The greatest difference between whole-sequence and step-wise outputs, as a share of the greatest output."""
_ROUNDED = 1e-3
"""The same for a frozen layer; some of them round the rows that they multiply."""
_SENSITIVE = 8.0
"""The greatest difference of the steps, in units of the change that rounding causes in the model's own outputs."""
_STEPS = 256
"""Steps of the comparison in addition to the look back of the model's convolutions."""


class Machine:
    """The stepped copy of a model, which shares its parameters.

    Args:
        model: its only memory along time are GRUs and `CausalConv1d`s.
        example: an input of a few steps, [B, T, ...] or [T, B, ...]; None: random numbers as wide as the first layer's input. Its
            steps are drawn to a sequence that is longer than the model's convolutions look back.
        batch_first: whether the model's input has the batch first; None: as its first GRU.

    Raises:
        ArgumentError: the model has no GRU, or looks at more than one step at a time; the message names the module.
        ArgumentTypeError: `model` is not a module.
    """

    def __init__(self, model: nn.Module, example: Tensor | None = None, batch_first: bool | None = None) -> None:
        if not isinstance(model, nn.Module):
            raise ArgumentTypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
        self.memories: list[Memory] = []
        self._copies: dict[int, nn.Module] = {}
        self.model = self._copy(model, "model").eval()
        grus = [memory for memory in self.memories if isinstance(memory, GRUMemory)]
        if not grus:
            raise ArgumentError(f"model must contain a GRU of torch or anygru, got {type(model).__name__} without one")
        self.size = 0
        for memory in self.memories:
            memory.offset = self.size
            self.size += memory.size
        self.like = grus[0].like
        self.time = 1 if (grus[0].batch_first if batch_first is None else batch_first) else 0
        words = ";".join(memory.fingerprint for memory in self.memories)
        self.digests = hashlib.sha256(words.encode()).digest()[:8], _digest(model)
        """A digest of the sizes, formulas and dtypes, and a digest of the model's present numbers."""
        frozen = any(isinstance(module, FrozenGRU) for module in model.modules())
        self._tolerance = max(TOLERANCE.get(self.like.dtype, 1e-4), _ROUNDED if frozen else 0.0)
        given = self._example(model) if example is None else example
        self._check(model, given)
        self.step_shape = tuple(given.shape[2:])

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
        if isinstance(module, (nn.GRU, GRU, FrozenGRU)):
            made: nn.Module = GRUMemory(module, name)
        elif isinstance(module, CausalConv1d):
            made = ConvMemory(module)
        else:
            made = copy.copy(module)
            made.__dict__ = dict(module.__dict__)
            made._modules = {
                key: child if child is None else self._copy(child, key if name == "model" else f"{name}.{key}")
                for key, child in module._modules.items()
            }
        if isinstance(made, Memory):
            self.memories.append(made)
        self._copies[id(module)] = made
        return made

    def _example(self, model: nn.Module) -> Tensor:
        sizes = (getattr(module, name, None) for module in model.modules() for name in ("input_size", "in_features"))
        size = next((size for size in sizes if isinstance(size, int)), None)
        if size is None:
            raise ArgumentError("the model's input cannot be guessed: give example=, an input of a few steps")
        generator = torch.Generator().manual_seed(0)
        return torch.randn((2, 5, size) if self.time else (5, 2, size), generator=generator).to(self.like)

    def _check(self, model: nn.Module, example: Tensor) -> None:
        """Compare the model on a whole sequence with its steps."""
        if not isinstance(example, Tensor) or example.dim() < 2 or example.shape[self.time] < 2:
            raise ArgumentError("example must be a tensor [B, T, ...] or [T, B, ...] with at least 2 steps")
        training = model.training
        model.eval()
        try:
            with torch.no_grad():
                self._called(lambda: first_tensor(model(example)), "example")
                longer = self._longer(model, example)
                whole = self._called(lambda: first_tensor(model(longer)), f"{longer.shape[self.time]} steps of example")
                self._compare(model, longer, whole)
        finally:
            model.train(training)

    def _longer(self, model: nn.Module, example: Tensor) -> Tensor:
        """Steps of the example, drawn at random: enough steps for the longest look back.

        A model that takes no such sequence gets the longest that it takes, within a quarter.
        """
        least, steps = example.shape[self.time], _STEPS + sum(_look_back(module) for module in model.modules())
        generator = torch.Generator().manual_seed(0)
        while steps > least:
            chosen = torch.randint(least, (steps,), generator=generator)
            longer = example.index_select(self.time, chosen.to(example.device))
            try:
                model(longer)
            except Exception:  # any error of the model for a length that it does not take
                steps = steps * 3 // 4
            else:
                return longer
        return example

    def _called(self, call: Callable[[], Tensor], name: str) -> Tensor:
        try:
            return call()
        except Exception as error:  # any error of the user's model
            raise ArgumentError(f"the model cannot be called with {name}: {error}") from error

    def _compare(self, model: nn.Module, example: Tensor, whole: Tensor) -> None:
        batch = example.shape[1 - self.time]
        rows = StateRows(self.zeros(batch), None)
        if whole.dim() < 2 or whole.shape[self.time] != example.shape[self.time]:
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
                if all(each.dim() == whole.dim() and each.shape[axis] == 1 for each in alone):
                    together = torch.cat(alone, axis)
                    if together.shape != whole.shape or differs(together, whole, tolerance):
                        return f"{name} ({type(self.model.get_submodule(name)).__name__})"
                    break
        return "the model itself"


def _look_back(module: nn.Module) -> int:
    """Steps that a convolution can look back, if one of its axes is time."""
    if not isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return 0
    return max((int(size) - 1) * int(gap) for size, gap in zip(module.kernel_size, module.dilation, strict=True))


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
