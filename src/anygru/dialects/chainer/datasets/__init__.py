"""Datasets."""

from .combined import *  # noqa: F403
from .sub_dataset import *  # noqa: F403
from .text_dataset import *  # noqa: F403
