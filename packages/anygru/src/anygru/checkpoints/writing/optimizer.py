"""The state of Paddle's Adam as one of `torch.optim.Adam`.

A `.pdopt` file has the moments by Paddle's own names of parameters ("linear_0.w_0_moment1_0"), which are mapped to parameters
by the `.pdparams` file of the same model; torch numbers parameters in the model's order.
"""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CheckpointError
from ..checkpoint import Checkpoint, load_checkpoint
from ..stored import StoredTensor
from .other_layers import plan_layers

if TYPE_CHECKING:
    import torch

_MOMENTS = {"exp_avg": "_moment1_0", "exp_avg_sq": "_moment2_0"}
_POWERS = ("_beta1_pow_acc_0", "_beta2_pow_acc_0")
_BUFFERS = ("_mean", "_variance")
_TENSORS = ("generated_tensor_", "eager_tmp_")
"""Paddle's names of tensors other than parameters, such as registered buffers: by `to_tensor`, and by any other operation."""


def adam_state(
    optimizer: str | os.PathLike[str],
    model: str | os.PathLike[str],
    order: "Sequence[str] | torch.nn.Module | None" = None,
    betas: tuple[float, float] = (0.9, 0.999),
    lr: float | None = None,
) -> dict[str, Any]:
    """Return a state for `torch.optim.Adam.load_state_dict` (or `AdamW`'s).

    Args:
        optimizer: Paddle's `.pdopt` file of `Adam` or `AdamW`.
        model: the `.pdparams` file of the same model.
        order: the torch module, or the names of its parameters in its order; None: the file's order, which is the same where
            the torch model makes its layers in the order of the Paddle model.
        betas: of the optimizer, which the file does not hold; the number of steps follows from them.
        lr: the learning rate; None: from the scheduler in the file.

    Returns:
        A state_dict with one group of parameters; the moments of linear layers' weights are transposed as the weights are. A
        parameter that the optimizer never updated (frozen or unused) keeps its number and has no entry in "state".

    Raises:
        CheckpointError: a file is of another kind, the optimizer is not Adam or AdamW, or the betas differ.
    """
    state, weights = load_checkpoint(optimizer, "paddle"), load_checkpoint(model, "paddle")
    table = weights.content.parameter_names
    if not table:
        raise CheckpointError(
            f"{weights.path}: no table of parameters' names: it is not the state_dict of a Paddle layer"
        )
    again = set(plan_layers(weights.stored, "paddle", "torch").again)
    turned = set(plan_layers(weights.stored, "paddle", "torch").transposed)
    if order is None:
        order = [
            name
            for name in weights.stored
            if name not in again and not name.endswith(_BUFFERS) and not table.get(name, "").startswith(_TENSORS)
        ]
    elif not isinstance(order, Sequence):
        order = [name for name, _ in order.named_parameters()]
    entries = {}
    for number, name in enumerate(order):
        if name not in table:
            raise CheckpointError(f"{weights.path}: no parameter {name!r}; it has {', '.join(list(table)[:8])} ...")
        if any(key.startswith(f"{table[name]}_") for key in state.stored):
            entries[number] = _entry(state, table[name], name in turned, betas)
    if not entries:
        raise CheckpointError(
            f"{state.path}: no moments of the model's parameters: only the state of Adam and AdamW can be converted"
        )
    rate = lr if lr is not None else _rate(state)
    group = {"lr": rate, "betas": tuple(betas), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False}
    return {"state": entries, "param_groups": [{**group, "params": list(range(len(order)))}]}


def _entry(state: Checkpoint, parameter: str, turned: bool, betas: tuple[float, float]) -> "dict[str, torch.Tensor]":
    import torch

    found: dict[str, torch.Tensor] = {}
    for name, ending in _MOMENTS.items():
        stored = state.stored.get(parameter + ending)
        if stored is None:
            known = sorted({key.removeprefix(parameter) for key in state.stored if key.startswith(parameter)})
            raise CheckpointError(
                f"{state.path}: no {parameter + ending}; Adam and AdamW can be converted, and {parameter} has "
                f"{', '.join(known) or 'nothing'}"
            )
        values = np.ascontiguousarray(stored.values.T) if turned else stored.values
        found[name] = StoredTensor(values, stored.dtype).tensor().clone()
    found["step"] = torch.tensor(float(_steps(state, parameter, betas)))
    return found


def _steps(state: Checkpoint, parameter: str, betas: tuple[float, float]) -> int:
    """The number of updates: Paddle 2 keeps beta to the power of one more (`beta1_pow_acc` begins with beta1 itself)."""
    counts = []
    for ending, beta in zip(_POWERS, betas, strict=True):
        stored = state.stored.get(parameter + ending)
        if stored is None or stored.values.size != 1:
            raise CheckpointError(f"{state.path}: no number {parameter + ending}")
        power = float(stored.values.reshape(-1)[0])
        # float32 has no powers below 1e-38: then only the other beta is usable
        counts.append(math.log(power) / math.log(beta) - 1 if 1e-37 < power < 1 else math.nan)
    told = [count for count in counts if not math.isnan(count)]
    steps = round(told[-1]) if told else 0
    if any(abs(count - steps) > 0.01 * steps + 0.05 for count in told) or steps < 0:
        raise CheckpointError(
            f"{state.path}: {parameter}: betas {betas} would have made {', '.join(f'{count:.2f}' for count in told)} updates: "
            f"the optimizer had others"
        )
    return steps


def _rate(state: Checkpoint) -> float:
    for name in ("LR_Scheduler.last_lr", "LR_Scheduler.base_lr"):
        rate = state.values.get(name)
        if isinstance(rate, float | int):
            return float(rate)
    raise CheckpointError(f"{state.path}: no learning rate is in it: give it (lr, --lr)")
