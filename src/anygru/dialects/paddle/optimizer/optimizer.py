"""The base of Paddle's optimizers: groups, learning rates, regularizers, clipping and state, around a torch optimizer.

The torch optimizer holds the state and makes the step. For a step it sees the gradients as regularizers and clipping
leave them; the parameters keep the gradients that `backward` gave.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from ..base import unique_name
from ..regularizer import L2Decay, WeightDecayRegularizer
from ..tensor.operation import wrap
from ..tensor.tensor import Tensor, as_torch
from .lr import LRScheduler

_set_grad = torch.Tensor.grad.__set__  # type: ignore[union-attr]
_get_grad = torch.Tensor.grad.__get__  # type: ignore[union-attr]


def as_regularizer(weight_decay: Any, name: str) -> WeightDecayRegularizer | None:
    """What the argument `weight_decay` means: a number is an L2Decay.

    Raises:
        TypeError: for anything but None, a number or a regularizer.
    """
    if weight_decay is None or isinstance(weight_decay, WeightDecayRegularizer):
        return weight_decay
    if isinstance(weight_decay, (float, int)) and not isinstance(weight_decay, bool):
        return L2Decay(weight_decay)
    raise TypeError(f"{name}: weight_decay must be float or regularizer, but received {type(weight_decay).__name__}")


class Optimizer:
    """Changes parameters by their gradients.

    Args:
        learning_rate: a number or an `LRScheduler`.
        parameters: the parameters, or dicts with 'params' and options of their own ('learning_rate', a factor;
            'weight_decay'; 'grad_clip').
        weight_decay: a number (L2) or a regularizer, for parameters without their own.
        grad_clip: one of the `ClipGradBy...` of `paddle.nn`.
        name: kept for scripts.

    Raises:
        AttributeError: without parameters.
        TypeError: for a single tensor as parameters, a learning rate that is none, or another kind of clipping.
    """

    #: For each accumulator in the order of the state_dict: Paddle's name and torch's.
    accumulators: tuple[tuple[str, str], ...] = ()
    #: Accumulators that are powers of an option: Paddle's name and which of `betas`.
    powers: tuple[tuple[str, int], ...] = ()

    def __init__(
        self,
        learning_rate: Any,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        from ..nn.clip import ClipGradBase

        if parameters is None:
            raise AttributeError("parameters argument given to the Optimizer should not be None in dygraph mode.")
        if isinstance(parameters, (torch.Tensor, dict)) or not isinstance(parameters, Iterable):
            raise TypeError(
                "`parameters` argument given to the optimizer should be an iterable of paddle Tensors, but got argument "
                f"type is `{type(parameters)}`."
            )
        if not isinstance(learning_rate, (float, LRScheduler)):
            raise TypeError(f"learning rate should be float or LRScheduler, got {type(learning_rate)} here")
        if grad_clip is not None and not isinstance(grad_clip, ClipGradBase):
            raise TypeError("'grad_clip' should be an instance of GradientClipBase's derived class")
        self._learning_rate = learning_rate
        self.regularization = as_regularizer(weight_decay, type(self).__name__)
        self._grad_clip = grad_clip
        self._name = name
        self._groups: list[dict[str, Any]] = []
        self._parameter_list: list[Any] = []
        self._waiting: dict[str, Any] | None = None
        self._loaded: set[int] = set()
        self._keys: dict[tuple[int, str], str] = {}
        given = list(parameters)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self._add_group(group)
        self._param_groups = self._groups if isinstance(given[0], dict) else self._parameter_list
        self._factors = self._rate_factors()
        self._torch = self._make(self._torch_groups())

    def _add_group(self, group: dict[str, Any]) -> None:
        params = group["params"]
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        for each in params:
            if not isinstance(each, torch.Tensor):
                raise TypeError(f"optimizer: parameters must be Tensors, got {type(each).__name__}")
            if any(each is known for known in self._parameter_list):
                raise ValueError("some parameters appear in more than one parameter group")
            self._parameter_list.append(each)
        options = {key: value for key, value in group.items() if key != "params"}
        if "weight_decay" in options:
            options["regularization"] = self._group_regularizer(options["weight_decay"])
        self._groups.append({"params": params, **options})

    def _group_regularizer(self, weight_decay: Any) -> WeightDecayRegularizer | None:
        return as_regularizer(weight_decay, type(self).__name__)

    # -- for subclasses ------------------------------------------------------------------------------------------------

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        """The torch optimizer for these groups, each with 'params' (one parameter) and its group's 'options'."""
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    def _torch_groups(self) -> list[dict[str, Any]]:
        """torch's groups: the parameters that share a learning rate and all options."""
        groups: dict[Any, dict[str, Any]] = {}
        for parameter, factor in zip(self._parameter_list, self._factors, strict=True):
            options = self._torch_options(parameter, self._group_of(parameter))
            group = groups.setdefault((factor, *options.items()), {"params": [], "factor": factor, **options})
            group["params"].append(parameter)
        return list(groups.values())

    def _group_of(self, parameter: Any) -> dict[str, Any]:
        return next(group for group in self._groups if any(parameter is each for each in group["params"]))

    def _rate_factors(self) -> list[float]:
        """What the optimizer's learning rate is multiplied by, for each parameter."""
        return [self._rate_factor(p, group) for group in self._groups for p in group["params"]]

    def _torch_options(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        """Options of a parameter in torch's words, besides its learning rate."""
        return {}

    def _rate_factor(self, parameter: Any, group: dict[str, Any]) -> float:
        """What the optimizer's learning rate is multiplied by for one parameter."""
        factor = getattr(parameter, "optimize_attr", {}).get("learning_rate", 1.0)
        return float(factor) * float(group.get("learning_rate", 1.0))

    # -- stepping ------------------------------------------------------------------------------------------------------

    def get_lr(self) -> float:
        """The learning rate now."""
        rate = self._learning_rate
        return rate() if isinstance(rate, LRScheduler) else float(rate)

    def set_lr(self, value: float) -> None:
        """Set the learning rate.

        Raises:
            TypeError: for anything but a number.
            RuntimeError: if a scheduler gives it.
        """
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"The type of 'value' in optimizer.set_lr must be float, but received {type(value)}.")
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError(
                "optimizer's learning rate can't be LRScheduler when invoke this API, because this will lead to conflict."
            )
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let `scheduler` give the learning rate."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(
                f"The type of 'scheduler' in optimizer.set_lr_schduler must be LRScheduler, but received {type(scheduler)}."
            )
        self._learning_rate = scheduler

    def _gradients(self) -> list[tuple[Any, torch.Tensor]]:
        return [
            (parameter, parameter.grad)
            for parameter in self._parameter_list
            if not parameter.stop_gradient and parameter.grad is not None
        ]

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter that has a gradient."""
        self._apply(self._gradients())

    def _apply(self, params_grads: list[tuple[Any, Any]]) -> None:
        rate = self.get_lr()
        with torch.no_grad():
            used = self._treated(params_grads)
            if self._rate_factors() != self._factors:
                self._factors = self._rate_factors()
                self._torch.param_groups[:] = [{**self._torch.defaults, **group} for group in self._torch_groups()]
            for torch_group in self._torch.param_groups:
                torch_group["lr"] = rate * torch_group["factor"]
            for parameter, _ in used:
                for name, _ in (*self.accumulators, *self.powers):
                    self._key(parameter, name)
            if self._waiting is not None:
                self._load_waiting([parameter for parameter, _ in used])
            kept = [(parameter, _get_grad(parameter)) for parameter in self._parameter_list]
            wanted = {id(parameter): grad for parameter, grad in used}
            try:
                for parameter, own in kept:
                    grad = wanted.get(id(parameter))
                    if grad is not own:
                        _set_grad(parameter, None if grad is None else grad.detach().as_subclass(torch.Tensor))
                self._torch.step()
            finally:
                for parameter, own in kept:
                    if _get_grad(parameter) is not own:
                        _set_grad(parameter, own)

    def _treated(self, params_grads: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The gradients clipped, and then with the regularizers' terms."""
        out: list[tuple[Any, Any]] = []
        for group in self._groups:
            own = {id(each) for each in group["params"]}
            pairs = [(p, g) for p, g in params_grads if id(p) in own]
            clip = group.get("grad_clip", self._grad_clip)
            if clip is not None and pairs:
                pairs = clip(pairs)
            default = group.get("regularization", self.regularization)
            for parameter, grad in pairs:
                regularizer = getattr(parameter, "regularizer", None) or default
                if regularizer is not None:
                    grad = torch.add(grad, regularizer.gradient(parameter.detach().as_subclass(torch.Tensor)))
                out.append((parameter, grad))
        return out

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """A step by the gradients that `loss.backward()` has left."""
        if not isinstance(loss, torch.Tensor):
            raise AssertionError("The loss should be an Tensor.")
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        self._apply(pairs)
        return [], pairs

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The parameters that have gradients, with them."""
        pairs = self._gradients()
        if parameters is not None:
            pairs = [(p, g) for p, g in pairs if any(p is each for each in parameters)]
        return [(p, g) for p, g in pairs if not any(p is each for each in no_grad_set or ())]

    def apply_gradients(self, params_grads: list[tuple[Any, Any]]) -> list[Any]:
        """A step by the gradients given."""
        self._apply(params_grads)
        return []

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Make all gradients zeros, or None with `set_to_zero=False`."""
        for parameter in self._parameter_list:
            if not parameter.stop_gradient:
                parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    # -- state ---------------------------------------------------------------------------------------------------------

    def _key(self, parameter: Any, accumulator: str) -> str:
        """The name of an accumulator, `<parameter>_moment1_0`; a second optimizer of the parameter numbers on."""
        place = id(parameter), accumulator
        if place not in self._keys:
            self._keys[place] = unique_name.generate(f"{parameter.name}_{accumulator}")
        return self._keys[place]

    def _powers(self, parameter: Any, steps: float) -> dict[str, torch.Tensor]:
        kind = torch.Tensor.dtype.__get__(parameter)  # type: ignore[attr-defined]
        kind = kind if kind == torch.float64 else torch.float32
        betas = self._betas(parameter)
        return {name: torch.full([1], betas[which] ** (steps + 1), dtype=kind) for name, which in self.powers}

    def _betas(self, parameter: Any) -> tuple[float, float]:
        return next(
            group["betas"] for group in self._torch.param_groups if any(parameter is each for each in group["params"])
        )

    def state_dict(self) -> dict[str, Any]:
        """The accumulators by name, `<parameter>_moment1_0` and so on, and the scheduler's state under 'LR_Scheduler'."""
        found: dict[str, dict[str, Tensor]] = OrderedDict()
        for parameter in self._parameter_list:
            state = self._torch.state.get(parameter)
            if not state or float(state.get("step", 1)) == 0:
                continue
            own = {paddle: state[torch_name] for paddle, torch_name in self.accumulators if torch_name in state}
            own |= self._powers(parameter, float(state["step"])) if self.powers else {}
            for name, value in own.items():
                if value is None:
                    continue
                key = self._key(parameter, name)
                tensor = wrap(value.detach().as_subclass(torch.Tensor))
                tensor.name, tensor.persistable = key, True
                found.setdefault(name, OrderedDict())[key] = tensor
        out: dict[str, Any] = {key: value for own in found.values() for key, value in own.items()}
        if isinstance(self._learning_rate, LRScheduler):
            out["LR_Scheduler"] = self._learning_rate.state_dict()
        return out

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave, here or in Paddle.

        Raises:
            AssertionError: at once for an optimizer that has stepped, else at its next step, if a parameter's accumulator
                is missing or has another shape.
        """
        state = dict(state_dict)
        if isinstance(self._learning_rate, LRScheduler):
            if "LR_Scheduler" not in state:
                raise KeyError("LR_Scheduler: the optimizer's learning rate is a scheduler, the state_dict has none")
            self._learning_rate.set_state_dict(state["LR_Scheduler"])
        state.pop("LR_Scheduler", None)
        state.pop("StructuredToParameterName@@", None)
        state.pop("master_weights", None)
        self._waiting, self._loaded = state or None, set()
        self._load_waiting([parameter for parameter in self._parameter_list if self._torch.state.get(parameter)])

    set_dict = set_state_dict

    def _load_waiting(self, parameters: list[Any]) -> None:
        """Give these parameters the accumulators that wait for them."""
        waiting = self._waiting or {}
        for parameter in parameters:
            if id(parameter) in self._loaded:
                continue
            state: dict[str, Any] = {}
            for name, torch_name in self.accumulators:
                state[torch_name] = self._waiting_value(waiting, parameter, name, list(parameter.shape))
            steps = 0.0
            for name, which in self.powers:
                power = float(self._waiting_value(waiting, parameter, name, [1]).reshape(-1)[0])
                steps = max(steps, _steps_of(power, self._betas(parameter)[which]))
            if state:
                self._torch.state[parameter] = {"step": torch.tensor(steps), **state}
            self._loaded.add(id(parameter))

    def _waiting_value(self, waiting: dict[str, Any], parameter: Any, name: str, shape: list[int]) -> torch.Tensor:
        key = self._key(parameter, name)
        if key not in waiting:
            raise AssertionError(
                f"Optimizer set error, {key} should in state dict. If the parameters were made under other names, "
                "wrap their making in paddle.utils.unique_name.guard()"
            )
        value = as_torch(waiting[key]).detach().clone()
        if list(value.shape) != shape and value.numel() != int(np.prod(shape)):
            raise AssertionError(
                f"Variable Shape not match, Variable [ {key} ] need tensor with shape {shape} but load set tensor with "
                f"shape {list(value.shape)}"
            )
        kind = torch.Tensor.dtype.__get__(parameter)  # type: ignore[attr-defined]
        return value.as_subclass(torch.Tensor).reshape(shape).to(kind)


def _steps_of(power: float, beta: float) -> float:
    """How many steps an accumulator beta ** (steps + 1) has seen; where it has run out of digits, as many as show."""
    if not 0 < beta < 1 or power >= beta:
        return 0.0
    return float(round(np.log(max(power, 1e-30)) / np.log(beta) - 1))
