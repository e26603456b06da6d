"""From every format to every other and back, bit for bit; a value that the target cannot express is refused with the reason."""

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from samples import DATA, ENDINGS, FILES, assert_same, model, write_arrays

import anygru
from anygru.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from anygru.checkpoints.stored import StoredTensor
from anygru.checkpoints.writing.convert import convert
from anygru.checkpoints.writing.rewriting import check_place
from anygru.checkpoints.writing.target_names import TargetNames
from anygru.cli import main
from anygru.errors import CheckpointError

_INPUT, _STATE = ["W_r", "W_z", "W"], ["U_r", "U_z", "U"]


def biases(checkpoint: Checkpoint) -> list[str]:
    return [
        f"{gru.path}/{part}/b" for gru in checkpoint.gru_layers if gru.reset == "before" for part in _INPUT + _STATE
    ]


def one_bias(checkpoint: Checkpoint, name: str) -> np.ndarray:
    """A bias of Chainer's GRU after a conversion through a format with one bias: the sum, or zeros."""
    path, part, _ = name.rsplit("/", 2)
    if part in _STATE:
        return np.zeros_like(checkpoint.stored[name].values)
    other = f"{path}/{_STATE[_INPUT.index(part)]}/b"
    return checkpoint.stored[name].values + checkpoint.stored[other].values


def every_pair(rows: Iterable[str], columns: Iterable[str], short: int) -> list[Any]:
    """All pairs. One pair of `short` is not slow; each row and each column has such a pair."""
    return [
        pytest.param(row, column, marks=[pytest.mark.slow] * ((i + j) % short > 0))
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


@pytest.mark.parametrize(("file", "target"), every_pair(FILES, ENDINGS, 3))
def test_there_and_back_is_the_same_bit_for_bit(file: str, target: str, tmp_path: Path) -> None:
    source = load_checkpoint(DATA / file)
    middle = tmp_path / ("middle" + ENDINGS[target])
    back = tmp_path / ("back" + ENDINGS[source.format])
    options = {}
    resets_before = any(gru.reset == "before" for gru in source.gru_layers)
    if resets_before and target in ("mxnet", "oneflow", "torch_json"):
        with pytest.raises(CheckpointError, match="no GRU cell with the reset before the product"):
            convert(DATA / file, middle)
        assert os.listdir(tmp_path) == []
        return
    if file == "paddle/basic.pdparams" and target in ("chainer", "hdf5"):
        options["style"] = "paddle.fluid.dygraph.rnn.GRUCell(use_cudnn_impl=False)"
    if file == "mxnet/fused.params":
        options["style"] = "mxnet.rnn.FusedRNNCell"
    report = convert(DATA / file, middle)
    # Paddle's cell has one bias where Chainer's has two
    biases_are_added = resets_before and target == "paddle" and source.format != "paddle"
    assert all(verdict.same_bits for verdict in report.verdicts) or biases_are_added
    convert(middle, back, **options)
    result = load_checkpoint(back)
    if biases_are_added:
        assert all(np.array_equal(result.stored.pop(name).values, one_bias(source, name)) for name in biases(source))
        for name in biases(source):
            source.stored.pop(name)
    numbers_became_tensors = set(source.values) & set(result.stored)
    for name in numbers_became_tensors:
        assert result.stored.pop(name).values == source.values[name]
    assert_same(source, result)
    for name, value in source.values.items():
        if name not in report.left_out and name not in numbers_became_tensors:
            assert result.values[name] == value


@pytest.mark.parametrize(("first", "second"), every_pair(ENDINGS, ENDINGS, len(ENDINGS)))
def test_along_every_pair_of_formats(first: str, second: str, tmp_path: Path) -> None:
    net = model()
    save_checkpoint(net, tmp_path / "start.pt")
    convert(tmp_path / "start.pt", tmp_path / ("first" + ENDINGS[first]))
    report = convert(tmp_path / ("first" + ENDINGS[first]), tmp_path / ("second" + ENDINGS[second]))
    assert [verdict.same_bits for verdict in report.verdicts] == [True, True]
    convert(tmp_path / ("second" + ENDINGS[second]), tmp_path / "end.pt")
    assert_same(load_checkpoint(tmp_path / "start.pt"), load_checkpoint(tmp_path / "end.pt"))
    x = torch.randn(3, 2, 3)
    gru = load_checkpoint(tmp_path / ("second" + ENDINGS[second])).gru("gru")
    assert torch.equal(gru(x)[0], net.gru(x)[0])


@pytest.mark.parametrize("target", ["chainer", "hdf5", "torch", "safetensors", "paddle"])
def test_a_cell_that_resets_before_keeps_its_formula(target: str, tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.cell = anygru.GRUCell(3, 4, reset="before")
    with torch.no_grad():
        net.cell.bias_hh.zero_()
    path = tmp_path / ("cell" + ENDINGS[target])
    save_checkpoint(net, path)
    cell = load_checkpoint(path).gru()
    assert cell.reset == "before"
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    assert torch.equal(cell(x, h), net.cell(x, h))


def test_two_biases_become_one_only_where_they_are_always_added(tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.cell = anygru.GRUCell(3, 4, reset="before").double()
    save_checkpoint(net, tmp_path / "cell.npz")
    report = convert(tmp_path / "cell.npz", tmp_path / "cell.pdparams")
    assert report.verdicts[0].difference < 1e-12
    cell = load_checkpoint(tmp_path / "cell.pdparams").gru()
    x, h = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    torch.testing.assert_close(cell(x, h), net.cell(x, h), rtol=1e-12, atol=1e-12)
    stored = load_checkpoint(tmp_path / "cell.pdparams").stored
    assert "cell._gate_bias" in stored
    assert "cell._weight_ih" not in stored


def test_formulas_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.gru = anygru.GRU(3, 4, activation="relu")
    for ending in (".pt", ".safetensors"):
        save_checkpoint(net, tmp_path / ("x" + ending))
        assert load_checkpoint(tmp_path / ("x" + ending)).gru("gru").activation == "relu"
    with pytest.raises(CheckpointError, match="activations .* have no place in a file of mxnet"):
        convert(tmp_path / "x.pt", tmp_path / "x.params")
    report = convert(tmp_path / "x.pt", tmp_path / "x.params", approximate=True)
    assert "activations" in report.approximated[0]
    net.gru = anygru.GRU(3, 4, activation=torch.sin)
    with pytest.raises(CheckpointError, match="activation is a function"):
        save_checkpoint(net, tmp_path / "x.pt")
    net.gru = anygru.GRU(3, 4, reset="before")
    with pytest.raises(CheckpointError, match="no GRU layer with the reset before"):
        save_checkpoint(net, tmp_path / "x.npz")


def test_a_gru_without_biases_gets_zeros_where_the_framework_has_some(tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.gru = anygru.GRU(3, 4, bias=False)
    for format, ending in ENDINGS.items():
        path = tmp_path / ("x" + ending)
        save_checkpoint(net, path)
        gru = load_checkpoint(path).gru("gru")
        assert gru.bias == (format in ("mxnet", "chainer", "hdf5"))
        x = torch.randn(3, 2, 3)
        torch.testing.assert_close(gru(x)[0], net.gru(x)[0], rtol=0, atol=0)


def test_dtypes_that_the_target_lacks_need_leave(tmp_path: Path) -> None:
    save_checkpoint({"a": torch.ones(3, dtype=torch.bfloat16), "b": torch.ones(2)}, tmp_path / "x.safetensors")
    with pytest.raises(
        CheckpointError, match=r"a \(Chainer's files hold no dtype bfloat16; with approximations .* float32\)"
    ):
        convert(tmp_path / "x.safetensors", tmp_path / "x.npz")
    report = convert(tmp_path / "x.safetensors", tmp_path / "x.npz", approximate=True)
    assert report.approximated == ["a: bfloat16 became float32"]
    assert load_checkpoint(tmp_path / "x.npz").tensors["a"].dtype == torch.float32


def test_values_without_room_are_left_out_and_named(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(2), "epoch": 3, "words": ["a"], "none": None}, tmp_path / "x.pt")
    left_out = {
        "paddle": set(), "oneflow": set(), "torch": set(), "chainer": {"words"}, "hdf5": {"words"},
        "mxnet": {"epoch", "words", "none"}, "safetensors": {"epoch", "words", "none"},
        "torch_json": {"epoch", "words", "none"},
    }  # fmt: skip
    for format, ending in ENDINGS.items():
        report = convert(tmp_path / "x.pt", tmp_path / ("y" + ending))
        assert set(report.left_out) == left_out[format]
        assert report.kept == ["w"]
    with pytest.raises(CheckpointError, match=r"epoch \(safetensors holds tensors only\)"):
        save_checkpoint({"epoch": 3}, tmp_path / "z.safetensors")


# -- names ----------------------------------------------------------------------------------------------------------


def test_mapping_renames_tensors_and_layers(tmp_path: Path) -> None:
    save_checkpoint(model(), tmp_path / "x.pt")
    names = {"gru": "encoder.rnn", "linear.": "head.", "linear.bias": "b"}
    report = convert(tmp_path / "x.pt", tmp_path / "y.npz", mapping=names | {"gru": "encoder/rnn"})
    checkpoint = load_checkpoint(tmp_path / "y.npz")
    assert {"encoder/rnn/0/w0", "head.weight", "b", "cell/w0"} <= set(checkpoint.stored)
    assert report.renamed == {"linear.weight": "head.weight", "linear.bias": "b"}
    assert [gru.path for gru in checkpoint.gru_layers] == ["encoder/rnn", "cell"]


def test_the_time_of_a_mapping_is_in_proportion_to_its_size() -> None:
    names = TargetNames({f"layers/{number}": f"blocks/{number}" for number in range(10_000)})
    begin = time.process_time()
    renamed = [names.rename(f"layers/{number}/W") for number in range(10_000)]
    assert time.process_time() - begin < 2  # each name with each entry takes 15 s
    assert renamed[123] == "blocks/123/W"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"nothing": "x"}, "no layer has the name 'nothing'"),
        ({"linear.bias": "linear.weight"}, "two values would get the name 'linear.weight'"),
        ({"gru.weight_ih_l0": "w"}, "which no GRU of"),
        ({"cell.weight_ih": "other.weight_ih"}, "torn apart"),
    ],
)
def test_mapping_with_a_mistake_is_refused(names: dict[str, str], words: str, tmp_path: Path) -> None:
    save_checkpoint(model(), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match=words):
        convert(tmp_path / "x.pt", tmp_path / "y.pdparams", mapping=names)
    assert os.listdir(tmp_path) == ["x.pt"]


def test_style_chooses_among_the_targets_layouts(tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.gru = anygru.GRU(3, 4)
    save_checkpoint(net, tmp_path / "x.pt")
    convert(tmp_path / "x.pt", tmp_path / "a.params")
    assert "gru._unfused.0.i2h_weight" in load_checkpoint(tmp_path / "a.params").stored
    convert(tmp_path / "x.pt", tmp_path / "b.params", style="mxnet.gluon.rnn.GRU (parameters' names)")
    assert "gru_l0_i2h_weight" in load_checkpoint(tmp_path / "b.params").stored
    with pytest.raises(CheckpointError, match="style 'x' is not one of mxnet's"):
        convert(tmp_path / "x.pt", tmp_path / "c.params", style="x")


@pytest.mark.parametrize(
    ("other", "expected", "call"),
    [
        (None, "gru._unfused.0.i2h_weight", "Block.load_parameters reads"),
        ("w", "gru._unfused.0.i2h_weight", "Block.load_parameters reads"),
        ("dense.weight", "gru._unfused.0.i2h_weight", "Block.load_parameters reads"),
        ("dense0_weight", "gru_l0_i2h_weight", "collect_params().load"),
    ],
)
def test_the_names_of_a_file_for_mxnet_fit_one_of_its_calls(
    other: str | None, expected: str, call: str, tmp_path: Path
) -> None:
    """MXNet 1.9.1 reads a file by the attributes' names where any name has a dot, otherwise by the parameters'."""
    state = {f"gru.{name}": value for name, value in torch.nn.GRU(3, 4).state_dict().items()}
    save_checkpoint({**state, **({other: torch.ones(4)} if other else {})}, tmp_path / "x.pt")
    report = convert(tmp_path / "x.pt", tmp_path / "y.params")
    assert expected in load_checkpoint(tmp_path / "y.params").stored
    assert any(call in note for note in report.notes)


def test_layers_and_cells_by_parameter_names_go_there_and_back(tmp_path: Path) -> None:
    """A file of MXNet's `ParameterDict.save`, with names without dots: all come back, the cell's included."""
    gru, cell = torch.nn.GRU(3, 4), torch.nn.GRUCell(3, 4)
    names = {"weight_ih": "i2h_weight", "weight_hh": "h2h_weight", "bias_ih": "i2h_bias", "bias_hh": "h2h_bias"}
    state = {"net0_dense0_weight": torch.randn(2, 4)}
    state |= {f"net0_gru0_l0_{new}": getattr(gru, f"{old}_l0").detach() for old, new in names.items()}
    state |= {f"net0_gru1_{new}": getattr(cell, old).detach() for old, new in names.items()}
    save_checkpoint(state, tmp_path / "x.params")
    convert(tmp_path / "x.params", tmp_path / "x.pt")
    assert "net0_gru1.weight_ih" in load_checkpoint(tmp_path / "x.pt").stored
    convert(tmp_path / "x.pt", tmp_path / "back.params")
    back = load_checkpoint(tmp_path / "back.params").tensors
    assert set(back) == set(state)
    assert all(torch.equal(back[name], tensor) for name, tensor in state.items())


def test_source_and_target_must_differ(tmp_path: Path) -> None:
    save_checkpoint(model(), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="the same"):
        convert(tmp_path / "x.pt", tmp_path / "." / "x.pt")


def test_nesting_is_kept_where_the_target_can_be_nested(tmp_path: Path) -> None:
    net = model()
    torch.save({"net": {"model": net.state_dict()}, "more": [{"t": torch.ones(1)}, 2]}, tmp_path / "x.pt")
    for ending in (".pdparams", ""):
        convert(tmp_path / "x.pt", tmp_path / ("y" + ending))
        convert(tmp_path / ("y" + ending), tmp_path / "z.pt")
        state = torch.load(tmp_path / "z.pt", weights_only=True)
        assert list(state) == ["net", "more"]
        twin = model()
        twin.load_state_dict(state["net"]["model"])
        assert state["more"][0]["t"].item() == 1
        assert torch.equal(twin.gru.weight_hh_l1_reverse, net.gru.weight_hh_l1_reverse)


# -- finding ----------------------------------------------------------------------------------------------------------


def test_names_alone_make_no_gru(tmp_path: Path) -> None:
    three, four = np.zeros((12, 3), np.float32), np.zeros((12, 4), np.float32)
    path = write_arrays(
        tmp_path / "x.safetensors",
        {
            "rnn.weight_ih_l0": np.zeros((4, 3), np.float32),  # a plain RNN
            "rnn.weight_hh_l0": np.zeros((4, 4), np.float32),
            "lstm.weight_ih_l0": np.zeros((16, 3), np.float32),
            "lstm.weight_hh_l0": np.zeros((16, 4), np.float32),
            "projected.weight_ih_l0": three,  # an LSTM of 3 with a projection to 4
            "projected.weight_hh_l0": four,
            "projected.weight_hr_l0": np.zeros((4, 3), np.float32),
            "half.weight_hh_l0": four,  # no weight_ih
            "gap.weight_ih_l0": three,
            "gap.weight_hh_l0": four,
            "gap.weight_ih_l2": four,
            "gap.weight_hh_l2": four,
            "mixed.weight_ih_l0": three.astype(np.float64),
            "mixed.weight_hh_l0": four,
            "whole.weight_ih_l0": np.zeros((12, 3), np.int64),
            "whole.weight_hh_l0": np.zeros((12, 4), np.int64),
            "torn.weight_ih_l0": three,
            "torn.weight_hh_l0": four,
            "torn.bias_ih_l0": np.zeros(11, np.float32),
            "real.weight_ih_l0": three,
            "real.weight_hh_l0": four,
        },
    )
    assert [gru.path for gru in load_checkpoint(path).gru_layers] == ["real"]


def test_every_frameworks_names_are_found_in_any_file(tmp_path: Path) -> None:
    for source in ("mxnet/model.params", "chainer/model.npz", "paddle/basic.pdparams"):
        arrays = {name: stored.values for name, stored in load_checkpoint(DATA / source).stored.items()}
        path = write_arrays(tmp_path / "x.safetensors", arrays)
        found, expected = load_checkpoint(path).gru_layers, load_checkpoint(DATA / source).gru_layers
        assert {gru.describe() for gru in found} == {gru.describe() for gru in expected}


def test_a_missing_bias_is_zeros(tmp_path: Path) -> None:
    gru = torch.nn.GRU(3, 4)
    state = {name: tensor for name, tensor in gru.state_dict().items() if name != "bias_hh_l0"}
    torch.save(state, tmp_path / "x.pt")
    checkpoint = load_checkpoint(tmp_path / "x.pt")
    assert "only bias_ih is there" in checkpoint.gru_layers[0].notes[0]
    with torch.no_grad():
        gru.bias_hh_l0.zero_()
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(checkpoint.gru()(x)[0], gru(x)[0])


def test_asking_for_the_wrong_gru_lists_the_right_ones(tmp_path: Path) -> None:
    save_checkpoint(model(), tmp_path / "x.pt")
    checkpoint = load_checkpoint(tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="several GRUs; there are: 'gru', 'cell'"):
        checkpoint.gru()
    with pytest.raises(CheckpointError, match="no GRU named 'rnn'"):
        checkpoint.gru("rnn")


def test_aliases_that_differ_are_kept_apart(tmp_path: Path) -> None:
    arrays = {
        name: stored.values.copy() for name, stored in load_checkpoint(DATA / "paddle/model.pdparams").stored.items()
    }
    arrays["gru.0.cell_fw.weight_hh"][0, 0] += 1
    checkpoint = load_checkpoint(write_arrays(tmp_path / "x.pdparams", arrays))
    gru = checkpoint.find("gru")
    assert "gru.0.cell_fw.weight_hh" not in gru.names
    assert "gru.0.cell_bw.weight_hh" in gru.names


# -- other layers ---------------------------------------------------------------------------------------------------


def layers() -> torch.nn.Module:
    net = torch.nn.Module()
    net.head = torch.nn.Linear(3, 3)
    net.wide = torch.nn.Linear(3, 5)
    net.plain = torch.nn.Linear(4, 4, bias=False)
    net.embedding = torch.nn.Embedding(7, 4)
    net.bn = torch.nn.BatchNorm1d(3)
    net.ln = torch.nn.LayerNorm(4)
    net.conv = torch.nn.Conv2d(3, 4, 2)
    return net


def test_linear_layers_are_transposed_to_and_from_paddle(tmp_path: Path) -> None:
    net = layers()
    torch.save(net.state_dict(), tmp_path / "x.pt")
    report = convert(tmp_path / "x.pt", tmp_path / "x.pdparams")
    assert set(report.transposed) == {"head.weight", "wide.weight"}
    assert report.undecided == ["plain.weight"]
    stored = load_checkpoint(tmp_path / "x.pdparams").tensors
    assert torch.equal(stored["head.weight"], net.head.weight.T)
    assert stored["wide.weight"].shape == (3, 5)
    assert torch.equal(stored["plain.weight"], net.plain.weight)
    assert torch.equal(stored["embedding.weight"], net.embedding.weight)
    assert torch.equal(stored["conv.weight"], net.conv.weight)
    back = convert(tmp_path / "x.pdparams", tmp_path / "y.npz")
    assert set(back.transposed) == {"head.weight", "wide.weight"}
    assert torch.equal(load_checkpoint(tmp_path / "y.npz").tensors["wide.weight"], net.wide.weight)
    assert not convert(tmp_path / "x.pt", tmp_path / "z.npz").transposed


def test_recurrent_layers_of_paddle_become_torchs(tmp_path: Path) -> None:
    report = convert(DATA / "paddle/others.pdparams", tmp_path / "x.pt")
    assert report.undecided == []
    assert set(report.transposed) == {"fc.weight"}
    assert "20 further names of the same tensors that Paddle alone has" in report.notes[0]
    net = torch.nn.ModuleDict({"emb": torch.nn.Embedding(7, 3), "lstm": torch.nn.LSTM(3, 4, 2, bidirectional=True)})
    net.update({"rnn": torch.nn.RNN(3, 4), "fc": torch.nn.Linear(8, 2)})
    net.load_state_dict(torch.load(tmp_path / "x.pt", weights_only=True))
    convert(tmp_path / "x.pt", tmp_path / "back.pdparams", mapping={"lstm": "encoder"})
    assert "encoder.1.cell_bw.weight_ih" in load_checkpoint(tmp_path / "back.pdparams").stored


def test_an_optimizer_of_paddle_becomes_torchs(tmp_path: Path) -> None:
    """beta1 is 0.8 in the file's program, which took three steps; see make.py."""
    convert(DATA / "paddle/others.pdparams", tmp_path / "x.pt")
    arguments = [
        str(DATA / "paddle/others.pdopt"),
        str(tmp_path / "adam.pt"),
        "--model",
        str(DATA / "paddle/others.pdparams"),
    ]
    assert main(["convert", *arguments, "--betas", "0.8", "0.999", "--lr", "0.01"]) == 0
    net = torch.nn.ModuleDict({"emb": torch.nn.Embedding(7, 3), "lstm": torch.nn.LSTM(3, 4, 2, bidirectional=True)})
    net.update({"rnn": torch.nn.RNN(3, 4), "fc": torch.nn.Linear(8, 2)})
    net.load_state_dict(torch.load(tmp_path / "x.pt", weights_only=True))
    adam = torch.optim.Adam(net.parameters())
    adam.load_state_dict(torch.load(tmp_path / "adam.pt", weights_only=True))
    words = net["emb"](torch.tensor([[1, 2, 3]])).transpose(0, 1)
    expected = dict(load_checkpoint(DATA / "paddle/others.pdopt").stored)
    (moment,) = [name for name in expected if name.startswith("linear_") and name.endswith(".w_0_moment1_0")]
    state = adam.state[net["fc"].weight]
    assert torch.equal(state["exp_avg"], expected[moment].tensor().T)
    assert state["step"] == 3
    (net["fc"](net["lstm"](words)[0]).sum() + net["rnn"](words)[0].sum()).backward()
    adam.step()
    assert adam.param_groups[0]["betas"] == (0.8, 0.999)


def test_frozen_parameters_and_buffers_have_no_moments(tmp_path: Path) -> None:
    from anygru.checkpoints.formats import paddle
    from anygru.checkpoints.writing.optimizer import adam_state

    state, weights = paddle.load(DATA / "paddle/others.pdopt"), paddle.load(DATA / "paddle/others.pdparams")
    table = weights[paddle.NAME_TABLE]
    weights["count"], table["count"] = np.zeros(1, "float32"), "generated_tensor_3"
    weights["zeros"], table["zeros"] = np.zeros(1, "float32"), "eager_tmp_3"  # of paddle.zeros, as 2.6.2 names it
    whole = adam_state(DATA / "paddle/others.pdopt", DATA / "paddle/others.pdparams", betas=(0.8, 0.999), lr=0.1)
    paddle.save(
        {key: value for key, value in state.items() if not key.startswith(table["fc.weight"])}, tmp_path / "x.pdopt"
    )
    paddle.save(weights, tmp_path / "x.pdparams")
    found = adam_state(tmp_path / "x.pdopt", tmp_path / "x.pdparams", betas=(0.8, 0.999), lr=0.1)
    assert found["param_groups"] == whole["param_groups"]
    assert len(found["state"]) == len(whole["state"]) - 1
    assert all(torch.equal(entry["exp_avg"], whole["state"][key]["exp_avg"]) for key, entry in found["state"].items())
    paddle.save({"LR_Scheduler": {"last_lr": 0.1}}, tmp_path / "sgd.pdopt")
    with pytest.raises(CheckpointError, match="only the state of Adam and AdamW"):
        adam_state(tmp_path / "sgd.pdopt", tmp_path / "x.pdparams")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lr": 0.1}, "betas .* would have made .* updates: the optimizer had others"),
        ({"betas": (0.8, 0.999)}, "no learning rate is in it"),
        ({"betas": (0.8, 0.999), "lr": 0.1, "order": ["x"]}, "no parameter 'x'"),
    ],
    ids=str,
)
def test_an_optimizer_that_does_not_fit_is_refused(options: dict[str, object], words: str) -> None:
    from anygru.checkpoints.writing.optimizer import adam_state

    with pytest.raises(CheckpointError, match=words):
        adam_state(DATA / "paddle/others.pdopt", DATA / "paddle/others.pdparams", **options)


def test_an_lstm_of_mxnet_gets_torchs_names(tmp_path: Path) -> None:
    convert(DATA / "mxnet/lstm.params", tmp_path / "x.pt", layer_names=True)
    lstm = torch.nn.LSTM(4, 3)
    lstm.load_state_dict(torch.load(tmp_path / "x.pt", weights_only=True))
    source = load_checkpoint(DATA / "mxnet/lstm.params").tensors
    assert torch.equal(lstm.weight_hh_l0, source["_unfused.0.h2h_weight"])
    arrays = {f"arg:lstm0_{side}1_{of}2h_weight": np.zeros((8, 2), np.float32) for side in "lr" for of in "ih"}
    report = convert(write_arrays(tmp_path / "y.params", arrays), tmp_path / "y.pt")
    assert report.other_names["arg:lstm0_r1_h2h_weight"] == "lstm0.weight_hh_l1_reverse"


def test_names_of_an_export_lose_their_kind(tmp_path: Path) -> None:
    report = convert(DATA / "mxnet/exported-0003.params", tmp_path / "x.pt", layer_names=True)
    names = set(load_checkpoint(tmp_path / "x.pt").stored)
    assert {"model_gru0.weight_ih_l0", "model_dense0_weight"} < names
    assert not [name for name in names if ":" in name]
    assert report.renamed["arg:model_dense0_bias"] == "model_dense0_bias"


def test_linear_layers_of_a_module_are_saved_in_paddles_way(tmp_path: Path) -> None:
    net = layers()
    save_checkpoint(net, tmp_path / "x.pdparams")
    stored = load_checkpoint(tmp_path / "x.pdparams").tensors
    assert torch.equal(stored["wide.weight"], net.wide.weight.T)
    assert torch.equal(stored["plain.weight"], net.plain.weight.T)
    assert torch.equal(stored["embedding.weight"], net.embedding.weight)
    convert(tmp_path / "x.pdparams", tmp_path / "x.pt", transpose=["plain.weight"])
    assert all(
        torch.equal(value, net.state_dict()[name])
        for name, value in torch.load(tmp_path / "x.pt", weights_only=True).items()
    )


def test_parts_in_chainers_paths_get_chainers_names_again(tmp_path: Path) -> None:
    arrays = {"e/W": np.ones((7, 4), np.float32), "l/W": np.ones((3, 4), np.float32), "l/b": np.ones(3, np.float32)}
    np.savez(tmp_path / "m.npz", **arrays)
    convert(tmp_path / "m.npz", tmp_path / "m.pt", layer_names=True)
    assert "e/weight" in load_checkpoint(tmp_path / "m.pt").stored
    report = convert(tmp_path / "m.pt", tmp_path / "back.npz")
    assert set(load_checkpoint(tmp_path / "back.npz").stored) == set(arrays)
    assert report.renamed["e/weight"] == "e/W"
    assert report.other_names == {}


def test_the_user_decides_about_transposition(tmp_path: Path) -> None:
    net = layers()
    torch.save(net.state_dict(), tmp_path / "x.pt")
    report = convert(tmp_path / "x.pt", tmp_path / "x.pdparams", transpose=["pla*.weight"], no_transpose=["head.*"])
    assert report.transposed == {"wide.weight": "a linear layer, by its bias wide.bias", "plain.weight": "as asked for"}
    assert report.undecided == []
    stored = load_checkpoint(tmp_path / "x.pdparams").tensors
    assert torch.equal(stored["plain.weight"], net.plain.weight.T)
    assert torch.equal(stored["head.weight"], net.head.weight)
    with pytest.raises(CheckpointError, match="no tensor of two dimensions is called 'nothing'"):
        convert(tmp_path / "x.pt", tmp_path / "x.pdparams", transpose=["nothing"])
    with pytest.raises(CheckpointError, match=r"no tensor of two dimensions is called 'bn\.\*'"):
        convert(tmp_path / "x.pt", tmp_path / "x.pdparams", transpose=["bn.*"])


def test_parts_of_layers_get_the_targets_names_if_wanted(tmp_path: Path) -> None:
    torch.save(layers().state_dict(), tmp_path / "x.pt")
    report = convert(tmp_path / "x.pt", tmp_path / "x.params")
    assert report.other_names["ln.weight"] == "ln.gamma"
    assert "ln.weight" in load_checkpoint(tmp_path / "x.params").stored
    wanted = {
        ".params": {"head.weight", "head.bias", "bn.gamma", "bn.beta", "bn.running_mean", "bn.running_var", "ln.gamma"},
        ".npz": {"head.W", "head.b", "bn.gamma", "bn.beta", "bn.avg_mean", "bn.avg_var", "ln.beta", "conv.W"},
        ".pdparams": {"head.weight", "head.bias", "bn.weight", "bn.bias", "bn._mean", "bn._variance", "ln.weight"},
    }
    for ending, names in wanted.items():
        convert(tmp_path / "x.pt", tmp_path / ("y" + ending), layer_names=True)
        assert names <= set(load_checkpoint(tmp_path / ("y" + ending)).stored)
        convert(tmp_path / ("y" + ending), tmp_path / "back.pt", layer_names=True)
        start, back = load_checkpoint(tmp_path / "x.pt"), load_checkpoint(tmp_path / "back.pt")
        if ending != ".npz":  # the others do not count batches
            del start.stored["bn.num_batches_tracked"]
        assert_same(start, back)
    both = convert(tmp_path / "x.pt", tmp_path / "z.npz", layer_names=True, mapping={"bn": "norm"})
    assert both.renamed["bn.running_mean"] == "norm.avg_mean"


# -- the place ------------------------------------------------------------------------------------------------------


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    for name in (".y.npz.unverified", ".y.npz.tmp"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    save_checkpoint(model(), tmp_path / "x.pt")
    convert(tmp_path / "x.pt", tmp_path / "y.npz")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / ".y.npz.unverified").is_symlink()


@pytest.mark.parametrize("letter", ["a", "\N{GRINNING FACE}"])
def test_long_names_can_be_written(letter: str, tmp_path: Path) -> None:
    save_checkpoint(model(), tmp_path / "x.pt")
    target = tmp_path / (letter * (240 // len(letter.encode())) + ".npz")
    assert convert(tmp_path / "x.pt", target).verdicts[0].same_bits
    save_checkpoint(model(), target)
    assert sorted(os.listdir(tmp_path)) == sorted(["x.pt", target.name])


@pytest.mark.parametrize("ending", [".npz", ".pt", ""])
def test_conversions_to_one_target_do_not_disturb_each_other(ending: str, tmp_path: Path) -> None:
    target = tmp_path / ("target" + ending)
    for number in range(6):
        torch.save({"a": torch.full((2000, 50), float(number))}, tmp_path / f"{number}.pt")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: convert(tmp_path / f"{number}.pt", target), range(6)))
    values = load_checkpoint(target).tensors["a"]
    assert (values == values[0, 0]).all()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("looks", range(1, 5))
def test_a_folder_that_appears_while_its_place_is_checked(looks: int, tmp_path: Path, monkeypatch: Any) -> None:
    target, calls, real = tmp_path / "target", [0], os.stat

    def stat(path: Any, *rest: Any, **options: Any) -> os.stat_result:
        try:
            return real(path, *rest, **options)
        finally:
            calls[0] += str(path) == str(target)
            if calls[0] == looks and not target.exists():
                os.mkdir(target)  # another process writes there

    monkeypatch.setattr(os, "stat", stat)
    check_place(target, "oneflow")


def test_a_folder_without_its_index_is_written_anew(tmp_path: Path) -> None:
    target = tmp_path / "state"
    save_checkpoint({"a": torch.ones(3), "b": torch.ones(2)}, target)
    torch.save({"a": torch.zeros(3)}, tmp_path / "x.pt")
    os.unlink(target / "pickled_data")  # as a write that was cut short leaves it
    assert all(name.startswith("tensor_") for name in os.listdir(target))
    convert(tmp_path / "x.pt", target)
    assert torch.equal(load_checkpoint(target).tensors["a"], torch.zeros(3))


def test_a_folder_stays_as_it_was_if_the_result_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint({"a": torch.ones(3)}, tmp_path / "state")
    save_checkpoint({"a": torch.zeros(3)}, tmp_path / "x.pt")
    before = sorted(os.listdir(tmp_path / "state"))
    monkeypatch.setattr(StoredTensor, "same_bits", lambda one, two: False)
    with pytest.raises(CheckpointError, match="state: a: the tensor differs"):
        convert(tmp_path / "x.pt", tmp_path / "state")
    assert sorted(os.listdir(tmp_path / "state")) == before
    assert torch.equal(load_checkpoint(tmp_path / "state").tensors["a"], torch.ones(3))


def test_a_nan_is_converted_as_its_bits(tmp_path: Path) -> None:
    net = model()
    with torch.no_grad():
        net.gru.weight_ih_l0[0, 0] = float("nan")
        net.cell.bias_ih[2] = float("inf")
    save_checkpoint(net, tmp_path / "x.pt")
    for format, ending in ENDINGS.items():
        if format == "torch_json":
            with pytest.raises(CheckpointError, match=r"gru\.weight_ih_l0 \(JSON has no NaN and no infinity\)"):
                convert(tmp_path / "x.pt", tmp_path / ("y" + ending))
            continue
        report = convert(tmp_path / "x.pt", tmp_path / ("y" + ending))
        assert [verdict.same_bits for verdict in report.verdicts] == [True, True]


def test_a_nan_that_appears_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(model(), tmp_path / "x.pt")
    runs = iter([(np.zeros(3), np.zeros(3)), (np.full(3, np.nan), np.zeros(3))])
    monkeypatch.setattr("anygru.checkpoints.verify.run", lambda *unused: next(runs))
    with pytest.raises(CheckpointError, match="differ from the source's by inf"):
        convert(tmp_path / "x.pt", tmp_path / "y.npz")
