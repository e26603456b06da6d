"""The private names of torch that anygru uses, each with an answer for a torch that lacks it.

They show at little cost whether a call is special: transformed, traced, under autocast, in a profile. Where a name is
missing the answer is the careful one, so that the call takes the general path: a missing name costs speed, and never a
result or an import.
"""

import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial, reduce
from typing import Any, cast

import torch
from torch.autograd import forward_ad

TESTED = ((2, 4), (2, 14))
"""The oldest and the newest torch that the tests run with."""
MISSING: list[str] = []
"""Names that this torch lacks."""


def _find(name: str, careful: Any) -> Any:
    """A name below torch, or the careful answer."""
    try:
        return reduce(getattr, name.split("."), torch)
    except AttributeError:
        MISSING.append(name)
        return careful


def _version() -> tuple[int, ...]:
    """Major and minor version; (0, 0), older than any, where torch's version begins with no such numbers."""
    found = re.match(r"(\d+)\.(\d+)", torch.__version__)
    return tuple(map(int, found.groups())) if found else (0, 0)


def at_least(*version: int) -> bool:
    """Whether this torch has at least this version."""
    return _version() >= version


def _check_version() -> None:
    if not TESTED[0] <= _version() <= TESTED[1]:
        oldest, newest = (".".join(map(str, each)) for each in TESTED)
        warnings.warn(f"anygru is tested with torch {oldest} to {newest}, this is {torch.__version__}", stacklevel=2)


is_any_autocast: Callable[[], bool] = _find(
    "_C._is_any_autocast_enabled", lambda: torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
)
"""Whether some device is under autocast."""

is_cudnn_enabled: Callable[[], bool] = _find("_C._get_cudnn_enabled", lambda: bool(torch.backends.cudnn.enabled))
"""Whether torch may call cuDNN."""

tracing_state: Callable[[], Any] = _find("_C._get_tracing_state", lambda: torch.jit._trace.is_tracing() or None)
"""The graph that torch.jit.trace records, or None."""

set_tracing_state: Callable[[Any], None] = _find("_C._set_tracing_state", lambda state: None)
"""Suspend or resume recording. Without it, checks of sizes are recorded as constants."""

COMPOSITE: Any = _find("_C.DispatchKey.CompositeImplicitAutograd", None)
"""The key of the kernel that `run_decompositions` calls; without it a program keeps anygru's nodes."""

is_profiled: Callable[[], bool] = _find("_C._autograd._profiler_enabled", lambda: False)
"""Whether torch.profiler watches. Without it, calls have no names in a profile."""

dispatch_modes: Callable[[], int] = _find("_C._len_torch_dispatch_stack", lambda: 1)
"""How many dispatch modes are active."""

transform: Callable[[], Any] = _find("_C._functorch.peek_interpreter_stack", lambda: "unknown")
"""The innermost torch.func transform, or None."""

transform_level: Callable[[], int | None] = _find("_C._functorch.maybe_current_level", lambda: 1)
"""The number of active torch.func transforms, or None."""

_differentiating: Any = _find("_C._functorch.TransformType.Grad", None)


def differentiates_once() -> bool:
    """Whether torch.func.grad or vjp is active, and no other transform; torch's own nodes take that."""
    found = transform()
    return transform_level() == 1 and forward_level() < 0 and found.key() == _differentiating


is_wrapped: Callable[[torch.Tensor], bool] = _find("_C._functorch.is_functorch_wrapped_tensor", lambda tensor: False)
"""Whether a tensor is of a torch.func transform, active or ended. Without it, a tensor that outlives its transform is
an error."""

is_legacy_batched: Callable[[torch.Tensor], bool] = _find("_C._functorch.is_legacy_batchedtensor", lambda tensor: True)
"""Whether a gradient is one of many that autograd batches (`is_grads_batched`)."""

graph_task: Callable[[], int] | None = _find("_C._current_graph_task_id", None)
"""The number of the running backward pass."""

current_node: Callable[[], Any] = _find("_C._current_autograd_node", None)
"""The node of autograd whose backward pass runs."""

will_execute: Callable[[Any], bool] | None = _find("_C._will_engine_execute_node", None)
"""Whether the running backward pass comes to a node."""

at_end_of_backward: Callable[[Callable[[], None]], None] | None = _find(
    "autograd.Variable._execution_engine.queue_callback", None
)
"""Call a function at the end of the running backward pass, which alone keeps the function alive. Without these three names,
loops over cells sum gradients step by step."""

_swap_contents: Callable[[torch.Tensor, torch.Tensor], None] = _find("_C._swap_tensor_impl", torch.utils.swap_tensors)
"""Swap what two tensor objects stand for. The public function refuses tensors that a graph has saved."""


def leave_graph(tensor: torch.Tensor) -> None:
    """Make a tensor a leaf without gradients that keeps its memory.

    `torch.Tensor.detach_` refuses views: there the object takes over the contents of a detached tensor instead.
    """
    if not tensor._is_view():
        torch.Tensor.detach_(tensor)
        return
    detached = torch.Tensor.detach(tensor)
    detached.__class__ = type(tensor)
    detached.__dict__.update(tensor.__dict__)
    _swap_contents(tensor, detached)


def plain_apply(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """`function.apply` without its part for torch.func, for calls that are under no transform and have no tensors of one.

    That part looks at every argument in Python, which takes as long as the rest of the call.
    """
    found: Callable[..., Any] = getattr(super(torch.autograd.Function, function), "apply", function.apply)
    return found


_run_backward: Any = _find("autograd.Variable._execution_engine.run_backward", None)


def backward(outputs: Sequence[torch.Tensor], grads: Sequence[torch.Tensor], retain_graph: bool = False) -> None:
    """`torch.autograd.backward` of plain tensors with gradients of their shapes.

    torch's own looks for sizes that are symbols, and for that imports sympy at its first call: a second of each process.
    """
    if _run_backward is None:
        torch.autograd.backward(outputs, grads, retain_graph)
    else:
        _run_backward(tuple(outputs), tuple(grads), retain_graph, False, (), True, accumulate_grad=True)


def gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    grads: Sequence[torch.Tensor],
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[torch.Tensor | None, ...]:
    """`torch.autograd.grad`, under the conditions of `backward`: None for an input that no output depends on."""
    if _run_backward is None:
        return torch.autograd.grad(outputs, inputs, grads, retain_graph, create_graph, allow_unused=True)
    found: tuple[torch.Tensor | None, ...] = _run_backward(
        tuple(outputs), tuple(grads), retain_graph, create_graph, tuple(inputs), True, accumulate_grad=False
    )
    return found


forward_level: Callable[[], int] = partial(getattr, forward_ad, "_current_level", 0)
"""The level of forward-mode AD, below 0 where it is not active."""


def is_exporting() -> bool | None:
    """Whether torch.export traces; None where torch (before 2.7) has no such setting.

    Not by `torch.compiler.is_exporting`, which is always true for the compiler of torch 2.10.
    """
    return cast("bool | None", getattr(torch.compiler, "_is_exporting_flag", None))


jagged_bounds = "min_seqlen" in inspect.signature(torch.nested.nested_tensor_from_jagged).parameters
"""Whether a nested tensor takes the lengths of its shortest and longest sequence; in torch 2.4 it does not."""


has_amx: Callable[[], bool] = _find("cpu._is_amx_tile_supported", lambda: False)
has_amx_fp16: Callable[[], bool] = _find("cpu._is_amx_fp16_supported", lambda: False)
has_avx512_bf16: Callable[[], bool] = _find("cpu._is_avx512_bf16_supported", lambda: False)
has_fp16_products: Callable[[], bool] = _find("ops.mkldnn._is_mkldnn_fp16_supported", lambda: False)
"""Whether the CPU has units for half precision that torch uses. Without a name (torch before 2.6), torch's products are taken
for slow."""

fp32_precision: Callable[[str, str], str] = _find(
    "_C._get_fp32_precision_getter",
    lambda backend, operation: (
        {"high": "tf32", "medium": "bf16"}.get(torch.get_float32_matmul_precision(), "ieee")
        if operation == "matmul"
        else "none"
    ),
)
"""The precision that torch allows for float32 products: "ieee", "tf32" or "bf16"; "none" if the operation has no
setting."""

disable_torch_function: Callable[[], Any] = _find("_C.DisableTorchFunctionSubclass", nullcontext)
"""A context in which functions treat subclasses of tensors as plain ones; without it they pass through their checks."""

compiles_routes = at_least(2, 13)
"""Whether the compiler can look into an accelerated torch.nn.GRU. Up to torch 2.10 it cannot bind a function, and
compiles torch's packing with tensors that have no data; then the graph breaks at the layer, also without anygru."""

compiles_named_tuples = at_least(2, 13)
"""Whether the compiler follows properties and `_replace` of named tuples. Where it does not, the graph of a call with resets,
decay or return_states breaks."""


def timeout_of(group: Any) -> float:
    """The seconds that a collective of a process group waits; two minutes if torch does not expose them."""
    try:
        return float(group._get_backend(torch.device("cpu")).options._timeout.total_seconds())
    except (AttributeError, RuntimeError):  # the second from a group without a backend for the CPU
        return 120.0


_check_version()
