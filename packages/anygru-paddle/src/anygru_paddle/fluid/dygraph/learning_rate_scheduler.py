"""`paddle.fluid.dygraph.learning_rate_scheduler`: rates that move on at every `minimize`, and two that users move.

The formulas follow Paddle 1.8's documentation; `step_num` counts from `begin` in steps of `step`.
"""

import math
from collections.abc import Callable
from typing import Any

from ...optimizer import lr
from ...optimizer.scheduler import LRScheduler, ReduceOnPlateau

__all__ = [
    "CosineDecay", "ExponentialDecay", "InverseTimeDecay", "LambdaDecay", "LinearLrWarmup", "MultiStepDecay",
    "NaturalExpDecay", "NoamDecay", "PiecewiseDecay", "PolynomialDecay", "ReduceLROnPlateau", "StepDecay",
]  # fmt: skip


class LearningRateDecay(LRScheduler):
    """A rate as a function of the number of steps; optimizers of `fluid` compute it again at each step."""

    def __init__(self, begin: int = 0, step: int = 1, dtype: str = "float32") -> None:
        self.step_num, self.step_size, self.dtype = begin, step, dtype
        self.last_lr: float | None = None  # type: ignore[assignment]

    def __call__(self) -> float:
        """The rate of the last step; before the first step, the rate of the first."""
        return float(self.step()) if self.last_lr is None else self.last_lr

    def step(self, epoch: int | None = None) -> float:  # type: ignore[override]
        """The rate of `step_num`."""
        raise NotImplementedError

    def advance(self) -> float:
        """The rate for the step of an optimizer that begins."""
        self.last_lr = rate = float(self.step())
        self.step_num += self.step_size
        return rate

    def state_dict(self) -> dict[str, Any]:
        """The number of steps."""
        return {"step_num": self.step_num}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.step_num = int(state_dict["step_num"])

    set_dict = set_state_dict


def _decay(name: str, formula: Callable[..., float], arguments: str, **defaults: Any) -> type[LearningRateDecay]:
    """The class `name`: its rate is formula(step, *arguments), without the arguments that count."""
    order = arguments.split()
    defaults = {"begin": 0, "step": 1, "dtype": "float32", **defaults}
    needed = [key for key in order if key not in defaults]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = {**dict(zip(order, args, strict=False)), **kwargs}
        if len(args) > len(order) or given.keys() - order or set(needed) - given.keys():
            raise TypeError(f"{name}() takes the arguments {', '.join(order)}, got {len(args)} and {', '.join(kwargs)}")
        given = {**defaults, **given}
        self._arguments = {key: given[key] for key in order if key not in ("begin", "step", "dtype")}
        LearningRateDecay.__init__(self, given["begin"], given["step"], given["dtype"])

    def step(self: Any, epoch: int | None = None) -> float:
        return formula(self.step_num, **self._arguments)

    members = {"__init__": __init__, "step": step, "__module__": __name__, "__doc__": f"The schedule {name} of 1.8."}
    return type(name, (LearningRateDecay,), members)


def _steps(step: float, decay_steps: int, staircase: bool) -> float:
    return step // decay_steps if staircase else step / decay_steps


def _rate(value: Any) -> float:
    return value.advance() if isinstance(value, LearningRateDecay) else float(value)


def _piecewise(step: int, boundaries: list[int], values: list[float]) -> float:
    return values[next((place for place, bound in enumerate(boundaries) if step < bound), len(values) - 1)]


def _exponential(step: int, learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool) -> float:
    return learning_rate * decay_rate ** _steps(step, decay_steps, staircase)


def _natural(step: int, learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool) -> float:
    return learning_rate * math.exp(-decay_rate * _steps(step, decay_steps, staircase))


def _inverse(step: int, learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool) -> float:
    return learning_rate / (1 + decay_rate * _steps(step, decay_steps, staircase))


def _polynomial(
    step: int, learning_rate: float, decay_steps: int, end_learning_rate: float, power: float, cycle: bool
) -> float:
    if cycle:
        decay_steps = decay_steps * max(math.ceil(step / decay_steps), 1)
    left = 1 - min(step, decay_steps) / decay_steps
    return (learning_rate - end_learning_rate) * left**power + end_learning_rate


def _cosine(step: int, learning_rate: float, step_each_epoch: int, epochs: int) -> float:
    return learning_rate * 0.5 * (math.cos(step // step_each_epoch * math.pi / epochs) + 1)


def _noam(step: int, d_model: int, warmup_steps: int, learning_rate: float) -> float:
    return learning_rate * d_model**-0.5 * min(step**-0.5, warmup_steps**-1.5 * step)


def _warmup(step: int, learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float) -> float:
    """1.8.5 moves the rate behind on from the first step, and does not add start_lr (read in its source)."""
    after = learning_rate.advance() if isinstance(learning_rate, LearningRateDecay) else float(learning_rate)
    return (end_lr - start_lr) / warmup_steps * step if step < warmup_steps else after


_COUNT, _DECAY = "begin step dtype", "learning_rate decay_steps decay_rate staircase"
PiecewiseDecay = _decay("PiecewiseDecay", _piecewise, f"boundaries values {_COUNT}")
ExponentialDecay = _decay("ExponentialDecay", _exponential, f"{_DECAY} {_COUNT}", staircase=False)
NaturalExpDecay = _decay("NaturalExpDecay", _natural, f"{_DECAY} {_COUNT}", staircase=False)
InverseTimeDecay = _decay("InverseTimeDecay", _inverse, f"{_DECAY} {_COUNT}", staircase=False)
PolynomialDecay = _decay(
    "PolynomialDecay", _polynomial, f"learning_rate decay_steps end_learning_rate power cycle {_COUNT}",
    end_learning_rate=0.0001, power=1.0, cycle=False,
)  # fmt: skip
CosineDecay = _decay("CosineDecay", _cosine, f"learning_rate step_each_epoch epochs {_COUNT}")
NoamDecay = _decay("NoamDecay", _noam, f"d_model warmup_steps {_COUNT} learning_rate", begin=1, learning_rate=1.0)
LinearLrWarmup = _decay("LinearLrWarmup", _warmup, f"learning_rate warmup_steps start_lr end_lr {_COUNT}", begin=1)


class StepDecay(lr.StepDecay):
    """The rate times `decay_rate` every `step_size` calls of `epoch()`."""

    epoch = lr.StepDecay.step

    def __init__(self, learning_rate: float, step_size: int, decay_rate: float = 0.1) -> None:
        super().__init__(learning_rate, step_size, decay_rate)  # type: ignore[arg-type]


class MultiStepDecay(lr.MultiStepDecay):
    """The rate times `decay_rate` at each of the milestones that `epoch()` comes to."""

    epoch = lr.MultiStepDecay.step

    def __init__(self, learning_rate: float, milestones: list[int], decay_rate: float = 0.1) -> None:
        super().__init__(learning_rate, milestones, decay_rate)  # type: ignore[arg-type]


class LambdaDecay(lr.LambdaDecay):
    """The first rate times a function of the calls of `epoch()`."""

    epoch = lr.LambdaDecay.step

    def __init__(self, learning_rate: float, lr_lambda: Callable[[int], float]) -> None:
        super().__init__(learning_rate, lr_lambda)  # type: ignore[arg-type]


class ReduceLROnPlateau(ReduceOnPlateau):
    """Times `decay_rate` when the losses given to `step(loss)` have not improved for more than `patience` epochs."""

    def __init__(
        self, learning_rate: float, mode: str = "min", decay_rate: float = 0.1, patience: int = 10, verbose: bool = False,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0, eps: float = 1e-8,
        dtype: str = "float32",
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, mode, decay_rate, patience, threshold, threshold_mode, cooldown, min_lr, eps, verbose
        )
