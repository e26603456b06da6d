"""The base of all optimizers: OneFlow's parameter groups, states and order of a step."""

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from anygru.extend import single

from ..framework.dressing import dress
from ..framework.tensor import Parameter, Tensor
from ..nn.utils.clip_grad import clip_grad_norm_

Parameters = Iterable[torch.Tensor] | Iterable[dict[str, Any]]

_CLIP = ("clip_grad_max_norm", "clip_grad_norm_type")

# Names in error messages of the options that must not be negative.
_NOT_NEGATIVE = {
    "lr": "learning rate", "momentum": "momentum", "weight_decay": "weight_decay value", "eps": "epsilon value",
    "alpha": "alpha value", "rho": "rho value", "lr_decay": "lr_decay value",
    "initial_accumulator_value": "initial_accumulator_value value",
}  # fmt: skip


class _Options(dict[str, Any]):
    """The options of a group; setting an option here changes the group."""

    def __init__(self, options: dict[str, Any], group: dict[str, Any]) -> None:
        super().__init__(options)
        self._group = group

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._group[name] = value

    update, setdefault = MutableMapping.update, MutableMapping.setdefault  # dict's pass over __setitem__


class ParamGroup(dict[str, Any]):
    """torch's parameter group, with OneFlow's attributes."""

    order: tuple[str, ...] = ()
    _enable_clip_grad = False  # known from the beginning (recorded in 0.9.0: options that come later do not count)

    @property
    def parameters(self) -> list[Parameter]:
        return self["params"]

    _parameters = parameters

    def __repr__(self) -> str:
        return repr({**self.options, "params": self.parameters})

    @property
    def options(self) -> dict[str, Any]:
        """The options in OneFlow's order, then options that the user or a scheduler added."""
        known = {name: self[name] for name in self.order}
        return _Options(known | {name: self[name] for name in self if name not in (*known, "params")}, self)

    _options = options


class _States(MutableMapping[Any, Any]):
    """The states as OneFlow's optimizers keep them: the number of steps as "step", and the tensors of each parameter."""

    def __init__(self, optimizer: "Optimizer") -> None:
        self._optimizer = optimizer

    def __getitem__(self, key: Any) -> Any:
        return self._optimizer.steps if isinstance(key, str) and key == "step" else self._optimizer.state[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str) and key == "step":
            self._optimizer.steps = value
        else:
            self._optimizer.state[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._optimizer.state[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(("step", *self._optimizer._with_states()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        return any(key is known for known in self) or key == "step"


class Optimizer(torch.optim.Optimizer):
    """The base of the optimizers. A subclass gives its options to the constructor and its rule in `_update`.

    A program's own optimizer has its rule in `step`, and its tensors in `_state`, as under OneFlow.

    Class attributes:
        STATE: the names of the tensors that belong to a parameter.
        BY_NUMBER: whether a step changes each element of a parameter independently.
        AT_ONCE: whether every parameter has them from the beginning, not only from its first gradient on.
    """

    STATE: tuple[str, ...] = ()
    AT_ONCE = False
    BY_NUMBER = True
    steps = 0  # of all parameters together, where torch counts for each
    # OneFlow's kernels, which programs hand to `oneflow._C.dispatch_sgd_update` and the like.
    _op = _op_with_amsgrad = _op_without_amsgrad = _sgd = _momentum_sgd = _rmsprop = _centered_rmsprop = None

    def __init__(self, parameters: Parameters, options: dict[str, Any]) -> None:
        options = {"lr": 0.001, **options}
        for name, words in _NOT_NEGATIVE.items():
            assert options.get(name, 0) >= 0, f"Invalid {words}: {options[name]}"
        assert options.get("rho", 0) <= 1, f"Invalid rho value: {options['rho']}"
        for place, beta in enumerate(options.get("betas", ())):
            assert 0 <= beta < 1, f"Invalid beta parameter at index {place}: {beta}"
        if isinstance(parameters, torch.Tensor) or not isinstance(parameters, Iterable):
            raise TypeError(
                f"an optimizer takes parameters or groups of them in a list or the like, got a {type(parameters).__name__}"
            )
        given: Any = list(parameters)
        if not given and isinstance(parameters, (list, tuple)):
            # An empty iterator is allowed (recorded in 0.9.0).
            raise IndexError("an optimizer needs a parameter or a group, got an empty list")
        groups = given if given and isinstance(given[0], dict) else [{"params": given}]  # of no parameters, too
        super().__init__(groups[:1], options)
        for group in groups[1:]:
            # Groups are checked separately: only `add_param_group` refuses a parameter of another group (recorded in 0.9.0).
            earlier, self.param_groups = self.param_groups, []
            self.add_param_group(group)
            self.param_groups = earlier + self.param_groups

    __repr__ = object.__repr__

    @property
    def _default_options(self) -> dict[str, Any]:  # which schedules of programs read
        return self.defaults

    @property
    def _state(self) -> _States:
        if self.AT_ONCE:
            self._begin_states()
        return _States(self)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its options.

        Raises:
            ValueError: parameters that are not tensors, such as names; a parameter of another group.
            AssertionError: a tensor that was computed from others; a group without parameters.
        """
        assert isinstance(param_group, dict), "param group must be a dict"
        assert "params" in param_group, "a group of parameters needs the key 'params'"
        given = param_group["params"]
        param_group["params"] = [given] if isinstance(given, torch.Tensor) else list(given)
        for parameter in param_group["params"]:
            if not isinstance(parameter, torch.Tensor):
                raise ValueError(f"an optimizer's parameters must be tensors, got a {type(parameter).__name__}")
            assert parameter.is_leaf, "an optimizer's parameters must be leaf tensors"
        super().add_param_group(param_group)
        group = self.param_groups[-1] = ParamGroup(self.param_groups[-1])
        group.order = tuple(self.defaults)
        group._enable_clip_grad = all(name in group for name in _CLIP)

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:  # type: ignore[override]
        """Change the parameters by their gradients. A closure runs without gradients, unless it enables them."""
        with torch.no_grad():
            loss = None if closure is None else closure()
            with torch._C.DisableTorchFunctionSubclass():
                self._begin_states()
                self._change_parameters()
        self.steps += 1
        return loss

    def _change_parameters(self) -> None:
        for group in self.param_groups:
            self._begin_step(group)
            options = rounded(group)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(*self._pieces(parameter, self.state[parameter]), options)

    def _pieces(
        self, parameter: torch.Tensor, state: dict[str, torch.Tensor]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The pieces of a global parameter and of its tensors on this process, in the same memory; local tensors do not change.

        A rule changes each number by itself, so each process may change its own; `BY_NUMBER` is false where that does not hold.
        """
        if not (self.BY_NUMBER and isinstance(parameter, DTensor) and isinstance(parameter.grad, DTensor)):
            return parameter, state
        tensors = [parameter.grad, *state.values()]
        if not all(isinstance(tensor, DTensor) and tensor.placements == parameter.placements for tensor in tensors):
            return parameter, state
        own = parameter._local_tensor.detach()
        # The rules read the gradient of a tensor, so the piece needs a gradient.
        own.grad = parameter.grad._local_tensor
        return own, {name: tensor._local_tensor for name, tensor in state.items() if isinstance(tensor, DTensor)}

    def _begin_step(self, group: dict[str, Any]) -> None:
        """Work out the options of a group that follow from the number of steps."""

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        """Change one parameter by its gradient.

        Args:
            state: its tensors, by the names in `_state_names`.
            group: the options, rounded to float32.
        """
        raise NotImplementedError

    def _gradient(self, parameter: torch.Tensor, group: dict[str, Any]) -> torch.Tensor:
        """The gradient with the weight decay's part."""
        assert parameter.grad is not None
        if not group["weight_decay"]:
            return parameter.grad
        return parameter.grad.add(parameter, alpha=group["weight_decay"])

    def _state_names(self, group: dict[str, Any]) -> Sequence[str]:
        """The names of the tensors that each parameter of the group has."""
        return self.STATE

    @torch.no_grad()
    def _begin_states(self) -> None:
        """Give parameters their tensors, which OneFlow fills with zeros, the sum of Adagrad with an option."""
        for group in self.param_groups:
            first = group.get("initial_accumulator_value", 0.0)
            for parameter in group["params"]:
                if parameter.grad is not None or parameter in self.state or self.AT_ONCE:
                    own = self.state[parameter]
                    for name in self._state_names(group):
                        if name not in own:
                            with torch._C.DisableTorchFunctionSubclass():
                                own[name] = torch.full_like(parameter, first)

    # OneFlow 0.9.0 keeps the gradients and fills them with zeros (recorded); torch drops them.
    def zero_grad(self, set_to_none: bool = False) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter._zero_grad_(set_to_none)

    def clip_grad(self, error_if_nonfinite: bool = False) -> None:
        """Limit the gradients of each group that was made with `clip_grad_max_norm` and `clip_grad_norm_type`."""
        for group in self.param_groups:
            if group._enable_clip_grad:  # type: ignore[attr-defined]
                clip_grad_norm_(group["params"], *(group[name] for name in _CLIP), error_if_nonfinite)
            else:
                warnings.warn(
                    "To enable clip_grad, passing the `clip_grad_max_norm` and `clip_grad_norm_type` parameters when "
                    "instantializing the Optimizer."
                )

    def state_dict(self) -> dict[str, Any]:
        """The state in OneFlow's form: {"state": {"step": n, 0: {...}}, "param_groups": [{"_options": ...}]}."""
        if self.AT_ONCE:
            self._begin_states()
        numbers: dict[int, int] = {}
        start = 0
        for group in self.param_groups:
            # A parameter in two groups keeps its first number, a parameter twice in a group its last (recorded in 0.9.0).
            numbers = {id(parameter): number for number, parameter in enumerate(group["params"], start)} | numbers
            start += len(group["params"])
        state: dict[Any, Any] = {"step": self.steps}
        for parameter in self._with_states():
            own = self.state.get(parameter, {})
            names = self.STATE or own
            state[numbers[id(parameter)]] = {name: dress(own[name]) for name in names if name in own}
        known: list[Any] = self.param_groups
        groups = [
            {
                "_options": copy.deepcopy(dict(group.options)),
                "_enable_clip_grad": group._enable_clip_grad,
                "params": [numbers[id(parameter)] for parameter in group["params"]],
            }
            for group in known
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a state that `state_dict` gave, here or in OneFlow.

        As in OneFlow the tensors of the state are not copied: two optimizers that load one state share their momenta. Use
        `copy.deepcopy(state_dict)` to separate them.

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
            group._enable_clip_grad = new["_enable_clip_grad"]  # type: ignore[attr-defined]
            for number, parameter in zip(new["params"], group["params"], strict=True):
                self._load_state_of(parameter, state_dict["state"].get(number, {}))

    def _load_state_of(self, parameter: Parameter, saved: Mapping[str, Any]) -> None:
        own: dict[str, Any] = {name: saved[name] for name in self.STATE or saved if name in saved}
        if not own:
            self.state.pop(parameter, None)
            return
        for name, value in own.items():
            if not isinstance(value, torch.Tensor):
                continue  # a number of a program's own optimizer
            alone: Any = value.detach()
            if parameter.is_global:
                own[name] = alone.to_global(parameter.placement, parameter.sbp)
            else:
                own[name] = alone.to(parameter.device)
        self.state[parameter] = own

    def _with_states(self) -> Iterable[Parameter]:
        """The parameters with a state, which may be empty: all of OneFlow's optimizers; only some of a program's optimizer."""
        return (parameter for parameter in self._all_parameters() if self._update_is_own() or parameter in self.state)

    def _update_is_own(self) -> bool:
        return type(self)._update is not Optimizer._update

    def _all_parameters(self) -> Iterable[Parameter]:
        return (parameter for group in self.param_groups for parameter in group["params"])


def rounded(group: dict[str, Any]) -> dict[str, Any]:
    """The options of a group as the kernels take them."""
    return {name: _rounded(value) for name, value in group.items() if name != "params"}


def _rounded(option: Any) -> Any:
    """An option as the kernels take it: numbers in float32."""
    if isinstance(option, tuple | list):
        return tuple(map(_rounded, option))
    return single(option) if isinstance(option, float) else option
