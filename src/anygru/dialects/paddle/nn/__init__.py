"""`paddle.nn`: layers, losses, gradient clipping."""

from anygru.dialects import refuser

from . import clip as clip
from . import functional as functional
from . import initializer as initializer
from . import layer as layer
from . import utils as utils
from .clip import ClipGradByGlobalNorm as ClipGradByGlobalNorm
from .clip import ClipGradByNorm as ClipGradByNorm
from .clip import ClipGradByValue as ClipGradByValue
from .layer.activation import CELU as CELU
from .layer.activation import ELU as ELU
from .layer.activation import GELU as GELU
from .layer.activation import GLU as GLU
from .layer.activation import SELU as SELU
from .layer.activation import Hardshrink as Hardshrink
from .layer.activation import Hardsigmoid as Hardsigmoid
from .layer.activation import Hardswish as Hardswish
from .layer.activation import Hardtanh as Hardtanh
from .layer.activation import LeakyReLU as LeakyReLU
from .layer.activation import LogSigmoid as LogSigmoid
from .layer.activation import LogSoftmax as LogSoftmax
from .layer.activation import Maxout as Maxout
from .layer.activation import Mish as Mish
from .layer.activation import PReLU as PReLU
from .layer.activation import ReLU as ReLU
from .layer.activation import ReLU6 as ReLU6
from .layer.activation import Sigmoid as Sigmoid
from .layer.activation import Silu as Silu
from .layer.activation import Softmax as Softmax
from .layer.activation import Softplus as Softplus
from .layer.activation import Softshrink as Softshrink
from .layer.activation import Softsign as Softsign
from .layer.activation import Swish as Swish
from .layer.activation import Tanh as Tanh
from .layer.activation import Tanhshrink as Tanhshrink
from .layer.activation import ThresholdedReLU as ThresholdedReLU
from .layer.common import AlphaDropout as AlphaDropout
from .layer.common import Bilinear as Bilinear
from .layer.common import CosineSimilarity as CosineSimilarity
from .layer.common import Dropout as Dropout
from .layer.common import Dropout2D as Dropout2D
from .layer.common import Embedding as Embedding
from .layer.common import Flatten as Flatten
from .layer.common import Identity as Identity
from .layer.common import Linear as Linear
from .layer.common import Unflatten as Unflatten
from .layer.container import LayerDict as LayerDict
from .layer.container import LayerList as LayerList
from .layer.container import ParameterList as ParameterList
from .layer.container import Sequential as Sequential
from .layer.layers import Layer as Layer
from .layer.loss import BCELoss as BCELoss
from .layer.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .layer.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from .layer.loss import CrossEntropyLoss as CrossEntropyLoss
from .layer.loss import CTCLoss as CTCLoss
from .layer.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from .layer.loss import KLDivLoss as KLDivLoss
from .layer.loss import L1Loss as L1Loss
from .layer.loss import MarginRankingLoss as MarginRankingLoss
from .layer.loss import MSELoss as MSELoss
from .layer.loss import NLLLoss as NLLLoss
from .layer.loss import SmoothL1Loss as SmoothL1Loss
from .layer.loss import TripletMarginLoss as TripletMarginLoss
from .layer.norm import BatchNorm1D as BatchNorm1D
from .layer.norm import BatchNorm2D as BatchNorm2D
from .layer.norm import LayerNorm as LayerNorm
from .layer.rnn import GRU as GRU
from .layer.rnn import RNN as RNN
from .layer.rnn import BiRNN as BiRNN
from .layer.rnn import GRUCell as GRUCell
from .layer.rnn import RNNCellBase as RNNCellBase

__getattr__ = refuser(
    "paddle",
    "paddle.nn",
    {
        "SimpleRNN": "torch.nn.RNN",
        "SimpleRNNCell": "torch.nn.RNNCell",
        "LSTM": "torch.nn.LSTM",
        "LSTMCell": "torch.nn.LSTMCell",
    },
)
