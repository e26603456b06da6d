"""The base of learning rate schedulers, and the scheduler that follows a metric.

A scheduler has `base_lr`, `last_epoch` (0 after it is made) and `last_lr`; `step()` moves on by one, `step(epoch)` goes to
an epoch.
"""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ..base.arguments import initializer


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
        """The state needed to resume later."""
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
        """Resume from a result of `state_dict`."""
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


class Schedule(LRScheduler):
    """A scheduler that lists its arguments in its class statement: they become attributes, and `first` gives the base rate."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__()
        if not arguments:
            return

        def build(self: Schedule, values: SimpleNamespace) -> None:
            last_epoch, verbose = vars(values).pop("last_epoch"), vars(values).pop("verbose")
            vars(self).update(vars(values), last_epoch=last_epoch)
            self.check()
            LRScheduler.__init__(self, self.first(), last_epoch, verbose)

        cls.__init__ = initializer(build, **arguments, last_epoch=-1, verbose=False)  # type: ignore[method-assign]

    def check(self) -> None:
        """Raise for arguments that do not fit."""

    def first(self) -> float:
        """The base rate."""
        return self.learning_rate

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch."""
        raise NotImplementedError

    def get_lr(self) -> float:
        return self.rate(self.last_epoch)

    def __getattr__(self, name: str) -> Any:
        # For type checkers, which cannot see the attributes that `build` makes.
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def need(holds: bool, message: str, error: type[Exception] = ValueError) -> None:
    if not holds:
        raise error(message)


def need_kind(value: object, kinds: type | tuple[type, ...], message: str) -> None:
    need(isinstance(value, kinds), f"{message} but received {type(value)}.", TypeError)


def need_positive(value: object, name: str) -> None:
    need(isinstance(value, int) and value > 0, f" '{name}' must be a positive integer, got {value!r}.", AssertionError)


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
        # The base's `__init__`, which takes the first step, is not called: a step needs metrics.
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
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the epoch's metrics, a number or a tensor or array of one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if not isinstance(metrics, (torch.Tensor, np.ndarray, float, int, np.floating)):
            raise TypeError(
                f"metrics must be 'int', 'float', 'np.float64', 'numpy.ndarray' or 'paddle.Tensor', but receive {type(metrics)}"
            )
        value = float(metrics.item() if isinstance(metrics, (torch.Tensor, np.ndarray)) else metrics)
        # Metrics of the cool-down are not looked at, where torch keeps the best of them (recorded, 2.6.2).
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
