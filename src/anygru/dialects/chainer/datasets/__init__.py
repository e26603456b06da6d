"""Datasets."""

from ..datasets.concatenated_dataset import ConcatenatedDataset
from ..datasets.dict_dataset import DictDataset
from ..datasets.sub_dataset import (
    SubDataset,
    get_cross_validation_datasets,
    get_cross_validation_datasets_random,
    split_dataset,
    split_dataset_n,
    split_dataset_n_random,
    split_dataset_random,
)
from ..datasets.text_dataset import TextDataset
from ..datasets.transform_dataset import TransformDataset
from ..datasets.tuple_dataset import TupleDataset

__all__ = [
    "ConcatenatedDataset",
    "DictDataset",
    "SubDataset",
    "TextDataset",
    "TransformDataset",
    "TupleDataset",
    "get_cross_validation_datasets",
    "get_cross_validation_datasets_random",
    "split_dataset",
    "split_dataset_n",
    "split_dataset_n_random",
    "split_dataset_random",
]
