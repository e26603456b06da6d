"""`mx.contrib`: vocabularies and embeddings of words."""

from . import amp, text
