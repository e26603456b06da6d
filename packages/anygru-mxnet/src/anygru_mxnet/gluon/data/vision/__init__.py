"""`gluon.data.vision`: data sets of small images in local files, and transforms of images."""

from . import transforms
from .datasets import *
