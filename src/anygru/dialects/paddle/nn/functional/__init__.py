"""`paddle.nn.functional`."""

from .activation import *  # noqa: F403
from .common import *  # noqa: F403
from .extension import *  # noqa: F403
from .input import *  # noqa: F403
from .loss import *  # noqa: F403
from .norm import *  # noqa: F403
