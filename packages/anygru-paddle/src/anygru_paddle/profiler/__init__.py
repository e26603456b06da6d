"""`paddle.profiler`: timings of steps, and torch's own profile of the recorded steps."""

from .profiler import *
from .utils import *
