"""Datasets."""

from .combined import *
from .pickle_dataset import *
from .stored import *
from .sub_dataset import *
from .text_dataset import *
