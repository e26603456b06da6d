"""Stand-ins for the names that a dialect does not cover.

A name that `names.txt` lists as refused exists in the original, and programs import, store and compare such names without ever
using them. It becomes a stand-in: a class (or a module) of that name which raises `NotCoveredError` when it is called. Access
to a name that is not listed raises an AttributeError, so that `hasattr` is right.
"""

import dis
import importlib
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NoReturn

from ..errors import AnygruError, near
from . import forks
from .finder import actual_name, original_name, roots
from .names import names

# PyTorch's modules for an original's module, by the last part of its name.
_TORCH_HOMES = {
    "tensor": ("torch",), "nd": ("torch", "torch.nn.functional"), "nn": ("torch.nn",), "rnn": ("torch.nn",),
    "loss": ("torch.nn",), "links": ("torch.nn",), "functional": ("torch.nn.functional", "torch"),
    "functions": ("torch.nn.functional", "torch"), "optim": ("torch.optim",), "optimizer": ("torch.optim",),
    "optimizers": ("torch.optim",), "lr": ("torch.optim.lr_scheduler",),
    "lr_scheduler": ("torch.optim.lr_scheduler",), "init": ("torch.nn.init",), "io": ("torch.utils.data",),
    "data": ("torch.utils.data",), "distributed": ("torch.distributed",), "distribution": ("torch.distributions",),
    "linalg": ("torch.linalg", "torch"), "fft": ("torch.fft",),
}  # fmt: skip


class NotCoveredError(AnygruError, AttributeError, NotImplementedError):
    """A name of the original framework that its dialect does not cover."""


class NotCoveredImportError(AnygruError, ImportError):
    """The same in `from module import name`."""


def not_covered(name: str, instead: str | None = None) -> NotCoveredError:
    """The error to raise for something that a dialect does not cover.

    Args:
        name: the full name that the user writes, such as "paddle.nn.Conv3D", or a phrase that begins with the
            framework's name, such as "mxnet.gluon.Trainer(compression_params=...)".
        instead: the replacement; None to take it from `names.txt`, or from PyTorch's name of the same spelling.
    """
    why, hint, dialect = "", "", dialect_of(name)
    refusal = names(dialect).refusal(name) if instead is None and dialect in roots() else None
    if refusal is not None:
        why, instead = refusal.why, refusal.instead
    elif instead is None:
        hint, instead = _near_name(name), _namesake(name)
    title = (names(dialect).title if dialect in roots() else "") or dialect
    message = f"{name} is not covered by anygru's {title} dialect"
    if instead and not hint.lower().endswith(f" {name.lower()}?"):
        hint = f"; use {instead}"
    error = NotCoveredError(message + (f" ({why})" if why else "") + hint)
    error.name = name.rpartition(".")[2]
    return error


def _near_name(name: str) -> str:
    """The end of a message with the listed name of the same module or class that is spelled most like this one."""
    module, _, last = name.rpartition(".")
    dialect = dialect_of(name)
    if dialect not in roots() or not last.isidentifier():
        return ""
    listed = names(dialect)
    others = {*listed.covered.get(module, ()), *listed.refused.get(module, ())} - {last}
    return near(last, sorted(others), f"{module}.")


def dialect_of(name: str) -> str:
    """The dialect that answers for a full name: "chainer" for "chainermn.functions"."""
    package = actual_name(name).partition(".")[0]
    return next((root for root, other in roots().items() if other == package), name.partition(".")[0])


def refuser(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for a module of a dialect, given by the original's name of it, such as "mxnet.gluon".

    It returns a stand-in for a name that `names.txt` lists as refused. For any other name it raises `NotCoveredError` (an
    AttributeError), or in `from module import name` a `NotCoveredImportError` (an ImportError): There Python would
    replace the message of an AttributeError. In a module with a complete list it raises Python's standard AttributeError.
    """

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # inspect, copy and doctest look these up
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        full = f"{module}.{name}"
        listed = names(dialect_of(module))
        refusal = listed.refusal(full)
        if refusal is not None and not refusal.of_other_versions:
            return stand_in(full)
        if listed.home(full) is not None:
            return other_path(full)
        package = listed.paths.get(module)
        if package is not None and package != module and hasattr(_module(package), name):
            return getattr(_module(package), name)
        if refusal is None and module in listed.complete:  # a typo; from-imports have Python's own error
            raise AttributeError(f"module {module!r} has no attribute {name!r}{_near_name(full)}", name=name)
        error = not_covered(full)
        if actual_name(full) not in sys.modules and _is_from_import(sys._getframe(1)):
            raise NotCoveredImportError(str(error), name=full)
        raise error

    return __getattr__


def cover(package: str) -> None:
    """Set a `refuser` on every loaded module below `package` without a `__getattr__`, and let the classes with a section
    in `names.txt` refuse the listed members. Forked processes of the program can use torch afterwards.

    Args:
        package: the full name of a dialect's package: `__name__` in its `__init__.py`.
    """
    forks.survive()
    dialect = dialect_of(original_name(package))
    with_paths = {path.rpartition(".")[0] for path in names(dialect).paths}
    with_paths |= {
        name for name, below in names(dialect).refused.items() if any(each.is_module for each in below.values())
    }
    for name, module in list(sys.modules.items()):
        if (name + ".").startswith(package + ".") and isinstance(module, ModuleType):
            vars(module).setdefault("__getattr__", refuser(original_name(name)))
            if original_name(name) in with_paths:  # Python imports nothing below a module without a path
                vars(module).setdefault("__path__", [])
    _keep_functions_over_modules(dialect)
    for section in names(dialect).refused:
        module_name, _, class_name = section.rpartition(".")
        owner = getattr(sys.modules.get(actual_name(module_name)), class_name, None)
        if isinstance(owner, type) and not isinstance(owner, _StandIn):
            _refuse_members(owner, section)


def _keep_functions_over_modules(dialect: str) -> None:
    """Load the import paths that are also names of functions or classes, such as `paddle.amp.auto_cast`: Python binds a
    module in its parent only when it loads it, and would hide the function."""
    for path in names(dialect).paths:
        parent, _, last = path.rpartition(".")
        above = sys.modules.get(actual_name(parent))
        if above is None:
            continue
        refusal = names(dialect).refusal(path)
        if not isinstance(vars(above).get(last, above), ModuleType) or (refusal is not None and not refusal.is_module):
            sys.modules.setdefault(f"{above.__name__}.{last}", other_path(path))


def _refuse_members(owner: type, section: str) -> None:
    """Let the members that `names.txt` refuses for a class raise `NotCoveredError`; any other goes as it went before."""
    if hasattr(vars(owner).get("__getattr__"), "_refuses"):
        return
    before = getattr(owner, "__getattr__", None) or object.__getattribute__
    refused = names(dialect_of(section)).refused[section]

    def __getattr__(self: Any, name: str) -> Any:
        if name in refused:
            raise not_covered(f"{section}.{name}")
        # If the class defined no `__getattr__`, this raises the original AttributeError again.
        return before(self, name)

    __getattr__._refuses = section  # type: ignore[attr-defined]
    owner.__getattr__ = __getattr__  # type: ignore[attr-defined]


def _module(name: str) -> ModuleType:
    """The module of a dialect with the original's name."""
    return importlib.import_module(actual_name(name))


@cache
def other_path(path: str) -> ModuleType:
    """A module for an import path of the original without a file here, with the names of another module.

    A name that is an import path itself is that module: `chainer.functions.array.concat` has a function `concat`.
    """
    listed = names(dialect_of(path))
    home = listed.home(path)
    assert home is not None, path
    target = _module(home)
    below = refuser(path)

    def __getattr__(name: str) -> Any:
        if f"{path}.{name}" in listed.paths:
            return other_path(f"{path}.{name}")
        if name in listed.refused.get(path, {}):
            return below(name)
        if name == "__all__" or (hasattr(target, name) and not name.startswith("__")):
            return getattr(target, name)
        return below(name)

    module = _OtherPath(path, target.__doc__)
    vars(module).update(__path__=[], __getattr__=__getattr__, _target=target)
    return module


class _OtherPath(ModuleType):
    """A function that a program replaces here is also replaced for the functions of the module itself."""

    def __setattr__(self, name: str, value: Any) -> None:
        target = vars(self)["_target"]
        # Python sets a loaded module as an attribute of its parent, which may have a function of that name.
        if callable(vars(target).get(name)) and not isinstance(value, ModuleType):
            setattr(target, name, value)
        else:
            super().__setattr__(name, value)


@cache
def stand_in(name: str) -> Any:
    """The stand-in of a refused name: a module if `names.txt` lists it as a module, otherwise a class.

    The class can be stored, compared, subclassed and used in `isinstance`; it has no instances. If the
    original is an exception or a warning, an `except` clause may use it.
    """
    refusal = names(dialect_of(name)).refusal(name)
    parent, _, last = name.rpartition(".")
    if refusal is not None and refusal.is_module and not is_below_refused(name):
        return stand_in_module(name)
    bases: tuple[type, ...] = (Exception,) if last.endswith(("Error", "Exception", "Warning")) else ()
    return _StandIn(last, bases, {"__module__": parent, "__doc__": str(not_covered(name)), "_anygru_name": name})


def is_below_refused(name: str) -> bool:
    """Whether a name is inside of a module that `names.txt` refuses: a module too if it is imported, otherwise a class."""
    parent = name.rpartition(".")[0]
    refusal = names(dialect_of(name)).refusal(parent)
    return refusal is not None and refusal.is_module


def stand_in_module(name: str) -> ModuleType:
    """A module for a refused one."""
    module = ModuleType(name)
    module.__path__ = []
    vars(module)["__getattr__"] = refuser(name)
    return module


class _StandIn(type):
    """The class of stand-ins: using one raises `NotCoveredError`."""

    _anygru_name: str

    def __call__(cls, *arguments: Any, **keywords: Any) -> NoReturn:
        raise not_covered(cls._anygru_name)

    def __iter__(cls) -> NoReturn:
        raise not_covered(cls._anygru_name)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name)
        return stand_in(f"{cls._anygru_name}.{name}")


def _is_from_import(frame: Any) -> bool:
    """Whether the frame is running the instruction of `from module import name`."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def _namesake(full: str) -> str | None:
    """PyTorch's public function or class of the same name, ignoring case and underscores."""
    module, _, name = full.rpartition(".")
    plain = name.replace("_", "").lower()
    homes = ("torch",) if module in roots() else _TORCH_HOMES.get(module.rpartition(".")[2], ())
    for home in homes:
        for candidate, value in vars(importlib.import_module(home)).items():
            if candidate.replace("_", "").lower() == plain and candidate[0] != "_" and callable(value):
                return f"{home}.{candidate}"
    return None
