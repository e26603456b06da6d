"""The base of Paddle's optimizers: groups, learning rates, regularizers, clipping, accumulators and their state."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, cast

import torch

from ..base import unique_name
from ..base.framework import Block, EagerParamBase
from ..nn.clip import ClipGradBase
from ..regularizer import L2Decay, WeightDecayRegularizer
from ..tensor.differentiable import gradient_of
from ..tensor.operation import wrap
from ..tensor.tensor import Tensor, as_torch, plain
from .hooks import Hooks, State, torch_dtype_of
from .lr import LRScheduler

Pairs = list[tuple[EagerParamBase, torch.Tensor]]
Group = dict[str, Any]


def as_regularizer(weight_decay: object, name: str) -> WeightDecayRegularizer | None:
    """The regularizer that the argument `weight_decay` means: a number is an L2Decay.

    Raises:
        TypeError: unless it is None, a number or a regularizer.
    """
    if weight_decay is None or isinstance(weight_decay, WeightDecayRegularizer):
        return weight_decay
    if isinstance(weight_decay, (float, int)) and not isinstance(weight_decay, bool):
        return L2Decay(weight_decay)
    raise TypeError(f"{name}: weight_decay must be float or regularizer, but received {type(weight_decay).__name__}")


class Optimizer(Hooks):
    """Changes parameters by their gradients.

    Args:
        learning_rate: a number or an `LRScheduler`.
        parameters: the parameters, or dicts with 'params' and their options ('learning_rate', a factor;
            'weight_decay'; 'grad_clip').
        weight_decay: a number (L2) or a regularizer, for parameters without their own.
        grad_clip: one of the `ClipGradBy...` of `paddle.nn`.
        name: prefix of the names of accumulators, also in files (recorded, 2.6.2).

    A subclass of a program's own has `_append_optimize_op(block, (parameter, gradient))` and, if it keeps accumulators,
    `_create_accumulators(block, parameters)`; with groups both get dicts, as in Paddle. The block is empty.

    Raises:
        AttributeError: without parameters.
        TypeError: for a single tensor as parameters, a learning rate that is none, or another kind of clipping.
    """

    accumulators: ClassVar[dict[str, str | None]] = {}
    """The accumulators in the order of the state_dict: None for zeros in the shape of the parameter, or the option, "beta1",
    which gives the initial value of an accumulator of one element."""
    rule: ClassVar[Callable[..., None] | None] = None
    """The rule, from `rules`; None in this class."""

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        parameters: Iterable[Any] | None = None,
        weight_decay: float | WeightDecayRegularizer | None = None,
        grad_clip: ClipGradBase | None = None,
        name: str | None = None,
    ) -> None:
        if parameters is None:
            raise AttributeError("parameters argument given to the Optimizer should not be None in dygraph mode.")
        if isinstance(parameters, (torch.Tensor, dict)) or not isinstance(parameters, Iterable):
            raise TypeError(
                "`parameters` argument given to the optimizer should be an iterable of paddle Tensors, but got argument "
                f"type is `{type(parameters)}`."
            )
        # An int is refused, 1 too (recorded, 2.6.2).
        if not isinstance(learning_rate, (float, LRScheduler)):
            raise TypeError(f"learning rate should be float or LRScheduler, got {type(learning_rate)} here")
        if grad_clip is not None and not isinstance(grad_clip, ClipGradBase):
            raise TypeError("'grad_clip' should be an instance of GradientClipBase's derived class")
        self._learning_rate = learning_rate
        self.regularization = as_regularizer(weight_decay, type(self).__name__)
        self._grad_clip = grad_clip
        self._name = name
        self._groups: list[Group] = []
        self._parameter_list: list[EagerParamBase] = []
        self._accumulators: dict[int, State] = {}  # by the identity of the parameter
        self._waiting: dict[str, Any] = {}
        given = list(parameters)
        grouped = bool(given) and isinstance(given[0], dict)
        for group in given if grouped else [{"params": given}]:
            self._add_group(group)
        for group in self._groups if grouped else ():
            self._own_group(group)
        self._param_groups = self._groups if grouped else self._parameter_list

    def _add_group(self, group: dict[str, Any]) -> None:
        params = group["params"]
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        known = {id(each) for each in self._parameter_list}
        for each in params:
            if not isinstance(each, torch.Tensor):
                raise TypeError(f"optimizer: parameters must be Tensors, got {type(each).__name__}")
            if id(each) in known:
                raise ValueError("some parameters appear in more than one parameter group")
            self._parameter_list.append(cast(EagerParamBase, each))
        self._groups.append({**group, "params": params})

    def _own_group(self, group: Group) -> None:
        """Set the learning rate and regularizer of parameters to their group's (recorded, 2.6.2)."""
        for parameter in group["params"]:
            parameter.optimize_attr = {"learning_rate": group.get("learning_rate", 1.0)}
            parameter.regularizer = self.regularization
            if "weight_decay" in group:
                parameter.regularizer = as_regularizer(group["weight_decay"], type(self).__name__)

    @staticmethod
    def _own(group: Group, **options: Any) -> dict[str, Any]:
        """The options; the group's come first."""
        return {name: group.get(name, value) for name, value in options.items()}

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        """The rule's options by name for one parameter, without its learning rate."""
        return {}

    def _firsts(self, group: Group) -> dict[str, Any]:
        """Initial values of accumulators that are not the rule's option."""
        return {}

    def _rate_factor(self, parameter: EagerParamBase, group: Group) -> float:
        """The factor on the optimizer's learning rate for one parameter."""
        return float(getattr(parameter, "optimize_attr", {}).get("learning_rate", 1.0))

    def get_lr(self) -> float:
        rate = self._learning_rate
        return rate() if isinstance(rate, LRScheduler) else float(rate)

    def set_lr(self, value: float) -> None:
        """Set the learning rate.

        Raises:
            TypeError: unless it is a number.
            RuntimeError: if a scheduler gives it.
        """
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"The type of 'value' in optimizer.set_lr must be float, but received {type(value)}.")
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError(
                "optimizer's learning rate can't be LRScheduler when invoke this API, because this will lead to conflict."
            )
        self._learning_rate = float(value)  # an int is allowed here alone (recorded, 2.6.2)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let `scheduler` give the learning rate."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(
                f"The type of 'scheduler' in optimizer.set_lr_schduler must be LRScheduler, but received {type(scheduler)}."
            )
        self._learning_rate = scheduler

    def _gradients(self) -> Pairs:
        pairs = [(parameter, parameter.grad) for parameter in self._parameter_list if not parameter.stop_gradient]
        return [(parameter, gradient) for parameter, gradient in pairs if gradient is not None]

    def step(self) -> None:
        """Change every parameter that has a gradient."""
        self._apply(self._gradients())

    def _apply(self, params_grads: Pairs) -> None:
        rule = type(self).rule
        if rule is None:
            self._apply_own(params_grads)
            return
        rate = self.get_lr()
        alike: dict[Any, tuple[Group, list[tuple[torch.Tensor, ...]]]] = {}
        # A parameter that is listed twice takes two steps in sequence (recorded, 2.6.2).
        turns: dict[int, int] = {}
        with torch.no_grad():
            for group, parameter, gradient in self._treated(params_grads):
                options = self._options(parameter, group)
                _, values = self._state(parameter, options, group)
                options["lr"] = rate * self._rate_factor(parameter, group)
                turn = turns[id(parameter)] = turns.get(id(parameter), 0) + 1
                key = turn, *options.values(), torch_dtype_of(parameter), parameter.device
                alike.setdefault(key, (options, []))[1].append((plain(parameter), plain(gradient), *values))
            for options, rows in alike.values():
                parameters, gradients, *state = (list(column) for column in zip(*rows, strict=True))
                rule(parameters, gradients, state, **options)

    @torch.no_grad()
    def _apply_own(self, params_grads: Pairs) -> None:
        """A step by the operations of a subclass that a program has written for Paddle."""
        treated = self._treated(params_grads)
        block, grouped = Block(), self._param_groups is self._groups
        for group in self._groups:
            pairs = [(parameter, wrap(gradient)) for own, parameter, gradient in treated if own is group]
            options = {name: value for name, value in group.items() if name != "params"}
            params = [parameter for parameter, _ in pairs]
            self._create_accumulators(block, {**options, "params": params} if grouped else params)
            for pair in pairs:
                self._append_optimize_op(block, {**options, "params": pair} if grouped else pair)
            self._finish_update(block, {**options, "params": pairs} if grouped else pairs)

    def _treated(self, params_grads: Pairs) -> list[tuple[Group, EagerParamBase, torch.Tensor]]:
        """The gradients clipped, and then with the regularizers' terms."""
        out: list[tuple[Group, EagerParamBase, torch.Tensor]] = []
        for group in self._groups:
            pairs = params_grads
            if len(self._groups) > 1:
                own = {id(each) for each in group["params"]}
                pairs = [(parameter, gradient) for parameter, gradient in params_grads if id(parameter) in own]
            clip = group.get("grad_clip", self._grad_clip)
            if clip is not None and pairs:
                pairs = clip(pairs)
            for parameter, gradient in pairs:
                regularizer = getattr(parameter, "regularizer", None) or self.regularization
                if regularizer is not None:
                    gradient = torch.add(gradient, self._decay_term(regularizer, plain(parameter.detach())))
                out.append((group, parameter, gradient))
        return out

    def _decay_term(self, regularizer: WeightDecayRegularizer, parameter: torch.Tensor) -> torch.Tensor:
        """The term that a regularizer adds to a gradient."""
        return regularizer.gradient(parameter)

    def minimize(
        self,
        loss: Tensor,
        startup_program: object = None,
        parameters: Iterable[Tensor] | None = None,
        no_grad_set: Iterable[Tensor] | None = None,
    ) -> tuple[list[Any], Pairs]:
        """A step by the gradients that `loss.backward()` has left."""
        if not isinstance(loss, torch.Tensor):
            raise AssertionError("The loss should be an Tensor.")
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        self._apply(pairs)
        return [], pairs

    def backward(
        self,
        loss: Tensor,
        startup_program: object = None,
        parameters: Iterable[Tensor] | None = None,
        no_grad_set: Iterable[Tensor] | None = None,
        callbacks: object = None,
    ) -> Pairs:
        """The parameters that have gradients, with them."""
        pairs = self._gradients()
        if parameters is not None:
            pairs = [(p, g) for p, g in pairs if any(p is each for each in parameters)]
        return [(p, g) for p, g in pairs if not any(p is each for each in no_grad_set or ())]

    def apply_gradients(self, params_grads: Pairs) -> list[Any]:
        """A step by the gradients given."""
        self._apply(params_grads)
        return []

    # Zeros are Paddle's default, None is torch's (2.6.2, recorded).
    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Make all gradients zeros, or None with `set_to_zero=False`."""
        trained = [parameter for parameter in self._parameter_list if not parameter.stop_gradient]
        if not set_to_zero:
            for parameter in trained:
                parameter.clear_gradient(False)
        elif held := [grad for grad in map(gradient_of, trained) if grad is not None]:
            with torch.no_grad():
                # One call for all gradients, as in torch's own optimizers; a loop over layers shows in small models.
                torch._foreach_zero_(held)

    clear_gradients = clear_grad

    def _state(self, parameter: EagerParamBase, options: dict[str, Any], group: Group) -> State:
        """The accumulators of a parameter; made for its first step, from a loaded state_dict if one waits."""
        state = self._accumulators.get(id(parameter))
        if state is not None:
            return state
        options = {**options, **self._firsts(group)}
        values = [self._start(name, plain(parameter.detach()), options) for name in self.accumulators]
        named = {
            name: self._named(value, parameter, name) for name, value in zip(self.accumulators, values, strict=True)
        }
        if self._waiting:
            self._load(named)
        self._accumulators[id(parameter)] = named, values
        return named, values

    def _named(self, value: torch.Tensor, parameter: EagerParamBase, name: str) -> Tensor:
        """An accumulator with the name that it has in files."""
        tensor = wrap(value.detach())
        own = name if self._name is None else f"{self._name}_{name}"
        tensor.name = unique_name.generate(f"{parameter.name}_{own}")
        tensor.persistable = True
        return tensor

    def _start(self, name: str, parameter: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
        """The first value of an accumulator."""
        option = self.accumulators[name]
        if option is None:
            return torch.zeros_like(parameter)
        # One element and not none, as Paddle's files hold the powers of the betas (recorded, 2.6.2).
        kind = torch.promote_types(parameter.dtype, torch.float32)
        return torch.full([1], options[option], dtype=kind, device=parameter.device)

    def _load(self, state: dict[str, Tensor]) -> None:
        """Overwrite accumulators with the values that wait under their names."""
        for tensor in state.values():
            key = tensor.name
            if key not in self._waiting:
                raise AssertionError(
                    f"Optimizer set error, {key} should in state dict. If the parameters were made under other names, "
                    "wrap their making in paddle.utils.unique_name.guard()"
                )
            value = plain(as_torch(self._waiting[key])).detach()
            if value.numel() != plain(tensor).numel():
                raise AssertionError(
                    f"Variable Shape not match, Variable [ {key} ] need tensor with shape {list(tensor.shape)} but load "
                    f"set tensor with shape {list(value.shape)}"
                )
            plain(tensor).copy_(value.reshape(plain(tensor).shape))

    def state_dict(self) -> dict[str, Any]:
        """The accumulators by name, `<parameter>_moment1_0` and so on, and the scheduler's state under 'LR_Scheduler'.

        As in Paddle 2.6 (recorded) a loaded state shows only after the next step, which makes the accumulators.
        """
        states = [named for named, _ in self._accumulators.values()]
        # Accumulator by accumulator, not parameter by parameter (recorded, 2.6.2).
        names = dict.fromkeys(name for state in states for name in state)
        out: dict[str, Any] = {state[name].name: state[name] for name in names for state in states if name in state}
        if isinstance(self._learning_rate, LRScheduler):
            out["LR_Scheduler"] = self._learning_rate.state_dict()
        return out

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a result of `state_dict`, made here or in Paddle.

        Raises:
            AssertionError: if a parameter's accumulator is missing or has another shape; at once if the optimizer has
                stepped, at its next step otherwise.
        """
        state = dict(state_dict)
        if isinstance(self._learning_rate, LRScheduler):
            if "LR_Scheduler" not in state:
                raise KeyError(
                    "LR_Scheduler: the optimizer's learning rate is a scheduler, but the state_dict has no scheduler"
                )
            self._learning_rate.set_state_dict(state["LR_Scheduler"])
        for key in ("LR_Scheduler", "StructuredToParameterName@@", "master_weights"):
            state.pop(key, None)
        self._waiting = state
        for named, _ in self._accumulators.values():
            self._load(named)

    set_dict = set_state_dict
