"""What all optimizers share: OneFlow's parameter groups and states around torch's."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch

from ..._kit.numbers import single
from ..framework.tensor import Parameter, Tensor, dress
from ..nn.utils.clip_grad import clip_grad_norm_

_CLIP = ("clip_grad_max_norm", "clip_grad_norm_type")


class ParamGroup(dict[str, Any]):
    """torch's parameter group, with OneFlow's attributes."""

    @property
    def parameters(self) -> list[Parameter]:
        return self["params"]

    _parameters = parameters

    @property
    def options(self) -> dict[str, Any]:
        """The options in OneFlow's order, then what the user or a scheduler added."""
        known = {name: self[name] for name in self.order if name in self}
        return known | {name: self[name] for name in self if name not in (*known, *_TORCH_ONLY)}

    order: tuple[str, ...] = ()


_TORCH_ONLY = ("params", "foreach", "differentiable", "capturable", "decoupled_weight_decay", "maximize", "fused")


class Optimizer(torch.optim.Optimizer):
    """The base of the optimizers; beside it, each inherits from torch's of the same name.

    Class attributes:
        OPTIONS: OneFlow's options in its order, with a value for each that torch has not.
        STATE: torch's names of the tensors that belong to a parameter, and OneFlow's.
        AT_ONCE: whether every parameter has them from the beginning, not only from its first gradient on.
    """

    OPTIONS: dict[str, Any] = {}
    STATE: dict[str, str] = {}
    AT_ONCE = False
    steps = 0

    def __init__(self, parameters: Any, options: dict[str, Any]) -> None:
        self._make(torch.optim.Optimizer, parameters, {"lr": 0.001, **options})

    def _make(self, kind: type[torch.optim.Optimizer], *arguments: Any, **keywords: Any) -> None:
        """Call torch's constructor; numbers out of range are AssertionErrors in OneFlow."""
        try:
            kind.__init__(self, *arguments, **keywords)
        except ValueError as error:
            raise AssertionError(str(error)) if str(error).startswith("Invalid") else error from None

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with options of its own.

        Raises:
            ValueError: something else than tensors among the parameters, such as names.
            AssertionError: a tensor that was computed from others.
        """
        given = param_group["params"]
        param_group["params"] = [given] if isinstance(given, torch.Tensor) else list(given)
        for parameter in param_group["params"]:
            if not isinstance(parameter, torch.Tensor):
                raise ValueError(f"an optimizer's parameters must be tensors, got a {type(parameter).__name__}")
            assert parameter.is_leaf, "an optimizer's parameters must be leaf tensors"
        super().add_param_group(param_group)
        group = self.param_groups[-1] = ParamGroup(self.param_groups[-1])
        group.order = tuple(self.OPTIONS)
        for name, value in self.OPTIONS.items():
            if group.get(name) is None:
                group[name] = value

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:  # type: ignore[override]
        """Change the parameters by their gradients. A closure runs without gradients, unless it enables them."""
        with torch.no_grad():
            loss = None if closure is None else closure()
        with torch._C.DisableTorchFunctionSubclass(), self._options_of_this_step():
            self._begin_states()
            self._change_parameters()
        self.steps += 1
        return loss

    def _change_parameters(self) -> None:
        super().step()

    @contextlib.contextmanager
    def _options_of_this_step(self) -> Iterator[None]:
        """The groups with the options by which torch computes what OneFlow does; then they are as they were."""
        asked = []
        for group in self.param_groups:
            options = self._step_options(group)
            asked.append({name: group[name] for name in options})
            group.update(options)
        try:
            yield
        finally:
            for group, options in zip(self.param_groups, asked, strict=True):
                group.update(options)

    def _step_options(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options that stand in for a group's own in this step.

        OneFlow computes with options in float32, whatever the parameters' type.
        """
        numbers = {name: group[name] for name in self.OPTIONS if isinstance(group.get(name), float)}
        options: dict[str, Any] = {name: single(number) for name, number in numbers.items()}
        if "betas" in group:
            options["betas"] = tuple(single(beta) for beta in group["betas"])
        return options

    def _state_names(self, group: dict[str, Any]) -> Iterable[str]:
        """torch's names of the tensors that each parameter of the group has."""
        return self.STATE

    def _begin_states(self) -> None:
        """Give parameters their tensors, which are zeros at first in OneFlow, and all the same count of steps."""
        for group in self.param_groups:
            names = self._state_names(group)
            for parameter in group["params"] if names else ():
                if parameter.grad is None and parameter not in self.state and not self.AT_ONCE:
                    continue
                own = self.state[parameter]
                for name in names:
                    if name not in own:
                        own[name] = torch.zeros_like(parameter)
                own.setdefault("step", torch.tensor(0.0)).fill_(self.steps)

    def zero_grad(self, set_to_none: bool = False) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter._zero_grad_(set_to_none)

    def clip_grad(self, error_if_nonfinite: bool = False) -> None:
        """Limit the gradients of each group that was made with `clip_grad_max_norm` and `clip_grad_norm_type`."""
        for group in self.param_groups:
            if all(name in group for name in _CLIP):
                clip_grad_norm_(group["params"], *(group[name] for name in _CLIP), error_if_nonfinite)
            else:
                warnings.warn(
                    "To enable clip_grad, passing the `clip_grad_max_norm` and `clip_grad_norm_type` parameters when "
                    "instantializing the Optimizer."
                )

    def state_dict(self) -> dict[str, Any]:
        """The state in OneFlow's form: {"state": {"step": n, 0: {...}}, "param_groups": [{"_options": ...}]}."""
        if self.AT_ONCE:
            with torch._C.DisableTorchFunctionSubclass():
                self._begin_states()
        numbers = {id(parameter): number for number, parameter in enumerate(self._all_parameters())}
        state: dict[Any, Any] = {"step": self.steps}
        for parameter in self._all_parameters():
            own = self.state.get(parameter, {})
            state[numbers[id(parameter)]] = {
                name: dress(own[theirs]) for theirs, name in self.STATE.items() if own.get(theirs) is not None
            }
        known: list[Any] = self.param_groups
        groups = [
            {
                "_options": copy.deepcopy(group.options),
                "_enable_clip_grad": all(name in group for name in _CLIP),
                "params": [numbers[id(parameter)] for parameter in group["params"]],
            }
            for group in known
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a state that `state_dict` gave, here or in OneFlow.

        As in OneFlow the tensors of the state are taken as they are: two optimizers in one process that have loaded
        the same state share their momenta. Copy the state deeply where each is to go on alone.

        Raises:
            ValueError: another number of groups, or of parameters in a group.
        """
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        self.steps = state_dict["state"].get("step", 0)
        for new, group in zip(saved, self.param_groups, strict=True):
            group.update(copy.deepcopy(dict(new["_options"])))
            for number, parameter in zip(new["params"], group["params"], strict=True):
                self._load_state_of(parameter, state_dict["state"].get(number, {}))

    def _load_state_of(self, parameter: Parameter, saved: Mapping[str, Any]) -> None:
        own = {theirs: saved[name] for theirs, name in self.STATE.items() if name in saved}
        if not own:
            self.state.pop(parameter, None)
            return
        for name, value in own.items():
            own[name] = (
                value.detach().to_global(parameter.placement, parameter.sbp)
                if parameter.is_global
                else value.detach().to(parameter.device)
            )
        own["step"] = torch.tensor(float(self.steps))
        self.state[parameter] = own

    def _all_parameters(self) -> Iterable[Parameter]:
        return (parameter for group in self.param_groups for parameter in group["params"])
