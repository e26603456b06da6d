"""`paddle.dataset` over small archives of the original form."""

import gzip
import hashlib
import io
import re
import struct
import tarfile

import numpy as np
import pytest

from anygru_paddle import dataset
from anygru_paddle.dataset import common, imdb, imikolov, mnist, uci_housing


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put contents into the cache under the name in a module's URL, with the expected MD5 sum."""
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))

    def put(module, contents, url="URL", md5="MD5"):
        folder = tmp_path / module.__name__.rpartition(".")[2]
        folder.mkdir(exist_ok=True)
        (folder / getattr(module, url).rpartition("/")[2]).write_bytes(contents)
        monkeypatch.setattr(module, md5, hashlib.md5(contents).hexdigest())

    return put


def archive(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return out.getvalue()


def test_digits(put):
    pixels = np.arange(2 * 4, dtype=np.uint8) * 30
    put(
        mnist, gzip.compress(struct.pack(">IIII", 2051, 2, 2, 2) + pixels.tobytes()), "TEST_IMAGE_URL", "TEST_IMAGE_MD5"
    )
    put(mnist, gzip.compress(struct.pack(">II", 2049, 2) + bytes([7, 2])), "TEST_LABEL_URL", "TEST_LABEL_MD5")
    (first, seven), (second, two) = mnist.test()()
    assert (seven, two) == (7, 2)
    assert first.dtype == np.float32
    np.testing.assert_allclose(np.stack([first, second]).ravel(), pixels / 255.0 * 2 - 1, rtol=1e-6)


def test_houses(put):
    rows = np.random.RandomState(0).rand(10, 14).round(3)
    put(uci_housing, "\n".join(" ".join(map(str, row)) for row in rows).encode())
    scaled = (rows - rows.mean(0)) / (rows.max(0) - rows.min(0))
    train, test = list(uci_housing.train()()), list(uci_housing.test()())
    assert (len(train), len(test)) == (8, 2)
    np.testing.assert_allclose(train[3][0], scaled[3, :13])
    np.testing.assert_allclose(test[1][1], rows[9, 13:])
    np.testing.assert_allclose(uci_housing.predict_reader()[0], scaled[8, :13])


def test_reviews(put):
    part = "aclImdb/train/"
    put(imdb, archive({f"{part}pos/1.txt": b"Good, good film!\n", f"{part}neg/2.txt": b"bad film"}))
    words = imdb.build_dict(re.compile(r"aclImdb/train/.*\.txt$"), 0)
    assert words == {b"film": 0, b"good": 1, b"bad": 2, "<unk>": 3}
    assert list(imdb.train(words)()) == [([1, 1, 0], 0), ([2, 0], 1)]
    assert list(imdb.test(words)()) == []


def test_sentences(put):
    folder = "./simple-examples/data/ptb."
    put(imikolov, archive({f"{folder}train.txt": b" a b a \n b \n", f"{folder}valid.txt": b" a c \n"}))
    words = imikolov.build_dict(0)
    assert words == {"<e>": 0, "<s>": 1, b"a": 2, b"b": 3, b"c": 4, "<unk>": 5}
    assert list(imikolov.train(words, 3)()) == [(1, 2, 3), (2, 3, 2), (3, 2, 0), (1, 3, 0)]
    assert list(imikolov.test(words, 0, imikolov.DataType.SEQ)()) == [([1, 2, 4], [2, 4, 0])]


def test_what_to_put_where(put, tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path}.*aclImdb_v1.tar.gz.*put it there.*{imdb.MD5}"):
        dataset.imdb.word_dict()
    put(imdb, b"other")
    with pytest.raises(ValueError, match="expected 7c2a"):
        common.download(imdb.URL, "imdb", "7c2ac02c03563afcf9b574c7e56c153a")
    with pytest.raises(ValueError, match="must be names in the cache"):
        common.download("a/b", "../x", "0")
