"""oneflow.save and load: OneFlow's own files, and files written in the same form."""

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru import parallel
from anygru.checkpoints.formats import oneflow as files
from anygru.checkpoints.output.pickling import Global, PickledCall
from anygru.checkpoints.reading.pickle_tree import Pending
from anygru.errors import CheckpointError
from anygru_oneflow import nn

DATA = Path(__file__).parent / "conformance" / "data"


def test_a_state_that_oneflow_wrote() -> None:
    state = flow.load(DATA / "gru_state")
    gru = nn.GRU(5, 8, 2)
    assert str(gru.load_state_dict(state)) == "<All keys matched successfully>"
    assert gru(flow.ones(3, 2, 5))[0].shape == (3, 2, 8)


def test_values_types_and_containers(tmp_path: Path) -> None:
    saved = {
        "tensors": [flow.ones(2, dtype=flow.float64), (flow.tensor([True]), flow.tensor(3))],
        "half": flow.tensor([1.5]).to(flow.bfloat16),
        "parameter": nn.Parameter(flow.ones(1)),
        "plain": OrderedDict(epoch=3, note="ok", nothing=None, array=np.arange(2)),
        "empty": flow.ones(0, 3),
    }
    flow.save(saved, tmp_path / "state")
    found = flow.load(tmp_path / "state")
    assert found["tensors"][0].dtype is flow.float64
    assert found["tensors"][1][1].item() == 3
    assert (found["half"].dtype, found["half"].item()) == (flow.bfloat16, 1.5)
    assert isinstance(found["parameter"], nn.Parameter)
    assert found["plain"]["epoch"] == 3
    assert found["plain"]["array"].tolist() == [0, 1]
    assert found["empty"].shape == (0, 3)
    assert str(flow.load(tmp_path / "state", map_location="cpu")["half"].device) == "cpu:0"


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 3)
        self.layers = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1))
        self.register_buffer("seen", flow.tensor([4]))


def test_whole_modules(tmp_path: Path) -> None:
    model = Own().eval()
    flow.save(model, tmp_path / "model")
    found = flow.load(tmp_path / "model")
    assert (type(found), repr(found), found.training) == (Own, repr(model), False)
    x = flow.ones(2, 1, 2)
    assert np.array_equal(found.gru(x)[0].numpy(), model.gru(x)[0].numpy())
    assert found.seen.item() == 4
    assert [type(parameter) for parameter in found.parameters()] == [nn.Parameter] * 6


def test_global_tensors_name_the_process_that_writes(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(parallel.stop)  # a global tensor starts a world, here of one process
    here = flow.placement("cpu", [0])
    tensor = flow.ones(2, placement=here, sbp=flow.sbp.split(0))
    with pytest.raises(AssertionError, match="global_dst_rank"):
        flow.save({"w": tensor}, tmp_path / "state")
    flow.save({"w": tensor}, tmp_path / "state", global_dst_rank=0)
    assert flow.load(tmp_path / "state")["w"].is_local
    assert flow.load(tmp_path / "state", global_src_rank=0)["w"].sbp == (flow.sbp.broadcast,)


def test_what_cannot_be_loaded_or_saved(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="No valid load method found"):
        flow.load(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError):
        flow.load(tmp_path / "empty")
    with pytest.raises(TypeError):
        flow.save({"function": lambda: None}, tmp_path / "state")


class Various(nn.Module):
    """Layers with other attributes in OneFlow than in torch."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3, padding=1)
        self.pool = nn.MaxPool1d(2)
        self.lstm = nn.LSTM(4, 3)
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(3)
        self.out = nn.Linear(3, 1, bias=False)
        self.loss = nn.MSELoss()

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        states, _ = self.lstm(self.pool(self.conv(x)).permute(2, 0, 1))
        return self.out(self.norm(self.drop(states[-1])))


def test_whole_modules_of_other_layers(tmp_path: Path) -> None:
    model, x = Various().eval(), flow.randn(2, 2, 8)
    flow.save(model, tmp_path / "model")
    found = flow.load(tmp_path / "model")
    assert repr(found) == repr(model)
    assert np.array_equal(found(x).numpy(), model(x).numpy())
    with flow.no_grad():
        found.lstm.weight_hh_l0.zero_()
    assert not np.array_equal(found(x).numpy(), model(x).numpy())


class _State(Pending):
    """The pickle opcodes for an object of any class."""

    def build(self, state: Any) -> Any:
        return state


def test_written_layers_have_what_oneflow_looks_up(tmp_path: Path) -> None:
    layers = [nn.Dropout(0.5), nn.Linear(1, 1), nn.Conv1d(2, 4, 3, groups=2), nn.QuickGELU()]
    flow.save(layers, tmp_path / "layers")
    names = [("oneflow.nn", kind) for kind in ("Dropout", "Linear", "Conv1d", "QuickGELU")]
    generator = ("oneflow._oneflow_internal", "Generator")
    dropout, linear, conv, _ = files.load(tmp_path / "layers", dict.fromkeys([*names, generator], _State))
    assert dropout["generator"]["device"] == "auto:0"
    assert (dropout["generator"]["state"].array.dtype, dropout["generator"]["state"].array.shape) == (np.uint8, (32,))
    assert linear["use_fused_matmul_bias"] is False
    assert (conv["channel_pos"], conv["out_channel_groups"]) == ("channels_first", 2)


def test_a_dropout_that_oneflow_wrote(tmp_path: Path) -> None:
    state = files.Tensor(np.zeros(32, np.uint8))
    generator = PickledCall(
        Global("oneflow._oneflow_internal", "Generator"), (), {"device": "auto:0", "state": state}, new=True
    )
    attributes = {"p": 0.25, "inplace": False, "generator": generator, "training": False}
    layer = PickledCall(Global("oneflow.nn.modules.dropout", "Dropout"), (), attributes, new=True)
    files.save(["layer"], tmp_path / "layer", lambda value: layer if value == "layer" else None)
    (found,) = flow.load(tmp_path / "layer")
    assert (repr(found), found(flow.ones(2)).tolist()) == ("Dropout(p=0.25, inplace=False)", [1.0, 1.0])


def test_global_parameters_are_loaded_as_parameters(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(parallel.stop)
    everyone = flow.placement.all("cpu")
    layer = nn.Linear(2, 1).to_global(placement=everyone, sbp=flow.sbp.broadcast)
    flow.save(layer.state_dict(), tmp_path / "state", global_dst_rank=0)
    found = flow.load(tmp_path / "state", global_src_rank=0)["weight"]
    assert (found.is_global, found.requires_grad, isinstance(found, nn.Parameter)) == (True, True, True)


@pytest.mark.parametrize("zipped", [True, False], ids=["archive", "before torch 1.6"])
def test_files_of_torch_are_loaded(tmp_path: Path, zipped: bool) -> None:
    layer = torch.nn.GRU(3, 4)
    values = {"state": layer.state_dict(), "epoch": 3, "list": [torch.ones(2, dtype=torch.bfloat16)]}
    torch.save(values, tmp_path / "saved.pt", _use_new_zipfile_serialization=zipped)
    saved = flow.load(tmp_path / "saved.pt")
    assert (saved["epoch"], saved["list"][0].dtype, type(saved["state"]).__name__) == (3, flow.bfloat16, "OrderedDict")
    ours = flow.nn.GRU(3, 4)
    ours.load_state_dict(saved["state"])
    assert ours.weight_hh_l0.tolist() == layer.weight_hh_l0.tolist()
    everyone = flow.placement.all("cpu")
    placed = flow.load(tmp_path / "saved.pt", global_src_rank=0, map_location=everyone)
    assert placed["list"][0].placement == everyone


def test_files_of_torch_run_no_code(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(1, 1), tmp_path / "module.pt")
    with pytest.raises(CheckpointError, match=r"torch.nn.modules.linear.*state_dict"):
        flow.load(tmp_path / "module.pt")


def test_damaged_files_of_torch_are_refused_with_a_bound(tmp_path: Path) -> None:
    """A view of stride 0 that unfolds to far more than the file, and files that end too soon."""
    torch.save({"a": torch.zeros(1).expand(1 << 40), "b": 1}, tmp_path / "wide.pt")
    with pytest.raises(CheckpointError, match="wide.pt"):
        flow.load(tmp_path / "wide.pt")
    for zipped in (True, False):
        torch.save({"a": torch.arange(64.0)}, tmp_path / "whole.pt", _use_new_zipfile_serialization=zipped)
        content = (tmp_path / "whole.pt").read_bytes()
        for length in (len(content) - 1, len(content) // 2, 64):
            (tmp_path / "cut.pt").write_bytes(content[:length])
            with pytest.raises(CheckpointError, match="cut.pt"):
                flow.load(tmp_path / "cut.pt")


def test_tensors_of_torch_stay_tied_and_may_be_changed(tmp_path: Path) -> None:
    both = torch.arange(4.0)
    torch.save({"a": both, "b": both}, tmp_path / "tied.pt")
    saved = flow.load(tmp_path / "tied.pt")
    saved["a"].add_(1)
    assert saved["b"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert flow.load(tmp_path / "tied.pt")["a"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_module_that_holds_itself_is_refused(tmp_path: Path) -> None:
    content = b"\x80\x02}(X\x10\x00\x00\x00protocol_versionK\x01X\x04\x00\x00\x00data"
    content += b"coneflow.nn.modules.container\nSequential\n)\x81q\x00}X\x08\x00\x00\x00_modules"
    content += b"ccollections\nOrderedDict\n)R(X\x01\x00\x00\x000h\x00usbu."
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "pickled_data").write_bytes(content)
    with pytest.raises(CheckpointError, match="never gets its state|contains itself"):
        flow.load(str(tmp_path / "state"))


class _Again:
    """A further reference to the first tensor."""


def test_references_to_one_tensor_share_its_memory(tmp_path: Path) -> None:
    """300 references to 4 MiB, which would be 1.2 GiB as copies."""

    def reference(value: Any) -> Any:
        same = PickledCall(Global("oneflow", "Tensor"), (), {"path": "tensor_1"}, new=True)
        return same if isinstance(value, _Again) else None

    first = files.Tensor(np.ones(1 << 20, np.float32))
    files.save([first, *[_Again() for _ in range(300)]], tmp_path / "state", reference, numbers=iter([1]))
    found = flow.load(tmp_path / "state")
    assert len({id(tensor) for tensor in found}) == 301
    assert len({tensor.data_ptr() for tensor in found}) == 1


def test_equal_views_in_files_of_torch_share_memory(tmp_path: Path) -> None:
    values = torch.ones(1 << 10)
    torch.save([values[:] for _ in range(10)], tmp_path / "views.pt")
    found = flow.load(tmp_path / "views.pt")
    assert len({id(tensor) for tensor in found}) == 10
    assert len({tensor.data_ptr() for tensor in found}) == 1


def test_a_container_that_is_used_twice_stays_one(tmp_path: Path) -> None:
    shared = [3]
    (tmp_path / "state").mkdir()
    with open(tmp_path / "state" / "pickled_data", "wb") as file:
        pickle.dump({"protocol_version": 1, "data": {"a": shared, "b": (shared,)}}, file, 4)
    found = flow.load(tmp_path / "state")
    assert found["a"] is found["b"][0]
