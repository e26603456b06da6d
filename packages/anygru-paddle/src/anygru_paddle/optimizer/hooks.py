"""The methods that custom optimizers override and call: accumulators by name, and an operation."""

from typing import Any

import torch

from ..base.framework import Block, EagerParamBase
from ..framework.dtype import torch_dtype
from ..tensor.operation import wrap
from ..tensor.tensor import Tensor

# Accumulators by name, and also as plain torch tensors: torch's functions on lists are faster with them than with a subclass.
State = tuple[dict[str, Tensor], list[torch.Tensor]]
torch_dtype_of = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]


class Hooks:
    """The methods under Paddle's names; the optimizer has the state."""

    _accumulators: dict[int, State]
    _waiting: dict[str, Any]

    def get_lr(self) -> float:
        """The learning rate now."""
        raise NotImplementedError

    def _rate_factor(self, parameter: EagerParamBase, group: dict[str, Any]) -> float:
        raise NotImplementedError

    def _named(self, value: torch.Tensor, parameter: EagerParamBase, name: str) -> Tensor:
        raise NotImplementedError

    def _load(self, state: dict[str, Tensor]) -> None:
        raise NotImplementedError

    def _create_accumulators(self, block: Block, parameters: Any) -> None:
        """Where a subclass makes its accumulators, by `_add_accumulator`."""

    def _append_optimize_op(self, block: Block, param_and_grad: Any) -> Any:
        """Where a subclass changes a parameter."""
        raise NotImplementedError(
            f"{type(self).__name__}: Optimizer cannot be used directly; a subclass has _append_optimize_op"
        )

    def _finish_update(self, block: Block, parameters_and_grads: Any) -> None:
        """A hook for subclasses, called after all parameters."""

    def _add_accumulator(
        self,
        name: str,
        param: EagerParamBase,
        dtype: Any = None,
        fill_value: float = 0.0,
        shape: list[int] | None = None,
        type: object = None,
        device: object = None,
    ) -> Tensor:
        """An accumulator of a parameter, made at the first call."""
        named, values = self._accumulators.get(id(param), ({}, []))
        if name not in named:
            kind = torch_dtype_of(param) if dtype is None else torch_dtype(dtype)
            value = torch.full(shape or list(param.shape), fill_value, dtype=kind, device=param.device)
            made = self._named(value, param, name)
            if self._waiting:
                self._load({name: made})
            named[name], self._accumulators[id(param)] = made, (named, values)
            values.append(value)
        return named[name]

    def _get_accumulator(self, name: str, param: EagerParamBase) -> Tensor:
        """An accumulator of a parameter. Raises RuntimeError if there is none."""
        named = self._accumulators.get(id(param), ({}, []))[0]
        if name not in named:
            raise RuntimeError(f"Accumulator {name} does not exist for parameter {param.name}")
        return named[name]

    _get_accumulator_master = _get_accumulator

    def _global_learning_rate(self) -> torch.Tensor:
        return wrap(torch.tensor(self.get_lr(), dtype=torch.float32))

    def _create_param_lr(self, param_and_grad: Any) -> torch.Tensor:
        """The learning rate of a parameter, as a tensor."""
        return self._global_learning_rate() * self._rate_factor(param_and_grad[0], {})
