"""Datasets."""

from .combined import *
from .stored import *
