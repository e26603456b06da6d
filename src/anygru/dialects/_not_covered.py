"""What a dialect says when asked for a name that it does not cover."""

import dis
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from anygru.errors import AnygruError

_TITLES = {"paddle": "Paddle", "oneflow": "OneFlow", "mxnet": "MXNet"}
_TITLES |= dict.fromkeys(["chainer", "chainermn", "chainerx"], "Chainer")

# Where PyTorch keeps what the original keeps in a module with this last name.
_TORCH_HOMES = {
    "paddle": ("torch",),
    "oneflow": ("torch",),
    "tensor": ("torch",),
    "nd": ("torch", "torch.nn.functional"),
    "nn": ("torch.nn",),
    "rnn": ("torch.nn",),
    "loss": ("torch.nn",),
    "links": ("torch.nn",),
    "functional": ("torch.nn.functional", "torch"),
    "functions": ("torch.nn.functional", "torch"),
    "optim": ("torch.optim",),
    "optimizer": ("torch.optim",),
    "optimizers": ("torch.optim",),
    "lr": ("torch.optim.lr_scheduler",),
    "lr_scheduler": ("torch.optim.lr_scheduler",),
    "init": ("torch.nn.init",),
    "io": ("torch.utils.data",),
    "data": ("torch.utils.data",),
    "distributed": ("torch.distributed",),
    "distribution": ("torch.distributions",),
    "linalg": ("torch.linalg", "torch"),
    "fft": ("torch.fft",),
}


class NotCoveredError(AnygruError, AttributeError):
    """A name of the original framework that its dialect does not cover."""


class NotCoveredImportError(AnygruError, ImportError):
    """The same in `from module import name`."""


def not_covered(dialect: str, name: str, hint: str | None = None) -> NotCoveredError:
    """The error to raise for a name that a dialect does not cover.

    Args:
        dialect: one of `anygru.dialects.NAMES`.
        name: the full name that the user asked for, such as "paddle.nn.Conv2D".
        hint: the torch way, such as "torch.nn.Conv2d"; None if there is none to name.
    """
    message = f"{name} is not covered by anygru's {_TITLES.get(dialect, dialect)} dialect"
    return NotCoveredError(message + (f"; the torch way: {hint}" if hint else ""))


def refuser(dialect: str, module: str, hints: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """A `__getattr__` for a module of a dialect: it refuses every name, and names the torch way where there is one.

    Args:
        dialect: one of `anygru.dialects.NAMES`.
        module: the original's name of the module, such as "mxnet.gluon".
        hints: the torch way for names of this module; a name that PyTorch has under the same spelling needs none.

    The function raises `NotCoveredError` (an AttributeError), or in `from module import name` a `NotCoveredImportError`
    (an ImportError): there Python would replace an AttributeError by a message of its own.
    """
    known = dict(hints or {})

    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):  # what inspect, copy and doctest probe for
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        error = not_covered(dialect, f"{module}.{name}", known.get(name) or _namesake(module, name))
        error.name = name
        inner = f"anygru.dialects.{module}.{name}"
        if inner not in sys.modules and _is_from_import(sys._getframe(1)):
            raise NotCoveredImportError(str(error), name=f"{module}.{name}")
        raise error

    return __getattr__


def _is_from_import(frame: Any) -> bool:
    """Whether the frame stands at the instruction of `from module import name`."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def _namesake(module: str, name: str) -> str | None:
    """PyTorch's public function or class of the same name, whatever its capitals and underscores."""
    plain = name.replace("_", "").lower()
    for home in _TORCH_HOMES.get(module.rpartition(".")[2], ()):
        for candidate, value in vars(importlib.import_module(home)).items():
            if candidate.replace("_", "").lower() == plain and candidate[0] != "_" and callable(value):
                return f"{home}.{candidate}"
    return None
