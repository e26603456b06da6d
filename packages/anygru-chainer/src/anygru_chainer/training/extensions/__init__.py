"""Extensions of the training loop."""

from ._snapshot import *
from .computational_graph import *
from .evaluator import *
from .observations import *
from .progress_bar import *
from .reports import *
from .shifts import *
from .snapshot_writers import SimpleWriter as SimpleWriter
from .statistics import *
