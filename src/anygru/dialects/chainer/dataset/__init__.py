"""What datasets and iterators have in common, and how examples become batches."""

from . import convert as convert
from .base import *
from .convert import *
