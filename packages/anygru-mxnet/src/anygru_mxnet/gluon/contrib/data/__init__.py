"""`gluon.contrib.data`: a sampler of intervals, and texts for language models from local files."""

from . import text
from .sampler import *
