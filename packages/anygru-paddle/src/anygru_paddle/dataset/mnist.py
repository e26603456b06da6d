"""Handwritten digits: images [784] from -1 to 1, and their labels. Source: Paddle 2.6's pages, recorded."""

import gzip
from collections.abc import Callable, Iterator

import numpy as np

from . import common

__all__ = ["test", "train"]

URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
TEST_IMAGE_URL, TEST_IMAGE_MD5 = URL_PREFIX + "t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"
TEST_LABEL_URL, TEST_LABEL_MD5 = URL_PREFIX + "t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"
TRAIN_IMAGE_URL, TRAIN_IMAGE_MD5 = URL_PREFIX + "train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"
TRAIN_LABEL_URL, TRAIN_LABEL_MD5 = URL_PREFIX + "train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"
Reader = Callable[[], Iterator[tuple[np.ndarray, int]]]


def reader_creator(image_filename: str, label_filename: str, buffer_size: int = 100) -> Reader:
    """A reader of one pair of archives."""

    def reader() -> Iterator[tuple[np.ndarray, int]]:
        with gzip.open(image_filename) as images, gzip.open(label_filename) as labels:
            count, rows, columns = (int(each) for each in np.frombuffer(images.read(16)[4:], ">u4"))
            pixels = np.frombuffer(images.read(), np.uint8).reshape(count, rows * columns)
            numbers = np.frombuffer(labels.read()[8:], np.uint8)
        for pixel, number in zip(pixels, numbers, strict=True):
            yield pixel.astype(np.float32) / np.float32(255.0) * np.float32(2.0) - np.float32(1.0), int(number)

    return reader


def train() -> Reader:
    """A reader of the training set."""
    images = common.download(TRAIN_IMAGE_URL, "mnist", TRAIN_IMAGE_MD5)
    return reader_creator(images, common.download(TRAIN_LABEL_URL, "mnist", TRAIN_LABEL_MD5))


def test() -> Reader:
    """A reader of the test set."""
    images = common.download(TEST_IMAGE_URL, "mnist", TEST_IMAGE_MD5)
    return reader_creator(images, common.download(TEST_LABEL_URL, "mnist", TEST_LABEL_MD5))
