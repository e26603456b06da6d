"""`mx.lr_scheduler`: the learning rate as a function of the number of updates. Follows MXNet 1.9's `mxnet.lr_scheduler`."""

from anygru.extend import schedules

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """A learning rate that may begin with a warm-up; a subclass defines the rate after it.

    Args:
        base_lr: the rate at the end of the warm-up.
        warmup_steps: the number of updates in the warm-up. warmup_begin_lr: the first rate.
        warmup_mode: "linear" or "constant".

    Raises:
        ValueError: for a warm-up that begins above `base_lr`, has a negative length or another mode.
    """

    def __init__(
        self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear"
    ) -> None:
        assert isinstance(warmup_steps, int)
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        # An optimizer may set `base_lr` later; the warm-up still ends at the old rate (MXNet 1.9.1, observed).
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        if warmup_begin_lr > base_lr:
            raise ValueError("Base lr has to be higher than warmup_begin_lr")
        if warmup_steps < 0:
            raise ValueError("Warmup steps has to be positive or 0")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError("Supports only linear and constant modes of warmup")
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate during the warm-up."""
        assert num_update < self.warmup_steps
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        done = float(num_update) / float(self.warmup_steps)
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * done

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self._after_warmup(num_update)

    def _after_warmup(self, num_update: int) -> float:
        raise NotImplementedError("must override this")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by a factor every `step` updates, down to `stop_factor_lr`; see `LRScheduler`.

    Raises:
        ValueError: for a step below 1 and a factor above 1.
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        if factor > 1.0:
            raise ValueError("Factor must be no more than 1 to make lr reduce")
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def _after_warmup(self, num_update: int) -> float:
        # Updates count from 1. The rate never rises: for an earlier number it is the last rate (MXNet 1.9.1, observed).
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by a factor after each of the given numbers of updates; see `LRScheduler`.

    Raises:
        ValueError: for numbers that do not increase or are below 1, and for a factor above 1.
        AssertionError: for values other than a list of them.
    """

    def __init__(
        self,
        step: list[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(step, list)
        assert len(step) >= 1
        if any(later <= earlier for earlier, later in zip(step, step[1:], strict=False)):
            raise ValueError("Schedule step must be an increasing integer list")
        if step[0] < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        if factor > 1.0:
            raise ValueError("Factor must be no more than 1 to make lr reduce")
        self.step = step
        self.factor = factor
        self.cur_step_ind = 0
        self.count = 0

    def _after_warmup(self, num_update: int) -> float:
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
        return self.base_lr


class _Annealing(LRScheduler):
    """Decreases the rate from the base rate to `final_lr` over `max_update` updates. A subclass defines the curve."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(max_update, int)
        if max_update < 1:
            raise ValueError("maximum number of updates must be strictly positive")
        # The curve begins at this rate even if an optimizer sets `base_lr` later (MXNet 1.9.1, observed).
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def _after_warmup(self, num_update: int) -> float:
        if num_update <= self.max_update:
            self.base_lr = self._rate(num_update - self.warmup_steps)
        return self.base_lr

    def _rate(self, step: int) -> float:
        raise NotImplementedError


class CosineScheduler(_Annealing):
    """Decreases the rate to `final_lr` by half a cosine over `max_update` updates, which include the warm-up."""

    def _rate(self, step: int) -> float:
        return schedules.cosine(self.base_lr_orig, self.final_lr, step, self.max_steps)


class PolyScheduler(_Annealing):
    """Decreases the rate to `final_lr` by a power function over `max_update` updates, which include the warm-up."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _rate(self, step: int) -> float:
        return schedules.polynomial(self.base_lr_orig, self.final_lr, step, self.max_steps, self.power)
