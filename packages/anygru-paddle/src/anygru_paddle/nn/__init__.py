"""`paddle.nn`: layers, losses, gradient clipping."""

from . import clip as clip
from . import functional as functional
from . import initializer as initializer
from . import layer as layer
from . import utils as utils
from .clip import *
from .decode import *
from .layer import loss as loss
from .layer.activation import *
from .layer.common import *
from .layer.container import *
from .layer.conv import *
from .layer.layers import *
from .layer.loss import *
from .layer.norm import *
from .layer.pooling import *
from .layer.rnn import *
from .layer.transformer import *
from .layer.vision import *
from .utils import spectral_norm as spectral_norm
