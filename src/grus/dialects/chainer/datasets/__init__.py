"""Datasets."""

from grus.dialects import refuser
from grus.dialects.chainer.datasets.concatenated_dataset import ConcatenatedDataset
from grus.dialects.chainer.datasets.dict_dataset import DictDataset
from grus.dialects.chainer.datasets.sub_dataset import (
    SubDataset,
    get_cross_validation_datasets,
    get_cross_validation_datasets_random,
    split_dataset,
    split_dataset_n,
    split_dataset_n_random,
    split_dataset_random,
)
from grus.dialects.chainer.datasets.text_dataset import TextDataset
from grus.dialects.chainer.datasets.transform_dataset import TransformDataset
from grus.dialects.chainer.datasets.tuple_dataset import TupleDataset

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
__getattr__ = refuser(
    "chainer",
    "chainer.datasets",
    {
        name: "download the data yourself: grus downloads nothing"
        for name in (
            "get_mnist",
            "get_fashion_mnist",
            "get_kuzushiji_mnist",
            "get_cifar10",
            "get_cifar100",
            "get_svhn",
            "get_ptb_words",
            "get_ptb_words_vocabulary",
        )
    },
)
