"""`paddle.nn.functional`."""

from .activation import *
from .common import *
from .extension import *
from .input import *
from .loss import *
from .norm import *
