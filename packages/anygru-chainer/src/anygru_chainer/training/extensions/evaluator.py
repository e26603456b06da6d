"""Evaluating models."""

import copy
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import backend, reporter
from ...configuration import using_config
from ...dataset import Iterator, call_converter, concat_examples
from ...function import no_backprop_mode
from ...iterators.serial_iterator import SerialIterator
from ...link import Link
from ...reporter import DictSummary, Reporter
from ...types import DeviceSpec
from .. import extension
from ..updaters.standard_updater import as_arguments
from .util import IteratorProgressBar

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["Evaluator"]


class Evaluator(extension.Extension):
    """Runs models over a test set and reports the means of their reported values, with its name in front.

    Args:
        iterator: iterator of the test set, or a dictionary of them with "main". It should not repeat.
        target: link, or a dictionary of them with "main".
        converter: converts a batch to arrays.
        device: the device of the arrays; None: they are not moved.
        eval_hook: function of the evaluator, called before each evaluation.
        eval_func: called instead of the target.
        progress_bar: show one.
    """

    trigger = (1, "epoch")
    default_name = "validation"
    priority = extension.PRIORITY_WRITER

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        target: Link | dict[str, Link],
        converter: Callable[..., Any] = concat_examples,
        device: DeviceSpec = None,
        eval_hook: Callable[[Any], None] | None = None,
        eval_func: Callable[..., Any] | None = None,
        *,
        progress_bar: bool = False,
    ) -> None:
        self.device = None if device is None else backend.get_device(device)
        self._iterators = {"main": iterator} if isinstance(iterator, Iterator) else iterator
        self._targets = {"main": target} if isinstance(target, Link) else target
        self.converter = converter
        self.eval_hook = eval_hook
        self.eval_func = eval_func
        self._progress_bar = progress_bar
        for key, one in self._iterators.items():
            if isinstance(one, SerialIterator) and one.repeat:
                warnings.warn(
                    f"The `repeat` property of the iterator {key} is set to `True`. Typically, the evaluator sweeps over "
                    "iterators until they stop, but as the property being `True`, this iterator might not stop and "
                    "evaluation could go into an infinite loop. We recommend to check the configuration of iterators"
                )

    def get_iterator(self, name: str) -> Any:
        """The iterator of a name."""
        return self._iterators[name]

    def get_all_iterators(self) -> dict[str, Any]:
        """All iterators by name."""
        return dict(self._iterators)

    def get_target(self, name: str) -> Any:
        """The link of a name."""
        return self._targets[name]

    def get_all_targets(self) -> dict[str, Any]:
        """All links by name."""
        return dict(self._targets)

    def __call__(self, trainer: "Trainer | None" = None) -> dict[str, Any]:
        """The means by name, which are also reported."""
        own = Reporter()
        prefix = f"{self.name}/" if self.name is not None else ""
        for name, target in self._targets.items():
            own.add_observer(prefix + name, target)
            own.add_observers(prefix + name, target.namedlinks(skipself=True))
        with own, using_config("train", False):
            result = self.evaluate()
        reporter.report(result)
        return result

    def evaluate(self) -> dict[str, Any]:
        """The means over the test set; override it for other procedures."""
        iterator = self._iterators["main"]
        function = self.eval_func or self._targets["main"]
        if self.eval_hook:
            self.eval_hook(self)
        if hasattr(iterator, "reset"):
            iterator.reset()
        else:
            warnings.warn(
                "This iterator does not have the reset method. Evaluator copies the iterator instead of resetting. This "
                "behavior is deprecated. Please implement the reset method.",
                DeprecationWarning,
            )
            iterator = copy.copy(iterator)
        bar = IteratorProgressBar(iterator) if self._progress_bar else None
        summary = DictSummary()
        for batch in iterator:
            observation: dict[str, Any] = {}
            with reporter.report_scope(observation):
                args, kwargs = as_arguments(call_converter(self.converter, batch, self.device))
                with no_backprop_mode():
                    function(*args, **kwargs)
            # All batches have equal weight, even a short last batch (Chainer 7.8.1, seen).
            summary.add(observation)
            if bar is not None:
                bar.update()
        if bar is not None:
            bar.close()
        return summary.compute_mean()

    def finalize(self) -> None:
        for iterator in self._iterators.values():
            iterator.finalize()
