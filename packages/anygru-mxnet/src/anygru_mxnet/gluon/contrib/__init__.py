"""`gluon.contrib`: further cells, layers and samplers."""

from . import data, nn, rnn
