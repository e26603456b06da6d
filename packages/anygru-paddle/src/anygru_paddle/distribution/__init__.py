"""`paddle.distribution`: distributions, their divergences, and transforms of random variables."""

from .distribution import *
from .families import *
from .transform import *
from .transformed import *
