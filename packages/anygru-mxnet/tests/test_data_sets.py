"""Data sets from local files, compared with MXNet 1.9.1 on the same small files, which this file creates.

`data/data_sets.json` holds it: `python test_data_sets.py FILE` writes such a file under MXNet itself.
"""

import gzip
import hashlib
import json
import pathlib
import struct
import sys
import tempfile

import numpy as np

if __name__ == "__main__":
    import mxnet as mx
    from mxnet.gluon.contrib.data import text
    from mxnet.gluon.data.vision import datasets as vision
else:
    import pytest

    import anygru_mxnet as mx
    from anygru_mxnet.gluon.contrib.data import text
    from anygru_mxnet.gluon.data.vision import datasets as vision

WORDS = {"train": " a b <unk> \n\n = b a = \n c d é a\n", "valid": "a a zz\n b\n", "test": "\n d\tc b\n"}


def make(folder):
    rng = np.random.RandomState(3)
    for stem, count in (("train", 3), ("t10k", 2)):
        with gzip.open(folder / f"{stem}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + rng.bytes(count * 784))
        with gzip.open(folder / f"{stem}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 2049, count) + rng.bytes(count))
    for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
        (folder / f"{name}.bin").write_bytes(rng.bytes(2 * 3073))
    for name in ("train", "test"):
        (folder / f"{name}.bin").write_bytes(rng.bytes(2 * 3074))
    for name, words in WORDS.items():
        (folder / f"wiki.{name}.tokens").write_text(words, encoding="utf-8")


def pictures(folder, kind, **given):
    data = getattr(vision, kind)(root=str(folder), **given)
    last, label = data[len(data) - 1]
    bits = b"".join(data[place][0].asnumpy().tobytes() for place in range(len(data)))
    labels = [int(data[place][1]) for place in range(len(data))]
    half = getattr(vision, kind)(root=str(folder), transform=lambda x, y: (x.astype("float32") / 2, y), **given)[0][0]
    digest = hashlib.sha256(bits).hexdigest()
    return [
        len(data),
        list(last.shape),
        np.dtype(last.dtype).name,
        type(label).__name__,
        labels,
        digest,
        float(half.sum().asscalar()),
    ]


def words(folder, segment, length, borrowed):
    vocabulary = text.WikiText2(root=str(folder), segment="train", seq_len=2).vocabulary if borrowed else None
    data = text.WikiText2(root=str(folder), segment=segment, seq_len=length, vocab=vocabulary)
    rows = [[part.asnumpy().tolist() for part in data[place]] for place in range(len(data))]
    counted = sorted(data.frequencies.items())
    return [rows, np.dtype(data[0][0].dtype).name, data.vocabulary.idx_to_token, [list(pair) for pair in counted]]


CASES = {
    **{
        f"{kind} {given}": (pictures, kind, given)
        for kind in ("MNIST", "FashionMNIST", "CIFAR10", "CIFAR100")
        for given in ({}, {"train": False})
    },
    "CIFAR100 fine": (pictures, "CIFAR100", {"fine_label": True}),
    **{f"words {case}": (words, *case) for case in (("train", 2, False), ("validation", 3, True), ("test", 1, False))},
}


def result(folder, function, *given):
    keywords = given[-1] if isinstance(given[-1], dict) else {}
    return function(folder, *(value for value in given if not isinstance(value, dict)), **keywords)


if __name__ == "__main__":
    for module in (vision, text):
        module.check_sha1 = lambda path, digest: True
        module.download = lambda url, path, sha1_hash: f"{path}/{url.split('/')[-1]}"
    with tempfile.TemporaryDirectory() as name:
        make(pathlib.Path(name))
        recorded = {case: result(pathlib.Path(name), *given) for case, given in CASES.items()}
    with open(sys.argv[1], "w") as file:
        json.dump(recorded, file, separators=(",", ":"))
        file.write("\n")
else:
    RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "data_sets.json").read_text())

    @pytest.fixture(scope="module")
    def folder(tmp_path_factory):
        path = tmp_path_factory.mktemp("sets")
        make(path)
        return path

    @pytest.mark.parametrize("case", CASES)
    def test_the_same_is_read_as_by_mxnet(case, folder):
        assert result(folder, *CASES[case]) == RECORDED[case]

    def test_a_missing_file_is_named_and_not_downloaded(tmp_path, monkeypatch):
        monkeypatch.setenv("MXNET_HOME", str(tmp_path))
        with pytest.raises(FileNotFoundError, match=rf"{tmp_path}/datasets/mnist/train-labels.*does not download"):
            vision.MNIST()
        with pytest.raises(FileNotFoundError, match=r"datasets/wikitext-103/wiki.valid.tokens.*does not download"):
            text.WikiText103(segment="validation")

    def test_pictures_become_tensors_as_in_mxnet():
        picture = mx.nd.array(np.arange(24).reshape(4, 2, 3), dtype="uint8")
        transforms = mx.gluon.data.vision.transforms
        both = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), 0.5)])
        expected = (
            np.arange(24).reshape(4, 2, 3).transpose(2, 0, 1) / 255 - np.array([0.1, 0.2, 0.3]).reshape(3, 1, 1)
        ) / 0.5
        np.testing.assert_allclose(both(picture).asnumpy(), expected, atol=1e-6)
        assert transforms.Cast("float16")(picture).dtype is np.float16
