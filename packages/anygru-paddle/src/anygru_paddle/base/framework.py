"""Parameters, and the questions about mode and build that scripts ask."""

import contextlib
import copy
from typing import Any

import torch

from ..tensor.tensor import Tensor
from .core import CPUPlace, CUDAPlace, get_cuda_device_count

__all__ = [
    "Block", "Parameter", "Variable", "cpu_places", "cuda_places", "in_dygraph_mode", "in_dynamic_mode",
    "in_pir_mode", "use_pir_api",
]  # fmt: skip


class Block:
    """A block of a static program; custom optimizers check for its type."""


class EagerParamBase(Tensor):
    """A trainable tensor: torch takes it for an `nn.Parameter`, Paddle gives it a name and optimizer attributes."""

    _is_param = True  # read by torch.nn.Parameter's isinstance check
    optimize_attr: dict[str, Any]
    regularizer: Any
    need_clip: bool
    is_distributed: bool  # type: ignore[assignment]
    do_model_average: Any
    sparse_gradient: bool  # only an embedding has it

    @property
    def trainable(self) -> bool:
        """Whether optimizers change the parameter: the opposite of `stop_gradient`."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ValueError(f"The type of trainable MUST be bool, but the type is {type(value).__name__}")
        self.stop_gradient = not value

    def __repr__(self, *_: Any, **__: Any) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + Tensor.__repr__(self)

    __str__ = __repr__

    def __copy__(self) -> "EagerParamBase":
        return copy.deepcopy(self)


Parameter = EagerParamBase
Variable = Tensor


def make_parameter(
    value: torch.Tensor,
    name: str,
    trainable: bool = True,
    learning_rate: float = 1.0,
    regularizer: Any = None,
    need_clip: bool = True,
    do_model_average: Any = None,
) -> EagerParamBase:
    """Turn a fresh tensor into a parameter, in place."""
    value.__class__ = EagerParamBase
    value.name = name  # type: ignore[attr-defined]
    value.persistable = True  # type: ignore[attr-defined]
    value.stop_gradient = not trainable  # type: ignore[attr-defined]
    value.optimize_attr = {"learning_rate": learning_rate}  # type: ignore[attr-defined]
    value.regularizer = regularizer  # type: ignore[attr-defined]
    value.need_clip = need_clip  # type: ignore[attr-defined]
    value.is_distributed = False  # type: ignore[assignment, method-assign]
    value.do_model_average = do_model_average  # type: ignore[attr-defined]
    return value  # type: ignore[return-value]


def in_dygraph_mode() -> bool:
    """True: the dialect computes at once, it has no static graph."""
    return True


in_dynamic_mode = in_dynamic_or_pir_mode = in_dygraph_mode


def in_pir_mode() -> bool:
    """False: the dialect has no intermediate representation."""
    return False


use_pir_api = in_pir_mode
# It configures 2.6.2's checks in a static graph; PaddleOCR calls it.
_stride_in_no_check_dy2st_diff = contextlib.nullcontext


class _Tracer:
    """The state of Paddle's tracer.

    Attributes:
        _train_mode: the mode that `train` or `eval` of any layer has set last, as in Paddle 1.8.5 and 2.6.2 (recorded).
    """

    _train_mode = True

    @property
    def _has_grad(self) -> bool:
        return torch.is_grad_enabled()

    @_has_grad.setter
    def _has_grad(self, value: bool) -> None:
        torch.set_grad_enabled(value)


tracer = _Tracer()


def _dygraph_tracer() -> _Tracer:
    return tracer


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """`device_count` CPU places, one unless given."""
    return [CPUPlace() for _ in range(device_count or 1)]


def cuda_places(device_ids: list[int] | None = None) -> list[CUDAPlace]:
    """A place for each CUDA device, or for each device in the list."""
    return [CUDAPlace(number) for number in (range(get_cuda_device_count()) if device_ids is None else device_ids)]
