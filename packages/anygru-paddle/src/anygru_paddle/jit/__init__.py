"""`paddle.jit`: marks on functions that Paddle would compile; here they run as they stand."""

from .api import *
