"""`gluon.data.vision`: MNIST, FashionMNIST and CIFAR from local files, without downloads."""

import gzip
import os
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ....base import data_dir
from ....ndarray.utils import array
from ..dataset import Dataset

__all__ = ["CIFAR10", "CIFAR100", "FashionMNIST", "MNIST"]


class _Pictures(Dataset):
    """Images [H, W, C] of uint8, and their labels.

    Args:
        root: the folder of the files.
        train: True reads the training files, False the test files.
        transform: applied to each image and its label.

    Raises:
        FileNotFoundError: without the files.
    """

    _folder: str

    def __init__(
        self, root: str | None = None, train: bool = True, transform: Callable[..., Any] | None = None
    ) -> None:
        self._root = os.path.expanduser(root or os.path.join(data_dir(), "datasets", self._folder))
        self._train = train
        self._transform = transform
        pictures, labels = self._read()
        self._data = array(pictures, dtype="uint8")
        self._label = labels.astype("int32")

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _bytes(self, *names: str) -> bytes:
        for name in names:
            path = os.path.join(self._root, name)
            if os.path.isfile(path):
                with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
                    return file.read()
        raise FileNotFoundError(f"{os.path.join(self._root, names[0])}: put the file there; anygru does not download")

    def __getitem__(self, idx: int) -> Any:
        picture, label = self._data[idx], self._label[idx]
        return (picture, label) if self._transform is None else self._transform(picture, label)

    def __len__(self) -> int:
        return len(self._label)


class MNIST(_Pictures):
    """Images of handwritten digits, 28 by 28 (LeCun et al. 1998), in the four files of the publishers."""

    _folder = "mnist"

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        stem = "train" if self._train else "t10k"
        names = f"{stem}-labels-idx1-ubyte", f"{stem}-images-idx3-ubyte"
        labels, pictures = (self._bytes(f"{name}.gz", name) for name in names)
        count, rows, columns = struct.unpack(">III", pictures[4:16])
        values = np.frombuffer(pictures, np.uint8, offset=16).reshape(count, rows, columns, 1)
        return values, np.frombuffer(labels, np.uint8, offset=8)


class FashionMNIST(MNIST):
    """Images of clothes, 28 by 28 (Xiao et al. 2017), in four files of MNIST's format."""

    _folder = "fashion-mnist"


class CIFAR10(_Pictures):
    """Photographs, 32 by 32 in colour (Krizhevsky 2009), in the publisher's binary files."""

    _folder = "cifar10"
    _labels = 1  # bytes before an image
    _files = tuple(f"data_batch_{n}.bin" for n in range(1, 6)), ("test_batch.bin",)

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        content = b"".join(self._bytes(name) for name in self._files[0 if self._train else 1])
        rows = np.frombuffer(content, np.uint8).reshape(-1, 3072 + self._labels)
        return rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, self._labels - 1]


class CIFAR100(CIFAR10):
    """CIFAR with a hundred classes."""

    _folder = "cifar100"
    _labels = 2
    _files = ("train.bin",), ("test.bin",)

    def __init__(
        self,
        root: str | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._fine = fine_label
        super().__init__(root, train, transform)

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        pictures, fine = super()._read()
        if self._fine:
            return pictures, fine
        content = b"".join(self._bytes(name) for name in self._files[0 if self._train else 1])
        return pictures, np.frombuffer(content, np.uint8).reshape(-1, 3074)[:, 0]
