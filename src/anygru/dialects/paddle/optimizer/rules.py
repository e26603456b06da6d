"""Update rules that Paddle writes otherwise than torch.optim: epsilon elsewhere, or a rule that torch lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..framework.dtype import single


class _Rule(torch.optim.Optimizer):
    """A torch optimizer whose rule changes one parameter: `update(parameter, gradient, state, group)`."""

    names: tuple[str, ...] = ()

    def __init__(self, params: Any, lr: float, **options: Any) -> None:
        super().__init__(params, {"lr": lr, **options})

    def update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change `p` in place."""
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Change every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                p = parameter.detach().as_subclass(torch.Tensor)
                g = parameter.grad.detach().as_subclass(torch.Tensor)
                if not state:
                    state["step"] = torch.tensor(0.0)
                    for name in self.names:
                        state[name] = torch.zeros_like(p)
                state["step"] += 1
                self.update(p, g, state, group)


class RMSProp(_Rule):
    """Epsilon stands under the root, and the learning rate within the momentum (G. Hinton, lecture 6, 2012)."""

    names = ("mean_square", "mean_grad", "momentum")

    def update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change `p` in place."""
        rho = group["rho"]
        square = state["mean_square"].mul_(rho).addcmul_(g, g, value=1 - rho)
        if group["centered"]:
            mean = state["mean_grad"].mul_(rho).add_(g, alpha=1 - rho)
            root = (square - mean * mean + group["epsilon"]).sqrt()
        else:
            root = (square + group["epsilon"]).sqrt()
        momentum = state["momentum"].mul_(group["momentum"]).addcdiv_(g, root, value=group["lr"])
        p.sub_(momentum)


class Adamax(_Rule):
    """Adam with the largest gradient in place of the mean square (D. Kingma, J. Ba, 2015, section 7.1)."""

    names = ("moment", "inf_norm")

    def update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change `p` in place."""
        exact = group["betas"][0]
        beta1, beta2 = (single(beta) for beta in group["betas"])
        moment = state["moment"].mul_(beta1).add_(g, alpha=1 - beta1)
        norm = torch.maximum(g.abs(), state["inf_norm"] * beta2 + group["epsilon"])
        state["inf_norm"].copy_(norm)
        p.addcdiv_(moment, norm, value=-group["lr"] / (1 - exact ** float(state["step"])))


class Lamb(_Rule):
    """Adam scaled by the norms of parameter and update (Y. You and others, 2020)."""

    names = ("moment1", "moment2")

    def update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change `p` in place."""
        exact1, exact2 = group["betas"]
        beta1, beta2 = single(exact1), single(exact2)
        step = float(state["step"])
        first = state["moment1"].mul_(beta1).add_(g, alpha=1 - beta1) / (1 - exact1**step)
        second = state["moment2"].mul_(beta2).addcmul_(g, g, value=1 - beta2) / (1 - exact2**step)
        change = first / (second.sqrt() + group["epsilon"]) + group["decay"] * p
        size, length = p.norm(), change.norm()
        if group["decay"] == 0 and not group["always_adapt"]:
            size = length  # without decay the update is not scaled
        ratio = torch.where((size > 0) & (length > 0), size / length, torch.ones_like(size))
        p.sub_(group["lr"] * ratio * change)
