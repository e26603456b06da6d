"""Extensions of the training loop."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..serializer import AbstractSerializer
from ..utils import argument
from .triggers import TriggerSpec

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["Extension", "PRIORITY_EDITOR", "PRIORITY_READER", "PRIORITY_WRITER", "make_extension"]

PRIORITY_WRITER = 300
PRIORITY_EDITOR = 200
PRIORITY_READER = 100
REMOVED = "invoke_before_training has been removed since Chainer v2.0.0. Use initializer= instead."


class Extension:
    """Called by the trainer whenever its trigger fires. Subclass it and define `__call__(trainer)`.

    `trigger` is a trigger or a pair, `priority` the order of the calls (higher first), `name` the name in the trainer.
    """

    trigger: Any = (1, "iteration")
    priority = PRIORITY_READER
    name: str | None = None

    default_name = property(lambda self: type(self).__name__, doc="The default name, which is the name of the class.")

    def __call__(self, trainer: "Trainer") -> Any:
        raise NotImplementedError("Extension implementation must override __call__.")

    def initialize(self, trainer: "Trainer") -> None:
        """Called before the loop starts."""

    def finalize(self) -> None:
        """Called after the loop has ended."""

    def on_error(self, trainer: "Trainer", exc: Exception, tb: TracebackType | None) -> None:
        """Called when the loop has failed, before `finalize`."""

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the state; nothing by default."""


def make_extension(
    trigger: TriggerSpec = None,
    default_name: str | None = None,
    priority: int | None = None,
    finalizer: Callable[[], None] | None = None,
    initializer: Callable[[Any], None] | None = None,
    on_error: Callable[..., None] | None = None,
    **kwargs: Any,
) -> Callable[[Any], Any]:
    """A decorator that gives a function of the trainer the attributes of an extension."""
    argument.check_unexpected_kwargs(kwargs, invoke_before_training=REMOVED)
    argument.assert_kwargs_empty(kwargs)

    def decorate(function: Any) -> Any:
        function.trigger = Extension.trigger if trigger is None else trigger
        function.default_name = default_name or function.__name__
        function.priority = Extension.priority if priority is None else priority
        function.finalize = finalizer
        function.on_error = on_error
        function.initialize = initializer
        return function

    return decorate
