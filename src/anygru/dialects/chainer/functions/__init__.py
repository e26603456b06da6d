"""Functions of Variables and arrays."""

from ..functions import (
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
from ..functions.activation.clipped_relu import clipped_relu, relu6
from ..functions.activation.crelu import crelu
from ..functions.activation.elu import elu
from ..functions.activation.hard_sigmoid import hard_sigmoid
from ..functions.activation.leaky_relu import leaky_relu
from ..functions.activation.log_softmax import log_softmax
from ..functions.activation.maxout import maxout
from ..functions.activation.prelu import prelu
from ..functions.activation.relu import relu
from ..functions.activation.selu import selu
from ..functions.activation.sigmoid import sigmoid
from ..functions.activation.softmax import softmax
from ..functions.activation.softplus import softplus
from ..functions.activation.swish import swish
from ..functions.activation.tanh import tanh
from ..functions.array.broadcast import broadcast, broadcast_to
from ..functions.array.cast import cast
from ..functions.array.concat import concat
from ..functions.array.copy import copy
from ..functions.array.diagonal import diagonal
from ..functions.array.dstack import dstack
from ..functions.array.expand_dims import expand_dims
from ..functions.array.flatten import flatten
from ..functions.array.flip import flip
from ..functions.array.fliplr import fliplr
from ..functions.array.flipud import flipud
from ..functions.array.get_item import get_item
from ..functions.array.hstack import hstack
from ..functions.array.moveaxis import moveaxis
from ..functions.array.pad import pad
from ..functions.array.pad_sequence import pad_sequence
from ..functions.array.permutate import permutate
from ..functions.array.repeat import repeat
from ..functions.array.reshape import reshape
from ..functions.array.rollaxis import rollaxis
from ..functions.array.scatter_add import scatter_add
from ..functions.array.select_item import select_item
from ..functions.array.separate import separate
from ..functions.array.split_axis import split_axis
from ..functions.array.squeeze import squeeze
from ..functions.array.stack import stack
from ..functions.array.swapaxes import swapaxes
from ..functions.array.tile import tile
from ..functions.array.transpose import transpose
from ..functions.array.transpose_sequence import transpose_sequence
from ..functions.array.vstack import vstack
from ..functions.array.where import where
from ..functions.connection.bilinear import bilinear
from ..functions.connection.convolution_2d import convolution_2d
from ..functions.connection.embed_id import embed_id
from ..functions.connection.linear import linear
from ..functions.evaluation.accuracy import accuracy
from ..functions.evaluation.binary_accuracy import binary_accuracy
from ..functions.evaluation.r2_score import r2_score
from ..functions.loss.absolute_error import absolute_error
from ..functions.loss.huber_loss import huber_loss
from ..functions.loss.mean_absolute_error import mean_absolute_error
from ..functions.loss.mean_squared_error import mean_squared_error
from ..functions.loss.sigmoid_cross_entropy import sigmoid_cross_entropy
from ..functions.loss.softmax_cross_entropy import softmax_cross_entropy
from ..functions.loss.squared_error import squared_difference, squared_error
from ..functions.math.arctanh import arctanh
from ..functions.math.average import average
from ..functions.math.basic_math import absolute, add
from ..functions.math.batch_l2_norm_squared import batch_l2_norm_squared
from ..functions.math.bias import bias
from ..functions.math.ceil import ceil
from ..functions.math.clip import clip
from ..functions.math.cumprod import cumprod
from ..functions.math.cumsum import cumsum
from ..functions.math.digamma import digamma
from ..functions.math.einsum import einsum
from ..functions.math.erf import erf
from ..functions.math.erfc import erfc
from ..functions.math.erfinv import erfinv
from ..functions.math.exponential import exp, log, log2, log10
from ..functions.math.exponential_m1 import expm1
from ..functions.math.floor import floor
from ..functions.math.hyperbolic import cosh, sinh
from ..functions.math.identity import identity
from ..functions.math.lgamma import lgamma
from ..functions.math.linear_interpolate import linear_interpolate
from ..functions.math.logarithm_1p import log1p
from ..functions.math.logsumexp import logsumexp
from ..functions.math.matmul import batch_matmul, matmul
from ..functions.math.maximum import maximum
from ..functions.math.minimum import minimum
from ..functions.math.minmax import argmax, argmin, max, min
from ..functions.math.prod import prod
from ..functions.math.scale import scale
from ..functions.math.sign import sign
from ..functions.math.sqrt import rsqrt, sqrt
from ..functions.math.square import square
from ..functions.math.sum import sum, sum_to
from ..functions.math.tensordot import tensordot
from ..functions.math.trigonometric import arccos, arcsin, arctan, cos, sin, tan
from ..functions.noise.dropout import dropout
from ..functions.noise.gaussian import gaussian
from ..functions.normalization.batch_normalization import batch_normalization, fixed_batch_normalization
from ..functions.normalization.l2_normalization import normalize
from ..functions.normalization.layer_normalization import layer_normalization
from ..functions.rnn.n_step_gru import n_step_bigru, n_step_gru

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
    "batch_normalization",
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
    "convolution_2d",
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
    "fixed_batch_normalization",
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
