"""`mx.nd.sgd_update` and its kin: one step of an update rule on a weight, its states changed in place.

`mp_` means a float32 copy of the weight behind the states, `multi_` several weights at once, and `preloaded_` that
learning rates and weight decays come as arrays.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError
from ..operators.elementwise import single
from ..operators.updates import UPDATES, Update, adamw, lamb_scaled, lamb_step, lars_rate, prepared
from .array import wrap
from .ndarray import NDArray


def _apply(update: Update, arrays: list[Tensor], lr: float, wd: float, given: dict[str, Any]) -> None:
    """One step on [weight, gradient, *states]."""
    given = {key: value for key, value in given.items() if key not in ("lazy_update", "name")}
    rescale, clip = given.pop("rescale_grad", 1.0), given.pop("clip_gradient", given.pop("clip_grad", -1.0))
    for key in given:
        if key not in update.options:
            raise MXNetError(f"Cannot find argument '{key}', Possible Arguments: {', '.join(sorted(update.options))}")
    options = {key: given.get(key, default) for key, default in update.options.items() if key != "clip_grad"}
    lr, wd = single(lr), single(wd)
    weight, gradient, *states = arrays
    if len(states) != update.states:
        raise MXNetError(f"the update takes {update.states} states, got {len(states)}")
    gradient = prepared(gradient, weight, wd, single(rescale), clip, update.decay_first)
    update.change(weight, gradient, *states, lr=lr, wd=wd, **options)


def _in_master(update: Update, arrays: list[Tensor], lr: float, wd: float, given: dict[str, Any]) -> None:
    """One step on [weight, gradient, *states, float32 copy], by way of the copy."""
    weight, gradient, *states, master = arrays
    _apply(update, [master, gradient.to(master.dtype), *states], lr, wd, given)
    weight.copy_(master)


def _target(weight: NDArray, out: NDArray | None) -> NDArray:
    """The array that gets the new weight: `out`, which has the old one first, or a new one."""
    if out is None:
        return weight.copy()
    if out is not weight:
        out._t.data.copy_(weight._t.detach())
    return out


def _one(name: str, update: Update, step: Callable[..., None]) -> Callable[..., NDArray]:
    def function(weight: NDArray, grad: NDArray, *states: NDArray, lr: float, wd: float = 0.0, **given: Any) -> NDArray:
        target = _target(weight, given.pop("out", None))
        given.update(zip(update.options, states[update.states + (step is _in_master) :], strict=False))
        with torch.no_grad():
            step(update, [target._t.data, *(array._t.data for array in (grad, *states))], lr, wd, given)
        return target

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"One step of {name.removesuffix('_update')}: the new weight; the states change."
    return function


def _many(name: str, update: Update, step: Callable[..., None], preloaded: bool) -> Callable[..., list[NDArray]]:
    each = 2 + update.states + (step is _in_master)

    def function(*arrays: NDArray, num_weights: int, out: Any = None, **given: Any) -> list[NDArray]:
        rates, decays = (
            [values.asnumpy().tolist() for values in arrays[-2:]]
            if preloaded
            else (list(given.pop("lrs")), list(given.pop("wds")))
        )
        outs = [None] * num_weights if out is None else out if isinstance(out, (list, tuple)) else [out]
        results = []
        for place in range(num_weights):
            weight, *others = arrays[place * each : (place + 1) * each]
            target = _target(weight, outs[place])
            with torch.no_grad():
                tensors = [target._t.data, *(array._t.data for array in others)]
                step(update, tensors, rates[place], decays[place], given)
            results.append(target)
        return results

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"`{name.removeprefix('preloaded_').removeprefix('multi_')}` of several weights, one after another."
    )
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _one(name, update, _apply) for name, update in UPDATES.items()}
for _name in ("sgd_update", "sgd_mom_update", "nag_mom_update"):
    FUNCTIONS[f"mp_{_name}"] = _one(f"mp_{_name}", UPDATES[_name], _in_master)
for _name in ("sgd_update", "sgd_mom_update"):
    for _mp, _step in (("", _apply), ("mp_", _in_master)):
        for _loaded in ("", "preloaded_"):
            _full = f"{_loaded}multi_{_mp}{_name}"
            FUNCTIONS[_full] = _many(_full, UPDATES[_name], _step, bool(_loaded))


def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | None = None,
    **options: Any,
) -> NDArray:
    """LAMB's step before it is scaled; the states change."""
    with torch.no_grad():
        gradient = grad._t.to(weight._t.dtype)
        gradient = prepared(gradient, weight._t, single(wd), single(rescale_grad), clip_gradient, False)
        step = lamb_step(weight._t, gradient, mean._t.data, var._t.data, single(wd), **options)
    target = wrap(torch.empty_like(step), weight._ctx) if out is None else out
    target._t.data.copy_(step)
    return target


def lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    out: NDArray | None = None,
) -> NDArray:
    """The weight after LAMB's step `g`, scaled by the norms r1 of the weight and r2 of the step."""
    target = _target(weight, out)
    with torch.no_grad():
        lamb_scaled(target._t.data, g._t, r1._t, r2._t, single(lr), lower_bound, upper_bound)
    return target


def mp_lamb_update_phase1(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, **options: Any
) -> NDArray:
    """LAMB's step of a float16 weight, on its float32 copy."""
    return lamb_update_phase1(weight32, grad, mean, var, **options)


def mp_lamb_update_phase2(
    weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, weight32: NDArray, out: NDArray | None = None, **options: Any
) -> NDArray:
    """The float16 weight after LAMB's step on its float32 copy, which stays as it is: recorded from MXNet 1.9.1."""
    target = _target(weight, out)
    target._t.data.copy_(lamb_update_phase2(weight32, g, r1, r2, **options)._t)
    return target


def _adamw(update: Callable[..., None], arrays: list[NDArray], rescale: Any, lr: float, wd: float, given: dict) -> None:
    """AdamW skips a step whose scale is not finite or 0, as mixed precision needs it."""
    scale = float(rescale.asscalar()) if isinstance(rescale, NDArray) else float(rescale)
    if not (0 < abs(scale) < float("inf")):
        return
    clip = given.pop("clip_gradient", -1.0)
    weight, gradient, mean, variance = (array._t.data for array in arrays)
    gradient = prepared(gradient.to(weight.dtype), weight, 0.0, single(scale), clip, False)
    update(weight, gradient, mean, variance, lr=single(lr), wd=single(wd), **given)


def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: Any,
    lr: float,
    eta: float = 1.0,
    wd: float = 0.0,
    out: NDArray | None = None,
    **given: Any,
) -> NDArray:
    """One step of AdamW; `rescale_grad` is a number or an array of one."""
    target = _target(weight, out)
    with torch.no_grad():
        _adamw(adamw, [target, grad, mean, var], rescale_grad, lr, wd, {"eta": eta, **given})
    return target


def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: Any,
    lr: float,
    eta: float = 1.0,
    wd: float = 0.0,
    out: NDArray | None = None,
    **given: Any,
) -> NDArray:
    """One step of AdamW on the float32 copy of a weight."""
    adamw_update(weight32, grad, mean, var, rescale_grad, lr, eta, wd, weight32, **given)
    target = _target(weight, out)
    target._t.data.copy_(weight32._t.detach())
    return target


def multi_sum_sq(*arrays: NDArray, num_arrays: int, out: NDArray | None = None) -> NDArray:
    """The sum of squares of each array."""
    sums = torch.stack([array._t.detach().float().square().sum() for array in arrays[:num_arrays]])
    target = wrap(torch.empty_like(sums), arrays[0]._ctx) if out is None else out
    target._t.data.copy_(sums)
    return target


def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    out: NDArray | None = None,
) -> NDArray:
    """The learning rates of LARS for several layers."""
    columns = zip(*(values.asnumpy().tolist() for values in (lrs, weights_sum_sq, grads_sum_sq, wds)), strict=True)
    rates = torch.tensor([lars_rate(a, b, c, d, eta, eps, rescale_grad) for a, b, c, d in columns])
    target = wrap(torch.empty_like(rates), lrs._ctx) if out is None else out
    target._t.data.copy_(rates)
    return target


def all_finite(data: NDArray, init_output: bool = True, out: NDArray | None = None) -> NDArray:
    """[1] if every element is a finite number, else [0]; with `init_output=False`, of `out` too."""
    return multi_all_finite(data, num_arrays=1, init_output=init_output, out=out)


def multi_all_finite(
    *arrays: NDArray, num_arrays: int, init_output: bool = True, out: NDArray | None = None
) -> NDArray:
    """[1] if every element of the arrays is a finite number, else [0]."""
    finite = all(bool(torch.isfinite(array._t).all()) for array in arrays[:num_arrays])
    finite = finite and (init_output or out is None or bool(out._t.item()))
    target = wrap(torch.empty(1), arrays[0]._ctx) if out is None else out
    target._t.data.fill_(float(finite))
    return target
