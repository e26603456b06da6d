"""Mixed precision. Paddle 2.6.2 does not support it on a CPU (recorded): it warns and continues. On a GPU, use torch's."""

import contextlib
import warnings
from collections.abc import Collection, Iterator
from typing import Any

import torch

from anygru.extend import not_covered

from ..base import core

__all__ = ["GradScaler", "auto_cast", "decorate", "is_bfloat16_supported", "is_float16_supported"]


def _is_off(enable: bool, name: str, instead: str) -> None:
    """Warn that a CPU has no mixed precision; raise where the program would need it."""
    if not enable:
        return
    if not core.expected_place().is_cpu_place():
        raise not_covered(f"paddle.amp.{name} on a GPU", instead)
    warnings.warn(
        f"{name} can only be enabled on CUDAPlace, XPUPlace, and CustomPlace, current place is "
        f"{core.expected_place()}, so it makes no effect.",
        UserWarning,
        stacklevel=4,
    )


@contextlib.contextmanager
def auto_cast(
    enable: bool = True,
    custom_white_list: Collection[str] | None = None,
    custom_black_list: Collection[str] | None = None,
    level: str = "O1",
    dtype: str = "float16",
    use_promote: bool = True,
) -> Iterator[None]:
    """Compute as without it; a UserWarning unless `enable` is False.

    Raises:
        ValueError: for a level or dtype that Paddle 2.6.2 does not have.
        NotCoveredError: on a GPU.
    """
    if level not in ("O0", "OD", "O1", "O2"):
        raise ValueError(f"level should be O0, OD, O1 or O2, got {level!r}")
    if dtype not in ("float16", "bfloat16"):
        raise ValueError(f"dtype should be 'float16' or 'bfloat16', got {dtype!r}")
    _is_off(enable, "amp_guard", "torch.autocast")
    yield


def decorate(models: Any, optimizers: Any = None, level: str = "O1", *options: Any, **named: Any) -> Any:
    """Return the models, and the optimizers if given, unchanged."""
    if not core.expected_place().is_cpu_place():
        raise not_covered("paddle.amp.decorate on a GPU", "torch.autocast")
    return models if optimizers is None else (models, optimizers)


def is_float16_supported(device: str | None = None) -> bool:
    """Whether mixed precision with float16 can be used: no."""
    return False


def is_bfloat16_supported(device: str | None = None) -> bool:
    """Whether mixed precision with bfloat16 can be used: no."""
    return False


class GradScaler:
    """A scaler that leaves losses and gradients unchanged.

    Raises:
        NotCoveredError: on a GPU.
    """

    def __init__(self, enable: bool = True, init_loss_scaling: float = 65536.0, *options: Any, **named: Any) -> None:
        _is_off(enable, "AmpScaler", "torch.amp.GradScaler")

    def scale(self, var: torch.Tensor) -> torch.Tensor:
        """The loss itself."""
        return var

    def unscale_(self, optimizer: Any) -> None:
        """Nothing: no gradient is scaled."""

    def step(self, optimizer: Any) -> None:
        """`optimizer.step()`."""
        optimizer.step()

    def update(self) -> None:
        """Nothing: there is no scale."""

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.minimize(...)`."""
        return optimizer.minimize(*args, **kwargs)

    def is_enable(self) -> bool:
        """False."""
        return False

    def is_use_dynamic_loss_scaling(self) -> bool:
        """False."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """Nothing to keep."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing to restore."""

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Set the first scale."""
        self._init_loss_scaling = new_init_loss_scaling

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Set the factor of a rise. Raises AssertionError unless it is above 1."""
        if new_incr_ratio <= 1.0:
            raise AssertionError("The new_incr_ratio must be > 1.0.")
        self._incr_ratio = new_incr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Set the factor of a fall. Raises AssertionError unless it is below 1."""
        if new_decr_ratio >= 1.0:
            raise AssertionError("The new_decr_ratio must be < 1.0.")
        self._decr_ratio = new_decr_ratio

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Set the steps before a rise."""
        self._incr_every_n_steps = new_incr_every_n_steps

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Set the steps before a fall."""
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf


def _getter(name: str) -> Any:
    """`get_<name>` of a scaler; a disabled scaler has only the values that were set, as in Paddle 2.6.2 (recorded)."""
    return lambda self: getattr(self, "_" + name)


for _name in ("init_loss_scaling", "incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf"):
    setattr(GradScaler, "get_" + _name, _getter(_name))


_MODEL_OPTIONS = {
    "custom_black_list", "custom_black_varnames", "custom_white_list", "decr_every_n_nan_or_inf", "decr_ratio",
    "incr_every_n_steps", "incr_ratio", "init_loss_scaling", "level", "use_dynamic_loss_scaling",
}  # fmt: skip


def asked_for(given: str | dict[str, Any] | None) -> bool:
    """Whether mixed precision is requested. Raises ValueError for levels and options that Paddle 2.6 does not have (read)."""
    options = {"level": given or "O0"} if isinstance(given, str) or not given else given
    level = options.get("level", "O1")
    if level not in ("O0", "O1", "O2"):
        raise ValueError("The level of amp_configs should be 'O0', 'O1' or 'O2'.")
    unknown = options.keys() - _MODEL_OPTIONS
    if unknown and level != "O0":
        raise ValueError(
            "Except for 'level', the keys of 'amp_configs' must be accepted by mixed precision APIs, but "
            f"{tuple(sorted(unknown))} could not be recognized."
        )
    return bool(level != "O0")
