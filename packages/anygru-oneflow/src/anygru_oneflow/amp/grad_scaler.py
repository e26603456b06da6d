"""Scales for the losses of mixed precision."""

import torch

__all__ = ["GradScaler", "StaticGradScaler"]


class GradScaler(torch.amp.GradScaler):
    """As torch's; it does nothing where there is no GPU. A graph takes it by `set_grad_scaler`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        enabled = torch.cuda.is_available()
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class StaticGradScaler(GradScaler):
    """A scale that stays, also after a step of infinite gradients."""

    def __init__(self, scale_factor: float) -> None:
        super().__init__(scale_factor, growth_interval=2**31 - 1)

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        super().update(self.get_scale() if new_scale is None else new_scale)
