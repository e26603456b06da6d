"""The training loop and its extensions."""

from . import extension as extension
from . import extensions as extensions
from . import triggers as triggers
from . import updaters as updaters
from .extension import *
from .trainer import *
from .triggers.triggers import IntervalTrigger as IntervalTrigger
from .triggers.triggers import get_trigger as get_trigger
from .updaters.parallel_updater import *
from .updaters.standard_updater import *
