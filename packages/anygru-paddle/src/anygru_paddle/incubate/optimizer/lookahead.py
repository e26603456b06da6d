"""`LookAhead`: slow parameters that follow another optimizer's parameters. Source: Zhang et al. 2019, in Paddle 2.6.2's form."""

from typing import Any

import torch

from ...optimizer.optimizer import Optimizer, Pairs
from ...tensor.operation import plain

__all__ = ["LookAhead"]


class LookAhead(Optimizer):
    """Lets an optimizer step, and every `k` steps draws its parameters back: slow += alpha * (fast - slow), fast = slow.

    The slow parameters start at the values after the first step. The state_dict has only them: the other optimizer saves
    its state separately (recorded, 2.6.2).

    Args:
        inner_optimizer: the optimizer that steps.
        alpha: how far the slow parameters move, from 0 to 1.
        k: steps between two moves.
        name: kept for scripts.

    Raises:
        AssertionError: for values outside of these.
    """

    accumulators = {"slow": None}

    def __init__(self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5, name: str | None = None) -> None:
        if inner_optimizer is None:
            raise AssertionError("inner optimizer can not be None")
        if not 0.0 <= alpha <= 1.0:
            raise AssertionError("alpha should be larger or equal to 0.0, and less or equal than 1.0")
        if not isinstance(k, int) or k <= 0:
            raise AssertionError("k should be a positive integer")
        super().__init__(alpha, inner_optimizer._parameter_list, name=name)
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        self._steps = 0

    def step(self) -> None:
        """One step of the inner optimizer, and every `k` steps one of the slow parameters."""
        self.inner_optimizer.step()
        self._apply(self._gradients())

    @torch.no_grad()
    def _apply(self, params_grads: Pairs) -> None:
        self._steps += 1
        for parameter, _ in params_grads:
            fast, (slow,) = plain(parameter.detach()), self._state(parameter, {}, {})[1]
            if self._steps == 1:
                slow.copy_(fast)
            if self._steps % self.k == 0:
                fast.copy_(slow.lerp_(fast, self.alpha))

    def minimize(self, loss: Any, *args: Any, **kwargs: Any) -> tuple[list[Any], list[Any]]:
        done = self.inner_optimizer.minimize(loss, *args, **kwargs)
        self._apply(done[1])
        return done
