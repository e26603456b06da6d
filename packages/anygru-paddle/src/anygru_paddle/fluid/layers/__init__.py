"""`paddle.fluid.layers`."""

from .control_flow import *
from .crf import *
from .decoding import *
from .functions import *
from .learning_rate_scheduler import *
from .loss import *
