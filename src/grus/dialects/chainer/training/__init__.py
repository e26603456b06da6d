"""The training loop and its extensions."""

from grus.dialects.chainer.training import extension, extensions, triggers, updater, updaters, util
from grus.dialects.chainer.training import util as trigger
from grus.dialects.chainer.training._updater import Updater
from grus.dialects.chainer.training.extension import (
    PRIORITY_EDITOR,
    PRIORITY_READER,
    PRIORITY_WRITER,
    Extension,
    make_extension,
)
from grus.dialects.chainer.training.trainer import Trainer
from grus.dialects.chainer.training.updaters import ParallelUpdater, StandardUpdater
from grus.dialects.chainer.training.util import get_trigger

__all__ = [
    "PRIORITY_EDITOR",
    "PRIORITY_READER",
    "PRIORITY_WRITER",
    "Extension",
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
