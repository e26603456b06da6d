"""Prices of houses in Boston: 13 features, scaled, and the price. Source: Paddle 2.6's pages, recorded."""

from collections.abc import Callable, Iterator

import numpy as np

from . import common

__all__ = ["feature_names", "predict_reader", "test", "train"]

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
MD5 = "d4accdce7a25600298819f8e28e8d593"
feature_names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]
Reader = Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]


def load_data(filename: str, feature_num: int = 14, ratio: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """The rows for training and for tests; each feature less its mean, over its range."""
    data = np.fromfile(filename, sep=" ").reshape(-1, feature_num)
    features = data[:, :-1]
    data[:, :-1] = (features - features.sum(0) / len(data)) / (features.max(0) - features.min(0))
    first = int(len(data) * ratio)
    return data[:first], data[first:]


def _reader(part: int) -> Reader:
    rows = load_data(common.download(URL, "uci_housing", MD5))[part]
    return lambda: ((row[:-1], row[-1:]) for row in rows)


def train() -> Reader:
    """A reader of the first 80 % of the rows."""
    return _reader(0)


def test() -> Reader:
    """A reader of the other rows."""
    return _reader(1)


def predict_reader() -> tuple[np.ndarray]:
    """The features of the first row for tests."""
    return (load_data(common.download(URL, "uci_housing", MD5))[1][0][:-1],)
