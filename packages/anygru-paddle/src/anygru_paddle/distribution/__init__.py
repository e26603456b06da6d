"""`paddle.distribution`: the distributions that programs with recurrent layers draw from."""

from .distribution import *
