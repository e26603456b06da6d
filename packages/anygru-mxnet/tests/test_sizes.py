"""Names that take sizes take them as numbers, tuples and lists, wherever MXNet 1.9.1 does (recorded)."""

import json
import pathlib

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import nd

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "sizes.json").read_text())


@pytest.mark.parametrize("call", RECORDED)
def test_a_spelling_of_sizes_gives_mxnets_shape(call):
    names = {"mx": mx, "nd": nd, "np": np, "a": nd.arange(6).reshape((2, 3)), "p": mx.np.arange(6).reshape(2, 3)}
    found = eval(call, names | {"v": mx.sym.var("v", shape=(2, 3))})
    if hasattr(found, "dtype"):
        found = (tuple(found.shape), getattr(found.dtype, "__name__", str(found.dtype)))
    assert str(found) == RECORDED[call]
