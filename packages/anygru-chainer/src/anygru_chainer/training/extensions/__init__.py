"""Extensions of the training loop."""

from .evaluator import *
from .observations import *
from .progress_bar import *
from .reports import *
from .shifts import *
from .snapshots import *
from .snapshots import SimpleWriter as SimpleWriter
from .statistics import *
