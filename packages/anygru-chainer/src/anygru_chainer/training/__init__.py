"""The training loop and its extensions."""

from . import extension as extension
from . import extensions as extensions
from . import triggers as triggers
from . import updaters as updaters
from .extension import *
from .trainer import *
from .triggers import IntervalTrigger as IntervalTrigger
from .triggers import get_trigger as get_trigger
from .updaters.standard_updater import *
