"""Graphs that MXNet 1.9.1 wrote become modules of torch, files of torch.export and of ONNX; MXNet's outputs are recorded."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import mostly_slow

import anygru_mxnet as mx
from anygru.cli import graphs as command
from anygru.cli import main
from anygru_mxnet import gluon, graphs, nd
from anygru_mxnet.gluon import nn, rnn

DATA = Path(__file__).parent / "conformance" / "data"
SYMBOL, PARAMS = DATA / "encoder-symbol.json", DATA / "encoder-0007.params"
IDS = torch.tensor([[1.0, 2, 3, 9], [0, 5, 5, 7]])


class Net(gluon.HybridBlock):
    def __init__(self, kind, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(20, 6)
            self.layer = getattr(rnn, kind)(5, 2, layout="NTC", bidirectional=True, input_size=6)
            self.norm = nn.BatchNorm(axis=-1, in_channels=10)
            self.drop = nn.Dropout(0.5)
            self.out = nn.Dense(3, flatten=False, in_units=10)

    def hybrid_forward(self, F, x):
        return F.softmax(self.out(self.drop(self.norm(self.layer(self.embed(x))))), axis=-1)


def exported(kind, folder):
    net = Net(kind, prefix="net_")
    net.initialize(mx.init.Uniform(0.5))
    net.hybridize()
    ids = nd.array(np.random.default_rng(3).integers(0, 20, (2, 7)))
    expected = net(ids).asnumpy()
    net.export(str(folder / "net"), 3)
    return ids.asnumpy(), expected


@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")  # the reader of torch 2.10
@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.parametrize("ending", ["onnx", "pt2"])
@pytest.mark.parametrize("kind", mostly_slow(["GRU", "LSTM", "RNN"]))
def test_an_export_becomes_a_file_that_others_run(kind, ending, tmp_path, capsys):
    if ending == "onnx":
        runtime = pytest.importorskip("onnxruntime")
    ids, expected = exported(kind, tmp_path)
    target = str(tmp_path / f"net.{ending}")
    sizes = "2,7" if (kind, ending) == ("LSTM", "onnx") else "N,7"  # torch 2.13 cannot export such a size of an LSTM
    status = main(["convert", str(tmp_path / "net-symbol.json"), target, "--input", f"data={sizes}"])
    assert status == 0, capsys.readouterr().err
    assert "verified: " in capsys.readouterr().out
    if ending == "onnx":
        session = runtime.InferenceSession(target)
        (found,) = session.run(None, {session.get_inputs()[0].name: ids})
    else:
        found = torch.export.load(target).module()(torch.from_numpy(ids)).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
def test_a_graph_of_mxnet_itself_computes_its_numbers(tmp_path):
    """MXNet's output for these ids is recorded in `021_export_and_imports.json`."""
    record = json.loads((DATA.parent / "021_export_and_imports.json").read_text())["golden/out"]
    expected = np.frombuffer(base64.b64decode(record["data"]), np.float32).reshape(record["shape"])
    found = graphs.load(str(SYMBOL), str(PARAMS))(IDS)
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-6)
    target = str(tmp_path / "encoder.pt2")
    assert main(["convert", str(SYMBOL), target, "--params", str(PARAMS), "--input", "data=2,4"]) == 0
    again = torch.export.load(target).module()(IDS)
    np.testing.assert_allclose(again.detach().numpy(), expected, atol=1e-6)


def test_a_module_trains_as_the_dialect_does(tmp_path):
    ids, _ = exported("GRU", tmp_path)
    module = graphs.load(str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0003.params"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0003.params"))
    weights = nd.array(np.linspace(-1, 1, 42).reshape(2, 7, 3))
    with mx.autograd.record(train_mode=False):
        loss = (block(nd.array(ids)) * weights).sum()
    loss.backward()
    (module(torch.from_numpy(ids)) * weights._t).sum().backward()
    for name, parameter in module.named_parameters():
        expected = block.collect_params()[name].grad().asnumpy()
        np.testing.assert_allclose(parameter.grad.numpy(), expected, atol=1e-6)
    assert {name for name, _ in module.named_buffers()} == {"net_batchnorm0_running_mean", "net_batchnorm0_running_var"}
    module.train()
    assert not torch.equal(module(torch.from_numpy(ids)), module(torch.from_numpy(ids))), "dropout is on"
    assert not mx.autograd.is_training()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.pt"], "a file of ONNX (.onnx) or of torch.export (.pt2)"),
        (["net.pt2"], "--input data=SIZES; got none"),
        (["net.pt2", "--input", "ids=2,7"], "--input data=SIZES; got ids"),
        (["net.pt2", "--input", "data=2,-7"], "must be a name and its sizes"),
        (["net.pt2", "--input", "data=2,7,9"], "the graph cannot be exported"),
        (["net.pt2", "--params", "other.params", "--input", "data=2,7"], "there is no file"),
    ],
)
def test_errors_are_one_line(arguments, message, tmp_path, capsys, monkeypatch):
    exported("GRU", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["convert", "net-symbol.json", *arguments]) != 0
    said = capsys.readouterr().err.strip()
    assert message in said
    assert "\n" not in said
    assert not Path("net.pt2").exists()


def test_values_that_the_graph_does_not_name_are_refused(tmp_path):
    exported("GRU", tmp_path)
    nd.save(str(tmp_path / "other.params"), {"arg:strange": nd.ones((1,))})
    with pytest.raises(mx.MXNetError, match="strange not in the graph"):
        graphs.load(str(tmp_path / "net-symbol.json"), str(tmp_path / "other.params"))
    (tmp_path / "broken-symbol.json").write_text("{")
    with pytest.raises(mx.MXNetError, match="broken-symbol.json"):
        graphs.load(str(tmp_path / "broken-symbol.json"))


def test_tensors_of_an_lstm_get_the_names_of_torch(tmp_path):
    exported("LSTM", tmp_path)
    assert main(["convert", str(tmp_path / "net-0003.params"), str(tmp_path / "net.pt"), "--layer-names"]) == 0
    names = set(torch.load(tmp_path / "net.pt"))
    assert {f"net_lstm0.{each}" for each in torch.nn.LSTM(6, 5, 2, bidirectional=True).state_dict()} <= names
    assert not any(name.startswith(("arg:", "aux:")) for name in names)


def ones(shape):
    return {"op": "_ones", "name": "z", "attrs": {"shape": shape}, "inputs": []}


def hostile(nodes, folder):
    """A graph with values of a few bytes: the sum of the last node's result, added to the input and to `w`."""
    last = 2 + len(nodes)
    records = [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "w", "inputs": []},
        *nodes,
        {"op": "sum", "name": "s", "attrs": {}, "inputs": [[last - 1, 0, 0]]},
        {"op": "broadcast_add", "name": "a", "inputs": [[0, 0, 0], [1, 0, 0]]},
        {"op": "broadcast_add", "name": "out", "inputs": [[last + 1, 0, 0], [last, 0, 0]]},
    ]
    path = folder / "h-symbol.json"
    path.write_text(json.dumps({"nodes": records, "arg_nodes": [0, 1], "heads": [[last + 2, 0, 0]]}))
    nd.save(str(folder / "h-0000.params"), {"arg:w": nd.ones((1,))})
    return str(path)


def inner(steps):
    body = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "_ones", "name": "o", "attrs": {"shape": "(100, 100)"}, "inputs": []},
        {"op": "broadcast_add", "name": "b", "inputs": [[0, 0, 0], [1, 0, 0]]},
    ]
    loop = {
        "op": "_foreach", "name": "l", "inputs": [[2, 0, 0]], "subgraphs": [{"nodes": body, "heads": [[2, 0, 0]]}],
        "attrs": {"in_data_locs": "(0,)", "in_state_locs": "()", "remain_locs": "()", "num_out_data": "1", "num_outputs": "1"},
    }  # fmt: skip
    return [ones(f"({steps}, 1)"), loop]


@pytest.mark.parametrize("target", mostly_slow(["x.pt2", "x.onnx"]))
@pytest.mark.parametrize(
    ("nodes", "option"),
    mostly_slow([
        ([ones("(40000, 40000)")], "--limit"),
        ([ones("(1000, 1000)"), *({"op": "dot", "name": f"d{i}", "attrs": {}, "inputs": [[2 + i, 0, 0], [2 + i, 0, 0]]}
           for i in range(7))], "--seconds"),
        ([{"op": "tile", "name": "z", "attrs": {"reps": "(40000, 40000)"}, "inputs": [[0, 0, 0]]}], "--limit"),
        ([{"op": "_sample_unique_zipfian", "name": "z", "attrs": {"range_max": "9", "shape": "(9, 999999999)"},
           "inputs": []}], "--limit"),
        (inner(100_000), "--limit"),
        ([ones("(2000, 2000)"), {"op": "_linalg_inverse", "name": "i", "attrs": {}, "inputs": [[2, 0, 0]]}], "--seconds"),
    ], 2),
)  # fmt: skip
def test_a_graph_that_needs_too_much_memory_is_refused_first(nodes, option, target, tmp_path, capsys):
    path = hostile(nodes, tmp_path)
    seconds = ["--seconds", "5", "--limit", "1G" if option == "--seconds" else "100M"]
    assert main(["convert", path, str(tmp_path / target), "--input", "data=1,1", *seconds]) == 2
    assert option in capsys.readouterr().err
    assert not (tmp_path / target).exists()


def test_any_name_of_a_variable_is_a_parameter():
    names = ["parameters", "a.b", "a_b", "forward", "training"]
    graph = mx.sym.add_n(*map(mx.sym.Variable, ["data", *names]))
    module = graphs.GraphModule(graph, {name: torch.full((2,), 10.0**n) for n, name in enumerate(names)})
    assert module(torch.zeros(2)).tolist() == [11111.0] * 2
    assert len(list(module.parameters())) == len(names)


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
def test_a_graph_is_computed_in_another_process(tmp_path):
    ids, expected = exported("GRU", tmp_path)
    arguments = [str(tmp_path / "net-symbol.json"), str(tmp_path / "net.pt2"), "--input", "data=N,7"]
    code = f"import sys; from anygru.cli import main; print(main(['convert', *{arguments}]), 'torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.endswith("0 False\n")
    again = torch.export.load(tmp_path / "net.pt2").module()(torch.from_numpy(ids)).detach().numpy()
    np.testing.assert_allclose(again, expected, atol=1e-6)
    assert main(["convert", *arguments, "--no-sandbox"]) == 0


def test_a_process_that_takes_too_long_fails(tmp_path, capsys, monkeypatch):
    exported("GRU", tmp_path)
    monkeypatch.setattr(command, "_SECONDS", -59)
    monkeypatch.setattr(command, "_RUNS", 1)
    target = tmp_path / "net.onnx"
    target.write_text("old")
    assert main(["convert", str(tmp_path / "net-symbol.json"), str(target), "--input", "data=2,7"]) == 2
    assert "too much processor time" in capsys.readouterr().err
    assert target.read_text() == "old"


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
def test_a_graph_without_a_kernel_in_onnx_runtime_is_written_and_not_verified(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    data = mx.sym.cast(mx.sym.Variable("data"), dtype="float64")
    sizes = {"parameters": (3 * 4 * (3 + 4) + 6 * 4,), "state": (1, 2, 4)}
    names = {name: mx.sym.Variable(name) for name in sizes}
    mx.sym.RNN(data, mode="gru", state_size=4, num_layers=1, **names).save(str(tmp_path / "net-symbol.json"))
    values = {f"arg:{name}": nd.ones(shape, dtype="float64") for name, shape in sizes.items()}
    nd.save(str(tmp_path / "net-0000.params"), values)
    target = tmp_path / "net.onnx"
    assert main(["convert", str(tmp_path / "net-symbol.json"), str(target), "--input", "data=5,2,3"]) == 0
    out = capsys.readouterr().out
    assert "not verified, because ONNX Runtime cannot run it" in out
    assert "verified:" not in out
    assert target.exists()


def test_the_cost_of_a_graph_bounds_its_products_and_its_results(tmp_path):
    data, weight = mx.sym.var("data"), mx.sym.var("w")
    path = str(tmp_path / "f-symbol.json")
    mx.sym.dot(mx.sym.FullyConnected(data, weight, num_hidden=5, no_bias=True), mx.sym.ones((5, 7))).save(path)
    nd.save(str(tmp_path / "f-0000.params"), {"arg:w": nd.ones((5, 3))})
    memory, work = graphs.load(path, str(tmp_path / "f-0000.params")).cost({"data": (2, 3)})
    numbers, products = 2 * 5 + 5 * 7 + 2 * 7, 2 * 3 * 5 + 2 * 5 * 7
    assert 4 * numbers <= memory <= 8 * numbers + 3 * 600
    assert products <= work <= 2 * products


def test_the_cost_of_a_window_has_each_of_its_numbers():
    data, options = mx.sym.var("data"), {"kernel": (40, 40), "name": "a"}
    convolved = mx.sym.Convolution(data, mx.sym.ones((3, 2, 40, 40)), num_filter=3, no_bias=True, **options)
    spread = mx.sym.Deconvolution(data, mx.sym.ones((2, 3, 40, 40)), num_filter=3, **options)
    pooled = [mx.sym.Pooling(data, pool_type=kind, **options) for kind in ("max", "avg", "sum")]
    outputs = 41 * 41 * 1600
    for graph, products in (
        (convolved, 3 * 2 * outputs),
        (spread, 80 * 80 * 2 * 3 * 1600),
        *((each, 2 * outputs) for each in pooled),
        (mx.sym.LRN(data, nsize=101), 2 * 80 * 80 * 101),
    ):
        _, work = graphs.GraphModule(graph, {}).cost({"data": (1, 2, 80, 80)})
        assert products <= work <= 1.1 * products
