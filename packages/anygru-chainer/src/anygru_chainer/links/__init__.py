"""Links: functions with parameters."""

from . import activation as activation
from . import connection as connection
from . import loss as loss
from . import model as model
from . import normalization as normalization
from . import rnn as rnn
from .activation.maxout import *
from .activation.prelu import *
from .connection.bias import *
from .connection.bilinear import *
from .connection.convolution_2d import *
from .connection.convolution_nd import *
from .connection.embed_id import *
from .connection.highway import *
from .connection.linear import *
from .connection.mlp_convolution_2d import *
from .connection.parameter import *
from .connection.scale import *
from .loss.crf1d import *
from .loss.hierarchical_softmax import *
from .loss.negative_sampling import *
from .model.classifier import *
from .normalization.batch_normalization import *
from .normalization.group_normalization import *
from .normalization.layer_normalization import *
from .rnn.gru import *
from .rnn.lstm import *
from .rnn.mgu import *
from .rnn.n_step_gru import *
from .rnn.n_step_lstm import *
from .rnn.n_step_rnn import *
from .rnn.peephole import *
from .rnn.tree_lstm import *
