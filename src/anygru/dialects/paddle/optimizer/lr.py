"""Learning rates that change with the step: Paddle's schedulers.

A scheduler has `base_lr`, `last_epoch` (0 after it is made) and `last_lr`; `step()` moves on by one, `step(epoch)` goes to
an epoch. Each class gives the rate of an epoch in `get_lr`. Sources are named where a scheduler has a paper.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..._kit import schedules


class LRScheduler:
    """The base of all schedulers; users subclass it and give `get_lr`."""

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(learning_rate, (float, int)):
            raise TypeError(f"The type of learning rate must be float, but received {type(learning_rate)}")
        if learning_rate < 0:
            raise ValueError(f"Invalid learning rate: {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._var_name: str | None = None
        self.step()

    def __call__(self) -> float:
        """The learning rate now."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Move on to the next epoch, or to `epoch`."""
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            closed_form = getattr(self, "_get_closed_form_lr", None)
            self.last_lr = self.get_lr() if closed_form is None else closed_form()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        raise NotImplementedError

    def state_keys(self) -> None:
        """Set `self.keys` to the names of the attributes that `state_dict` saves."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later."""
        self.state_keys()
        state: dict[str, Any] = {}
        for key in self.keys:
            if key not in self.__dict__:
                continue
            value = self.__dict__[key]
            if isinstance(value, torch.Tensor):
                value = float(value)
            state[key] = value
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise RuntimeError(
                    f"Please check whether state_dict is correct for optimizer. Can't find [ {key} ] in state_dict"
                )
            self.__dict__[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            warnings.warn(
                "There are some unused values in state_dict. Maybe the optimizer have different 'LearningRateDecay' when "
                "invoking state_dict and set_dict"
            )

    set_dict = set_state_dict


def _positive(value: Any, name: str) -> None:
    if not isinstance(value, int) or value <= 0:
        raise AssertionError(f" '{name}' must be a positive integer, got {value!r}.")


class NoamDecay(LRScheduler):
    """learning_rate * d_model ** -0.5 * min(epoch ** -0.5, epoch * warmup_steps ** -1.5) (A. Vaswani and others, 2017)."""

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if d_model <= 0:
            raise ValueError("d_model should be grater than 0")
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        first = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        return self.base_lr * self.d_model**-0.5 * min(first, self.warmup_steps**-1.5 * self.last_epoch)


class PiecewiseDecay(LRScheduler):
    """values[i] up to boundaries[i], the last value after them."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if len(boundaries) == 0:
            raise ValueError("The boundaries cannot be empty.")
        if len(values) <= len(boundaries):
            raise ValueError(
                f"The values have one element more than boundaries, but received len(values) [{len(values)}] and "
                f"len(boundaries) [{len(boundaries)}]."
            )
        self.boundaries, self.values = boundaries, values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        for boundary, value in zip(self.boundaries, self.values, strict=False):
            if self.last_epoch < boundary:
                return value
        return self.values[len(self.values) - 1]


class NaturalExpDecay(LRScheduler):
    """learning_rate * exp(-gamma * epoch)."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        if gamma <= 0.0:
            raise AssertionError(" 'gamma' must be a positive number so that the learning rate will decay.")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        return self.base_lr * math.exp(-1 * self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """learning_rate / (1 + gamma * epoch)."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From learning_rate to end_lr in decay_steps along a power of what is left; with `cycle` again and again."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _positive(decay_steps, "decay_steps")
        if power <= 0.0:
            raise AssertionError(" 'power' must be greater than 0.0 so that the learning rate will decay.")
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        epoch: float = self.last_epoch
        steps: float = self.decay_steps
        if self.cycle:
            steps *= 1.0 if epoch == 0 else math.ceil(epoch / self.decay_steps)
        else:
            epoch = min(epoch, steps)
        return schedules.polynomial(self.base_lr, self.end_lr, epoch, steps, self.power)


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then `learning_rate`, a number or another scheduler."""

    def __init__(
        self,
        learning_rate: Any,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(learning_rate, (float, int, LRScheduler)):
            raise TypeError(
                f"the type of learning_rate should be [int, float or LRScheduler], the current type is {learning_rate}"
            )
        _positive(warmup_steps, "warmup_steps")
        if not start_lr < end_lr:
            raise AssertionError(f"end_lr {end_lr} must be greater than start_lr {start_lr}")
        self.learning_rate, self.warmup_steps, self.start_lr, self.end_lr = (
            learning_rate,
            warmup_steps,
            start_lr,
            end_lr,
        )
        super().__init__(start_lr, last_epoch, verbose)

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later, the inner scheduler's state included."""
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        state = dict(state_dict)
        inner = state.pop("LinearWarmup_LR", None)
        super().set_state_dict(state)
        if inner is not None and isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(inner)

    set_dict = set_state_dict

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * float(self.last_epoch) / float(self.warmup_steps) + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ExponentialDecay(LRScheduler):
    """learning_rate * gamma ** epoch."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        if not 0.0 < gamma < 1.0:
            raise AssertionError(" 'gamma' must be in interval (0.0, 1.0) so that the learning rate will decay.")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        return self.base_lr * (self.gamma**self.last_epoch)


class MultiStepDecay(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(milestones, (tuple, list)):
            raise TypeError(
                f"The type of 'milestones' in 'MultiStepDecay' must be 'tuple, list', but received {type(milestones)}."
            )
        if any(first >= second for first, second in zip(milestones, milestones[1:], strict=False)):
            raise ValueError("The elements of milestones must be incremented")
        if gamma >= 1.0:
            raise ValueError("gamma should be < 1.0.")
        self.milestones, self.gamma = milestones, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        passed = sum(1 for milestone in self.milestones if self.last_epoch >= milestone)
        return self.base_lr * (self.gamma**passed)


class StepDecay(LRScheduler):
    """Times gamma every step_size."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(step_size, int):
            raise TypeError(f"The type of 'step_size' must be 'int', but received {type(step_size)}.")
        if gamma >= 1.0:
            raise ValueError("gamma should be < 1.0.")
        _positive(step_size, "step_size")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        return self.base_lr * (self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """learning_rate * lr_lambda(epoch)."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not callable(lr_lambda):
            raise TypeError(
                f"The type of 'lr_lambda' in 'LambdaDecay' must be 'function', but received {type(lr_lambda)}."
            )
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """learning_rate times lr_lambda(1) * lr_lambda(2) * ... up to the epoch."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not callable(lr_lambda):
            raise TypeError(
                f"The type of 'lr_lambda' in 'MultiplicativeDecay' must be 'function', but received {type(lr_lambda)}."
            )
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate = rate * self.lr_lambda(epoch)
        return rate


class ReduceOnPlateau(LRScheduler):
    """Times `factor` when the metrics given to `step(metrics)` have not improved for more than `patience` epochs."""

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if mode.lower() not in ("min", "max"):
            raise ValueError("mode: " + mode + " is unknown!")
        if factor >= 1.0:
            raise ValueError("new_lr = origin_lr * gamma and gamma should be < 1.0.")
        if threshold_mode.lower() not in ("rel", "abs"):
            raise ValueError("threshold mode: " + threshold_mode + " is unknown!")
        if not isinstance(learning_rate, (float, int)):
            raise TypeError(
                f"The type of 'learning_rate' in 'ReduceOnPlateau' must be 'float', but received {type(learning_rate)}."
            )
        self.mode, self.factor, self.patience = mode.lower(), factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode.lower()
        self.cooldown, self.min_lr, self.epsilon, self.verbose = cooldown, min_lr, epsilon, verbose
        self.cooldown_counter, self.num_bad_epochs = 0, 0
        self.best: Any = None
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = 0
        self._var_name = None

    def state_keys(self) -> None:
        """Set `self.keys` to the names of the attributes that `state_dict` saves."""
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the epoch's metrics, a number or a tensor or array of one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if not isinstance(metrics, (torch.Tensor, np.ndarray, float, int, np.floating)):
            raise TypeError(
                f"metrics must be 'int', 'float', 'np.float64', 'numpy.ndarray' or 'paddle.Tensor', but receive {type(metrics)}"
            )
        value = float(metrics.item() if isinstance(metrics, (torch.Tensor, np.ndarray)) else metrics)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            rate = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - rate > self.epsilon:
                self.last_lr = rate
                if self.verbose:
                    print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def _is_better(self, current: float, best: float) -> bool:
        if self.mode == "min":
            return current < best - (best * self.threshold if self.threshold_mode == "rel" else self.threshold)
        return current > best + (best * self.threshold if self.threshold_mode == "rel" else self.threshold)


class CosineAnnealingDecay(LRScheduler):
    """From learning_rate to eta_min along half a cosine in T_max epochs, and back (I. Loshchilov, F. Hutter, 2017)."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(T_max, int):
            raise TypeError(f"The type of 'T_max' in 'CosineAnnealingDecay' must be 'int', but received {type(T_max)}.")
        if not isinstance(eta_min, (float, int)):
            raise TypeError(
                f"The type of 'eta_min' in 'CosineAnnealingDecay' must be 'float, int', but received {type(eta_min)}."
            )
        _positive(T_max, "T_max")
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`, from that of the epoch before."""
        if self.last_epoch == 0:
            return self.base_lr
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return self.last_lr + (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        return (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / (
            1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        ) * (self.last_lr - self.eta_min) + self.eta_min

    def _get_closed_form_lr(self) -> float:
        return schedules.cosine(self.base_lr, self.eta_min, self.last_epoch, self.T_max)


class OneCycleLR(LRScheduler):
    """Up to max_learning_rate and down again within total_steps (L. Smith, N. Topin, 2019)."""

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(max_learning_rate, (float, int)):
            raise TypeError(f"'max_learning_rate' must be 'float' or 'int', but received {type(max_learning_rate)}")
        if max_learning_rate < 0:
            raise ValueError("'max_learning_rate' must be a positive integer.")
        if not isinstance(total_steps, int):
            raise TypeError(f"'total_step' must be 'int', but received {type(total_steps)}")
        if total_steps <= 0:
            raise ValueError("'total_step' must be a positive integer.")
        if not 0 <= phase_pct <= 1:
            raise ValueError(f"'phase_pct' must be between 0 and 1, but received {phase_pct}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"'anneal_strategy' must by one of 'cos' or 'linear', but received {anneal_strategy}")
        initial = max_learning_rate / float(divide_factor)
        self._anneal = self._cosine if anneal_strategy == "cos" else self._linear
        if three_phase:
            if phase_pct >= 0.5:
                raise ValueError(
                    f"When three_phase is True, 'phase_pct' must be less than 0.5, but received {phase_pct}"
                )
            self._ends = [
                0,
                phase_pct * total_steps - 1,
                2 * phase_pct * total_steps - 2,
                total_steps - 1,
                total_steps - 1,
            ]
            self._rates = [initial, max_learning_rate, initial, end_learning_rate]
        else:
            self._ends = [0, phase_pct * total_steps - 1, total_steps - 1, total_steps - 1]
            self._rates = [initial, max_learning_rate, end_learning_rate]
        self.total_steps = total_steps
        super().__init__(initial, last_epoch, verbose)

    @staticmethod
    def _cosine(start: float, end: float, share: float) -> float:
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    @staticmethod
    def _linear(start: float, end: float, share: float) -> float:
        return (end - start) * share + start

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. However the number of total steps is {self.total_steps}"
            )
        for phase, (start, end) in enumerate(zip(self._ends, self._ends[1:], strict=False)):
            if self.last_epoch <= end or phase == len(self._rates) - 2:
                share = (self.last_epoch - start) / (end - start)
                return self._anneal(self._rates[phase], self._rates[phase + 1], share)
        return self._rates[-1]


class CyclicLR(LRScheduler):
    """Up and down between base_learning_rate and max_learning_rate again and again (L. Smith, 2017)."""

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(max_learning_rate, (float, int)):
            raise TypeError(f"'max_learning_rate' must be 'float' or 'int', but received {type(max_learning_rate)}")
        if max_learning_rate < 0:
            raise ValueError(f"'max_learning_rate' must be a positive integer, but received {max_learning_rate}")
        _positive_number(step_size_up, "step_size_up")
        if step_size_down is not None:
            _positive_number(step_size_down, "step_size_down")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"'mode' is invalid and 'scale_fn' is not specified, make sure one of 'mode' or 'scale_fn' is valid, got {mode!r}"
            )
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"'scale_mode' must be one of 'cycle' or 'iterations', but received {scale_mode}")
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.cycle_size = up + down
        self.step_up_pct = up / self.cycle_size
        self.max_lr, self.amplitude = float(max_learning_rate), max_learning_rate - base_learning_rate
        builtin: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1 / (2.0 ** (x - 1)), "cycle"),
            "exp_range": (lambda x: exp_gamma**x, "iterations"),
        }
        self.scale_fn, self.scale_mode = (scale_fn, scale_mode) if scale_fn is not None else builtin[mode]
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`."""
        cycle = 1 + self.last_epoch // self.cycle_size
        place = 1.0 + self.last_epoch / self.cycle_size - cycle
        share = place / self.step_up_pct if place <= self.step_up_pct else (1 - place) / (1 - self.step_up_pct)
        height = self.amplitude * share
        return self.base_lr + height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)


def _positive_number(value: Any, name: str) -> None:
    if not isinstance(value, int):
        raise TypeError(f"'{name}' must be int, but received {type(value)}")
    if value <= 0:
        raise ValueError(f"'{name}' must be a positive integer, but received {value}")


class LinearLR(LRScheduler):
    """learning_rate times a factor that goes from start_factor to end_factor in total_steps."""

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError(f"`start_factor` must be greater than 0 and less or equal to 1, but got {start_factor}")
        if not 0 <= end_factor <= 1.0:
            raise ValueError(f"`end_factor` must be greater than 0 and less than 1, but got {end_factor}")
        if total_steps <= 0:
            raise ValueError(f"`total_steps` must be greater than 0, but got {total_steps}")
        self.start_factor, self.end_factor, self.total_steps = start_factor, end_factor, total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of `last_epoch`, from that of the epoch before."""
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        span = self.end_factor - self.start_factor
        return self.last_lr * (1.0 + span / (self.total_steps * self.start_factor + (self.last_epoch - 1) * span))


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from learning_rate to eta_min, each T_mult times as long as the last (I. Loshchilov, F. Hutter, 2017)."""

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The learning rate of the place in the present cosine."""
        return schedules.cosine(self.base_lr, self.eta_min, self.T_cur, self.T_i)

    def step(self, epoch: int | None = None) -> None:
        """Move on to the next epoch, or to `epoch`."""
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
