"""Finding the dialects: packages that each give the vocabulary of one framework, on torch and anygru.

`anygru run script.py` lets a script import them under their original names; `import anygru_paddle as paddle` works without
the command. `docs/dialects.md` explains how a dialect is built and how a name of the original is mapped to its module.
"""

from typing import Any

from ..errors import ArgumentTypeError
from .finder import install as install
from .finder import roots as roots
from .stand_ins import NotCoveredError as NotCoveredError
from .stand_ins import NotCoveredImportError as NotCoveredImportError
from .variables import environment as environment

__all__ = ["NotCoveredError", "NotCoveredImportError", "environment", "from_dialect", "install", "roots"]


def __dir__() -> list[str]:
    return __all__


def from_dialect(layer: Any) -> Any:
    """Convert a dialect's GRU layer or cell to an `anygru.GRU` or `anygru.GRUCell` that shares its parameters.

    Args:
        layer: a GRU layer or cell of any dialect: `paddle.nn.GRU`, `mxnet.gluon.rnn.GRU`, `chainer.links.NStepGRU` ...

    Training either trains both. Raises ArgumentTypeError if the layer is not a dialect's GRU. If the parameters cannot be
    shared, the dialect raises an error with the reason.
    """
    convert = getattr(layer, "__to_anygru__", None) or getattr(layer, "_anygru_layer", None)
    if convert is None:
        # Nested packages, such as chainermn, define no layers.
        dialects = [name for name, package in roots().items() if "." not in package]
        raise ArgumentTypeError(
            f"layer must be a GRU layer or cell of a dialect ({', '.join(dialects) or 'none is installed'}), got "
            f"{type(layer).__module__}.{type(layer).__qualname__}; anygru.accelerate() takes models with torch.nn.GRU"
        )
    return convert()
