"""Helpers that users import from `chainer.utils`."""

import collections.abc as collections_abc

from . import argument, type_check
from .helpers import *
from .helpers import _raise_from
