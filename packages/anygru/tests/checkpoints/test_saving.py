"""Values, names and places of saved files: each is read back, or is refused before the file is touched."""

import os
from pathlib import Path

import pytest
import torch
from samples import ENDINGS

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.writing.convert import convert
from anygru.errors import CheckpointError


@pytest.mark.parametrize("format", ["torch", "paddle", "oneflow"])
def test_tensors_in_lists_and_tuples_come_back(format: str, tmp_path: Path) -> None:
    gru = torch.nn.GRU(3, 4)
    optimizer = torch.optim.Adam(gru.parameters())
    gru(torch.randn(2, 1, 3))[0].sum().backward()
    optimizer.step()
    pair = (torch.tensor([1.0]), torch.tensor([2.0]))
    state = {"best": [gru.state_dict()], "optimizer": optimizer.state_dict(), "pair": pair, "losses": [0.5, 0.25]}
    save_checkpoint(state, tmp_path / "x", format)
    checkpoint = load_checkpoint(tmp_path / "x")
    assert [found.path for found in checkpoint.gru_layers] == ["best.0"]
    assert checkpoint.tensors["pair.1"].item() == 2
    assert torch.equal(checkpoint.tensors["optimizer.state.2.exp_avg"], optimizer.state_dict()["state"][2]["exp_avg"])
    assert checkpoint.values["losses"] == [0.5, 0.25]


def test_a_list_of_arrays_is_a_file_of_mxnet(tmp_path: Path) -> None:
    save_checkpoint([torch.zeros(2), torch.ones(3)], tmp_path / "x.nd")
    assert [tensor.tolist() for tensor in load_checkpoint(tmp_path / "x.nd").tensors.values()] == [[0, 0], [1, 1, 1]]


@pytest.mark.parametrize("obj", [None, 3, "model.pt", torch.zeros(3)])
def test_what_is_no_model_is_refused(obj: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=f"obj must be a module, .*, got {type(obj).__name__}"):
        save_checkpoint(obj, tmp_path / "x.pt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (torch.zeros(2, device="meta"), "net.w: a tensor without values"),
        (torch.nn.parameter.UninitializedParameter(), "net.w: a tensor without values"),
        (torch.zeros(2).to_sparse(), "net.w: a tensor of layout torch.sparse_coo"),
    ],
)
def test_a_tensor_that_cannot_be_stored_is_named(tensor: torch.Tensor, words: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=words):
        save_checkpoint({"net": {"w": tensor}}, tmp_path / "x.pt")


NAMES = [["a"], [""], ["/"], ["a//b"], ["."], ["../x"], ["a\0b"], ["a", "a/b"], ["a/", "a"], ["é"], ["\udc80"], ["/a"]]


@pytest.mark.parametrize("format", ENDINGS)
@pytest.mark.parametrize("names", NAMES, ids=repr)
def test_a_name_comes_back_as_it_is_or_is_refused(format: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / ("x" + ENDINGS[format])
    tensors = {name: torch.tensor([float(number)]) for number, name in enumerate(names)}
    try:
        save_checkpoint(tensors, path)
    except CheckpointError:
        assert names not in (["a"], ["é"])
        assert not path.exists()
        return
    assert {name: tensor.item() for name, tensor in load_checkpoint(path, format).tensors.items()} == {
        name: number for number, name in enumerate(names)
    }


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    gru, here = torch.nn.GRU(3, 4), tmp_path / "x.pt"
    save_checkpoint(gru, here)
    (tmp_path / "folder.npz").mkdir()
    for write in (lambda path: save_checkpoint(gru, path), lambda path: convert(here, path)):
        with pytest.raises(CheckpointError, match=r"none/y\.npz: cannot be written: there is no folder .*none"):
            write(tmp_path / "none" / "y.npz")
        with pytest.raises(
            CheckpointError, match=r"folder\.npz: cannot be written: it is a folder, chainer needs a file"
        ):
            write(tmp_path / "folder.npz")
    with pytest.raises(CheckpointError, match=r"x\.pt: cannot be written: it is a file, oneflow needs a folder"):
        save_checkpoint(gru, here, "oneflow")


def test_converting_keeps_the_permissions_and_the_link(tmp_path: Path) -> None:
    save_checkpoint(torch.nn.GRU(3, 4), tmp_path / "x.npz")
    target, link = tmp_path / "x.pt", tmp_path / "link.pt"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    convert(tmp_path / "x.npz", link)
    assert link.is_symlink()
    assert load_checkpoint(target).format == "torch"
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["link.pt", "x.npz", "x.pt"]


@pytest.mark.parametrize("path", [None, 3, ["x.pt"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(TypeError, match=f"path must be a str or os.PathLike, got {type(path).__name__}"):
        load_checkpoint(path)
    with pytest.raises(TypeError, match="path must be a str or os.PathLike"):
        save_checkpoint({}, path)
    with pytest.raises(TypeError, match="source must be a str or os.PathLike"):
        convert(path, "y.pt")


def test_bytes_are_a_path_and_a_zero_byte_is_none(tmp_path: Path) -> None:
    save_checkpoint(torch.nn.GRU(3, 4), os.fsencode(tmp_path / "x.pt"))
    assert load_checkpoint(os.fsencode(tmp_path / "x.pt")).format == "torch"
    with pytest.raises(CheckpointError, match="path must not hold a zero byte"):
        load_checkpoint("x\0.pt")


def test_bidirectional_names_a_gru_that_can_be(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save_checkpoint({"one": torch.nn.GRU(3, 4).state_dict(), "two": torch.nn.GRU(4, 4, 2).state_dict()}, path)
    assert anygru.load_checkpoint(path, bidirectional=["two"]).gru("two").bidirectional
    with pytest.raises(CheckpointError, match="no GRU named 'three'; there are: 'one', 'two'"):
        load_checkpoint(path, bidirectional=["three"])
    with pytest.raises(CheckpointError, match="bidirectional: the GRU 'one' has one direction"):
        load_checkpoint(path, bidirectional=["one"])
    for wrong in ("two", [2], None):
        with pytest.raises(TypeError, match="bidirectional must be a collection of names, got"):
            load_checkpoint(path, bidirectional=wrong)


@pytest.mark.parametrize("make", [anygru.GRU, anygru.GRUCell])
def test_a_copy_of_a_state_dict_still_tells_its_formula(make, tmp_path: Path) -> None:
    """`dict(...)` drops the metadata; the entry that is a tensor stays."""
    layer = make(3, 4, reset="before")
    torch.save(dict(layer.state_dict()), tmp_path / "layer.pt")
    found = load_checkpoint(tmp_path / "layer.pt")
    assert found.find().reset == "before"
    save_checkpoint(found, tmp_path / "layer.safetensors")
    again = load_checkpoint(tmp_path / "layer.safetensors")
    assert "reset_before" not in again.stored
    assert again.gru().reset == "before"
    assert torch.equal(again.gru().state_dict()["weight_hh" if make is anygru.GRUCell else "weight_hh_l0"],
                       layer.state_dict()["weight_hh" if make is anygru.GRUCell else "weight_hh_l0"])  # fmt: skip
