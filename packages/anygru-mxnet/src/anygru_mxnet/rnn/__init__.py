"""`mx.rnn`: recurrent cells of the symbol API, their files, and an iterator over sentences in buckets. Of MXNet 1.9's
`mxnet.rnn`."""

from .io import *
from .rnn import *
from .rnn_cell import *
