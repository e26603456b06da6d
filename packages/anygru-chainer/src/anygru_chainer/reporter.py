"""Collecting values while a model is trained."""

import contextlib
import copy
import json
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from .configuration import config
from .serializer import AbstractSerializer, Serializer
from .variable import Variable, as_array

_thread = threading.local()


def _reporters() -> "list[Reporter]":
    if not hasattr(_thread, "reporters"):
        _thread.reporters = []
    return _thread.reporters


class Reporter:
    """Writes values that links report into `observation`, under the names that the links were added with."""

    def __init__(self) -> None:
        self._observer_names: dict[int, str] = {}
        self.observation: dict[str, Any] = {}

    def __enter__(self) -> None:
        """Become the current reporter of the thread."""
        _reporters().append(self)

    def __exit__(self, *args: Any) -> None:
        _reporters().pop()

    @contextlib.contextmanager
    def scope(self, observation: dict[str, Any]) -> Iterator[None]:
        """Inside, this is the current reporter and writes into `observation`."""
        outer = self.observation
        self.observation = observation
        self.__enter__()
        try:
            yield
        finally:
            self.__exit__(None, None, None)
            self.observation = outer

    def add_observer(self, name: str, observer: object) -> None:
        """Give an object a name."""
        self._observer_names[id(observer)] = name

    def add_observers(self, prefix: str, observers: Iterable[tuple[str, Any]]) -> None:
        """Give (name, object) pairs the names with a prefix."""
        for name, observer in observers:
            self._observer_names[id(observer)] = prefix + name

    def report(self, values: dict[str, Any], observer: object | None = None) -> None:
        """Store values, with an observer under "name of the observer/key" (KeyError if it has no name)."""
        if not config.keep_graph_on_report:
            # The copy has no creator: a report that is kept does not keep the graph (Chainer 7.8.1, seen).
            values = {key: copy.copy(v) if isinstance(v, Variable) else v for key, v in values.items()}
        if observer is None:
            self.observation.update(values)
            return
        if id(observer) not in self._observer_names:
            raise KeyError("Given observer is not registered to the reporter.")
        name = self._observer_names[id(observer)]
        for key, value in values.items():
            self.observation[f"{name}/{key}"] = value


def get_current_reporter() -> Reporter:
    """The current reporter of the thread (IndexError if there is none)."""
    return _reporters()[-1]


def report(values: dict[str, Any], observer: object | None = None) -> None:
    """Report values to the current reporter; does nothing if there is none."""
    if _reporters():
        get_current_reporter().report(values, observer)


@contextlib.contextmanager
def report_scope(observation: dict[str, Any]) -> Iterator[None]:
    """Inside, the current reporter writes into `observation`."""
    current = get_current_reporter()
    outer = current.observation
    current.observation = observation
    yield
    # Not reached after an error, as in Chainer 7.8.1 (seen): there is no `finally`.
    current.observation = outer


class Summary:
    """Running mean and standard deviation of scalars."""

    def __init__(self) -> None:
        self._x: Any = 0.0
        self._x2: Any = 0.0
        self._n: Any = 0

    def add(self, value: Any, weight: Any = 1) -> None:
        """Add a scalar, `weight` times. The sums are kept in 64 bits."""
        value, weight = _wide(value), _wide(weight)
        self._x += weight * value
        self._x2 += weight * value * value
        self._n += weight

    def compute_mean(self) -> Any:
        """The mean."""
        return self._x / self._n

    def make_statistics(self) -> tuple[Any, Any]:
        """The mean and the standard deviation."""
        mean = self._x / self._n
        # The biased variance, divided by the number of values (Chainer 7.8.1, `reporter.py`, read).
        return mean, numpy.sqrt(self._x2 / self._n - mean * mean)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the sums."""
        try:
            self._x = serializer("_x", self._x)
            self._x2 = serializer("_x2", self._x2)
            self._n = serializer("_n", self._n)
        except KeyError:
            warnings.warn("The previous statistics are not saved.")


def _wide(value: Any) -> Any:
    """A NumPy scalar in 64 bits, as NumPy 1 promotes it with a Python number."""
    is_scalar = isinstance(value, (numpy.ndarray, numpy.generic)) and value.ndim == 0
    return value.astype(numpy.result_type(value.dtype, numpy.int64))[()] if is_scalar else value


class DictSummary:
    """Running means of dictionaries of scalars; other values are ignored."""

    def __init__(self) -> None:
        self._summaries: dict[str, Summary] = {}

    def add(self, d: dict[str, Any]) -> None:
        """Add a dictionary. A value may be a pair (value, weight); ValueError for a weight that is not a scalar."""
        for key, value in d.items():
            weight: Any = 1
            if isinstance(value, tuple):
                value, weight = value[0], as_array(value[1])
                if not _is_scalar(weight):
                    raise ValueError(f"Given weight to {key} was not scalar.")
            value = as_array(value)
            if _is_scalar(value):
                self._summaries.setdefault(key, Summary()).add(value, weight)

    def compute_mean(self) -> dict[str, Any]:
        """The means by key."""
        return {key: summary.compute_mean() for key, summary in self._summaries.items()}

    def make_statistics(self) -> dict[str, Any]:
        """The means by key, and the standard deviations by "key.std"."""
        statistics = {}
        for key, summary in self._summaries.items():
            statistics[key], statistics[key + ".std"] = summary.make_statistics()
        return statistics

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load all sums."""
        if isinstance(serializer, Serializer):
            names = list(self._summaries)
            serializer("_names", json.dumps(names))
        else:
            self._summaries.clear()
            try:
                names = json.loads(serializer("_names", ""))
            except KeyError:
                warnings.warn("The names of statistics are not saved.")
                return
        for index, name in enumerate(names):
            self._summaries.setdefault(name, Summary()).serialize(serializer["_summaries"][str(index)])


def _is_scalar(value: Any) -> bool:
    return bool(numpy.isscalar(value)) or getattr(value, "ndim", -1) == 0
