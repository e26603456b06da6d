"""Flags of Paddle's kernels and allocators: kept and given back. One has an effect: FLAGS_set_to_1d, also as a variable of the
environment, lets `Tensor.numpy()` give [1] for a single number, as scripts written for Paddle before 2.5 expect."""

import os
from collections.abc import Sequence
from typing import Any

__all__ = ["disable_signal_handler", "get_flags", "set_flags"]

# The flags that scripts read before they have set them, with their values in 2.6.2 on a CPU (recorded).
_flags: dict[str, Any] = {
    "FLAGS_allocator_strategy": "auto_growth", "FLAGS_benchmark": False, "FLAGS_check_nan_inf": False,
    "FLAGS_cudnn_deterministic": False, "FLAGS_cudnn_exhaustive_search": False, "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92, "FLAGS_use_mkldnn": False,
    "FLAGS_set_to_1d": os.environ.get("FLAGS_set_to_1d", "0").lower() in ("1", "true"),  # noqa: SIM112 - Paddle's name
}  # fmt: skip


def set_flags(flags: dict[str, Any]) -> None:
    """Keep flags.

    Raises:
        TypeError: unless they are a dict.
        ValueError: for a name that does not begin with FLAGS_.
    """
    if not isinstance(flags, dict):
        raise TypeError("flags in set_flags should be a dict")
    for name, value in flags.items():
        if not name.startswith("FLAGS_"):
            raise ValueError(f"Flag {name} cannot set its value through this function.")
        _flags[name] = value


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """The values of one flag or of several.

    Raises:
        TypeError: unless it is a name or a list of names.
        ValueError: for a flag that has not been set and is not among the common ones.
    """
    if not isinstance(flags, (str, list, tuple)):
        raise TypeError("Flags in get_flags should be a list, tuple or string.")
    names = [flags] if isinstance(flags, str) else list(flags)
    for name in names:
        if name not in _flags:
            raise ValueError(f"Flag {name} cannot get its value through this function.")
    return {name: _flags[name] for name in names}


def is_set(name: str) -> bool:
    """Whether a flag is on."""
    return bool(_flags[name])


def disable_signal_handler() -> None:
    """Nothing: no signal handlers are installed."""
