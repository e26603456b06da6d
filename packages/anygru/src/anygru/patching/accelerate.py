"""Let the torch.nn.GRU and GRUCell that a program already has compute through anygru, and undo it.

The modules are not replaced, wrapped or given another class: they are marked, and the call of torch's kernel finds its
way here (see `rerouting`). So optimizers, hooks, tied weights, parametrizations and FSDP (which both exchange a
module's class), `type(m) is torch.nn.GRU`, copies and pickles see the same module.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, TracebackType

import torch
from torch import nn

from ..backends import cpu_calls
from ..errors import ArgumentTypeError
from ..layers.frozen import Frozen
from ..layers.recurrent import Recurrent
from . import keras as keras_layers
from . import rerouting


@dataclass(eq=False)
class Report:
    """The result of `accelerate`, `restore` or `freeze`. As a context manager it undoes `accelerate` at the end.

    Attributes:
        action: "accelerated", "restored", "frozen" or "prepared".
        changed: a description of each changed module, by its name; a shared module is listed once, under all its names.
        unchanged: the reason for each recurrent module that was not changed, by its name.
        whole_process: whether the call was for every GRU of the process.
    """

    action: str
    changed: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    whole_process: bool = False
    _modules: list[nn.Module] = field(default_factory=list, repr=False)

    def __repr__(self) -> str:
        slow = cpu_calls.without_kernels() if self.action == "accelerated" else None
        remark = f"\n  but nothing is faster: {slow}" if slow else ""
        if self.action == "accelerated" and any(one.is_cuda for own in self._modules for one in own.parameters()):
            remark += "\n  on CUDA torch's own kernel computes, as before"
        if self.whole_process:
            kinds = "torch.nn.GRU and torch.nn.GRUCell"
            if self.action == "accelerated" and keras_layers.is_rerouted():
                kinds = f"{kinds}, keras.layers.GRU and keras.layers.GRUCell ({keras_layers.LIMITS})"
            return f"{self.action} every {kinds} of this process{remark}"
        lines = [f"{self.action} {len(self.changed)} module{'' if len(self.changed) == 1 else 's'}"]
        lines += [f"  {name}: {module}" for name, module in self.changed.items()]
        if self.unchanged:
            lines += ["left unchanged"] + [f"  {name}: {reason}" for name, reason in self.unchanged.items()]
        return "\n".join(lines) + (remark if self.changed else "")

    def __enter__(self) -> "Report":
        if self.action == "accelerated" and self.whole_process:
            _start_everywhere(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.action != "accelerated":
            return
        for module in self._modules:
            rerouting.unmark(module)
        _end_everywhere(self)


def accelerate(model: nn.Module | None = None) -> Report:
    """Make every torch.nn.GRU and GRUCell inside a model, or in the whole process, compute through anygru.

    Args:
        model: the module to walk, in place; its modules and parameters stay the same objects. None: every torch.nn.GRU
            and GRUCell of this process in all its threads, also if it is built later, until `restore()` is called or
            the `with` block ends; and every keras.layers.GRU and GRUCell if Keras runs on torch.

    Returns:
        Report: the changed modules, and why others were left. Used as `with accelerate(model):` or `with accelerate():` it
        undoes the change at the end; such blocks may be nested.

    Raises:
        ArgumentTypeError: `model` is not a torch.nn.Module, or is Keras's.
        AnygruError: another library has replaced torch.nn.GRU.forward, so there is no kernel call to exchange.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.GRU(3, 5, batch_first=True))
        >>> print(accelerate(model))
        accelerated 1 module
          0: GRU(3, 5, batch_first=True)
    """
    if model is None:
        report = Report("accelerated", whole_process=True)
        _start_everywhere(report)
        return report
    _refuse_keras(model)
    report = Report("accelerated")
    for name, module in recurrent_modules(model):
        reason = _reason_to_leave(module)
        if reason is None and rerouting.is_marked(module):
            reason = "already accelerated"
        if reason is not None:
            report.unchanged[name] = reason
            continue
        rerouting.mark(module)
        report._modules.append(module)
        report.changed[name] = describe(module)
    return report


def restore(model: nn.Module | None = None) -> Report:
    """Undo `accelerate(model)`; without a model, undo `accelerate()` and its `with` blocks for the process.

    `restore()` for the process does not restore modules that `accelerate(model)` changed. While the process is
    accelerated, every module in it is accelerated.

    Returns:
        A report of the modules that compute through torch again.

    Raises:
        ArgumentTypeError: `model` is not a torch.nn.Module.
    """
    if model is None:
        _end_everywhere()
        return Report("restored", whole_process=True)
    report = Report("restored")
    for name, module in recurrent_modules(model):
        if not rerouting.unmark(module):
            continue
        if rerouting.is_everywhere():
            report.unchanged[name] = "the whole process is accelerated: call anygru.restore() or leave the `with` block"
        else:
            report.changed[name] = describe(module)
    return report


def _start_everywhere(owner: object) -> None:
    rerouting.start_everywhere(owner)
    keras_layers.start()


def _end_everywhere(owner: object | None = None) -> None:
    rerouting.end_everywhere(owner)
    if not rerouting.is_everywhere():
        keras_layers.end()


def _refuse_keras(model: object) -> None:
    """Raise for a model of Keras: its layers can only be accelerated for the whole process."""
    if not any(base.__module__.partition(".")[0] == "keras" for base in type(model).__mro__):
        return
    way = "call anygru.accelerate() without a model, before or after the model is built"
    if not isinstance(model, nn.Module):
        way = "it runs on JAX or TensorFlow, where Keras stays as it is; on torch, call anygru.accelerate() without a model"
    raise ArgumentTypeError(f"model is a Keras {type(model).__name__}: {way}")


def recurrent_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules that are a GRU, look like one or are recurrent in torch's sense, each once, under all its names."""
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    names: dict[nn.Module, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name or "(model)")
    for module, aliases in names.items():
        own_gru = "GRU" in _kind(module) and (module._parameters or isinstance(module, torch.jit.ScriptModule))
        quantized = "quantized" in type(module).__module__ and hasattr(module, "hidden_size")
        if own_gru or quantized or isinstance(module, (nn.RNNBase, nn.RNNCellBase, Recurrent, Frozen)):
            yield " = ".join(aliases), module


def _reason_to_leave(module: nn.Module) -> str | None:
    """Why this module cannot be accelerated, or None if it can."""
    kind = _kind(module)
    if isinstance(module, torch.jit.ScriptModule):
        return f"TorchScript has compiled torch's own kernel into this {kind}"
    if isinstance(module, (nn.GRU, nn.GRUCell)):
        if "forward" in module.__dict__:
            return f"its own `forward` hides {kind}.forward: accelerate before the instance is patched"
        return reason_of_class(type(module))
    if type(module).__module__.startswith("anygru.") or hasattr(module, "__to_anygru__"):
        return "computes through anygru already"
    if "quantized" in type(module).__module__:
        return f"{kind} is quantized, and its packed weights are torch's own format"
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)) and "GRU" not in kind:
        return f"{kind} is no GRU"
    return f"{type(module).__module__}.{kind} is no torch.nn.GRU or GRUCell and computes on its own"


def reason_of_class(kind: type[nn.Module]) -> str | None:
    """Why the class never calls torch's forward (it overrides forward without super().forward), or None if it does."""
    for parent in kind.__mro__:
        if parent in (nn.GRU, nn.GRUCell):
            return None
        if "forward" in parent.__dict__ and "forward" not in _names_used(parent):
            return f"{parent.__qualname__}.forward computes on its own and never calls super().forward"
    return None


def _names_used(kind: type) -> set[str]:
    """The attribute and global names in the code of a class's own methods, functions inside them included."""
    methods = (inspect.unwrap(value) for value in kind.__dict__.values() if callable(value))
    waiting = [method.__code__ for method in methods if isinstance(method, FunctionType)]
    names: set[str] = set()
    while waiting:
        code = waiting.pop()
        names.update(code.co_names)
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names


def _kind(module: nn.Module) -> str:
    return str(getattr(module, "original_name", type(module).__name__))


def describe(module: nn.Module) -> str:
    """The module's own line of its `repr`, without its children."""
    return f"{_kind(module)}({module.extra_repr()})"
