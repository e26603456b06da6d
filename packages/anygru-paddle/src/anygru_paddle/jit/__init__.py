"""`paddle.jit`: programs of layers as files, and marks on functions that Paddle would compile."""

from .api import *
from .translated_layer import TranslatedLayer
