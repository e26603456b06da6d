"""`paddle.profiler`: timings of steps, and torch's own profile of what is recorded."""

from .profiler import *
from .utils import *
