"""How a call of torch.nn.GRU comes to anygru.

An accelerated module carries a mark among its attributes, or the whole process is accelerated; `torch.nn.GRU.forward`
and `GRUCell.forward` are then descriptors that look for that. torch's own `forward` stays in charge either way. It
checks the arguments, takes packed sequences apart, permutes h_0 and fetches the weights of this moment; only the kernel
that it calls in the end (`_VF.gru`) is exchanged, by running the same code with other globals. That is how every error
and every odd case stays exactly torch's, in each version of torch.
"""

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from .. import functional
from ..backends import aten
from ..errors import AnygruError, ArgumentError
from ..facts import torch_private
from ..facts.formula import Formula
from ..facts.problem import Options
from ..facts.weights import Layout
from ..operator.casting import DTYPES, autocast_products, faster_products
from . import compiling

_MARK = "_anygru_accelerated"
_EXPORTED = "_anygru_exported"
"""For an instance in an export: the thread that exports it, and the function that this thread calls."""
_lock = threading.RLock()
_everywhere: set[object] = set()
"""The owners that have accelerated the whole process and not ended it."""


def mark(module: nn.Module) -> None:
    """Let a torch.nn.GRU or GRUCell compute through anygru.

    Raises:
        AnygruError: another library has replaced torch's forward, so there is no kernel call to exchange.
    """
    module.__dict__[_MARK] = Mark()


def unmark(module: nn.Module) -> bool:
    """Let it compute through torch again. Returns whether it carried a mark."""
    found = module.__dict__.pop(_MARK, None) is not None
    _uninstall_if_unused()
    return found


def is_marked(module: nn.Module) -> bool:
    return _MARK in module.__dict__


@contextlib.contextmanager
def computing_as(forwards: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """While this lasts, these instances of torch.nn.GRU and GRUCell compute by other functions, in this thread alone."""
    own = Mark()
    for module, forward in forwards.items():
        module.__dict__[_EXPORTED] = threading.get_ident(), forward
    try:
        yield
    finally:
        for module in forwards:
            module.__dict__.pop(_EXPORTED, None)
        Mark.alive.discard(own)
        _uninstall_if_unused()


def start_everywhere(owner: object) -> None:
    """Let every torch.nn.GRU and GRUCell of the process compute through anygru until each owner has ended it."""
    with _lock:
        _install()
        _everywhere.add(owner)


def end_everywhere(owner: object | None = None) -> None:
    """Undo `start_everywhere` for this owner, or for all owners if None."""
    with _lock:
        if owner is None:
            _everywhere.clear()
        _everywhere.discard(owner)
        _uninstall_if_unused()


def is_everywhere() -> bool:
    return bool(_everywhere)


class Mark:
    """Marks a module as accelerated. Each copy and pickle of the module has its own mark, which is active once it is
    loaded."""

    alive: "weakref.WeakSet[Mark]" = weakref.WeakSet()

    def __init__(self) -> None:
        with _lock:
            _install()
            self.alive.add(self)

    def __reduce__(self) -> "tuple[type[Mark], tuple[()]]":
        return Mark, ()


class _Route:
    """A descriptor that replaces `forward` of a torch class. It returns torch's method, or the accelerated one, for each module.

    Both methods have torch's own code, so tools that inspect a module (torch.jit.script, inspect, dynamo) find torch's
    source.
    """

    def __init__(self, owner: type[nn.Module]) -> None:
        self.original: FunctionType = owner.__dict__["forward"]
        self.accelerated = _with_kernels(self.original)

        @functools.wraps(self.original)
        def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return self.__get__(module)(*args, **kwargs)

        self.from_class = forward

    def __get__(self, module: nn.Module | None, owner: type | None = None) -> Callable[..., Any]:
        if module is None:
            return self.from_class
        thread, exported = module.__dict__.get(_EXPORTED, (None, None))
        if thread is not None and thread == threading.get_ident():
            return cast(Callable[..., Any], exported.__get__(module, owner))
        chosen = self.accelerated if _is_accelerated(module) else self.original
        return chosen.__get__(module, owner)


def _is_accelerated(module: nn.Module) -> bool:
    return bool(_everywhere) or _MARK in module.__dict__


def _is_accelerated_on_cpu(module: nn.Module) -> bool:
    return _is_accelerated(module) and not any(weight.is_cuda for weight in module.parameters())


def _with_kernels(forward: Any) -> FunctionType:
    """The same code, in which the name `_VF` means anygru."""
    if not isinstance(forward, FunctionType) or "_VF" not in forward.__code__.co_names:
        raise AnygruError(
            f"accelerate: torch.nn.GRU.forward was already patched by {forward!r}, which calls no kernel that anygru could"
            " take over; call anygru.accelerate() before patching it"
        )
    names = {**forward.__globals__, "_VF": _kernels}
    copy = FunctionType(forward.__code__, names, forward.__name__, forward.__defaults__, forward.__closure__)
    functools.update_wrapper(copy, forward)
    del vars(copy)["__wrapped__"]
    return copy


def _install() -> None:
    with _lock:
        found = [owner.__dict__["forward"] for owner in (nn.GRU, nn.GRUCell)]
        if any(isinstance(forward, _Route) for forward in found):
            return
        routes = {owner: _Route(owner) for owner in (nn.GRU, nn.GRUCell)}
        for owner, route in routes.items():
            owner.forward = route  # type: ignore[assignment,method-assign]
        # A scripted module keeps to torch's kernel: the compiler takes our functions for the operators of that name.
        torch.jit._builtins._register_builtin(_gru, "aten::gru")
        torch.jit._builtins._register_builtin(_gru_cell, "aten::gru_cell")
        for function in (_gru, _gru_cell, _Route.__get__):
            _keep_from_compiler(function)
        compiling.install(_is_accelerated_on_cpu)


def _keep_from_compiler(function: Callable[..., Any]) -> None:
    """Called between two compiled graphs, the function is run and not compiled for itself, as torch's kernel, in C, is not.

    If an option makes the compiler trace through recurrent layers (allow_rnn), it still does.
    """
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


def _uninstall_if_unused() -> None:
    with _lock:
        if _everywhere or Mark.alive:
            return
        for owner in (nn.GRU, nn.GRUCell):
            route = owner.__dict__["forward"]
            if isinstance(route, _Route):
                owner.forward = route.original  # type: ignore[method-assign]
        compiling.uninstall()


def _gru(*call: Any) -> tuple[Tensor, Tensor]:
    """`torch._VF.gru` in both its forms: (input, h_0, weights, ...) and, packed, (rows, batch_sizes, h_0, ...)."""
    packed = isinstance(call[2], Tensor)
    if packed:
        rows, batch_sizes, h_0, weights, bias, _, dropout, training, bidirectional = call
        input, batch_first = rows, False
    else:
        input, h_0, weights, bias, _, dropout, training, bidirectional, batch_first = call
    if input.is_cuda and _stays_on_cuda(weights):
        return torch._VF.gru(*call)
    steps = input.transpose(0, 1) if batch_first and input.dim() == 3 else input
    if not _ours(input, h_0, weights) or _is_faster_there(steps, h_0, weights, batch_sizes if packed else None):
        return torch._VF.gru(*call)
    try:
        output, h_n = functional.gru(
            PackedSequence(rows, batch_sizes) if packed else input,
            h_0,
            weights,
            batch_first=batch_first,
            bidirectional=bidirectional,
            bias=bias,
            dropout=dropout,
            training=training,
        )
    except ArgumentError:  # such as batch sizes that increase; the error of a wrong argument is torch's
        return torch._VF.gru(*call)
    return cast(Tensor, output.data if packed else output), h_n


def _gru_cell(
    input: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """`torch._VF.gru_cell`."""
    if input.is_cuda and _stays_on_cuda():
        return torch._VF.gru_cell(input, h, w_ih, w_hh, b_ih, b_hh)
    weights = (w_ih, w_hh) if b_ih is None or b_hh is None else (w_ih, w_hh, b_ih, b_hh)
    both = (b_ih is None) == (b_hh is None)
    if both:
        # The fast path has its own checks; the checks below would be a third of a small step.
        found = functional.direct_cell(input, h, weights, _CELL_OPTIONS[b_ih is not None])
        if found is not None:
            return found
    fits = h.dim() == 2 and input.shape[-1] == w_ih.shape[-1] and h.shape == (input.shape[0], w_hh.shape[-1])
    if not fits or not both or not _ours(input, h, weights) or _is_faster_there(input[None], h, weights, None):
        return torch._VF.gru_cell(input, h, w_ih, w_hh, b_ih, b_hh)
    return functional.gru_cell(input, h, w_ih, w_hh, b_ih, b_hh)


_CELL_OPTIONS = tuple(Options(Formula(), Layout(bias=bias)) for bias in (False, True))

_kernels = ModuleType("anygru.accelerate._kernels")
_kernels.__dict__.update(gru=_gru, gru_cell=_gru_cell, __getattr__=functools.partial(getattr, torch._VF))

_PLAIN = (Tensor, nn.Parameter)


def _stays_on_cuda(weights: Sequence[Tensor] = ()) -> bool:
    """Whether a call on CUDA is left to torch, with its kernel and its node of autograd.

    We compute two kinds: calls with weights that do not share one buffer, which we join faster than torch does, and calls under
    the transforms of torch.func that torch's node refuses.
    """
    if torch.compiler.is_compiling():
        return True
    if torch_private.transform() is not None or torch_private.forward_level() >= 0:
        return torch_private.differentiates_once()
    if weights:
        storage = weights[0].untyped_storage()
        start = storage.data_ptr()
        end = start + storage.nbytes()
        for weight in weights:
            if not start <= weight.data_ptr() < end:
                return False
    return True


def _ours(input: Tensor, h_0: Tensor, weights: Sequence[Tensor | None]) -> bool:
    """Whether anygru computes this call. Wrong arguments, and calls that torch must see, go to torch.

    Calls that torch must see: tensors that differ in dtype (unless autocast changes it), device or class; an empty
    batch or sequence; autocast on CUDA; tracing and exporting (the result must not need anygru); FakeTensor, FLOP
    counters and other dispatch modes.
    """
    if torch.compiler.is_compiling():
        if torch_private.is_exporting() is not False:
            return False
    elif torch_private.tracing_state() or torch_private.dispatch_modes():
        return False
    dtype, device = input.dtype, input.device
    if dtype not in DTYPES or device.type not in ("cpu", "cuda") or not (input.numel() and h_0.numel()):
        return False
    dtypes: frozenset[torch.dtype] = frozenset((dtype,))
    if torch.is_autocast_enabled(device.type):
        if device.type != "cpu" or dtype is torch.float64 or torch.compiler.is_compiling():
            return False
        dtypes = aten.CASTABLE
    for tensor in (input, h_0, *weights):
        if tensor is None or type(tensor) not in _PLAIN or tensor.dtype not in dtypes or tensor.device != device:
            return False
    return True


def _is_faster_there(steps: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None) -> bool:
    """Whether torch's own kernel is faster for a call that is ours: as `operator` would choose it, without the way there."""
    if torch.compiler.is_compiling() or not steps.is_cpu:
        return False
    needs_grad = torch.is_grad_enabled() and any(one.requires_grad for one in (steps, h_0, *weights))
    if not torch.is_autocast_enabled("cpu"):
        return faster_products(steps, weights, batch_sizes, needs_grad) is not None
    return autocast_products(h_0.dtype, steps, weights, batch_sizes, needs_grad) is not None
