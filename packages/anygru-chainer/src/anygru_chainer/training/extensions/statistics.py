"""Extensions that report and plot statistics of parameters, and an extension that releases kept graphs."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from ... import backend, reporter
from ...backends import _cpu, cuda
from ...configuration import config
from ...link import Link
from ...types import NdArray
from ...utils import argument
from ...variable import Variable
from ..extension import PRIORITY_WRITER, Extension
from ..triggers import TriggerSpec, get_trigger
from .reports import available, new_figure, save_figure

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["ParameterStatistics", "VariableStatisticsPlot", "unchain_variables"]

# The percentiles at -3, -2, -1, 0, 1, 2 and 3 standard deviations of a normal distribution.
_SIGMAS = (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)


def _by_module(compute: Callable[[Any, Any], Any]) -> Callable[[NdArray], Any]:
    return lambda x: compute(backend.get_array_module(x), x)


class ParameterStatistics(Extension):
    """Reports statistics of parameters and gradients, under "link/parameter/data/mean" and the like.

    Args:
        links: a link or several; their names begin the reports' names.
        statistics: functions of an array with one axis, by name; "default" for mean, std, min, max, zeros, percentile.
        report_params, report_grads: whether to look at parameters and at gradients.
        prefix: begins the reports' names.
        trigger: when the means since the last report are reported.
        skip_nan_params: report NaN for an array with a NaN, without calling the functions.
    """

    default_name = "parameter_statistics"
    priority = PRIORITY_WRITER
    report_key_template = "{prefix}{link_name}{param_name}/{attr_name}/{function_name}"
    default_statistics = {
        "mean": _by_module(lambda xp, x: xp.mean(x)),
        "std": _by_module(lambda xp, x: xp.std(x)),
        "min": _by_module(lambda xp, x: xp.min(x)),
        "max": _by_module(lambda xp, x: xp.max(x)),
        "zeros": _by_module(lambda xp, x: xp.count_nonzero(x == 0)),
        "percentile": _by_module(lambda xp, x: xp.percentile(x, _SIGMAS)),
    }

    def __init__(
        self,
        links: Link | Sequence[Link],
        statistics: dict[str, Callable[..., Any]] | str | None = "default",
        report_params: bool = True,
        report_grads: bool = True,
        prefix: str | None = None,
        trigger: TriggerSpec = (1, "epoch"),
        skip_nan_params: bool = False,
    ) -> None:
        self._links = links if isinstance(links, (list, tuple)) else (links,)
        chosen: Any = self.default_statistics if statistics == "default" else statistics or {}
        self._statistics = dict(chosen)
        self._attrs = ["data"] * bool(report_params) + ["grad"] * bool(report_grads)
        self._prefix = prefix
        self._trigger = get_trigger(trigger)
        self._summary = reporter.DictSummary()
        self._skip_nan_params = skip_nan_params

    def register_statistics(self, name: str, function: Callable[..., Any]) -> None:
        """Add a function of an array with one axis."""
        self._statistics[name] = function

    def __call__(self, trainer: "Trainer") -> None:
        found: dict[str, Any] = {}
        for link in self._links:
            for param_name, param in link.namedparams():
                for attr_name in self._attrs:
                    array = getattr(param, attr_name).ravel()
                    key = {"link_name": getattr(link, "name", "None"), "param_name": param_name, "attr_name": attr_name}
                    self._observe(array, key, found)
        self._summary.add(found)
        if self._trigger(trainer):
            reporter.report(self._summary.compute_mean())
            self._summary = reporter.DictSummary()

    def _observe(self, array: NdArray, key: dict[str, str], found: dict[str, Any]) -> None:
        prefix = f"{self._prefix}/" if self._prefix else ""
        for function_name, function in self._statistics.items():
            name = self.report_key_template.format(prefix=prefix, function_name=function_name, **key)
            has_nan = self._skip_nan_params and backend.get_array_module(array).isnan(array).any()
            value = numpy.nan if has_nan else function(array)
            if isinstance(value, (numpy.ndarray, cuda.ndarray)) and value.size > 1:
                found.update({f"{name}/{i}": one for i, one in enumerate(value)})
            else:
                found[name] = value


class Reservoir:
    """A uniform random sample of at most `size` of the added rows."""

    def __init__(self, size: int, data_shape: tuple[int, ...], dtype: numpy.dtype | type = numpy.float32) -> None:
        self.size = size
        self.data = numpy.zeros((size, *data_shape), dtype)
        self.idxs = numpy.zeros(size, numpy.int32)
        self.counter = 0

    def add(self, x: numpy.ndarray, idx: int | None = None) -> None:
        """Add a row. If the sample is full, this draws from NumPy's generator, as in Chainer 7.8.1 (read)."""
        place = self.counter
        if place >= self.size:
            keep = numpy.random.random() < self.size / float(self.counter + 1)
            place = numpy.random.randint(self.size) if keep else -1
        if place >= 0:
            self.data[place] = x
            # An idx of 0 counts as None (Chainer 7.8.1, `variable_statistics_plot.py`, read).
            self.idxs[place] = idx or self.counter
        self.counter += 1

    def get_data(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The numbers of the rows and the rows, in order."""
        idxs = self.idxs[: min(self.counter, self.size)]
        order = numpy.argsort(idxs)
        return idxs[order], self.data[order]


class VariableStatisticsPlot(Extension):
    """Plots means, deviations and percentiles of parameters and gradients over the iterations.

    Args:
        targets: Variables or links, one or a list.
        max_sample_size: number of points in the plot; a random sample of this size if there are more.
        report_data, report_grad: whether to look at data and at gradients.
        plot_mean, plot_std, percentile_sigmas: the statistics to plot.
        trigger: when the plot is written.
        filename: name of the file, "statistics.png" by default (`file_name` is the same).
        figsize, marker, grid: matplotlib's.

    Raises:
        ValueError: there is no Variable, or nothing to plot.
    """

    def __init__(
        self,
        targets: Any,
        max_sample_size: int = 1000,
        report_data: bool = True,
        report_grad: bool = True,
        plot_mean: bool = True,
        plot_std: bool = True,
        percentile_sigmas: float | Sequence[float] = (0, *_SIGMAS, 100),
        trigger: TriggerSpec = (1, "epoch"),
        filename: str | None = None,
        figsize: tuple[float, float] | None = None,
        marker: str | None = None,
        grid: bool = True,
        **kwargs: Any,
    ) -> None:
        (file_name,) = argument.parse_kwargs(kwargs, ("file_name", "statistics.png"))
        self._filename = file_name if filename is None else filename
        self._vars = _variables(targets)
        if not self._vars:
            raise ValueError("Need at least one variables for which to collect statistics.\nActual: 0 <= 0")
        sigmas = percentile_sigmas if isinstance(percentile_sigmas, (list, tuple)) else (percentile_sigmas,)
        self._sigmas = tuple(sigmas) if percentile_sigmas else ()
        if not (plot_mean or plot_std or self._sigmas):
            raise ValueError("Nothing to plot")
        self._keys = ["data"] * bool(report_data) + ["grad"] * bool(report_grad)
        self._moments = ["mean"] * bool(plot_mean) + ["std"] * bool(plot_std)
        self._trigger = get_trigger(trigger)
        self._style: dict[str, Any] = {"figsize": figsize, "marker": marker, "grid": grid}
        self._samples = Reservoir(max_sample_size, (len(self._keys), len(self._moments) + len(self._sigmas)))

    available = staticmethod(available)

    def __call__(self, trainer: "Trainer") -> None:
        if not available():
            return
        row = numpy.zeros(self._samples.data.shape[1:], numpy.float32)
        for i, key in enumerate(self._keys):
            arrays = [getattr(variable, key, None) for variable in self._vars]
            present = [_cpu.to_cpu(array).ravel() for array in arrays if array is not None]
            if present:
                x = numpy.concatenate(present)
                moments = [getattr(x, name)() for name in self._moments]
                row[i] = [*moments, *(numpy.percentile(x, self._sigmas) if self._sigmas else ())]
        self._samples.add(row, idx=trainer.updater.iteration)
        if self._trigger(trainer):
            self._plot(os.path.join(trainer.out, self._filename))

    def _plot(self, path: str) -> None:
        rows = bool(self._moments) + bool(self._sigmas)
        figure = new_figure(figsize=self._style["figsize"])
        grid = figure.subplots(rows, len(self._keys), sharex=True, squeeze=False)
        idxs, data = self._samples.get_data()
        for column, key in enumerate(self._keys):
            grid[0, column].set_title(key)
            if self._moments:
                self._plot_moments(grid[0, column], idxs, data[:, column])
            if self._sigmas:
                self._plot_percentiles(grid[-1, column], idxs, data[:, column, len(self._moments) :])
        for axes in grid.ravel():
            axes.legend()
            axes.grid(bool(self._style["grid"]))
        save_figure(figure, path)

    def _plot_moments(self, axes: Any, idxs: numpy.ndarray, data: numpy.ndarray) -> None:
        deviation = data[:, 1] if len(self._moments) == 2 else None
        axes.errorbar(idxs, data[:, 0], deviation, label=", ".join(self._moments), marker=self._style["marker"])

    def _plot_percentiles(self, axes: Any, idxs: numpy.ndarray, data: numpy.ndarray) -> None:
        n = data.shape[1]
        for i in range(n // 2):
            axes.fill_between(idxs, data[:, i], data[:, n - 1 - i], alpha=0.2, linewidth=0, color="C0")
        axes.plot(idxs, data[:, n // 2], label="percentile", marker=self._style["marker"])
        axes.set_xlabel("iteration")


def _variables(targets: Any) -> list[Variable]:
    if isinstance(targets, Variable):
        return [targets]
    if isinstance(targets, Link):
        return list(targets.params())
    return [found for target in targets for found in _variables(target)] if isinstance(targets, (list, tuple)) else []


class unchain_variables(Extension):
    """Releases the graphs of reported Variables, one iteration after they were kept (see `DumpGraph`)."""

    priority = 0
    _kept = False

    def initialize(self, trainer: "Trainer") -> None:
        self._kept = bool(config.keep_graph_on_report)

    def trigger(self, trainer: "Trainer") -> bool:
        """Whether the last iteration kept graphs."""
        kept, self._kept = self._kept, bool(config.keep_graph_on_report)
        return kept

    def __call__(self, trainer: "Trainer") -> None:
        for value in trainer.observation.values():
            if isinstance(value, Variable):
                value.unchain_backward()
