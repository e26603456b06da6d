"""`paddle.incubate`: optimizers that change or average the parameters of others, and names of `paddle.geometric`."""

from ..geometric import segment_max, segment_mean, segment_min, segment_sum
from . import optimizer as optimizer
from .operators import *
from .optimizer import *
