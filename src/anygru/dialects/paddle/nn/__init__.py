"""`paddle.nn`: layers, losses, gradient clipping."""

from . import clip as clip
from . import functional as functional
from . import initializer as initializer
from . import layer as layer
from . import utils as utils
from .clip import *  # noqa: F403
from .layer.activation import *  # noqa: F403
from .layer.common import *  # noqa: F403
from .layer.container import *  # noqa: F403
from .layer.layers import *  # noqa: F403
from .layer.loss import *  # noqa: F403
from .layer.norm import *  # noqa: F403
from .layer.rnn import *  # noqa: F403
