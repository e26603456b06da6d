"""`gluon.contrib`: further cells, layers and samplers, and the estimator."""

from . import data, estimator, nn, rnn
