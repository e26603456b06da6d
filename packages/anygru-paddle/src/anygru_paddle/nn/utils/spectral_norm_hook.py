"""`paddle.nn.utils.spectral_norm`: a weight over its largest singular value, found by power iteration."""

from typing import Any

import torch

from ...tensor.operation import plain, wrap
from ...tensor.random import randn

__all__ = ["spectral_norm"]

# Layers that have the outputs along axis 1 of the weight.
_SECOND = ("Linear", "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")


def as_matrix(weight: torch.Tensor, dim: int) -> torch.Tensor:
    """A weight with axis `dim` first and the others as one."""
    return weight.movedim(dim, 0).reshape(weight.shape[dim], -1)


def as_weight(matrix: torch.Tensor, weight: torch.Tensor, dim: int) -> torch.Tensor:
    """A matrix in the form that `as_matrix` took it from."""
    return matrix.reshape(weight.movedim(dim, 0).shape).movedim(0, dim)


@torch.no_grad()
def iterate(
    matrix: torch.Tensor, u: torch.Tensor, v: torch.Tensor, times: int, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The singular vectors after `times` more steps from `u` and `v`."""
    for _ in range(times):
        v = torch.nn.functional.normalize(matrix.T @ u, dim=0, eps=eps)
        u = torch.nn.functional.normalize(matrix @ v, dim=0, eps=eps)
    return u, v


class SpectralNormHook:
    """The hook that computes a layer's weight again before each call."""

    def __init__(self, name: str, times: int, dim: int, eps: float) -> None:
        self.name, self.times, self.dim, self.eps = name, times, dim, eps

    def compute_weight(self, layer: Any, improve: bool) -> torch.Tensor:
        """`<name>_orig` over its singular value; `improve` the vectors in `<name>_u` and `<name>_v` first, as training does."""
        weight, u, v = (plain(getattr(layer, self.name + end)) for end in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if improve:
            found = iterate(matrix, u, v, self.times, self.eps)
            for kept, new in zip((u, v), found, strict=True):
                kept.copy_(new)
            u, v = found
        return wrap(weight / torch.dot(u, matrix @ v))

    def __call__(self, layer: Any, inputs: Any) -> None:
        setattr(layer, self.name, self.compute_weight(layer, layer.training))


def spectral_norm(
    layer: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a layer's parameter by its largest singular value before each call; `<name>_orig` is trained.

    Raises:
        RuntimeError: if the parameter is normalized already.
        ValueError: if `n_power_iterations` is not positive.
    """
    if any(isinstance(hook, SpectralNormHook) and hook.name == name for hook in layer._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    if dim is None:
        dim = 1 if any(kind.__name__ in _SECOND for kind in type(layer).__mro__) else 0
    hook = SpectralNormHook(name, n_power_iterations, dim, eps)
    weight = layer._parameters.pop(name)
    layer.add_parameter(name + "_orig", weight)
    for end, size in zip(("_u", "_v"), as_matrix(plain(weight), dim).shape, strict=True):
        # 2.6.2 first draws the default initial values as well (recorded).
        layer.create_parameter([size])
        vector = torch.nn.functional.normalize(plain(randn([size], dtype=weight.dtype)), dim=0, eps=eps)
        layer.register_buffer(name + end, wrap(vector))
    # A tensor and no parameter: `parameters()` lists `<name>_orig` alone.
    setattr(layer, name, weight * 1.0)
    layer.register_forward_pre_hook(hook)
    return layer
