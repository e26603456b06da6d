"""Mutations of good files, read in processes with limits.

    python packages/anygru/tests/checkpoints/fuzzing.py --minutes 10 [--format NAME] [--out fuzz-findings]

Each finding is a file in the output folder with what happened in a text beside it; `--again FILE` reads one again.
"""

import argparse
import contextlib
import functools
import importlib
import io
import json
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import anygru
from anygru.checkpoints import Checkpoint, format_module, save_checkpoint
from anygru.checkpoints.gate import Gate
from anygru.checkpoints.reading.budget import Budget
from anygru.checkpoints.writing.optimizer import adam_state
from anygru.cli import scan
from anygru.errors import AnygruError
from anygru.layers.state_bytes import HEADER

#: Bytes that a reader may take beyond what the process has: the budget of a small file and as much again for what lives
#: for a moment; and its seconds of processor time.
MEMORY, SECONDS = 192 << 20, 10

_META = b"shape {\n  dim: 2\n  dim: 3\n}\ndata_type: kFloat\n"

#: Numbers that programs get wrong.
_NUMBERS = [0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 40, (1 << 63) - 1]


def _model() -> torch.nn.Module:
    net = torch.nn.Module()
    net.gru = anygru.GRU(1, 1)
    net.linear = torch.nn.Linear(2, 3)
    return net


def _saved(ending: str) -> Callable[[Path], list[bytes]]:
    def make(folder: Path) -> list[bytes]:
        path = folder / ("seed" + ending)
        save_checkpoint(_model(), path)
        return [(path / "pickled_data" if path.is_dir() else path).read_bytes()]

    return make


def _torch(folder: Path) -> list[bytes]:
    state = {"model": _model().state_dict(), "epoch": 3, "names": ["a", "b"], "rate": 0.1, "none": None}
    torch.save(state, folder / "old.pt", _use_new_zipfile_serialization=False)
    old = (folder / "old.pt").read_bytes()
    for number, address in enumerate(dict.fromkeys(re.findall(rb"\d{12,}", old))):  # storages go by these, which vary
        old = old.replace(address, b"%0*d" % (len(address), number))
    return [*_saved(".pt")(folder), old]


def _paddle(folder: Path) -> list[bytes]:
    values = {"a": np.arange(6.0), "b": ("name", np.float32(2)), "c": [1, (2.5, "x"), {3}], "d": np.array(["text"])}
    return [*_saved(".pdparams")(folder), *(pickle.dumps(values, protocol) for protocol in (0, 2, 4))]


def _chainer(folder: Path) -> list[bytes]:
    np.savez(folder / "more.npz", a=np.arange(6).reshape(2, 3).T, b=np.array(["ab", "c"]), c=np.float16(1))
    return [*_saved(".npz")(folder), (folder / "more.npz").read_bytes()]


def _hdf5(folder: Path) -> list[bytes]:
    import h5py

    with h5py.File(folder / "more.h5", "w") as file:
        file.create_dataset("a/b", data=np.arange(100.0), chunks=(30,), compression=4, shuffle=True, fletcher32=True)
        file.create_dataset("text", data=np.array([b"ab", b"c"]))
        file.create_dataset("none", data=h5py.Empty("f"))
    with h5py.File(folder / "keras.h5", "w") as file:  # a whole model of Keras: its configuration and its weights
        layer = {"class_name": "GRU", "config": {"name": "g", "activation": "relu", "units": 1}}
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": [layer]}})
        file.attrs["keras_version"] = "2.12.0"
        for name, shape in {"kernel:0": (1, 3), "recurrent_kernel:0": (1, 3), "bias:0": (2, 3)}.items():
            file.create_dataset(f"model_weights/g/g/gru_cell/{name}", data=np.ones(shape, np.float32))
    return [*_saved(".h5")(folder), *((folder / name).read_bytes() for name in ("more.h5", "keras.h5"))]


def _mxnet(folder: Path) -> list[bytes]:
    data = Path(__file__).parent / "data" / "mxnet"
    return [*_saved(".params")(folder), *((data / name).read_bytes() for name in ("sparse.nd", "numpy.nd"))]


def _oneflow(folder: Path) -> list[bytes]:
    from anygru.checkpoints.formats import oneflow as files

    tensor = files.Tensor(np.zeros((2, 3), np.float32))
    files.save({"a": tensor, "b": [tensor, files.Parameter(tensor.array)], "c": {"d": 1}}, folder / "seed")
    return [(folder / "seed" / "pickled_data").read_bytes()]


def _oneflow_meta(folder: Path) -> list[bytes]:
    return [_META]


def _oneflow_out(folder: Path) -> list[bytes]:
    return [bytes(24)]


def _rtneural(folder: Path) -> list[bytes]:
    layers = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh(), anygru.GRU(1, 1, 2))
    save_checkpoint(layers, folder / "seed.json")
    own = json.loads((folder / "seed.json").read_text())
    more = {"type": "prelu", "activation": "", "shape": [None, None, 1], "weights": [[[0.5]]]}
    aida = {**own, "in_skip": 1, "in_gain": -3.5, "metadata": {"samplerate": "48000", "esr": 0.1}}
    aida["layers"] = [*({**layer, "name": str(n)} for n, layer in enumerate(own["layers"])), more]
    return [(folder / "seed.json").read_bytes(), json.dumps(aida, indent=4).encode()]


def _torch_json(folder: Path) -> list[bytes]:
    net = torch.nn.ModuleDict({"rec": torch.nn.GRU(1, 1), "lin": torch.nn.Linear(1, 1)})
    save_checkpoint(net, folder / "seed.torch.json")
    return [*_saved(".torch.json")(folder), (folder / "seed.torch.json").read_bytes()]


def _optimizer(folder: Path) -> list[bytes]:
    """The state of Adam after a step, as `paddle.save` writes it, and the parameters that it belongs to in `_optimizer_model`."""
    moments = {f"{name}_moment{which}_0": np.ones(shape, np.float32) for name, shape in _OPTIMIZED for which in (1, 2)}
    powers = {f"{name}_beta{n}_pow_acc_0": np.float32([b]) for name, _ in _OPTIMIZED for n, b in ((1, 0.9), (2, 0.999))}
    schedule = {"LR_Scheduler": {"last_epoch": 1, "last_lr": 0.01}}
    return [pickle.dumps({**moments, **powers, **schedule}, protocol) for protocol in (2, 4)]


#: Parameters of a linear layer by Paddle's own names.
_OPTIMIZED = [("linear_0.w_0", (2, 3)), ("linear_0.b_0", (3,))]


def _optimizer_model(path: Path) -> Path:
    names = dict(zip(("weight", "bias"), (name for name, _ in _OPTIMIZED), strict=True))
    arrays = {key: np.zeros(shape, np.float32) for key, (_, shape) in zip(names, _OPTIMIZED, strict=True)}
    path.write_bytes(pickle.dumps({**arrays, "StructuredToParameterName@@": names}, 2))
    return path


def _onnx(folder: Path) -> list[bytes]:
    from onnx import TensorProto, helper, numpy_helper

    arrays = {"W": np.ones((3, 1), np.float32), "R": np.ones((1, 3, 1), np.float32), "B": np.ones((1, 6), np.float32)}
    stored = [numpy_helper.from_array(array, name) for name, array in (*arrays.items(), ("axis", np.array([0])))]
    node = helper.make_node(
        "GRU", ["x", "W3", "R", "B"], ["y", "h"], "g", hidden_size=1, activations=["Sigmoid", "Tanh"]
    )
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    graph = helper.make_graph([helper.make_node("Unsqueeze", ["W", "axis"], ["W3"]), node], "g", [x], [y], stored)
    return [helper.make_model(graph).SerializeToString()]


def _keras(folder: Path) -> list[bytes]:
    import h5py

    inner, config = io.BytesIO(), {"config": {"layers": [{"class_name": "GRU", "config": {"activation": "relu"}}]}}
    with h5py.File(inner, "w") as file:
        for number, shape in enumerate(((1, 3), (1, 3), (2, 3))):
            file.create_dataset(f"layers/gru/cell/vars/{number}", data=np.ones(shape, np.float32))
    with zipfile.ZipFile(folder / "seed.keras", "w") as archive:
        members = {
            "metadata.json": b"{}",
            "config.json": json.dumps(config).encode(),
            "model.weights.h5": inner.getvalue(),
        }
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # without the time of day
    return [(folder / "seed.keras").read_bytes()]


def _symbol(folder: Path) -> list[bytes]:
    import anygru_mxnet as mx

    x = mx.sym.Variable("x", shape=(2, 3))
    head = mx.sym.FullyConnected(mx.sym.relu(x), num_hidden=4, name="fc")
    parts = mx.sym.split(mx.sym.Embedding(mx.sym.Variable("i"), input_dim=5, output_dim=4), num_outputs=2)
    return [mx.sym.Group([head, parts[0] + mx.sym.ones((2, 2))]).tojson().encode()]


def _states(folder: Path) -> list[bytes]:
    import anygru_mxnet as mx

    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 3))).sum()
    loss.backward()
    trainer.step(1)
    trainer.save_states(str(folder / "seed.states"))
    return [(folder / "seed.states").read_bytes()]


def _block(folder: Path) -> list[bytes]:
    _mxnet_block().save(str(folder / "seed"))
    return [(folder / "seed-model.json").read_bytes()]


def _mxnet_block() -> Any:
    import anygru_mxnet as mx

    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.Dropout(0.5), mx.gluon.nn.Dense(1, in_units=2))
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    return net


def _session(folder: Path) -> list[bytes]:
    with _pool().open() as session:
        session.step(torch.ones(3))
        return [session.state_bytes()]


@functools.cache
def _pool() -> anygru.SessionPool:
    layer = anygru.GRU(3, 4)
    for weight in layer.parameters():
        torch.nn.init.constant_(weight, 0.1)
    return anygru.SessionPool(layer, 2)


def _read_session(data: bytes) -> None:
    """Open a session of bytes with a good checksum, which anyone can compute, and let it step."""
    if len(data) >= HEADER.size:
        *head, _ = HEADER.unpack_from(data)
        body = data[HEADER.size :]
        data = HEADER.pack(*head, zlib.crc32(body, zlib.crc32(HEADER.pack(*head, 0)))) + body
    pool = _pool()
    with contextlib.suppress(AnygruError):
        session = pool.open(data)
        session.steps, session.state_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.step(torch.ones(3))
        session.close()
    assert len(pool) == 0


def _notebook(folder: Path) -> list[bytes]:
    source = ["import torch\n", "%matplotlib inline\n", "torch.nn.GRU(1, 2)\n"]
    cells = [{"cell_type": "code", "source": source}, {"cell_type": "markdown", "source": ["# GRU"]}]
    return [json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()]


def _source(folder: Path) -> list[bytes]:
    return [
        b"import torch as t\nfrom torch.nn import *\nx = getattr(t.nn, 'GRU')(1, 2)\nprint 'GRU', t.nn.GRUCell(3, 4)\n"
    ]


def _mapping(folder: Path) -> list[bytes]:
    return [b'{"old": "new", "a.b": "c", "weight_ih_l0": "encoder.weight_ih_l0"}']


def _native(folder: Path) -> list[bytes]:
    return [bytes(16)]


def _call_kernels(data: bytes) -> None:
    """Compute a GRU that the bytes choose, with the kernels and with the readable reference."""
    draw = random.Random(data)
    batch, steps, features, hidden = (draw.choice((0, 1, 2, 3, 5, 8, 17, 33)) for _ in range(4))
    features, hidden = max(features, 1), max(hidden, 1)
    layers, bidirectional, bias = draw.choice((1, 1, 2)), draw.random() < 0.4, draw.random() < 0.8
    generator = torch.Generator().manual_seed(draw.randrange(1 << 30))
    layer = anygru.GRU(
        features, hidden, layers, bidirectional=bidirectional, bias=bias, reset=draw.choice(("after", "before"))
    )
    x = torch.randn(steps, batch, features, generator=generator) * draw.choice((1.0, 1.0, 100.0))
    x = x[::2] if draw.random() < 0.2 else x.transpose(0, 1).contiguous().transpose(0, 1) if draw.random() < 0.3 else x
    lengths = [draw.randint(0, len(x)) for _ in range(batch)] if draw.random() < 0.5 else None
    results = []
    for backend in ("cpu", "reference"):
        given = x.clone().requires_grad_()
        weights = [weight.detach().clone().requires_grad_() for weight in layer.parameters()]
        options = {"lengths": lengths, "bidirectional": bidirectional, "bias": bias, "reset": layer.reset}
        with torch.enable_grad():  # the MXNet dialect has it off unless something is recorded
            output, h_n = anygru.functional.gru(given, None, weights, backend=backend, **options)
            loss = output.sum() + h_n.square().sum()
            if loss.requires_grad:  # no step, no gradient
                loss.backward()
        results.append([output, h_n, *(tensor.grad for tensor in (given, *weights))])
    for one, two in zip(*results, strict=True):
        if one is not None and two is not None and two.numel():
            torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-3 * max(1.0, float(two.detach().abs().max())))


#: What is fuzzed: a format, or another file that a dialect reads; and what makes good files of it.
SEEDS: dict[str, Callable[[Path], list[bytes]]] = {
    "paddle": _paddle, "mxnet": _mxnet, "chainer": _chainer, "hdf5": _hdf5, "oneflow": _oneflow,
    "oneflow-meta": _oneflow_meta, "oneflow-out": _oneflow_out, "optimizer": _optimizer, "torch": _torch,
    "safetensors": _saved(".safetensors"), "onnx": _onnx, "keras": _keras, "rtneural": _rtneural,
    "torch_json": _torch_json, "symbol": _symbol, "states": _states, "block": _block, "session": _session,
    "notebook": _notebook, "source": _source, "mapping": _mapping, "native": _native,
}  # fmt: skip


def attempt(format: str, folder: Path, data: bytes) -> str | None:
    """Read bytes as a format; returns the fault of the reader, or None."""
    path = folder / f"fuzzed-{format}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(format, path, data)
    except AnygruError as error:
        return None if str(path) in str(error) else f"the error does not name the file: {error}"
    except BaseException as error:
        if type(error).__name__ == "MXNetError":
            return None if str(path) in str(error) else f"no file is named: {error}"
        return "".join(traceback.format_exception(error)[-8:])
    return None


def read(format: str, path: Path, data: bytes) -> None:
    """Read bytes as a format, and every attribute that a user would read."""
    if format == "native":
        _call_kernels(data)
    elif format == "session":
        _read_session(data)
    elif format in ("notebook", "source"):
        path = path.with_suffix(".ipynb" if format == "notebook" else ".py")
        path.write_bytes(data)
        with contextlib.suppress(ValueError):  # the command names the file
            scan.grus(path)
    elif format == "mapping":
        path.write_bytes(data)
        Gate(path).texts()
    elif format == "block":
        net = _mxnet_block()
        net.save(str(path))
        path.with_name(f"{path.name}-model.json").write_bytes(data)
        try:
            net.load(str(path))
        except AssertionError as error:  # MXNet's for a name that the file of parameters lacks
            if "is missing in file" not in str(error):
                raise
    elif format == "symbol":
        import anygru_mxnet as mx
        from anygru_mxnet.base import MXNetError

        path.write_bytes(data)
        symbol = mx.sym.load(str(path))
        with contextlib.suppress(MXNetError):  # of the graph, not of its file
            symbol.list_arguments(), symbol.infer_shape_partial()
    elif format == "states":
        import anygru_mxnet as mx

        path.write_bytes(data)
        net = mx.gluon.nn.Dense(2, in_units=3)
        net.initialize()
        mx.gluon.Trainer(net.collect_params(), "adam").load_states(str(path))
    elif format == "optimizer":
        path.write_bytes(data)
        adam_state(path, _optimizer_model(path.with_suffix(".pdparams")))
    else:
        format = format.partition("-")[0]
        budget = Budget(path)
        content = format_module(format).read(_placed(format, path, data), budget)
        checkpoint = Checkpoint(str(path), format, content, budget=budget)
        checkpoint.values, [(gru.describe(), checkpoint.gru(gru.path)) for gru in checkpoint.gru_layers]


def _placed(format: str, path: Path, data: bytes) -> Path:
    if format != "oneflow":
        path.write_bytes(data)
        return path
    path.mkdir(exist_ok=True)
    if path.name.endswith(("meta", "out")):
        (path / "snapshot_done").touch()
        (path / "a").mkdir(exist_ok=True)
        for name, good in (("meta", _META), ("out", bytes(24))):
            (path / "a" / name).write_bytes(data if path.name.endswith(name) else good)
        return path
    (path / "pickled_data").write_bytes(data)
    for name in re.findall(rb"tensor_[0-9]{1,18}", data)[:5]:
        (path / name.decode()).mkdir(exist_ok=True)
        (path / name.decode() / "meta").write_bytes(_META)
        (path / name.decode() / "out").write_bytes(bytes(24))
    return path


class Fuzzer:
    """Tries mutations of one format's files.

    Args:
        format: a key of `SEEDS`.
        folder: where findings are left.
        seed: of the mutations.
    """

    def __init__(self, format: str, folder: Path, seed: int):
        self._format, self._folder, self.done = format, folder, 0
        self._random = random.Random(f"{format} {seed}")
        with tempfile.TemporaryDirectory() as place:
            self._seeds = SEEDS[format](Path(place))

    def run(self, mutations: int | None = None, until: float = float("inf")) -> list[str]:
        """Try so many mutations, or as many as fit into the time; gives a line for each finding."""
        found: list[str] = []
        while (mutations is None or self.done < mutations) and time.monotonic() < until and len(found) < 20:
            batch = [
                self._random.randbytes(16) if self._format == "native" else self._mutated()
                for _ in range(min(100, (mutations or self.done + 100) - self.done))
            ]
            self.done += len(batch)
            found += self._try(batch)
        return found

    def _try(self, batch: list[bytes]) -> list[str]:
        """Read a batch in one process, and the files after a crash or a hang in the next."""
        found = []
        with tempfile.TemporaryDirectory() as place:
            start = 0
            while start < len(batch):
                results, status = _in_child(self._format, Path(place), batch[start:])
                found += [self._keep(batch[start + at], what) for at, what in enumerate(results) if what is not None]
                start += len(results)
                if start < len(batch) and status:
                    found.append(self._keep(batch[start], f"the process ended with status {status}"))
                    start += 1
        return found

    def _keep(self, data: bytes, what: str) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        number = sum(1 for _ in self._folder.glob(f"{self._format}-*.bin"))
        path = self._folder / f"{self._format}-{number:04d}.bin"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(what)
        return f"{path}: {what}"

    def _mutated(self) -> bytes:
        seed = self._random.choice(self._seeds)
        if seed.startswith(b"PK") and self._random.random() < 0.7:  # the members' checksums would hide the damage
            return _with_a_damaged_member(seed, self._random, self._damaged)
        return self._damaged(seed)

    def _damaged(self, seed: bytes) -> bytes:
        draw, data = self._random, bytearray(seed)
        if draw.random() < 0.5 and (found := _with_other_values(seed, draw)) is not None:
            return found
        for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
            data = draw.choice(_MUTATIONS)(data, draw, self._seeds)
        return bytes(data)


def _place(data: bytearray, draw: random.Random) -> int:
    # zeros between the parts of HDF5 files are hardly ever read
    for _ in range(4):
        place = draw.randrange(max(1, len(data)))
        if place < len(data) and data[place]:
            break
    return place


def _flip(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    if data:
        data[_place(data, draw) % len(data)] ^= 1 << draw.randrange(8)
    return data


def _set_number(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    size, place = draw.choice((1, 2, 4, 8)), _place(data, draw)
    number = draw.choice(_NUMBERS) * draw.choice((1, 1, 1, -1)) % (1 << 8 * size)
    data[place : place + size] = number.to_bytes(size, draw.choice(("little", "little", "big")))
    return data


def _cut(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    begin = _place(data, draw)
    del data[begin : begin + draw.choice((1, 2, 8, 100, 1 << 30))]
    return data


def _repeat(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    begin = _place(data, draw)
    piece = data[begin : begin + draw.choice((1, 2, 4, 16, 64))]
    data[begin:begin] = piece * draw.choice((1, 2, 50, 2000))
    return data


def _insert(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    place = _place(data, draw)
    data[place:place] = draw.randbytes(draw.choice((1, 2, 8)))
    return data


_DIGITS = (b"0", b"9", b"-1", b"99999999999", b"9" * 5000, b"1e9", b'"', b"[", b"null")


def _change_digit(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        place = draw.choice(digits)
        data[place : place + 1] = draw.choice(_DIGITS)
    return data


def _splice(data: bytearray, draw: random.Random, seeds: list[bytes]) -> bytearray:
    other = draw.choice(seeds)
    begin, length = draw.randrange(max(1, len(other))), draw.choice((4, 16, 64, 256))
    place = _place(data, draw)
    data[place : place + draw.choice((0, length))] = other[begin : begin + length]
    return data


_MUTATIONS = (_flip, _set_number, _cut, _repeat, _insert, _change_digit, _splice)


def _with_a_damaged_member(archive: bytes, draw: random.Random, damage: Callable[[bytes], bytes]) -> bytes:
    """A good archive with one damaged member."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(target, "w") as new:
        chosen = draw.choice(old.namelist())
        for member in old.infolist():
            data = old.read(member)
            new.writestr(member, damage(data) if member.filename == chosen else data)
    return target.getvalue()


_MOST_PLACES = 1000
_VALUES: list[object] = [
    None, True, 0, -1, 1 << 70, 1.5, float("nan"), "", "GRU", "relu", "x" * 5000, [], {}, [[]] * 50, {"a": {}},
]  # fmt: skip


def _with_other_values(data: bytes, draw: random.Random) -> bytes | None:
    """A text in JSON with values put in other places, taken out and repeated; None for other bytes."""
    try:
        root = json.loads(data)
    except ValueError:
        return None
    for _ in range(draw.choice((1, 1, 2, 4))):
        places: list[tuple[Any, Any]] = []
        waiting = [root]
        while waiting:
            inner = waiting.pop()
            keys = list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
            places += [(inner, key) for key in keys]
            waiting += [inner[key] for key in keys]
            if len(places) > _MOST_PLACES:  # repeated lists in repeated lists
                return json.dumps(root).encode()
        if not places:
            return None
        (inner, key), (other, place) = draw.choice(places), draw.choice(places)
        what = draw.randrange(4)
        if what == 0:
            del inner[key]
        elif what == 1 and isinstance(inner, list):
            inner += inner[:1] * draw.choice((1, 100))
        else:
            value = draw.choice(_VALUES) if what == 2 else other[place]
            inner[key] = json.loads(json.dumps(value))  # a copy: a later change may not put it into itself
    return json.dumps(root).encode()


def _in_child(format: str, place: Path, batch: list[bytes]) -> tuple[list[str | None], int]:
    """Read files in a forked process with limits; gives the results so far, and how it ended (0: in good order)."""
    if format == "symbol":
        importlib.import_module("torch._dynamo")  # shapes load it, and its memory does not come from the file
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _be_the_child(format, place, batch, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    return [json.loads(line) for line in lines], status


def _be_the_child(format: str, place: Path, batch: list[bytes], writer: int) -> None:
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # HDF5 and torch print while they fail
        for data in batch:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            result = attempt(format, place, data)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            os.write(writer, json.dumps(result).encode() + b"\n")
    finally:
        os._exit(0)


def _rounds(formats: list[str], out: Path, minutes: float) -> Iterator[str]:
    """Fuzz each format for its share of the time."""
    for number, format in enumerate(formats):
        share = time.monotonic() + 60 * minutes / len(formats)
        seed = random.SystemRandom().randrange(1 << 30)
        print(f"fuzzing {format} ({number + 1} of {len(formats)}), seed {seed}", flush=True)
        fuzzer = Fuzzer(format, out, seed)
        yield from fuzzer.run(until=share)
        print(f"{fuzzer.done} mutations of {format}", flush=True)


def main() -> int:
    """Fuzz for a while, or read one finding again; the exit status is 1 if something was found."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of files.", allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=10.0, help="time for all formats together")
    parser.add_argument("--format", choices=sorted(SEEDS), action="append", help="only this one")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="the folder for findings")
    parser.add_argument("--again", type=Path, metavar="FILE", help="read one finding again")
    args = parser.parse_args()
    if args.again:
        with tempfile.TemporaryDirectory() as place:
            format = max((each for each in SEEDS if args.again.name.startswith(f"{each}-")), key=len)
            results, status = _in_child(format, Path(place), [args.again.read_bytes()])
        found = [result for result in results if result] or ([f"status {status}"] if status else [])
    else:
        found = list(_rounds(args.format or sorted(SEEDS), args.out, args.minutes))
    print("\n".join(found) or "nothing was found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
