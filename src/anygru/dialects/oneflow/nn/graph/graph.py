"""`oneflow.nn.Graph`, which has no counterpart here."""

from typing import Any, NoReturn


class Graph:
    """OneFlow's compiled training program. Not covered: torch.compile is the torch way."""

    def __init__(self, *_arguments: Any, **_keywords: Any) -> NoReturn:
        raise NotImplementedError(
            "oneflow.nn.Graph is not covered by anygru's OneFlow dialect: run the module eagerly, or compile it by "
            "torch.compile(module)"
        )
