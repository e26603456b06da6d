"""The loop over the steps of a cell that its user wrote: compiled in parts, or a parallel scan; differentiable twice.

A loop in Python costs several microseconds for each operation of a step. `STEPS` steps at a time are one function, which torch
compiles once for a class of cells and calls again for each part of a sequence and each layer of the same sizes.
"""

import itertools
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from typing import Any, NamedTuple
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import get_device_states

from ..backends.recorded import refuse_changed, versions
from ..backends.reference import decayed
from ..errors import ArgumentError
from ..facts.arguments import is_shape
from .active_modes import is_recorded, is_transformed

STEPS = 10
"""Steps of one compiled call. More take longer to compile, fewer longer to run."""
Results = tuple[Tensor, Tensor]
"""The states after each step [T, B, H], and the last."""


class Steps(NamedTuple):
    """The values that a loop reads, a row for each step."""

    rows: Tensor
    """[T, B, F]: the input, or the result of the cell's `of_input`."""
    runs: Tensor | None = None
    """bool [T, B, 1]: whether a sequence has the step; None: all have."""
    decay: Tensor | None = None
    """[T, B, H] or [T, B, 1]: factors of the state before the step."""
    offset: Tensor | None = None
    """[T, B, H]: added after the decay."""

    def parts(self) -> "list[Steps]":
        """`STEPS` steps each, in the last part perhaps fewer. (The gradient of a slice would be as large as all steps.)"""
        each = [() if values is None else values.split(STEPS) for values in self]
        return [Steps(*part) for part in itertools.zip_longest(*each)]

    def turned(self) -> "Steps":
        """From the last step to the first."""
        rows, *others = self
        return Steps(rows.flip(0), *(None if values is None else values.flip(0) for values in others))


def run(cell: nn.Module, steps: Steps, h: Tensor, compiles: bool) -> Results:
    """All steps, from the state h [B, H].

    Args:
        cell: as `layers.own_cells.CellLayer` takes it.
        compiles: whether torch may compile a cell without `coefficients`.
    """
    if hasattr(cell, "coefficients"):
        return _scan(cell, steps, h)
    plain = partial(_step_by_step, cell)
    busy = torch.compiler.is_compiling() or is_recorded() or is_transformed(steps.rows[:0].unbind())
    slow = not compiles or (cell.training and cell in _random)
    if slow or busy or len(steps.rows) < STEPS or not _has_compiler(steps.rows.device.type):
        return plain(steps, h)
    fast = partial(_in_parts, cell)
    tensors = [h, *(value for value in steps if value is not None and value.is_floating_point()), *cell.parameters()]
    if not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
        return fast(steps, h)
    earlier = _Earlier(cell, h.device.type)
    devices, states = get_device_states(h)
    states.append(torch.get_rng_state())
    with torch.random.fork_rng(devices, device_type=h.device.type):
        found: Results = _Differentiable.apply(fast, earlier.run, h, *steps, *cell.parameters())  # type: ignore[no-untyped-call]
        now = [*get_device_states(h)[1], torch.get_rng_state()]
    if all(map(torch.equal, states, now)):
        return found
    # Compiled code draws other random numbers than plain torch: a second computation would be of another function.
    _random.add(cell)
    earlier.restore_buffers()
    return plain(steps, h)


_random: "WeakSet[nn.Module]" = WeakSet()
"""Cells that have drawn random numbers from torch's generators."""


def _step_by_step(cell: nn.Module, steps: Steps, h: Tensor) -> Results:
    return _many(cell, h, *steps)


class _Earlier:
    """A cell with the buffers, the modes and the autocast of an earlier call."""

    def __init__(self, cell: nn.Module, device_type: str) -> None:
        self.cell = cell
        self.buffers = {name: buffer.detach().clone() for name, buffer in cell.named_buffers()}
        self.modes = [module.training for module in cell.modules()]
        kinds = [kind for kind in {"cpu", device_type} if torch.amp.is_autocast_available(kind)]
        self.casts = [(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)) for kind in kinds]

    def restore_buffers(self) -> None:
        """Undoes changes of the buffers."""
        with torch.no_grad():
            for name, buffer in self.cell.named_buffers():
                buffer.copy_(self.buffers[name])

    def run(self, parameters: Sequence[Tensor], steps: Steps, h: Tensor) -> Results:
        """`_step_by_step` with these parameters; it does not change the cell."""
        names = [name for name, _ in self.cell.named_parameters()]
        own = dict(zip(names, parameters, strict=True))
        own |= {name: buffer.clone() for name, buffer in self.buffers.items()}
        call: Any = partial(torch.func.functional_call, self.cell, own)
        with ExitStack() as stack:
            stack.enter_context(self._in_modes())
            for kind, dtype, enabled in self.casts:
                stack.enter_context(torch.autocast(kind, dtype, enabled, cache_enabled=False))
            return _many(lambda *given: call(given), h, *steps)

    @contextmanager
    def _in_modes(self) -> Iterator[None]:
        modules = list(self.cell.modules())
        present = [module.training for module in modules]
        try:
            for module, mode in zip(modules, self.modes, strict=True):
                module.training = mode
            yield
        finally:
            for module, mode in zip(modules, present, strict=True):
                module.training = mode


def _many(
    cell: Callable[[Tensor, Tensor], Tensor],
    h: Tensor,
    rows: Tensor,
    runs: Tensor | None,
    decay: Tensor | None,
    offset: Tensor | None,
) -> Results:
    """The steps in sequence. torch compiles a copy of this function for each class of cells."""
    outputs: list[Tensor] = []
    each = [() if values is None else values.unbind(0) for values in (rows, runs, decay, offset)]
    for row, exists, factor, added in itertools.zip_longest(*each):
        before = h if factor is None else decayed(h, factor)
        after = cell(row, before if added is None else before + added)
        if not is_shape(after.shape, h.shape):
            raise ArgumentError(f"a cell must return a state {list(h.shape)}, got {list(after.shape)}")
        h = after if exists is None else torch.where(exists, after, h)
        outputs.append(h)
    return (torch.stack(outputs) if outputs else rows.new_zeros((0, *h.shape))), h


@lru_cache(maxsize=256)
def _compiled(kind: type) -> Callable[..., Results]:
    """A copy of `_many`: torch compiles a function only a few times, and cells of other classes would count."""
    own = types.FunctionType(_many.__code__.replace(co_name=f"steps_of_{kind.__name__}"), globals())
    found: Callable[..., Results] = torch.compile(own)
    return found


def _in_parts(cell: nn.Module, steps: Steps, h: Tensor) -> Results:
    kind: Any = type(cell)
    many, outputs = _compiled(kind), []
    for part in steps.parts():
        output, h = (many if len(part.rows) == STEPS else _many)(cell, h, *part)
        outputs.append(output)
    return torch.cat(outputs), h


@lru_cache(maxsize=8)
def _has_compiler(device_type: str) -> bool:
    """Whether torch can compile for a device; warns once where it cannot."""
    try:
        if device_type == "cpu":
            from torch._inductor import cpp_builder  # imports sympy

            cpp_builder.get_cpp_compiler()
            return True
        from torch.utils._triton import has_triton

        found = has_triton()
    except (ImportError, RuntimeError):  # a torch that has other modules, or its InvalidCxxCompiler
        found = False
    if not found:
        needed = "C++ compiler" if device_type == "cpu" else "Triton"
        warnings.warn(
            f"torch finds no {needed}: your own cells run step by step in Python", RuntimeWarning, stacklevel=6
        )
    return found


_Given = Sequence[Tensor | None]


class _Differentiable(torch.autograd.Function):
    """A compiled loop. Its own backward cannot be differentiated: for that the steps are computed again in plain torch."""

    @staticmethod
    def forward(ctx: Any, fast: Any, plain: Any, *tensors: Tensor | None) -> Results:
        """The tensors: the state, the tensors of `Steps`, and the cell's parameters, which the loops read directly."""
        ctx.plain, ctx.count = plain, 1 + len(Steps._fields)
        ctx.tensors, ctx.versions = tensors, versions(tensors)  # the inner graph saves the tensors that it reads
        with torch.enable_grad():
            inner = _leaves(tensors[: ctx.count])
            ctx.graph = inner, fast(Steps(*inner[1:]), inner[0])
        output, last = ctx.graph[1]
        return output.detach(), last.detach().clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        _, given = ctx.saved_tensors, ctx.tensors  # the first raises an error in a graph that autograd has freed
        parameters, again = given[ctx.count :], torch.is_grad_enabled()
        graph, ctx.graph = ctx.graph, None
        if graph is None or again:  # a second pass, or a pass that is itself differentiated
            refuse_changed(given, ctx.versions)
            with torch.enable_grad():
                # Views, since a state may itself have been computed from the parameters.
                fresh = [None if one is None else one.view_as(one) for one in given] if again else None
                fresh = _leaves(given) if fresh is None else fresh
                inner, parameters = fresh[: ctx.count], fresh[ctx.count :]
                graph = inner, ctx.plain(parameters, Steps(*inner[1:]), inner[0])
        inner, results = graph
        needs, own = ctx.needs_input_grad[2:], (*inner, *parameters)
        wanted = [value for value, need in zip(own, needs, strict=True) if need]
        found = iter(torch.autograd.grad(results, wanted, grads, create_graph=again, allow_unused=True))
        return None, None, *(next(found) if need else None for need in needs)


def _leaves(tensors: _Given) -> list[Any]:
    """The tensors as leaves of a separate graph."""
    return [None if one is None else one.detach().requires_grad_(one.requires_grad) for one in tensors]


def _scan(cell: Any, steps: Steps, h: Tensor) -> Results:
    """The states of a cell that is linear in its state, h' = a * h + b, in log2(T) rounds over whole sequences.

    Round k joins each step with the step 2^k before it (Hillis and Steele 1986, "Data parallel algorithms").
    """
    factor, added = cell.coefficients(steps.rows)
    if steps.decay is not None:
        kept = factor * steps.decay
        added = added if steps.offset is None else added + factor * steps.offset
        factor = kept
    if steps.runs is not None:
        factor, added = torch.where(steps.runs, factor, 1.0), torch.where(steps.runs, added, 0.0)
    total, reach = len(steps.rows), 1
    if not total:
        return added, h
    clears = factor == 0
    added = torch.cat((added[:1] + _product(clears[:1], factor[:1], h), added[1:]))
    while reach < total:
        near, far, zero = factor[reach:], slice(None, total - reach), clears[reach:]
        added = torch.cat((added[:reach], added[reach:] + _product(zero, near, added[far])))
        factor = torch.cat((factor[:reach], _product(zero, near, factor[far])))
        clears = torch.cat((clears[:reach], zero | clears[far]))
        reach *= 2
    return added, added[-1]


def _product(clears: Tensor, factor: Tensor, x: Tensor) -> Tensor:
    """factor * x; 0 where the factor clears an infinite x, and where a product of factors is infinite but x is 0.

    A product of factors that is too small for its dtype does not clear.
    """
    x = torch.where(clears & ~torch.isfinite(x), 0.0, x)
    return torch.where(x == 0, torch.nan_to_num(factor, nan=torch.nan), factor) * x
