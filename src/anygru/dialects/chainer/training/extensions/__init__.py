"""Extensions of the training loop."""

from ._snapshot import *  # noqa: F403
from .evaluator import *  # noqa: F403
from .observations import *  # noqa: F403
from .progress_bar import *  # noqa: F403
from .reports import *  # noqa: F403
from .shifts import *  # noqa: F403
from .snapshot_writers import SimpleWriter as SimpleWriter
