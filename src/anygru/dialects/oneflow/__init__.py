"""The OneFlow dialect: OneFlow 0.9's eager names on PyTorch.

Most functions are torch's own: called on OneFlow's tensors they give OneFlow's tensors (see `framework.tensor`).
"""

import torch
from torch import Generator as Generator
from torch import abs as abs
from torch import acos as acos
from torch import acosh as acosh
from torch import adaptive_avg_pool1d as adaptive_avg_pool1d
from torch import add as add
from torch import addcdiv as addcdiv
from torch import addcmul as addcmul
from torch import addmm as addmm
from torch import amax as amax
from torch import amin as amin
from torch import arccos as arccos
from torch import arccosh as arccosh
from torch import arcsin as arcsin
from torch import arcsinh as arcsinh
from torch import arctan as arctan
from torch import arctanh as arctanh
from torch import argmax as argmax
from torch import argmin as argmin
from torch import as_strided as as_strided
from torch import asin as asin
from torch import asinh as asinh
from torch import atan as atan
from torch import atan2 as atan2
from torch import atanh as atanh
from torch import atleast_1d as atleast_1d
from torch import atleast_2d as atleast_2d
from torch import atleast_3d as atleast_3d
from torch import baddbmm as baddbmm
from torch import bernoulli as bernoulli
from torch import bincount as bincount
from torch import bmm as bmm
from torch import broadcast_tensors as broadcast_tensors
from torch import broadcast_to as broadcast_to
from torch import cat as cat
from torch import ceil as ceil
from torch import chunk as chunk
from torch import clamp as clamp
from torch import clamp_ as clamp_
from torch import clamp_max as clamp_max
from torch import clamp_max_ as clamp_max_
from torch import clamp_min as clamp_min
from torch import clamp_min_ as clamp_min_
from torch import clip as clip
from torch import clip_ as clip_
from torch import column_stack as column_stack
from torch import concat as concat
from torch import cos as cos
from torch import cosh as cosh
from torch import cross as cross
from torch import default_generator as default_generator
from torch import diag as diag
from torch import diagonal as diagonal
from torch import div as div
from torch import dot as dot
from torch import dstack as dstack
from torch import einsum as einsum
from torch import enable_grad as enable_grad
from torch import eq as eq
from torch import equal as equal
from torch import erf as erf
from torch import erfc as erfc
from torch import erfinv as erfinv
from torch import exp as exp
from torch import expm1 as expm1
from torch import flatten as flatten
from torch import flip as flip
from torch import floor as floor
from torch import floor_ as floor_
from torch import fmod as fmod
from torch import gather as gather
from torch import ge as ge
from torch import greater as greater
from torch import greater_equal as greater_equal
from torch import gt as gt
from torch import hann_window as hann_window
from torch import hsplit as hsplit
from torch import hstack as hstack
from torch import index_add as index_add
from torch import index_select as index_select
from torch import inference_mode as inference_mode
from torch import initial_seed as initial_seed
from torch import inverse as inverse
from torch import is_floating_point as is_floating_point
from torch import is_grad_enabled as is_grad_enabled
from torch import is_nonzero as is_nonzero
from torch import isclose as isclose
from torch import isfinite as isfinite
from torch import isinf as isinf
from torch import isnan as isnan
from torch import le as le
from torch import lgamma as lgamma
from torch import log as log
from torch import log1p as log1p
from torch import log2 as log2
from torch import log10 as log10
from torch import logaddexp as logaddexp
from torch import logical_and as logical_and
from torch import logical_not as logical_not
from torch import logical_or as logical_or
from torch import logical_xor as logical_xor
from torch import logsumexp as logsumexp
from torch import lt as lt
from torch import manual_seed as manual_seed
from torch import masked_fill as masked_fill
from torch import masked_select as masked_select
from torch import matmul as matmul
from torch import max as max
from torch import maximum as maximum
from torch import median as median
from torch import meshgrid as meshgrid
from torch import min as min
from torch import minimum as minimum
from torch import mm as mm
from torch import movedim as movedim
from torch import mul as mul
from torch import multinomial as multinomial
from torch import mv as mv
from torch import narrow as narrow
from torch import ne as ne
from torch import no_grad as no_grad
from torch import nonzero as nonzero
from torch import not_equal as not_equal
from torch import numel as numel
from torch import permute as permute
from torch import quantile as quantile
from torch import reciprocal as reciprocal
from torch import relu as relu
from torch import repeat_interleave as repeat_interleave
from torch import reshape as reshape
from torch import roll as roll
from torch import round as round
from torch import row_stack as row_stack
from torch import rsqrt as rsqrt
from torch import scatter as scatter
from torch import scatter_add as scatter_add
from torch import searchsorted as searchsorted
from torch import seed as seed
from torch import select as select
from torch import selu as selu
from torch import set_num_threads as set_num_threads
from torch import set_rng_state as set_rng_state
from torch import sigmoid as sigmoid
from torch import sin as sin
from torch import sin_ as sin_
from torch import sinh as sinh
from torch import split as split
from torch import sqrt as sqrt
from torch import squeeze as squeeze
from torch import stack as stack
from torch import swapaxes as swapaxes
from torch import swapdims as swapdims
from torch import t as t
from torch import tan as tan
from torch import tanh as tanh
from torch import tensor_split as tensor_split
from torch import tensordot as tensordot
from torch import tile as tile
from torch import topk as topk
from torch import transpose as transpose
from torch import tril as tril
from torch import triu as triu
from torch import trunc as trunc
from torch import unbind as unbind
from torch import unsqueeze as unsqueeze
from torch import vsplit as vsplit
from torch import vstack as vstack
from torch import zero_ as zero_
from torch.nn.functional import adaptive_avg_pool2d as adaptive_avg_pool2d
from torch.nn.functional import gelu as gelu
from torch.nn.functional import mish as mish
from torch.nn.functional import pad as pad
from torch.nn.functional import silu as silu
from torch.nn.functional import softplus as softplus
from torch.nn.functional import softshrink as softshrink
from torch.nn.functional import softsign as softsign
from torch.nn.functional import threshold as threshold

from .._hook.not_covered import cover as _cover
from . import autograd as autograd
from . import comm as comm
from . import cuda as cuda
from . import distributed as distributed
from . import env as env
from . import linalg as linalg
from . import nn as nn
from . import optim as optim
from . import sbp as sbp
from . import utils as utils
from .autograd import set_grad_enabled as set_grad_enabled
from .framework import dtype as _types
from .framework.check_point_v2 import load as load
from .framework.check_point_v2 import save as save
from .framework.differing import allclose as allclose
from .framework.differing import argsort as argsort
from .framework.differing import argwhere as argwhere
from .framework.differing import floor_divide as floor_divide
from .framework.differing import log_softmax as log_softmax
from .framework.differing import neg as neg
from .framework.differing import negative as negative
from .framework.differing import norm as norm
from .framework.differing import pow as pow
from .framework.differing import prod as prod
from .framework.differing import sign as sign
from .framework.differing import softmax as softmax
from .framework.differing import sort as sort
from .framework.differing import square as square
from .framework.differing import sub as sub
from .framework.differing import unique as unique
from .framework.differing import where as where
from .framework.dtype import Size as Size
from .framework.dtype import device as device
from .framework.dtype import dtype as dtype
from .framework.dtype import of_torch as _of_torch
from .framework.dtype import translated as _translated
from .framework.functions import arange as arange
from .framework.functions import as_tensor as as_tensor
from .framework.functions import cast as cast
from .framework.functions import empty as empty
from .framework.functions import empty_like as empty_like
from .framework.functions import eye as eye
from .framework.functions import from_numpy as from_numpy
from .framework.functions import full as full
from .framework.functions import full_like as full_like
from .framework.functions import get_rng_state as get_rng_state
from .framework.functions import global_to_global as global_to_global
from .framework.functions import is_tensor as is_tensor
from .framework.functions import linspace as linspace
from .framework.functions import local_to_global as local_to_global
from .framework.functions import logspace as logspace
from .framework.functions import normal as normal
from .framework.functions import ones as ones
from .framework.functions import ones_like as ones_like
from .framework.functions import rand as rand
from .framework.functions import randint as randint
from .framework.functions import randint_like as randint_like
from .framework.functions import randn as randn
from .framework.functions import randn_like as randn_like
from .framework.functions import randperm as randperm
from .framework.functions import tensor as tensor
from .framework.functions import to_global as to_global
from .framework.functions import to_local as to_local
from .framework.functions import typed as _typed
from .framework.functions import zeros as zeros
from .framework.functions import zeros_like as zeros_like
from .framework.placement import placement as placement
from .framework.tensor import Tensor as Tensor
from .framework.tensor_str import set_printoptions as set_printoptions

__version__ = "0.9.0"

bool = _types.bool_
uint8 = _types.uint8_
int8 = _types.int8_
int = int32 = _types.int32_
long = int64 = _types.int64_
half = float16 = _types.float16_
bfloat16 = _types.bfloat16_
float = float32 = _types.float32_
double = float64 = _types.float64_

all = _translated(torch.all)
any = _translated(torch.any)
cumprod = _translated(torch.cumprod)
cumsum = _translated(torch.cumsum)
mean = _translated(torch.mean)
std = _translated(torch.std)
sum = _translated(torch.sum)
var = _translated(torch.var)
finfo = _translated(torch.finfo)
iinfo = _translated(torch.iinfo)
nansum = _translated(torch.nansum)

# Functions that torch has as methods only.
contiguous = Tensor.contiguous
div_ = Tensor.div_
expand = Tensor.expand
masked_fill_ = Tensor.masked_fill_
new_empty = Tensor.new_empty
new_full = Tensor.new_full
new_ones = Tensor.new_ones
new_zeros = Tensor.new_zeros
repeat = Tensor.repeat
view = Tensor.view

FloatTensor = _typed(float32)
DoubleTensor = _typed(float64)
HalfTensor = _typed(float16)
LongTensor = _typed(int64)
IntTensor = _typed(int32)
CharTensor = _typed(int8)
ByteTensor = _typed(uint8)
BoolTensor = _typed(bool)


def get_default_dtype() -> dtype:
    """The type of tensors made from Python's floats."""
    return _of_torch(torch.get_default_dtype())


set_default_dtype = _translated(torch.set_default_dtype)

_cover(__name__)
