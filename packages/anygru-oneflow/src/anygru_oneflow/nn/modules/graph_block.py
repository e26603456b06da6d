"""The settings of a module in a graph: its stage of a pipeline, and whether to keep its activations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...framework.placement import placement
from ...framework.tensor import Tensor

_running = 0


@contextmanager
def running() -> Iterator[None]:
    """While a graph runs, modules take their inputs to the placement of their stage."""
    global _running
    _running += 1
    try:
        yield
    finally:
        _running -= 1


class GraphModule:
    """The settings of one module, from `module.to(oneflow.nn.graph.GraphModule)`.

    Attributes:
        stage_id: the module's place in a pipeline. It changes no number: stages run one after another.
        stage_placement: the placement of the module's inputs; None: keep them.
        activation_checkpointing: accepted; it makes no difference to numbers.
    """

    stage_id: int | None = None
    stage_placement: placement | None = None
    activation_checkpointing: bool | None = None

    def __init__(self, module: torch.nn.Module) -> None:
        module.register_forward_pre_hook(self._to_stage)

    def set_stage(self, stage_id: int | None = None, placement: placement | None = None) -> None:
        """Give the module's place in a pipeline, and the placement of everything in it."""
        self.stage_id, self.stage_placement = stage_id, placement

    def _to_stage(self, module: torch.nn.Module, arguments: Any) -> Any:
        if not _running or self.stage_placement is None:
            return None
        return mapped(self._moved, arguments)

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or value.is_local or value.placement == self.stage_placement:
            return value
        return value.to_global(self.stage_placement, value.sbp)

    def debug(self, *arguments: object, **keywords: object) -> None:
        """Accepted without effect: this graph is not compiled."""


class GraphTensor(GraphModule):
    """The settings of one tensor, which make no difference here."""


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """The same nested lists, tuples and dicts with every leaf changed."""
    if isinstance(value, dict):
        return type(value)((name, mapped(change, part)) for name, part in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(change, part) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(change, part) for part in value)
    return change(value)
