"""oneflow.nn.GRU and GRUCell against torch's, and their OneFlow contract."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import anygru
import anygru_oneflow as flow
from anygru import functional
from anygru.dialects import from_dialect
from anygru_oneflow import nn
from anygru_oneflow.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

OPTIONS: list[dict[str, Any]] = [
    {},
    {"num_layers": 2, "bidirectional": True},
    {"batch_first": True, "bias": False},
    {"num_layers": 2, "batch_first": True, "dtype": flow.float64},
]


def pair(**options: Any) -> tuple[nn.GRU, torch.nn.GRU]:
    """The dialect's layer and torch's with the same weights."""
    ours = nn.GRU(3, 4, **options)
    known = {name: value.torch if isinstance(value, flow.dtype) else value for name, value in options.items()}
    torchs = torch.nn.GRU(3, 4, **known)
    torchs.load_state_dict({name: torch.tensor(value.detach().numpy()) for name, value in ours.state_dict().items()})
    return ours, torchs


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("with_state", [True, False])
def test_values_and_gradients(options: dict[str, Any], with_state: bool) -> None:
    ours, torchs = pair(**options)
    dtype = options.get("dtype", flow.float32).torch
    values = torch.randn(5, 5, 3, dtype=dtype)
    state = torch.randn(torchs.num_layers * (2 if torchs.bidirectional else 1), 5, 4, dtype=dtype)
    x = flow.tensor(values.numpy(), requires_grad=True)
    expected_x = values.clone().requires_grad_()
    output, h_n = ours(x, flow.tensor(state.numpy())) if with_state else ours(x)
    expected, expected_h = torchs(expected_x, state) if with_state else torchs(expected_x)
    assert type(output) is flow.Tensor
    np.testing.assert_allclose(output.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h_n.numpy(), expected_h.detach().numpy(), rtol=1e-5, atol=1e-6)
    ((output**2).sum() + h_n.sum()).backward()
    ((expected**2).sum() + expected_h.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected_x.grad.numpy(), rtol=1e-4, atol=1e-5)
    for (name, found), wanted in zip(ours.named_parameters(), torchs.parameters(), strict=True):
        np.testing.assert_allclose(found.grad.numpy(), wanted.grad.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


def test_computes_through_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for name in ("gru", "gru_cell"):
        original = getattr(functional, name)
        monkeypatch.setattr(
            functional, name, lambda *a, name=name, of=original, **k: (seen.append(name), of(*a, **k))[1]
        )
    nn.GRU(3, 4)(flow.zeros(2, 1, 3))
    nn.GRUCell(3, 4)(flow.zeros(2, 3), flow.zeros(2, 4))
    assert seen == ["gru", "gru_cell"]


def test_packed_sequences_come_back_packed() -> None:
    ours, torchs = pair()
    x = flow.tensor(np.random.RandomState(0).randn(5, 3, 3), dtype=flow.float32)
    packed = pack_padded_sequence(x, [5, 3, 2])
    output, h_n = ours(packed)
    unpacked, lengths = pad_packed_sequence(output)
    assert (lengths.tolist(), lengths.dtype) == ([5.0, 3.0, 2.0], flow.float32)
    for number, length in enumerate([5, 3, 2]):
        alone, last = torchs(torch.tensor(x.numpy())[:length, number : number + 1])
        np.testing.assert_allclose(unpacked[:length, number].numpy(), alone[:, 0].detach().numpy(), atol=1e-6)
        np.testing.assert_allclose(h_n[0, number].numpy(), last[0, 0].detach().numpy(), atol=1e-6)
    with pytest.raises(AssertionError, match="enforce_sorted"):
        pack_padded_sequence(x, [2, 3, 5], enforce_sorted=False)
    with pytest.raises(RuntimeError, match="lengths must be at most the 5 steps of input, got 6"):
        pack_padded_sequence(x, [6, 3, 2])


def test_cell_equals_the_layer() -> None:
    cell, gru = nn.GRUCell(3, 4), nn.GRU(3, 4)
    gru.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    x = flow.tensor(np.random.RandomState(0).randn(5, 2, 3), dtype=flow.float32)
    state = flow.zeros(2, 4)
    for step in x:
        state = cell(step, state)
    np.testing.assert_allclose(state.numpy(), gru(x)[1][0].numpy(), atol=1e-6)
    with pytest.raises(AssertionError, match="GRUCell: Expected input to be 1-D or 2-D but received 3-D tensor"):
        cell(x, state)
    with pytest.raises(RuntimeError, match=r"must be"):
        cell(x[0], flow.zeros(2, 9))


ERRORS = {
    "width": ((flow.zeros(5, 2, 7),), "input.size(-1) must be equal to input_size. Expected 3, got 7"),
    "hidden": ((flow.zeros(5, 2, 3), flow.zeros(1, 3, 4)), "Expected hidden size (1, 2, 4), got [1, 3, 4]"),
    "4-D": ((flow.zeros(1, 5, 2, 3),), "input must have 3 dimensions, got 5"),
    "2-D state": ((flow.zeros(5, 2, 3), flow.zeros(1, 4)), "For batched 3-D input, hx should also be 3-D but got 2-D"),
    "3-D state": (
        (flow.zeros(5, 3), flow.zeros(1, 1, 4)),
        "For unbatched 2-D input, hx should also be 2-D but got 3-D",
    ),
    "dtype": ((flow.zeros(5, 2, 3, dtype=flow.float64),), "float64"),
}


@pytest.mark.parametrize(("arguments", "words"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_in_oneflows_words(arguments: tuple, words: str) -> None:
    with pytest.raises(RuntimeError) as error:
        nn.GRU(3, 4)(*arguments)
    assert words in str(error.value)


def test_weights_and_texts() -> None:
    gru = nn.GRU(10, 20, 2)
    assert repr(gru) == "GRU(10, 20, num_layers=2)"
    assert gru.weight_ih_l1.size() == flow.Size([60, 20])
    assert str(gru.weight_ih_l1.size()) == "oneflow.Size([60, 20])"
    assert gru.all_weights[1][2] is gru.bias_ih_l1
    assert all(isinstance(weight, nn.Parameter) and isinstance(weight, flow.Tensor) for weight in gru.parameters())
    assert gru.reset_parameters() is None
    with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM"):
        nn.GRU(3, 4, proj_size=0)
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last recurrent layer"):
        nn.GRU(3, 4, dropout=0.5)


def test_copies_and_pickles() -> None:
    gru, x = nn.GRU(3, 4), flow.ones(2, 1, 3)
    for twin in (copy.deepcopy(gru), pickle.loads(pickle.dumps(gru))):
        assert np.array_equal(twin(x)[0].numpy(), gru(x)[0].numpy())
        assert type(twin.weight_ih_l0) is nn.Parameter
        twin.weight_ih_l0.data.zero_()
        assert not np.array_equal(twin(x)[0].numpy(), gru(x)[0].numpy())


def test_the_same_layer_as_anygru() -> None:
    gru = nn.GRU(3, 4, 2, bidirectional=True)
    shared = from_dialect(gru)
    assert isinstance(shared, anygru.GRU)
    assert shared.weight_hh_l1_reverse.data_ptr() == gru.weight_hh_l1_reverse.data_ptr()
    x = flow.tensor(np.random.RandomState(0).randn(5, 2, 3), dtype=flow.float32)
    np.testing.assert_allclose(shared(torch.tensor(x.numpy()))[0].detach().numpy(), gru(x)[0].numpy(), atol=1e-6)
    torch.optim.SGD(shared.parameters(), 0.1).zero_grad()
    shared(torch.tensor(x.numpy()))[0].sum().backward()
    torch.optim.SGD(shared.parameters(), 0.1).step()
    np.testing.assert_allclose(shared(torch.tensor(x.numpy()))[0].detach().numpy(), gru(x)[0].numpy(), atol=1e-6)
    cell = from_dialect(nn.GRUCell(3, 4))
    assert cell(torch.zeros(2, 3)).shape == (2, 4)


def test_the_functions_below_the_layers() -> None:
    """`oneflow._C.gru` and the like, by values recorded from OneFlow 0.9.0 for weights of ones."""
    weights = [flow.ones(9, 2), flow.ones(9, 3)]
    output, h_n = flow._C.gru(flow.ones(2, 1, 2), flow.zeros(1, 1, 3), weights, False, 1, 0.0, True, False, False)
    assert output[:, 0, 0].tolist() == pytest.approx([0.1149148941040039, 0.19065439701080322], rel=1e-5)
    assert h_n.tolist() == [output[-1].tolist()]
    data, last = flow._C.gru(
        flow.ones(3, 2), flow.tensor([2, 1]), flow.zeros(1, 2, 3), weights, False, 1, 0.0, True, False
    )
    assert data[:, 0].tolist() == pytest.approx([0.1149148941, 0.1149148941, 0.190654397], rel=1e-5)
    assert last[0, :, 0].tolist() == pytest.approx([0.190654397, 0.1149148941], rel=1e-5)
    state = flow._C.gru_cell(flow.ones(1, 2), flow.ones(1, 3), *weights)
    assert state[0, 0].item() == pytest.approx(0.9999993443489075, rel=1e-6)
    assert flow._C.rnn_relu_cell(flow.ones(1, 2), flow.ones(1, 3), flow.ones(3, 2), flow.ones(3, 3))[0, 0] == 5
    pair = [flow.zeros(1, 1, 3)] * 2
    long = flow._C.lstm(
        flow.ones(2, 1, 2), pair, [flow.ones(12, 2), flow.ones(12, 3)], False, 1, 0.0, True, False, False
    )
    assert long[0][:, 0, 0].tolist() == pytest.approx([0.6082834601402283, 0.9274600148200989], rel=1e-5)
    mean, variance, rows = flow.zeros(3), flow.ones(3), flow.arange(6).reshape(2, 3).float()
    flow._C.normalization(rows, mean, variance, flow.ones(3), flow.zeros(3), momentum=0.9, is_training=True)
    assert mean.tolist() == pytest.approx([1.35, 2.25, 3.15])
    assert variance.tolist() == pytest.approx([4.15] * 3)
    with pytest.raises(TypeError, match="has_biases"):
        flow._C.gru(flow.ones(2, 1, 2), flow.zeros(1, 1, 3), weights)
