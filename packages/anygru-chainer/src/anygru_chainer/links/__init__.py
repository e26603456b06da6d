"""Links: functions with parameters."""

from .convolutions import *
from .dense import *
from .grus import *
from .losses import *
from .lstms import *
from .models import *
from .n_step import *
from .normalizations import *
