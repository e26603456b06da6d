"""Hooks that see links being called."""

from anygru.dialects import refuser

from ..link_hooks.timer import TimerHook

__all__ = ["TimerHook"]
__getattr__ = refuser(
    "chainer",
    "chainer.link_hooks",
    {
        "SpectralNormalization": "torch.nn.utils.parametrizations.spectral_norm",
        "WeightStandardization": "a LinkHook that writes to link.W.array in forward_preprocess",
    },
)
