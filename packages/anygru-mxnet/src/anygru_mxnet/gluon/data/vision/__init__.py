"""`gluon.data.vision`: small pictures from local files, and what turns them into arrays of a network."""

from . import transforms
from .datasets import *
