"""`paddle.reader`."""

from .decorator import *
