"""`sgd_update` and similar operators: a step of an update rule on a weight as an operator. The states change in place.

`mp_` means a float32 copy of the weight after the states, `multi_` several weights in one call, and `preloaded_` learning rates
and weight decays in arrays.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Any

import torch
from torch import Tensor

from anygru.extend import single

from . import updates
from .registry import operator, truth
from .updates import Moments, lamb_scaled, lamb_step, lars_rate, prepared


@dataclass(frozen=True)
class Update:
    """An update rule of MXNet's operators.

    Attributes:
        change: the arithmetic.
        states: names of the states of a weight. decay_first: whether weight decay is added to the gradient before it is clipped.
        clip: the name of the attribute for the bound of the gradient.
        scaled: whether `rescale_grad` is an array after the other inputs. If it is 0 or not finite, the step is skipped.
        many: names of the attributes of the `multi_` form with a value for each weight, and their names in a step (which are
            errors in the `multi_` form, as `eta` is in MXNet).
        count: the attribute of the `multi_` form with the number of weights.
        last: the last attributes in MXNet's order, as recorded from 1.9.1.
        lazy: whether the operator has `lazy_update`, which concerns sparse gradients only.
    """

    change: Callable[..., None]
    states: tuple[str, ...] = ()
    decay_first: bool = False
    clip: str = "clip_gradient"
    scaled: bool = False
    many: tuple[tuple[str, str], ...] = (("lrs", "lr"), ("wds", "wd"))
    count: str = "num_weights"
    last: tuple[str, ...] = ()
    lazy: bool = False

    @property
    def options(self) -> dict[str, float]:
        """Names and defaults of the rule's numbers, except lr, wd, rescale_grad and the bound of the gradient."""
        parameters = signature(self.change).parameters.values()
        return {each.name: each.default for each in parameters if each.default is not Parameter.empty}

    def step(self, arrays: list[Tensor], in_master: bool, given: dict[str, Any]) -> Tensor:
        """The new weight after a step on [weight, gradient, *states]. With `in_master` the step changes a float32 copy at the end
        of the list."""
        given = dict(given)
        weight, gradient, *states = (array.detach() for array in arrays)
        target = states.pop() if in_master else weight.clone()
        scale, clip = given.pop("rescale_grad", 1.0), given.pop(self.clip, -1.0)
        lr, wd = single(given.pop("lr")), single(given.pop("wd", 0.0))
        if not (self.scaled and (scale == 0 or not math.isfinite(scale))):
            gradient = prepared(gradient.to(target.dtype), target, wd, single(scale), clip, self.decay_first)
            self.change(target, gradient, *states, lr=lr, wd=wd, **given)
        return target.to(weight.dtype, copy=in_master)


_MOMENTS = ("mean", "var")

SGD = Update(updates.sgd, lazy=True)
SGD_MOMENTUM = Update(updates.sgd_momentum, ("mom",), lazy=True)
NESTEROV = Update(updates.nesterov, ("mom",))
ADAMW = Update(
    updates.adamw,
    _MOMENTS,
    scaled=True,
    many=(("lrs", "lr"), ("wds", "wd"), ("etas", "eta")),
    last=("eta", "clip_gradient"),
)
LAMB = Update(
    updates.lamb, _MOMENTS, many=(("learning_rates", "lr"), ("wds", "wd"), ("step_count", "t")), count="num_tensors"
)
# The name of each operator, its rule, and whether it has a float32 copy of the weight.
ONE = [
    ("sgd_update", SGD, False),
    ("mp_sgd_update", SGD, True),
    ("sgd_mom_update", SGD_MOMENTUM, False),
    ("mp_sgd_mom_update", SGD_MOMENTUM, True),
    ("nag_mom_update", NESTEROV, False),
    ("mp_nag_mom_update", NESTEROV, True),
    ("signsgd_update", Update(updates.sign_sgd), False),
    ("signum_update", Update(updates.signum, ("mom",), last=("wd_lh",)), False),
    # In this rule the bound of the gradient includes the decay (MXNet 1.9.1, recorded).
    ("adam_update", Update(updates.adam, _MOMENTS, decay_first=True, lazy=True), False),
    ("rmsprop_update", Update(updates.rmsprop, ("n",), decay_first=True, last=("clip_weights",)), False),
    (
        "rmspropalex_update",
        Update(updates.rmsprop_centered, ("n", "g", "delta"), decay_first=True, last=("clip_weights",)),
        False,
    ),
    ("ftrl_update", Update(updates.ftrl, ("z", "n")), False),
    ("ftml_update", Update(updates.ftml, ("d", "v", "z"), decay_first=True, clip="clip_grad"), False),
    ("_adamw_update", ADAMW, False),
    ("_mp_adamw_update", ADAMW, True),
]
# The same for several weights, and whether their rates and decays are arrays.
MANY = [
    *(
        (f"{'preloaded_' * preloaded}multi_{'mp_' * half}{name}", rule, half, preloaded)
        for name, rule in (("sgd_update", SGD), ("sgd_mom_update", SGD_MOMENTUM))
        for half in (False, True)
        for preloaded in (False, True)
    ),
    *(
        (f"_multi_{'mp_' * half}{name}", rule, half, False)
        for name, rule in (("adamw_update", ADAMW), ("lamb_update", LAMB))
        for half in (False, True)
    ),
]


def _signature(inputs: Iterable[str], attributes: dict[str, Any]) -> Signature:
    places = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in inputs]
    numbers = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in attributes.items()]
    return Signature(places + numbers)


def _register_one(name: str, update: Update, half: bool) -> None:
    inputs = ["weight", "grad", *update.states, *["weight32"] * half]
    scale = {} if update.scaled else {"rescale_grad": 1.0}
    attributes = {"lr": Parameter.empty, **update.options, "wd": 0.0, **scale, update.clip: -1.0}
    attributes |= {key: attributes.pop(key) for key in update.last}
    attributes |= {"lazy_update": True} if update.lazy else {}
    whole = _signature([*inputs, *["rescale_grad"] * update.scaled], attributes)

    @torch.no_grad()
    def compute(*arguments: Any, **given: Any) -> Tensor:
        values = dict(whole.bind(*arguments, **given).arguments)
        arrays = [values.pop(key) for key in inputs]
        # It has no effect: it concerns sparse gradients, and all gradients are dense.
        values.pop("lazy_update", None)
        if update.scaled:
            values["rescale_grad"] = float(values["rescale_grad"])
        return update.step(arrays, half, values)

    compute.__signature__ = whole  # type: ignore[attr-defined]
    compute.__name__ = name
    operator(name, inputs=len(inputs) + update.scaled)(compute)


def _register_many(name: str, update: Update, half: bool, preloaded: bool) -> None:
    each = 2 + len(update.states) + half

    def count(given: Any) -> int:
        return int(given.get(update.count, 1))

    @torch.no_grad()
    def compute(*arrays: Tensor, **given: Any) -> Tensor | tuple[Tensor, ...]:
        if preloaded:
            given |= {"lrs": arrays[-2].tolist(), "wds": arrays[-1].tolist()}
        if update.scaled:
            given["rescale_grad"] = float(arrays[-1])
        weights = int(given.pop(update.count, 1))
        columns = {short: given.pop(key) for key, short in update.many}
        results = []
        for place in range(weights):
            own = {key: values[place] for key, values in columns.items()}
            results.append(update.step(list(arrays[place * each : (place + 1) * each]), half, {**given, **own}))
        return results[0] if weights == 1 else tuple(results)

    own_names = {short for _, short in update.many}
    options = {key: value for key, value in update.options.items() if key not in own_names}
    attributes: dict[str, Any] = {update.count: 1, **options, update.clip: -1.0}
    attributes |= {} if update.scaled else {"rescale_grad": 1.0}
    attributes |= {} if preloaded else {key: () for key, _ in update.many}
    parameters = [Parameter("arrays", Parameter.VAR_POSITIONAL)]
    parameters += [Parameter(key, Parameter.KEYWORD_ONLY, default=value) for key, value in attributes.items()]
    compute.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    compute.__name__ = name
    operator(name, visible=count)(compute)


for _row in ONE:
    _register_one(*_row)
for _many in MANY:
    _register_many(*_many)


@operator("lamb_update_phase1", inputs=4)
@torch.no_grad()
def _lamb_update_phase1(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: float = 1,
    bias_correction: bool = True,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """LAMB's step before it is scaled."""
    gradient = prepared(grad.to(weight.dtype), weight, single(wd), single(rescale_grad), clip_gradient, False)
    moments = Moments(beta1, beta2, epsilon, t, truth(bias_correction))
    return lamb_step(weight, gradient, mean, var, single(wd), moments)


@operator("lamb_update_phase2", inputs=4)
@torch.no_grad()
def _lamb_update_phase2(
    weight: Tensor, g: Tensor, r1: Tensor, r2: Tensor, lr: float, lower_bound: float = -1.0, upper_bound: float = -1.0
) -> Tensor:
    """The weight after LAMB's step `g`, scaled by the norms r1 of the weight and r2 of the step."""
    target = weight.detach().clone()
    lamb_scaled(target, g, r1, r2, single(lr), lower_bound, upper_bound)
    return target


def _register_in_master(name: str, phase: Callable[..., Tensor], cast: bool) -> None:
    """The second phase of LAMB on the float32 copy of a weight, which does not change (recorded from MXNet 1.9.1)."""
    own = list(signature(phase).parameters.values())
    whole = Signature([*own[:4], Parameter("weight32", Parameter.POSITIONAL_OR_KEYWORD), *own[4:]])

    def compute(*arguments: Any, **given: Any) -> Tensor:
        values = dict(whole.bind(*arguments, **given).arguments)
        dtype, values["weight"] = values["weight"].dtype, values.pop("weight32")
        result = phase(**values)
        return result.to(dtype) if cast else result

    compute.__signature__ = whole  # type: ignore[attr-defined]
    compute.__name__ = name
    operator(name, inputs=5)(compute)


_register_in_master("mp_lamb_update_phase1", _lamb_update_phase1, cast=False)
_register_in_master("mp_lamb_update_phase2", _lamb_update_phase2, cast=True)


@operator("multi_sum_sq")
def _multi_sum_sq(*arrays: Tensor, num_arrays: int) -> Tensor:
    return torch.stack([array.detach().float().square().sum() for array in arrays[:num_arrays]])


@operator("multi_lars", inputs=4)
def _multi_lars(
    lrs: Tensor,
    weights_sum_sq: Tensor,
    grads_sum_sq: Tensor,
    wds: Tensor,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
) -> Tensor:
    columns = zip(*(values.tolist() for values in (lrs, weights_sum_sq, grads_sum_sq, wds)), strict=True)
    return lrs.new_tensor([lars_rate(a, b, c, d, eta, eps, rescale_grad) for a, b, c, d in columns])


@operator("multi_all_finite")
def _multi_all_finite(*arrays: Tensor, num_arrays: int = 1, init_output: bool = True) -> Tensor:
    finite = all(bool(torch.isfinite(array).all()) for array in arrays[:num_arrays])
    return torch.full((1,), float(finite), device=arrays[0].device)


@operator("all_finite")
def _all_finite(data: Tensor, init_output: bool = True) -> Tensor:
    return _multi_all_finite(data)
