"""`paddle.nn.functional`."""

from .activation import *
from .common import *
from .conv import *
from .entropy import *
from .extension import *
from .input import *
from .loss import *
from .margins import *
from .norm import *
from .pooling import *
from .vision import *
