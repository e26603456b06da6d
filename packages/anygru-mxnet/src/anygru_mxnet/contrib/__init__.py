"""`mx.contrib`: vocabularies and embeddings of words, the first form of `mx.autograd`."""

from . import amp, autograd, text
