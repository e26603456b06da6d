"""Functions of Variables and arrays."""

from grus.dialects import refuser
from grus.dialects.chainer.functions import (
    activation,
    array,
    connection,
    evaluation,
    loss,
    math,
    noise,
    normalization,
    rnn,
)
from grus.dialects.chainer.functions.activation.clipped_relu import clipped_relu, relu6
from grus.dialects.chainer.functions.activation.crelu import crelu
from grus.dialects.chainer.functions.activation.elu import elu
from grus.dialects.chainer.functions.activation.hard_sigmoid import hard_sigmoid
from grus.dialects.chainer.functions.activation.leaky_relu import leaky_relu
from grus.dialects.chainer.functions.activation.log_softmax import log_softmax
from grus.dialects.chainer.functions.activation.maxout import maxout
from grus.dialects.chainer.functions.activation.prelu import prelu
from grus.dialects.chainer.functions.activation.relu import relu
from grus.dialects.chainer.functions.activation.selu import selu
from grus.dialects.chainer.functions.activation.sigmoid import sigmoid
from grus.dialects.chainer.functions.activation.softmax import softmax
from grus.dialects.chainer.functions.activation.softplus import softplus
from grus.dialects.chainer.functions.activation.swish import swish
from grus.dialects.chainer.functions.activation.tanh import tanh
from grus.dialects.chainer.functions.array.broadcast import broadcast, broadcast_to
from grus.dialects.chainer.functions.array.cast import cast
from grus.dialects.chainer.functions.array.concat import concat
from grus.dialects.chainer.functions.array.copy import copy
from grus.dialects.chainer.functions.array.diagonal import diagonal
from grus.dialects.chainer.functions.array.dstack import dstack
from grus.dialects.chainer.functions.array.expand_dims import expand_dims
from grus.dialects.chainer.functions.array.flatten import flatten
from grus.dialects.chainer.functions.array.flip import flip
from grus.dialects.chainer.functions.array.fliplr import fliplr
from grus.dialects.chainer.functions.array.flipud import flipud
from grus.dialects.chainer.functions.array.get_item import get_item
from grus.dialects.chainer.functions.array.hstack import hstack
from grus.dialects.chainer.functions.array.moveaxis import moveaxis
from grus.dialects.chainer.functions.array.pad import pad
from grus.dialects.chainer.functions.array.pad_sequence import pad_sequence
from grus.dialects.chainer.functions.array.permutate import permutate
from grus.dialects.chainer.functions.array.repeat import repeat
from grus.dialects.chainer.functions.array.reshape import reshape
from grus.dialects.chainer.functions.array.rollaxis import rollaxis
from grus.dialects.chainer.functions.array.scatter_add import scatter_add
from grus.dialects.chainer.functions.array.select_item import select_item
from grus.dialects.chainer.functions.array.separate import separate
from grus.dialects.chainer.functions.array.split_axis import split_axis
from grus.dialects.chainer.functions.array.squeeze import squeeze
from grus.dialects.chainer.functions.array.stack import stack
from grus.dialects.chainer.functions.array.swapaxes import swapaxes
from grus.dialects.chainer.functions.array.tile import tile
from grus.dialects.chainer.functions.array.transpose import transpose
from grus.dialects.chainer.functions.array.transpose_sequence import transpose_sequence
from grus.dialects.chainer.functions.array.vstack import vstack
from grus.dialects.chainer.functions.array.where import where
from grus.dialects.chainer.functions.connection.bilinear import bilinear
from grus.dialects.chainer.functions.connection.embed_id import embed_id
from grus.dialects.chainer.functions.connection.linear import linear
from grus.dialects.chainer.functions.evaluation.accuracy import accuracy
from grus.dialects.chainer.functions.evaluation.binary_accuracy import binary_accuracy
from grus.dialects.chainer.functions.evaluation.r2_score import r2_score
from grus.dialects.chainer.functions.loss.absolute_error import absolute_error
from grus.dialects.chainer.functions.loss.huber_loss import huber_loss
from grus.dialects.chainer.functions.loss.mean_absolute_error import mean_absolute_error
from grus.dialects.chainer.functions.loss.mean_squared_error import mean_squared_error
from grus.dialects.chainer.functions.loss.sigmoid_cross_entropy import sigmoid_cross_entropy
from grus.dialects.chainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from grus.dialects.chainer.functions.loss.squared_error import squared_difference, squared_error
from grus.dialects.chainer.functions.math.arctanh import arctanh
from grus.dialects.chainer.functions.math.average import average
from grus.dialects.chainer.functions.math.basic_math import absolute, add
from grus.dialects.chainer.functions.math.batch_l2_norm_squared import batch_l2_norm_squared
from grus.dialects.chainer.functions.math.bias import bias
from grus.dialects.chainer.functions.math.ceil import ceil
from grus.dialects.chainer.functions.math.clip import clip
from grus.dialects.chainer.functions.math.cumprod import cumprod
from grus.dialects.chainer.functions.math.cumsum import cumsum
from grus.dialects.chainer.functions.math.digamma import digamma
from grus.dialects.chainer.functions.math.einsum import einsum
from grus.dialects.chainer.functions.math.erf import erf
from grus.dialects.chainer.functions.math.erfc import erfc
from grus.dialects.chainer.functions.math.erfinv import erfinv
from grus.dialects.chainer.functions.math.exponential import exp, log, log10, log2
from grus.dialects.chainer.functions.math.exponential_m1 import expm1
from grus.dialects.chainer.functions.math.floor import floor
from grus.dialects.chainer.functions.math.hyperbolic import cosh, sinh
from grus.dialects.chainer.functions.math.identity import identity
from grus.dialects.chainer.functions.math.lgamma import lgamma
from grus.dialects.chainer.functions.math.linear_interpolate import linear_interpolate
from grus.dialects.chainer.functions.math.logarithm_1p import log1p
from grus.dialects.chainer.functions.math.logsumexp import logsumexp
from grus.dialects.chainer.functions.math.matmul import batch_matmul, matmul
from grus.dialects.chainer.functions.math.maximum import maximum
from grus.dialects.chainer.functions.math.minimum import minimum
from grus.dialects.chainer.functions.math.minmax import argmax, argmin, max, min
from grus.dialects.chainer.functions.math.prod import prod
from grus.dialects.chainer.functions.math.scale import scale
from grus.dialects.chainer.functions.math.sign import sign
from grus.dialects.chainer.functions.math.sqrt import rsqrt, sqrt
from grus.dialects.chainer.functions.math.square import square
from grus.dialects.chainer.functions.math.sum import sum, sum_to
from grus.dialects.chainer.functions.math.tensordot import tensordot
from grus.dialects.chainer.functions.math.trigonometric import arccos, arcsin, arctan, cos, sin, tan
from grus.dialects.chainer.functions.noise.dropout import dropout
from grus.dialects.chainer.functions.noise.gaussian import gaussian
from grus.dialects.chainer.functions.normalization.l2_normalization import normalize
from grus.dialects.chainer.functions.normalization.layer_normalization import layer_normalization
from grus.dialects.chainer.functions.rnn.n_step_gru import n_step_bigru, n_step_gru

mean = average

__all__ = [
    "absolute",
    "absolute_error",
    "accuracy",
    "activation",
    "add",
    "arccos",
    "arcsin",
    "arctan",
    "arctanh",
    "argmax",
    "argmin",
    "array",
    "average",
    "batch_l2_norm_squared",
    "batch_matmul",
    "bias",
    "bilinear",
    "binary_accuracy",
    "broadcast",
    "broadcast_to",
    "cast",
    "ceil",
    "clip",
    "clipped_relu",
    "concat",
    "connection",
    "copy",
    "cos",
    "cosh",
    "crelu",
    "cumprod",
    "cumsum",
    "diagonal",
    "digamma",
    "dropout",
    "dstack",
    "einsum",
    "elu",
    "embed_id",
    "erf",
    "erfc",
    "erfinv",
    "evaluation",
    "exp",
    "expand_dims",
    "expm1",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "gaussian",
    "get_item",
    "hard_sigmoid",
    "hstack",
    "huber_loss",
    "identity",
    "layer_normalization",
    "leaky_relu",
    "lgamma",
    "linear",
    "linear_interpolate",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logsumexp",
    "loss",
    "math",
    "matmul",
    "max",
    "maximum",
    "maxout",
    "mean",
    "mean_absolute_error",
    "mean_squared_error",
    "min",
    "minimum",
    "moveaxis",
    "n_step_bigru",
    "n_step_gru",
    "noise",
    "normalization",
    "normalize",
    "pad",
    "pad_sequence",
    "permutate",
    "prelu",
    "prod",
    "r2_score",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "rnn",
    "rollaxis",
    "rsqrt",
    "scale",
    "scatter_add",
    "select_item",
    "selu",
    "separate",
    "sigmoid",
    "sigmoid_cross_entropy",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softmax_cross_entropy",
    "softplus",
    "split_axis",
    "sqrt",
    "square",
    "squared_difference",
    "squared_error",
    "squeeze",
    "stack",
    "sum",
    "sum_to",
    "swapaxes",
    "swish",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "transpose",
    "transpose_sequence",
    "vstack",
    "where",
]
__getattr__ = refuser(
    "chainer",
    "chainer.functions",
    {
        "lstm": "torch.nn.LSTMCell",
        "slstm": "torch.nn.LSTMCell",
        "n_step_lstm": "torch.nn.LSTM on a PackedSequence",
        "n_step_bilstm": "torch.nn.LSTM(bidirectional=True) on a PackedSequence",
        "n_step_rnn": "torch.nn.RNN on a PackedSequence",
        "n_step_birnn": "torch.nn.RNN(bidirectional=True) on a PackedSequence",
        "convolution_1d": "torch.nn.functional.conv1d",
        "convolution_2d": "torch.nn.functional.conv2d",
        "max_pooling_1d": "torch.nn.functional.max_pool1d",
        "max_pooling_2d": "torch.nn.functional.max_pool2d",
        "batch_normalization": "torch.nn.functional.batch_norm",
        "connectionist_temporal_classification": "torch.nn.functional.ctc_loss",
        "negative_sampling": "torch.nn.functional.logsigmoid of the sampled scores",
    },
)
