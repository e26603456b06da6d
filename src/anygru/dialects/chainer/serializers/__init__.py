"""Saving and loading objects."""

from .hdf5 import *  # noqa: F403
from .npz import *  # noqa: F403
