"""What datasets and iterators have in common, and how examples become batches."""

from grus.dialects.chainer.dataset import convert
from grus.dialects.chainer.dataset.convert import concat_examples, converter, to_device
from grus.dialects.chainer.dataset.dataset_mixin import DatasetMixin
from grus.dialects.chainer.dataset.iterator import Iterator

__all__ = ["DatasetMixin", "Iterator", "concat_examples", "convert", "converter", "to_device"]
