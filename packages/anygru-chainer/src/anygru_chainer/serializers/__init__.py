"""Saving and loading objects."""

from .hdf5 import *
from .npz import *
