"""The training loop and its extensions."""

from ..training import extension, extensions, triggers, updater, updaters, util
from ..training import util as trigger
from ..training._updater import Updater
from ..training.extension import (
    PRIORITY_EDITOR,
    PRIORITY_READER,
    PRIORITY_WRITER,
    Extension,
    make_extension,
)
from ..training.trainer import Trainer
from ..training.triggers import IntervalTrigger
from ..training.updaters import ParallelUpdater, StandardUpdater
from ..training.util import get_trigger

__all__ = [
    "PRIORITY_EDITOR",
    "PRIORITY_READER",
    "PRIORITY_WRITER",
    "Extension",
    "IntervalTrigger",
    "ParallelUpdater",
    "StandardUpdater",
    "Trainer",
    "Updater",
    "extension",
    "extensions",
    "get_trigger",
    "make_extension",
    "trigger",
    "triggers",
    "updater",
    "updaters",
    "util",
]
