"""`oneflow.nn`: torch's layers as `oneflow.nn.Module`, and OneFlow's own around them."""

import torch

from . import functional as functional
from . import init as init
from . import parallel as parallel
from . import utils as utils
from .graph import Graph as Graph
from .modules.adopted import adopt, adopt_pooling
from .modules.container import ModuleDict as ModuleDict
from .modules.container import ModuleList as ModuleList
from .modules.container import ParameterDict as ParameterDict
from .modules.container import ParameterList as ParameterList
from .modules.container import Sequential as Sequential
from .modules.loss import BCELoss as BCELoss
from .modules.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .modules.loss import CrossEntropyLoss as CrossEntropyLoss
from .modules.loss import CTCLoss as CTCLoss
from .modules.loss import KLDivLoss as KLDivLoss
from .modules.loss import L1Loss as L1Loss
from .modules.loss import MarginRankingLoss as MarginRankingLoss
from .modules.loss import MSELoss as MSELoss
from .modules.loss import NLLLoss as NLLLoss
from .modules.loss import SmoothL1Loss as SmoothL1Loss
from .modules.loss import TripletMarginLoss as TripletMarginLoss
from .modules.module import Module as Module
from .modules.rnn import GRU as GRU
from .modules.rnn import LSTM as LSTM
from .modules.rnn import RNN as RNN
from .modules.rnn import GRUCell as GRUCell
from .modules.rnn import LSTMCell as LSTMCell
from .modules.rnn import RNNBase as RNNBase
from .modules.rnn import RNNCell as RNNCell
from .modules.rnn import RNNCellBase as RNNCellBase
from .parameter import Parameter as Parameter

_BATCH_NORM = (
    "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, track_running_stats={track_running_stats}"
)
_POOLING = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

AdaptiveAvgPool1d = adopt(torch.nn.AdaptiveAvgPool1d, shown="")
AdaptiveAvgPool2d = adopt(torch.nn.AdaptiveAvgPool2d, shown="")
AvgPool1d = adopt_pooling(torch.nn.AvgPool1d, 1, _POOLING + ", ceil_mode={ceil_mode}")
AvgPool2d = adopt_pooling(torch.nn.AvgPool2d, 2, _POOLING + ", ceil_mode={ceil_mode}")
BatchNorm1d = adopt(torch.nn.BatchNorm1d, shown=_BATCH_NORM)
BatchNorm2d = adopt(torch.nn.BatchNorm2d, shown=_BATCH_NORM)
CELU = adopt(torch.nn.CELU)
Conv1d = adopt(torch.nn.Conv1d)
Conv2d = adopt(torch.nn.Conv2d)
CosineSimilarity = adopt(torch.nn.CosineSimilarity)
Dropout = adopt(torch.nn.Dropout)
Dropout1d = adopt(torch.nn.Dropout1d)
Dropout2d = adopt(torch.nn.Dropout2d)
ELU = adopt(torch.nn.ELU)
Embedding = adopt(
    torch.nn.Embedding, "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse _weight"
)
Flatten = adopt(torch.nn.Flatten)
GELU = adopt(torch.nn.GELU, "approximate", shown="")
GLU = adopt(torch.nn.GLU, shown="")
GroupNorm = adopt(torch.nn.GroupNorm, shown="{num_groups}, {num_channels}, eps={eps}, affine={affine}")
Hardshrink = adopt(torch.nn.Hardshrink, shown="lambd={lambd}")
Hardsigmoid = adopt(torch.nn.Hardsigmoid)
Hardswish = adopt(torch.nn.Hardswish)
Hardtanh = adopt(torch.nn.Hardtanh, shown="min_val={min_val:g}, max_val={max_val:g}")
Identity = adopt(torch.nn.Identity)
LayerNorm = adopt(torch.nn.LayerNorm, shown="{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}")
LeakyReLU = adopt(torch.nn.LeakyReLU)
Linear = adopt(torch.nn.Linear)
LogSigmoid = adopt(torch.nn.LogSigmoid)
LogSoftmax = adopt(torch.nn.LogSoftmax)
MaxPool1d = adopt_pooling(torch.nn.MaxPool1d, 1, _POOLING)
MaxPool2d = adopt_pooling(torch.nn.MaxPool2d, 2, _POOLING + ", dilation={dilation}")
Mish = adopt(torch.nn.Mish)
PReLU = adopt(torch.nn.PReLU)
PairwiseDistance = adopt(torch.nn.PairwiseDistance)
ReLU = adopt(torch.nn.ReLU)
ReLU6 = adopt(torch.nn.ReLU6)
SELU = adopt(torch.nn.SELU)
SiLU = adopt(torch.nn.SiLU)
Sigmoid = adopt(torch.nn.Sigmoid)
Softmax = adopt(torch.nn.Softmax)
Softplus = adopt(torch.nn.Softplus, shown="beta={beta:g}, threshold={threshold:g}")
Softshrink = adopt(torch.nn.Softshrink, shown="lambd={lambd}")
Softsign = adopt(torch.nn.Softsign)
Tanh = adopt(torch.nn.Tanh)
Threshold = adopt(torch.nn.Threshold, shown="")
Unfold = adopt(torch.nn.Unfold)
Upsample = adopt(torch.nn.Upsample, shown="scale_factor={scale_factor}, mode={mode}")
ZeroPad2d = adopt(torch.nn.ZeroPad2d, shown="")
