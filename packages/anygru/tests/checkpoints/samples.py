"""Shared by the tests of checkpoints: models, files of the original frameworks, and the formats."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import anygru
from anygru.checkpoints import Checkpoint, format_module

DATA = Path(__file__).parent / "data"

#: Every format with the ending of a file of it.
ENDINGS = {
    "paddle": ".pdparams", "mxnet": ".params", "chainer": ".npz", "hdf5": ".h5", "oneflow": "", "torch": ".pt",
    "safetensors": ".safetensors", "torch_json": ".torch.json",
}  # fmt: skip

#: Every file of the original frameworks that holds tensors, relative to DATA.
FILES = [
    "paddle/model.pdparams", "paddle/model_protocol2.pdparams", "paddle/model.pdopt", "paddle/nested.pdparams",
    "paddle/cell.pdparams", "paddle/basic.pdparams", "paddle/static.pdparams", "paddle/others.pdparams",
    "mxnet/model.params", "mxnet/names.params", "mxnet/exported-0003.params", "mxnet/plain.params",
    "mxnet/fused.params", "mxnet/cell.params", "mxnet/lstm.params", "mxnet/sparse.nd", "mxnet/numpy.nd",
    "chainer/model.npz", "chainer/stored.npz", "chainer/square.npz", "chainer/snapshot.npz", "chainer/model.h5",
    "oneflow/model", "oneflow/cell", "oneflow/dtypes",
]  # fmt: skip


def format_of(path: str) -> str:
    """The format that a file of FILES is in."""
    return "hdf5" if path.endswith(".h5") else path.split("/")[0]


def model(**options: object) -> torch.nn.Module:
    """A model with a stacked, bidirectional GRU, a cell, and a layer that is none."""
    net = torch.nn.Module()
    net.gru = anygru.GRU(3, 4, num_layers=2, bidirectional=True, **options)
    net.cell = anygru.GRUCell(3, 4, **options)
    net.linear = torch.nn.Linear(2, 3)
    return net


def assert_same(first: Checkpoint, second: Checkpoint) -> None:
    """Two checkpoints hold the same tensors under the same names, bit for bit."""
    assert set(first.stored) == set(second.stored)
    for name, stored in first.stored.items():
        assert stored.same_bits(second.stored[name]), name


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """A file of the format that belongs to the ending, with these arrays unchanged."""
    from anygru.checkpoints import format_for
    from anygru.checkpoints.reading.content import Content
    from anygru.checkpoints.stored import StoredTensor

    content = Content({name: StoredTensor.of(array) for name, array in arrays.items()})
    format_module(format_for(path)).write(path, content)
    return path


def write_onnx(
    path: Path, nodes: list[Any], stored: list[Any], inputs: Iterable[str] = (), outputs: Iterable[str] = ()
) -> Path:
    """An ONNX model of nodes and stored tensors."""
    from onnx import TensorProto, helper

    given, found = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names] for names in (inputs, outputs)
    )
    graph = helper.make_graph(nodes, "g", given, found, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path
