"""Links: functions with parameters."""

from . import activation as activation
from . import connection as connection
from . import model as model
from . import normalization as normalization
from . import rnn as rnn
from .activation.maxout import *  # noqa: F403
from .activation.prelu import *  # noqa: F403
from .connection.bias import *  # noqa: F403
from .connection.bilinear import *  # noqa: F403
from .connection.convolution_2d import *  # noqa: F403
from .connection.embed_id import *  # noqa: F403
from .connection.linear import *  # noqa: F403
from .connection.parameter import *  # noqa: F403
from .connection.scale import *  # noqa: F403
from .model.classifier import *  # noqa: F403
from .normalization.batch_normalization import *  # noqa: F403
from .normalization.layer_normalization import *  # noqa: F403
from .rnn.gru import *  # noqa: F403
from .rnn.mgu import *  # noqa: F403
from .rnn.n_step_gru import *  # noqa: F403
