"""Iterators over datasets."""

from .multiprocess_iterator import *
from .serial_iterator import *
