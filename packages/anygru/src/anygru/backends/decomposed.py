"""The reference for graphs that run without anygru: torch's operators only, and no size of the batch in Python.

A known number of steps gives a copy of the step for each. If the number is a symbol, the steps are one `scan` of torch
with a step as its body. In a padded batch the steps past a sequence's end are masked.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import BackendError
from ..facts.modifiers import Modifiers
from ..facts.problem import Call, Problem
from . import reference

_CHANGES = ("decay", "offset", "candidate", "zoneout")


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """As `reference.run` for a dense batch [T, B, I], or a padded batch with lengths [B] instead of the batch sizes.

    Raises:
        BackendError: packed rows; their number in each step is data.
    """
    if call.batch_sizes is not None and call.input.dim() == 2:
        raise BackendError(
            "a PackedSequence, or a list of sequences, cannot be decomposed into torch's operators: export the layer with a "
            "padded tensor and lengths"
        )
    return reference.run_layers(_one_direction, problem, call)


def _one_direction(
    problem: Problem,
    input: Tensor,
    h: Tensor,
    weights: Sequence[Tensor],
    lengths: Tensor | None,
    reverse: bool,
    modifiers: Modifiers,
) -> tuple[Tensor, Tensor]:
    rows = reference.products_of(problem, weights)[0](input)
    each, same = {"rows": rows}, dict(zip(problem.layout.kinds(), weights, strict=True))
    if lengths is not None:
        steps = torch.arange(rows.shape[0], device=rows.device).unsqueeze(1)
        each["runs"] = (steps < lengths.to(rows.device)).unsqueeze(-1)
    for name in _CHANGES:
        values = getattr(modifiers, name)
        if values is not None:
            (same if values.numel() == 1 else each)[name] = values.flatten() if values.numel() == 1 else values[0]
    if modifiers.mask is not None:
        same["mask"] = modifiers.mask[0]
    if isinstance(rows.shape[0], int):
        return _unrolled(problem, h, each, same, reverse)
    return _scanned(problem, h, each, same, reverse)


def _advance(problem: Problem, h: Tensor, each: dict[str, Tensor], same: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The state after a step, and its output.

    Args:
        each: the step's share of the gates and its own values.
        same: the weights and other values that do not change from step to step.
    """
    from_state = reference.products_of(problem, [same[kind] for kind in problem.layout.kinds()])[1]
    changes = tuple(each.get(name, same.get(name)) for name in _CHANGES)
    after = reference.advance(problem.formula, each["rows"], h, from_state, changes, same.get("mask"))
    if "runs" not in each:
        return after, after
    return torch.where(each["runs"], after, h), torch.where(each["runs"], after, 0.0)


def _unrolled(
    problem: Problem, h: Tensor, each: dict[str, Tensor], same: dict[str, Tensor], reverse: bool
) -> tuple[Tensor, Tensor]:
    rows, outputs = each["rows"], []
    for step in range(rows.shape[0])[:: -1 if reverse else 1]:
        h, output = _advance(problem, h, {name: values[step] for name, values in each.items()}, same)
        outputs.append(output)
    if not outputs:
        return rows.new_zeros((0, *h.shape)), h
    return torch.stack(outputs[::-1] if reverse else outputs), h


def _scanned(
    problem: Problem, h: Tensor, each: dict[str, Tensor], same: dict[str, Tensor], reverse: bool
) -> tuple[Tensor, Tensor]:
    """The same as one node for any number of steps; its body may read only its arguments."""
    from torch._higher_order_ops.scan import scan_op  # imports sympy

    def body(state: Tensor, *given: Tensor) -> list[Tensor]:
        own, fixed = given[: len(each)], given[len(each) :]
        found, output = _advance(problem, state, dict(zip(each, own, strict=True)), dict(zip(same, fixed, strict=True)))
        return [found.clone(), output.clone()]  # a scan's results share no memory

    steps = [values.flip(0) if reverse else values for values in each.values()]
    final, output = scan_op(body, [h.clone()], steps, tuple(same.values()))
    return output.flip(0) if reverse else output, final
