"""What datasets and iterators have in common, and how examples become batches."""

from ..dataset import convert
from ..dataset.convert import Converter, concat_examples, converter, to_device
from ..dataset.dataset_mixin import DatasetMixin
from ..dataset.iterator import Iterator

__all__ = ["Converter", "DatasetMixin", "Iterator", "concat_examples", "convert", "converter", "to_device"]
