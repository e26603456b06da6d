"""Helpers for tests of models."""

from . import attr as attr
from . import condition as condition
from .array import *
from .cases import *
