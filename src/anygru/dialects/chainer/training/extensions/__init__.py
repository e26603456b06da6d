"""Extensions of the training loop."""

from ...training.extensions._snapshot import snapshot, snapshot_object
from ...training.extensions.evaluator import Evaluator
from ...training.extensions.fail_on_nonnumber import FailOnNonNumber
from ...training.extensions.log_report import LogReport
from ...training.extensions.micro_average import MicroAverage
from ...training.extensions.plot_report import PlotReport
from ...training.extensions.print_report import PrintReport
from ...training.extensions.progress_bar import ProgressBar
from ...training.extensions.shifts import (
    ExponentialShift,
    InverseShift,
    LinearShift,
    MultistepShift,
    PolynomialShift,
    StepShift,
    WarmupShift,
)
from ...training.extensions.snapshot_writers import SimpleWriter
from ...training.extensions.value_observation import observe_lr, observe_value

__all__ = [
    "Evaluator",
    "ExponentialShift",
    "FailOnNonNumber",
    "InverseShift",
    "LinearShift",
    "LogReport",
    "MicroAverage",
    "MultistepShift",
    "PlotReport",
    "PolynomialShift",
    "PrintReport",
    "ProgressBar",
    "SimpleWriter",
    "StepShift",
    "WarmupShift",
    "observe_lr",
    "observe_value",
    "snapshot",
    "snapshot_object",
]
