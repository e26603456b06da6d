"""The tensors that modules of a model take and give, recorded by hooks, and the comparison of a sequence with its steps."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ArgumentError


class _Hooks:
    """Hooks on some modules of a model while a `with` block lasts."""

    def __init__(self, model: nn.Module, kinds: tuple[type[nn.Module], ...] = (nn.Module,)) -> None:
        self.model, self._kinds = model, kinds

    def __enter__(self) -> Any:
        self._handles = []
        for name, module in self.model.named_modules():
            if isinstance(module, self._kinds):
                self._handles += [
                    module.register_forward_pre_hook(lambda _, inputs, name=name: self._takes(name, inputs)),
                    module.register_forward_hook(lambda _, __, output, name=name: self._gives(name, output)),
                ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _takes(self, name: str, inputs: tuple[Any, ...]) -> None:
        """Called before each call of a module."""

    def _gives(self, name: str, output: Any) -> None:
        """Called after each call of a module."""


class Shapes(_Hooks):
    """The shapes that modules of some kinds took, in their first calls."""

    def __init__(self, model: nn.Module, kinds: tuple[type[nn.Module], ...]) -> None:
        super().__init__(model, kinds)
        self.inputs: dict[str, Sequence[int]] = {}

    def _takes(self, name: str, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor):
            self.inputs.setdefault(name, tuple(inputs[0].shape))


class Recorded(_Hooks):
    """The first inputs and the results of a model's modules, in the order of their first calls."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.tensors: dict[tuple[str, str], list[Tensor]] = {}
        """By the name of the module and the words for a difference."""

    def _takes(self, name: str, inputs: tuple[Any, ...]) -> None:
        self._record(name, "takes another input", inputs)

    def _gives(self, name: str, output: Any) -> None:
        self._record(name, "gives another output", output)

    def _record(self, name: str, words: str, value: Any) -> None:
        found = value[0] if isinstance(value, (tuple, list)) and value else value
        if name and isinstance(found, Tensor):
            self.tensors.setdefault((name, words), []).append(found)

    def first_difference(
        self, steps: "Recorded", count: int, time: int, tolerance: float, states: Sequence[str]
    ) -> str:
        """The first thing that differs, in words.

        Args:
            steps: of the same model, called for `count` single steps.
            time: the axis of time, where it is not the last one.
            states: names of modules that keep a state.
        """
        for (name, words), whole in self.tensors.items():
            alone, kind = steps.tensors.get((name, words), []), type(self.model.get_submodule(name)).__name__
            if name in states and len(alone) > count:
                return f"{name} ({kind}) is called {len(alone) // count} times for a step"
            if any(differs(found, expected, tolerance) for found, expected in _pairs(whole, alone, count, time)):
                return f"{name} ({kind}) {words} for a step alone than within the sequence"
        return "the model itself gives another output for a step alone than within the sequence"


def _pairs(whole: list[Tensor], alone: list[Tensor], count: int, time: int) -> Iterator[tuple[Tensor, Tensor]]:
    """What a module gave for steps and for the sequence, where the two can be compared; a loop calls it for each step."""
    calls = len(alone) // count
    if len(whole) == len(alone):
        yield from zip(alone, whole, strict=True)
    elif len(whole) == calls and len(alone) == calls * count:
        for number, together in enumerate(whole):
            parts = alone[number::calls]
            for axis in (time, together.dim() - 1):
                if axis < together.dim() and all(
                    part.dim() == together.dim() and part.shape[axis] == 1 for part in parts
                ):
                    yield torch.cat(parts, axis), together
                    break


def apart(found: Tensor, expected: Tensor, time: int, batch: int) -> Tensor:
    """The greatest difference at each step, [T], as a share of the greatest finite number expected in its channel.

    A channel is a place of a step, so that a large one hides no fault of a small one.
    """
    share = distance(found, expected) / _finite(expected).amax((time, batch), keepdim=True).clamp(min=1e-6)
    return share.amax([axis for axis in range(share.dim()) if axis != time])


def differs(found: Tensor, expected: Tensor, tolerance: float) -> bool:
    """Whether numbers are further apart than a share of the greatest finite number expected."""
    if found.shape != expected.shape:
        return True
    most = _finite(expected).max().item() if expected.numel() else 0.0
    return not bool((distance(found, expected) <= tolerance * max(most, 1e-6)).all())


def distance(found: Tensor, expected: Tensor) -> Tensor:
    """How far numbers are apart, in float64: 0 for two equal infinities and two NaNs, infinity or NaN for only one."""
    if not expected.is_floating_point():
        return (found != expected).double()
    both = (found == expected) | (found.isnan() & expected.isnan())
    return (found.double() - expected.double()).abs().masked_fill(both, 0.0)


def _finite(numbers: Tensor) -> Tensor:
    """The absolute values of finite numbers, and 0 for others: next to an infinity, such as a mask's, no difference counts."""
    if not numbers.is_floating_point():
        return torch.ones_like(numbers, dtype=torch.float64)
    return numbers.double().abs().masked_fill(~numbers.isfinite(), 0.0)


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
