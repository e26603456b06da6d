"""Learning rates that change with the step: Paddle's schedulers, each a formula `rate(epoch)`.

A class lists its arguments in its head, in Paddle's order, `...` for a required one. Source: `paddle.optimizer.lr` of
Paddle 2.6, documentation and recorded rates; docstrings name a scheduler's paper.
"""

import math
from typing import Any

from anygru.extend import schedules

from .scheduler import LRScheduler, ReduceOnPlateau, Schedule, need, need_kind, need_positive

__all__ = [
    "CosineAnnealingDecay", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialDecay", "InverseTimeDecay",
    "LRScheduler", "LambdaDecay", "LinearLR", "LinearWarmup", "MultiStepDecay", "MultiplicativeDecay", "NaturalExpDecay",
    "NoamDecay", "OneCycleLR", "PiecewiseDecay", "PolynomialDecay", "ReduceOnPlateau", "StepDecay",
]  # fmt: skip


class NoamDecay(Schedule, d_model=..., warmup_steps=..., learning_rate=1.0):
    """learning_rate * d_model ** -0.5 * min(epoch ** -0.5, epoch * warmup_steps ** -1.5) (A. Vaswani and others, 2017)."""

    def check(self) -> None:
        need(self.d_model > 0, "d_model should be grater than 0")

    def rate(self, epoch: int) -> float:
        first = 1.0 if epoch == 0 else epoch**-0.5  # for any value: the other factor is 0
        return self.base_lr * self.d_model**-0.5 * min(first, self.warmup_steps**-1.5 * epoch)


class PiecewiseDecay(Schedule, boundaries=..., values=...):
    """values[i] up to boundaries[i], the last value after them."""

    def check(self) -> None:
        need(len(self.boundaries) > 0, "The boundaries cannot be empty.")
        need(len(self.values) > len(self.boundaries), "The values have one element more than boundaries, but received "
              f"len(values) [{len(self.values)}] and len(boundaries) [{len(self.boundaries)}].")  # fmt: skip

    def first(self) -> float:
        return 0.1  # never used: Paddle's base class has it as its default

    def rate(self, epoch: int) -> float:
        return next(
            (v for end, v in zip(self.boundaries, self.values, strict=False) if epoch < end),
            self.values[len(self.values) - 1],
        )


class NaturalExpDecay(Schedule, learning_rate=..., gamma=...):
    """learning_rate * exp(-gamma * epoch)."""

    def check(self) -> None:
        message = " 'gamma' must be a positive number so that the learning rate will decay."
        need(self.gamma > 0.0, message, AssertionError)

    def rate(self, epoch: int) -> float:
        return self.base_lr * math.exp(-1 * self.gamma * epoch)


class InverseTimeDecay(Schedule, learning_rate=..., gamma=...):
    """learning_rate / (1 + gamma * epoch)."""

    def rate(self, epoch: int) -> float:
        return self.base_lr / (1 + self.gamma * epoch)


class PolynomialDecay(Schedule, learning_rate=..., decay_steps=..., end_lr=0.0001, power=1.0, cycle=False):
    """From learning_rate to end_lr in decay_steps by a power of the remaining share; with `cycle`, repeatedly."""

    def check(self) -> None:
        need_positive(self.decay_steps, "decay_steps")
        message = " 'power' must be greater than 0.0 so that the learning rate will decay."
        need(self.power > 0.0, message, AssertionError)

    def rate(self, epoch: int) -> float:
        length: float = self.decay_steps
        if self.cycle:
            length *= 1.0 if epoch == 0 else math.ceil(epoch / self.decay_steps)
        return schedules.polynomial(self.base_lr, self.end_lr, min(epoch, length), length, self.power)


class LinearWarmup(Schedule, learning_rate=..., warmup_steps=..., start_lr=..., end_lr=...):
    """From start_lr to end_lr in warmup_steps, then `learning_rate`, a number or another scheduler."""

    def check(self) -> None:
        need(isinstance(self.learning_rate, (float, int, LRScheduler)), "the type of learning_rate should be "
              f"[int, float or LRScheduler], the current type is {self.learning_rate}", TypeError)  # fmt: skip
        need_positive(self.warmup_steps, "warmup_steps")
        message = f"end_lr {self.end_lr} must be greater than start_lr {self.start_lr}"
        need(self.start_lr < self.end_lr, message, AssertionError)

    def first(self) -> float:
        return self.start_lr

    def state_dict(self) -> dict[str, Any]:
        """The state needed to resume later, including the inner scheduler's."""
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        inner = state.pop("LinearWarmup_LR", None)
        super().set_state_dict(state)
        if inner is not None and isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(inner)

    set_dict = set_state_dict

    def rate(self, epoch: int) -> float:
        if epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * float(epoch) / float(self.warmup_steps) + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            # The other scheduler is led to its epochs, counted from the end of the warm-up; a program does not step it.
            self.learning_rate.step(epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ExponentialDecay(Schedule, learning_rate=..., gamma=...):
    """learning_rate * gamma ** epoch."""

    def check(self) -> None:
        message = " 'gamma' must be in interval (0.0, 1.0) so that the learning rate will decay."
        need(0.0 < self.gamma < 1.0, message, AssertionError)

    def rate(self, epoch: int) -> float:
        return self.base_lr * (self.gamma**epoch)


class MultiStepDecay(Schedule, learning_rate=..., milestones=..., gamma=0.1):
    """Times gamma at each milestone."""

    def check(self) -> None:
        need_kind(self.milestones, (tuple, list), "The type of 'milestones' in 'MultiStepDecay' must be 'tuple, list',")
        rising = all(first < second for first, second in zip(self.milestones, self.milestones[1:], strict=False))
        need(rising, "The elements of milestones must be incremented")
        need(self.gamma < 1.0, "gamma should be < 1.0.")

    def rate(self, epoch: int) -> float:
        return self.base_lr * (self.gamma ** sum(epoch >= milestone for milestone in self.milestones))


class StepDecay(Schedule, learning_rate=..., step_size=..., gamma=0.1):
    """Times gamma every step_size."""

    def check(self) -> None:
        need_kind(self.step_size, int, "The type of 'step_size' must be 'int',")
        need(self.gamma < 1.0, "gamma should be < 1.0.")
        need_positive(self.step_size, "step_size")

    def rate(self, epoch: int) -> float:
        return self.base_lr * (self.gamma ** (epoch // self.step_size))


class LambdaDecay(Schedule, learning_rate=..., lr_lambda=...):
    """learning_rate * lr_lambda(epoch)."""

    def check(self) -> None:
        need(callable(self.lr_lambda), f"The type of 'lr_lambda' in '{type(self).__name__}' must be 'function', but "
              f"received {type(self.lr_lambda)}.", TypeError)  # fmt: skip

    def rate(self, epoch: int) -> float:
        return self.base_lr * self.lr_lambda(epoch)


class MultiplicativeDecay(Schedule, learning_rate=..., lr_lambda=...):
    """learning_rate times lr_lambda(1) * lr_lambda(2) * ... up to the epoch."""

    check = LambdaDecay.check

    def rate(self, epoch: int) -> float:
        return math.prod((self.lr_lambda(each) for each in range(1, epoch + 1)), start=self.base_lr)


class CosineAnnealingDecay(Schedule, learning_rate=..., T_max=..., eta_min=0):
    """From learning_rate to eta_min along half a cosine in T_max epochs, and back (I. Loshchilov, F. Hutter, 2017)."""

    eta_min: float

    def check(self) -> None:
        need_kind(self.T_max, int, "The type of 'T_max' in 'CosineAnnealingDecay' must be 'int',")
        need_kind(self.eta_min, (float, int), "The type of 'eta_min' in 'CosineAnnealingDecay' must be 'float, int',")
        need_positive(self.T_max, "T_max")
        self.eta_min = float(self.eta_min)

    def rate(self, epoch: int) -> float:
        """The rate from the previous epoch's, as Paddle's `step()` computes it, with the same accumulated rounding."""
        if epoch == 0:
            return self.base_lr
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return self.last_lr + (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        return (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max)) * (
            self.last_lr - self.eta_min
        ) + self.eta_min

    def _get_closed_form_lr(self) -> float:
        return schedules.cosine(self.base_lr, self.eta_min, self.last_epoch, self.T_max)


class OneCycleLR(
    Schedule, max_learning_rate=..., total_steps=..., divide_factor=25.0, end_learning_rate=0.0001, phase_pct=0.3,
    anneal_strategy="cos", three_phase=False,
):  # fmt: skip
    """Up to max_learning_rate and down again within total_steps (L. Smith, N. Topin, 2019)."""

    def check(self) -> None:
        need_kind(self.max_learning_rate, (float, int), "'max_learning_rate' must be 'float' or 'int',")
        need(self.max_learning_rate >= 0, "'max_learning_rate' must be a positive integer.")
        need_kind(self.total_steps, int, "'total_step' must be 'int',")
        need(self.total_steps > 0, "'total_step' must be a positive integer.")
        need_kind(self.divide_factor, (float, int), "'divide_factor' must be 'float' or 'int',")
        need_kind(self.end_learning_rate, (float, int), "'end_learning_rate' must be 'float' or 'int',")
        need(self.end_learning_rate >= 0, "'end_learning_rate' must be a positive integer.")
        need_kind(self.phase_pct, float, "'phase_pct' must be 'float',")
        share, strategy = self.phase_pct, self.anneal_strategy
        need(0 <= share <= 1, f"'phase_pct' must be between 0 and 1, but received {share}")
        message = f"'anneal_strategy' must by one of 'cos' or 'linear', but received {strategy}"
        need(strategy in ("cos", "linear"), message)
        message = f"When three_phase is True, 'phase_pct' must be less than 0.5, but received {share}"
        need(not self.three_phase or share < 0.5, message)
        first, top, last, steps = self.first(), self.max_learning_rate, self.end_learning_rate, self.total_steps
        up = share * steps - 1
        self._ends, self._rates = [0, up, steps - 1], [first, top, last]
        if self.three_phase:
            self._ends, self._rates = [0, up, 2 * share * steps - 2, steps - 1], [first, top, first, last]

    def first(self) -> float:
        return self.max_learning_rate / float(self.divide_factor)

    def rate(self, epoch: int) -> float:
        need(epoch <= self.total_steps,
              f"Tried to step {epoch} times. However the number of total steps is {self.total_steps}")  # fmt: skip
        phase = next((n for n, end in enumerate(self._ends[1:-1]) if epoch <= end), len(self._ends) - 2)
        (start, end), (low, high) = self._ends[phase : phase + 2], self._rates[phase : phase + 2]
        share = (epoch - start) / (end - start)
        if self.anneal_strategy == "linear":
            return (high - low) * share + low
        return high + (low - high) / 2.0 * (math.cos(math.pi * share) + 1)


class CyclicLR(
    Schedule, base_learning_rate=..., max_learning_rate=..., step_size_up=..., step_size_down=None, mode="triangular",
    exp_gamma=1.0, scale_fn=None, scale_mode="cycle",
):  # fmt: skip
    """Up and down between base_learning_rate and max_learning_rate again and again (L. Smith, 2017)."""

    scale_mode: str

    def check(self) -> None:
        highest = self.max_learning_rate
        need_kind(highest, (float, int), "'max_learning_rate' must be 'float' or 'int',")
        need(highest >= 0, f"'max_learning_rate' must be a positive integer, but received {highest}")
        down = self.step_size_up if self.step_size_down is None else self.step_size_down
        for name, value in (("step_size_up", self.step_size_up), ("step_size_down", down)):
            need_kind(value, int, f"'{name}' must be int,")
            need(value > 0, f"'{name}' must be a positive integer, but received {value}")
        modes = ("triangular", "triangular2", "exp_range")
        need(self.mode in modes or self.scale_fn is not None, "'mode' is invalid and 'scale_fn' is not specified, make "
              f"sure one of 'mode' or 'scale_fn' is valid, got {self.mode!r}")  # fmt: skip
        message = f"'scale_mode' must be one of 'cycle' or 'iterations', but received {self.scale_mode}"
        need(self.scale_mode in ("cycle", "iterations"), message)
        self.cycle_size = float(self.step_size_up + down)
        self.step_up_pct = self.step_size_up / self.cycle_size
        self.max_lr, self.amplitude = float(highest), highest - self.base_learning_rate
        if self.scale_fn is None:
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def first(self) -> float:
        return self.base_learning_rate

    def _scale(self, x: float) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(x)
        return {"triangular": 1.0, "triangular2": 1 / (2.0 ** (x - 1)), "exp_range": self.exp_gamma**x}[self.mode]

    def rate(self, epoch: int) -> float:
        cycle = 1 + epoch // self.cycle_size
        place = 1.0 + epoch / self.cycle_size - cycle
        share = place / self.step_up_pct if place <= self.step_up_pct else (1 - place) / (1 - self.step_up_pct)
        return self.base_lr + self.amplitude * share * self._scale(cycle if self.scale_mode == "cycle" else epoch)


class LinearLR(Schedule, learning_rate=..., total_steps=..., start_factor=1.0 / 3, end_factor=1.0):
    """learning_rate times a factor that goes from start_factor to end_factor in total_steps."""

    def check(self) -> None:
        start, end, steps = self.start_factor, self.end_factor, self.total_steps
        need(0 < start <= 1.0, f"`start_factor` must be greater than 0 and less or equal to 1, but got {start}")
        need(0 <= end <= 1.0, f"`end_factor` must be greater than 0 and less than 1, but got {end}")
        need(steps > 0, f"`total_steps` must be greater than 0, but got {steps}")

    def rate(self, epoch: int) -> float:
        """The rate from the previous epoch's, as Paddle computes it."""
        if epoch == 0:
            return self.base_lr * self.start_factor
        if epoch > self.total_steps:
            return self.last_lr
        span = self.end_factor - self.start_factor
        return self.last_lr * (1.0 + span / (self.total_steps * self.start_factor + (epoch - 1) * span))


class CosineAnnealingWarmRestarts(Schedule, learning_rate=..., T_0=..., T_mult=1, eta_min=0):
    """Half cosines from learning_rate to eta_min, each T_mult times as long as the last (I. Loshchilov, F. Hutter, 2017)."""

    def check(self) -> None:
        need(isinstance(self.T_0, int) and self.T_0 > 0, f"Expected positive integer T_0, but got {self.T_0}")
        need(isinstance(self.T_mult, int) and self.T_mult >= 1, f"Expected integer T_mult >= 1, but got {self.T_mult}")
        self.T_i, self.T_cur = self.T_0, self.last_epoch

    def get_lr(self) -> float:
        return schedules.cosine(self.base_lr, self.eta_min, self.T_cur, self.T_i)

    def step(self, epoch: int | None = None) -> None:
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur = self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur = self.T_cur - self.T_i
                self.T_i = self.T_i * self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            if epoch >= self.T_0:
                if self.T_mult == 1:
                    self.T_cur = epoch % self.T_0
                else:
                    n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                    self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) // (self.T_mult - 1)
                    self.T_i = self.T_0 * self.T_mult**n
            else:
                self.T_i, self.T_cur = self.T_0, epoch
        self.last_epoch = math.floor(epoch)
        self.last_lr = self.get_lr()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")
