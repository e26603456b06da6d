"""Iterators over datasets."""

from .multiprocess_iterator import *  # noqa: F403
from .multithread_iterator import *  # noqa: F403
from .order import *  # noqa: F403
from .serial_iterator import *  # noqa: F403
