"""The bases of datasets and iterators, and how examples become batches."""

from . import convert as convert
from . import download as download
from .base import *
from .convert import *
from .download import *
