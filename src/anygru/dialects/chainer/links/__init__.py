"""Links: functions with parameters."""

from ..links import activation, connection, model, normalization, rnn
from ..links.activation.maxout import Maxout
from ..links.activation.prelu import PReLU
from ..links.connection.bias import Bias
from ..links.connection.bilinear import Bilinear
from ..links.connection.convolution_2d import Convolution2D
from ..links.connection.embed_id import EmbedID
from ..links.connection.linear import Linear
from ..links.connection.parameter import Parameter
from ..links.connection.scale import Scale
from ..links.model.classifier import Classifier
from ..links.normalization.batch_normalization import BatchNormalization
from ..links.normalization.layer_normalization import LayerNormalization
from ..links.rnn.gru import GRU, StatefulGRU, StatelessGRU
from ..links.rnn.mgu import StatefulMGU, StatelessMGU
from ..links.rnn.n_step_gru import NStepBiGRU, NStepGRU

__all__ = [
    "GRU",
    "BatchNormalization",
    "Bias",
    "Bilinear",
    "Classifier",
    "Convolution2D",
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
