"""`paddle.text`: Viterbi decoding. Its data sets are not covered; a `paddle.io.Dataset` over a local file serves."""

from .viterbi_decode import *
