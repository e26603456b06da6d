"""`mx.contrib.text`: vocabularies and embeddings of words, from local files."""

from . import embedding, utils, vocab
