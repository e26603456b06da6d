"""Datasets."""

from .combined import *
from .sub_dataset import *
from .text_dataset import *
