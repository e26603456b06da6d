"""Links: functions with parameters."""

from grus.dialects import refuser
from grus.dialects.chainer.links import activation, connection, model, normalization, rnn
from grus.dialects.chainer.links.activation.maxout import Maxout
from grus.dialects.chainer.links.activation.prelu import PReLU
from grus.dialects.chainer.links.connection.bias import Bias
from grus.dialects.chainer.links.connection.bilinear import Bilinear
from grus.dialects.chainer.links.connection.embed_id import EmbedID
from grus.dialects.chainer.links.connection.linear import Linear
from grus.dialects.chainer.links.connection.parameter import Parameter
from grus.dialects.chainer.links.connection.scale import Scale
from grus.dialects.chainer.links.model.classifier import Classifier
from grus.dialects.chainer.links.normalization.layer_normalization import LayerNormalization
from grus.dialects.chainer.links.rnn.gru import GRU, StatefulGRU, StatelessGRU
from grus.dialects.chainer.links.rnn.mgu import StatefulMGU, StatelessMGU
from grus.dialects.chainer.links.rnn.n_step_gru import NStepBiGRU, NStepGRU

__all__ = [
    "GRU",
    "Bias",
    "Bilinear",
    "Classifier",
    "EmbedID",
    "LayerNormalization",
    "Linear",
    "Maxout",
    "NStepBiGRU",
    "NStepGRU",
    "PReLU",
    "Parameter",
    "Scale",
    "StatefulGRU",
    "StatefulMGU",
    "StatelessGRU",
    "StatelessMGU",
    "activation",
    "connection",
    "model",
    "normalization",
    "rnn",
]
__getattr__ = refuser(
    "chainer",
    "chainer.links",
    {
        "NStepLSTM": "torch.nn.LSTM on a PackedSequence",
        "NStepBiLSTM": "torch.nn.LSTM(bidirectional=True) on a PackedSequence",
        "NStepRNNTanh": "torch.nn.RNN(nonlinearity='tanh') on a PackedSequence",
        "NStepRNNReLU": "torch.nn.RNN(nonlinearity='relu') on a PackedSequence",
        "NStepBiRNNTanh": "torch.nn.RNN(nonlinearity='tanh', bidirectional=True) on a PackedSequence",
        "NStepBiRNNReLU": "torch.nn.RNN(nonlinearity='relu', bidirectional=True) on a PackedSequence",
        "LSTM": "torch.nn.LSTMCell",
        "StatelessLSTM": "torch.nn.LSTMCell",
        "StatefulPeepholeLSTM": "torch.nn.LSTMCell",
        "StatefulZoneoutLSTM": "torch.nn.LSTMCell",
        "Convolution1D": "torch.nn.Conv1d",
        "Convolution2D": "torch.nn.Conv2d",
        "ConvolutionND": "torch.nn.Conv1d, Conv2d or Conv3d",
        "BatchNormalization": "torch.nn.BatchNorm1d",
    },
)
