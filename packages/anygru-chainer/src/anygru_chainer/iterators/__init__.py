"""Iterators over datasets."""

from .multiprocess_iterator import *
from .multithread_iterator import *
from .order import *
from .serial_iterator import *
