"""Cells that become the directions of a GRU, layers that become GRUs, and back: computed by torch on both sides."""

import json
from pathlib import Path

import pytest
import torch
from samples import ENDINGS
from torch import nn

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.writing.convert import convert
from anygru.errors import CheckpointError

X = torch.randn(6, 2, 5, generator=torch.Generator().manual_seed(1))
KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def saved(path: Path, **modules: nn.Module) -> nn.ModuleDict:
    net = nn.ModuleDict(modules)
    torch.save(net.state_dict(), path)
    return net


def loaded(path: Path, name: str, layer: nn.Module) -> nn.Module:
    """A layer of torch with the tensors of a file below a name, all of them and no others."""
    state = torch.load(path, weights_only=True)
    layer.load_state_dict(
        {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
    )
    return layer


def by_cells(forward: nn.GRUCell, backward: nn.GRUCell) -> torch.Tensor:
    def run(cell: nn.GRUCell, x: torch.Tensor) -> torch.Tensor:
        h, states = torch.zeros(2, 4), []
        for one in x:
            h = cell(one, h)
            states.append(h)
        return torch.stack(states)

    return torch.cat((run(forward, X), run(backward, X.flip(0)).flip(0)), -1)


@pytest.mark.parametrize("ending", ENDINGS.values())
def test_two_cells_become_a_bidirectional_gru_and_back(ending: str, tmp_path: Path) -> None:
    net = saved(tmp_path / "cells.pt", f=nn.GRUCell(5, 4), b=nn.GRUCell(5, 4), head=nn.Linear(8, 2))
    there = {"f": "enc:forward", "b": "enc:reverse", "head": "out"}
    report = convert(tmp_path / "cells.pt", tmp_path / f"bi{ending}", mapping=there)
    assert [verdict.same_bits for verdict in report.verdicts] == [True]
    assert load_checkpoint(tmp_path / f"bi{ending}").tensors.keys() >= {"out.weight"}
    convert(tmp_path / f"bi{ending}", tmp_path / "bi_again.pt", bidirectional=["enc"])
    gru = loaded(tmp_path / "bi_again.pt", "enc", nn.GRU(5, 4, bidirectional=True))
    torch.testing.assert_close(gru(X)[0], by_cells(net["f"], net["b"]))
    back = {"enc:forward": "f:cell", "enc:reverse": "b:cell", "out": "head"}
    report = convert(tmp_path / f"bi{ending}", tmp_path / "back.pt", mapping=back, bidirectional=["enc"])
    assert all(verdict.same_bits for verdict in report.verdicts)
    state = torch.load(tmp_path / "back.pt", weights_only=True)
    assert {name for name in state if name[0] in "fb"} == {name for name in net.state_dict() if name[0] in "fb"}
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items() if name[0] in "fb")


def test_grus_become_the_layers_of_one_and_back(tmp_path: Path) -> None:
    net = saved(tmp_path / "two.pt", a=nn.GRU(5, 4), b=nn.GRU(4, 4, num_layers=2))
    report = convert(tmp_path / "two.pt", tmp_path / "one.pt", mapping={"a": "rnn:l0", "b": "rnn:l1"})
    assert [verdict.same_bits for verdict in report.verdicts] == [True]
    assert "torch.nn.GRU" in report.verdicts[0].by
    gru = loaded(tmp_path / "one.pt", "rnn", nn.GRU(5, 4, num_layers=3))
    torch.testing.assert_close(gru(X)[0], net["b"](net["a"](X)[0])[0])
    parts = {"rnn:l0": "x", "rnn:l1": "y", "rnn:l2": "z:cell"}
    assert len(convert(tmp_path / "one.pt", tmp_path / "three.pt", mapping=parts).verdicts) == 3
    x, y = loaded(tmp_path / "three.pt", "x", nn.GRU(5, 4)), loaded(tmp_path / "three.pt", "y", nn.GRU(4, 4))
    assert torch.equal(
        y(x(X)[0])[0], nn.GRU.forward(loaded(tmp_path / "three.pt", "y", nn.GRU(4, 4)), net["a"](X)[0])[0]
    )
    loaded(tmp_path / "three.pt", "z", nn.GRUCell(4, 4))


def test_layers_and_directions_are_cut_at_once(tmp_path: Path) -> None:
    net = saved(tmp_path / "deep.pt", enc=nn.GRU(5, 4, num_layers=2, bidirectional=True))
    convert(tmp_path / "deep.pt", tmp_path / "layers.pt", mapping={"enc:l0": "a", "enc:l1": "b"})
    a = loaded(tmp_path / "layers.pt", "a", nn.GRU(5, 4, bidirectional=True))
    b = loaded(tmp_path / "layers.pt", "b", nn.GRU(8, 4, bidirectional=True))
    torch.testing.assert_close(b(a(X)[0])[0], net["enc"](X)[0])
    parts = {f"enc:l{layer}:{side}": f"{side}{layer}" for layer in (0, 1) for side in ("forward", "reverse")}
    report = convert(tmp_path / "deep.pt", tmp_path / "parts.pt", mapping=parts)
    assert any("reads forward now" in note for gru, *_ in report.converted for note in gru.notes)
    back = {new: old for old, new in parts.items()}
    convert(tmp_path / "parts.pt", tmp_path / "again.pt", mapping=back)
    again = torch.load(tmp_path / "again.pt", weights_only=True)
    assert all(torch.equal(again[name], value) for name, value in net.state_dict().items())


def test_a_mapping_of_each_tensor_cuts_as_well(tmp_path: Path) -> None:
    net = saved(tmp_path / "cells.pt", f=nn.GRUCell(5, 4), b=nn.GRUCell(5, 4))
    names = {f"{c}.{kind}": f"enc.{kind}_l0{'_reverse' * (c == 'b')}" for c in "fb" for kind in KINDS}
    convert(tmp_path / "cells.pt", tmp_path / "bi.pt", mapping=names)
    gru = loaded(tmp_path / "bi.pt", "enc", nn.GRU(5, 4, bidirectional=True))
    torch.testing.assert_close(gru(X)[0], by_cells(net["f"], net["b"]))
    two = saved(tmp_path / "two.pt", a=nn.GRU(5, 4), b=nn.GRU(4, 4))
    names = {f"{c}.{kind}_l0": f"rnn.{kind}_l{i}" for i, c in enumerate("ab") for kind in KINDS}
    convert(tmp_path / "two.pt", tmp_path / "one.pt", mapping=names)
    gru = loaded(tmp_path / "one.pt", "rnn", nn.GRU(5, 4, num_layers=2))
    torch.testing.assert_close(gru(X)[0], two["b"](two["a"](X)[0])[0])


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras computes as well, if imported
def test_layers_go_into_grus_of_a_keras_file_and_back(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    net = saved(tmp_path / "rnn.pt", rnn=nn.GRU(5, 4, num_layers=2))
    with h5py.File(tmp_path / "like.weights.h5", "w") as file:
        for name, features in (("gru", 5), ("gru_1", 4)):
            for number, shape in enumerate(((features, 12), (4, 12), (2, 12))):
                file[f"layers/{name}/cell/vars/{number}"] = torch.zeros(shape).numpy()
    there = {"rnn:l0": "layers/gru", "rnn:l1": "layers/gru_1"}
    convert(tmp_path / "rnn.pt", tmp_path / "x.weights.h5", like=tmp_path / "like.weights.h5", mapping=there)
    convert(tmp_path / "x.weights.h5", tmp_path / "y.pt", mapping={new: old for old, new in there.items()})
    torch.testing.assert_close(loaded(tmp_path / "y.pt", "rnn", nn.GRU(5, 4, num_layers=2))(X)[0], net["rnn"](X)[0])


def test_grus_of_rtneural_become_one_and_keep_their_order(tmp_path: Path) -> None:
    save_checkpoint(nn.Sequential(nn.GRU(1, 3), nn.GRU(3, 3), nn.Linear(3, 1), nn.Tanh()), tmp_path / "x.json")
    convert(tmp_path / "x.json", tmp_path / "y.json", mapping={"0": "rnn:l0", "1": "rnn:l1"})
    first, second = (json.loads((tmp_path / name).read_text())["layers"] for name in ("x.json", "y.json"))
    assert [layer["name"] for layer in second] == ["rnn", "rnn", "2", "3"]
    assert [layer["weights"] for layer in first] == [layer["weights"] for layer in second]


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"f": "enc:reverse"}, "'enc:l0:forward' is missing"),
        ({"f": "rnn:l1"}, "'rnn:l0' is missing"),
        ({"x": "enc:reverse"}, "'x': the file has no GRU 'x'; there are: 'f', 'b', 'wide', 'deep', 'two'"),
        ({"f": "enc:forward", "b": "enc:forward"}, "two parts become enc:l0:forward"),
        ({"f": "enc:forward", "wide": "enc:reverse"}, "hidden_size of 'wide' is 6, and of 'f' 4"),
        ({"f": "rnn:l0", "b": "rnn:l1"}, "'rnn:l1' takes 4 inputs, and 'b' 5"),
        ({"deep:l0": "a"}, "'deep:l1' has no new place"),
        ({"deep:l0": "a", "deep": "b:l0"}, "'deep:l0' has two new places"),
        ({"deep:l2": "a"}, r"there is no such part in torch\.nn\.GRU\(5, 4\)"),
        ({"two": "enc:forward"}, "has two directions, and 'two' leads to one"),
        ({"deep": "a:cell"}, "a cell has one layer and one direction"),
        ({"deep:cell": "a"}, "`cell` belongs behind the new name"),
        ({"deep:l0": "f", "deep:l1": "g"}, "the file has another GRU 'f'"),
    ],
    ids=str,
)
def test_a_part_that_does_not_fit_is_refused_by_name(mapping: dict[str, str], words: str, tmp_path: Path) -> None:
    cells = {"f": nn.GRUCell(5, 4), "b": nn.GRUCell(5, 4), "wide": nn.GRUCell(5, 6)}
    saved(tmp_path / "x.pt", **cells, deep=nn.GRU(5, 4, num_layers=2), two=nn.GRU(5, 4, bidirectional=True))
    with pytest.raises(CheckpointError, match=words):
        convert(tmp_path / "x.pt", tmp_path / "y.pt", mapping=mapping)
    assert not (tmp_path / "y.pt").exists()


def test_formulas_and_frozen_layers_are_not_mixed(tmp_path: Path) -> None:
    net = nn.Module()
    net.a, net.b = anygru.GRU(4, 4), anygru.GRU(4, 4, reset="before")
    save_checkpoint(net, tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="reset of 'b:l0' is 'before', and of 'a:l0' 'after'"):
        convert(tmp_path / "x.pt", tmp_path / "y.pt", mapping={"a": "rnn:l0", "b": "rnn:l1"})
    net.b = anygru.GRU(4, 4).freeze("int8")
    save_checkpoint(net, tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="its weights are frozen"):
        convert(tmp_path / "x.pt", tmp_path / "y.pt", mapping={"a": "rnn:l0", "b": "rnn:l1"})
    net.a = anygru.GRU(4, 4, reset="before", activation="relu")
    net.b = anygru.GRU(4, 4, reset="before", activation="relu")
    save_checkpoint(net, tmp_path / "x.pt")
    convert(tmp_path / "x.pt", tmp_path / "y.pt", mapping={"a": "rnn:l0", "b": "rnn:l1"})
    rnn, x = load_checkpoint(tmp_path / "y.pt").gru("rnn"), torch.randn(3, 2, 4)
    torch.testing.assert_close(rnn(x)[0], net.b(net.a(x)[0])[0])
