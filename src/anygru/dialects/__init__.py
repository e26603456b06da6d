"""The dialects: each speaks one framework's vocabulary on torch and anygru.

`anygru run script.py` lets a script import them under their original names; `import anygru.dialects.paddle as paddle` does
without. `README.md` beside this file tells how a dialect is built and how the names are made to meet.
"""

from typing import Any

from ._hook.environment import environment as environment
from ._hook.finder import NAMES as NAMES
from ._hook.finder import install as install
from ._hook.not_covered import NotCoveredError as NotCoveredError
from ._hook.not_covered import NotCoveredImportError as NotCoveredImportError
from ._hook.not_covered import cover as cover
from ._hook.not_covered import is_below_refused as is_below_refused
from ._hook.not_covered import not_covered as not_covered
from ._hook.not_covered import refuser as refuser
from ._hook.not_covered import stand_in_module as stand_in_module


def from_dialect(layer: Any) -> Any:
    """Give an `anygru.GRU` or `anygru.GRUCell` that computes what a dialect's GRU layer computes and shares its parameters.

    Args:
        layer: a GRU layer or cell of any dialect: `paddle.nn.GRU`, `mxnet.gluon.rnn.GRU`, `chainer.links.NStepGRU` ...

    Training either trains both. Raises TypeError for anything that is no dialect's GRU; a layer whose parameters cannot
    be shared raises the error of its dialect, which says why.
    """
    convert = getattr(layer, "__to_anygru__", None) or getattr(layer, "_anygru_layer", None)
    if convert is None:
        raise TypeError(
            f"from_dialect: layer must be a GRU layer or cell of a dialect ({', '.join(NAMES)}), got "
            f"{type(layer).__module__}.{type(layer).__qualname__}; anygru.accelerate() takes models with torch.nn.GRU"
        )
    return convert()
