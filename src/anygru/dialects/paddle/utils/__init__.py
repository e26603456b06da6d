"""`paddle.utils`."""

from . import unique_name as unique_name
from .general import *
