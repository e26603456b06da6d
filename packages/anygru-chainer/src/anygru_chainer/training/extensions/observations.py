"""Extensions that observe values, and the drawing of a training's graph."""

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anygru import extend

from ... import reporter
from ...computational_graph import build_computational_graph
from ...configuration import config
from ...serializer import AbstractSerializer
from ...utils import argument
from ...variable import Variable, as_array
from ..extension import PRIORITY_EDITOR, PRIORITY_WRITER, Extension, make_extension
from ..triggers import TriggerSpec, get_trigger

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["DumpGraph", "FailOnNonNumber", "MicroAverage", "dump_graph", "observe_lr", "observe_value"]


class FailOnNonNumber(Extension):
    """Raises RuntimeError when a parameter is NaN or infinite."""

    def __call__(self, trainer: "Trainer") -> None:
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            for param in optimizer.target.params():
                if param.array is not None and not bool(param.xp.isfinite(param.array).all()):
                    raise RuntimeError(f"Kill the process since parameters in optimizer '{name}' diverge. R.I.P.")


class MicroAverage(Extension):
    """Reports the ratio of the sums of two observed values, whenever its trigger fires."""

    priority = PRIORITY_EDITOR

    def __init__(
        self, numerator_key: str, denominator_key: str, result_key: str, trigger: TriggerSpec = (1, "epoch")
    ) -> None:
        self._numerator_key = numerator_key
        self._denominator_key = denominator_key
        self._result_key = result_key
        self._trigger = get_trigger(trigger)
        self._numerator: Any = 0
        self._denominator: Any = 0

    def __call__(self, trainer: "Trainer") -> None:
        observation = trainer.observation
        if self._numerator_key not in observation or self._denominator_key not in observation:
            return
        self._numerator += as_array(observation[self._numerator_key])
        self._denominator += as_array(observation[self._denominator_key])
        if self._trigger(trainer):
            result = float(self._numerator) / self._denominator
            self._numerator = self._denominator = 0
            reporter.report({self._result_key: result})

    def serialize(self, serializer: AbstractSerializer) -> None:
        self._numerator = serializer("_numerator", self._numerator)
        self._denominator = serializer("_denominator", self._denominator)


def observe_value(observation_key: str, target_func: Callable[[Any], Any]) -> Any:
    """An extension that observes `target_func(trainer)` under a name, once an epoch."""

    @make_extension(trigger=(1, "epoch"), priority=PRIORITY_WRITER)
    def _observe_value(trainer: "Trainer") -> None:
        trainer.observation[observation_key] = target_func(trainer)

    return _observe_value


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Any:
    """An extension that observes the learning rate of an optimizer, once an epoch."""
    return observe_value(observation_key, lambda trainer: trainer.updater.get_optimizer(optimizer_name).lr)


_VARIABLES = {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}
_FUNCTIONS = {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}


def is_graphviz_available() -> bool:
    """Whether Graphviz's `dot` is installed."""
    return shutil.which("dot") is not None


class DumpGraph(Extension):
    """Writes the graph of a reported Variable into the trainer's folder at the first iteration, in Graphviz's language.

    Where Graphviz's `dot` is installed it also draws the graph as a PNG. During that iteration
    `config.keep_graph_on_report` is True.

    Args:
        root_name: name under which the Variable is reported (TypeError at the call if it is none).
        filename: name of the file, "cg.dot" by default (`out_name` is the same).
        variable_style, function_style: Graphviz's attributes of Variables and functions.
    """

    default_name = "dump_graph"

    def __init__(
        self,
        root_name: str,
        filename: str | None = None,
        variable_style: dict[str, str] | None = None,
        function_style: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        (out_name,) = argument.parse_kwargs(kwargs, ("out_name", "cg.dot"))
        self._root_name = root_name
        self._filename = out_name if filename is None else filename
        self._variable_style = _VARIABLES if variable_style is None else variable_style
        self._function_style = _FUNCTIONS if function_style is None else function_style
        self._original_flag: Any = None
        self._flag_called: Any = False

    def initialize(self, trainer: "Trainer") -> None:
        if not self._flag_called:
            self._original_flag = config.keep_graph_on_report
            config.keep_graph_on_report = True

    def trigger(self, trainer: "Trainer") -> bool:
        """Whether this is the first iteration."""
        is_first, self._flag_called = not self._flag_called, True
        return is_first

    def __call__(self, trainer: "Trainer") -> None:
        try:
            root = trainer.observation[self._root_name]
            if not isinstance(root, Variable):
                raise TypeError(f"root value is not a Variable: {self._root_name!r} is {type(root)}")
            graph = build_computational_graph(
                [root], variable_style=self._variable_style, function_style=self._function_style
            )
            path = os.path.join(trainer.out, self._filename)
            with extend.open_for_replace(path, "w") as file:
                file.write(graph.dump())
            if is_graphviz_available():
                subprocess.check_call(["dot", "-Tpng", path, "-o", os.path.splitext(path)[0] + ".png"])
        finally:
            config.keep_graph_on_report = self._original_flag

    def serialize(self, serializer: AbstractSerializer) -> None:
        self._original_flag = serializer("_original_flag", self._original_flag)
        self._flag_called = serializer("_flag_called", self._flag_called)


dump_graph = DumpGraph
