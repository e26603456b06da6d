"""What tests of models use."""

from . import attr as attr
from . import condition as condition
from .array import *
from .cases import *
