"""oneflow.nn.Module: registration, state, casts."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru_oneflow import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.register_buffer("seen", flow.zeros(1, dtype=flow.int64))


def test_texts() -> None:
    assert repr(Model()) == (
        "Model(\n  (gru): GRU(2, 3)\n  (layers): ModuleList(\n"
        "    (0): Linear(in_features=3, out_features=3, bias=True)\n"
        "    (1): Linear(in_features=3, out_features=3, bias=True)\n  )\n)"
    )
    assert nn.GRU(2, 3)._shallow_repr() == "GRU(2, 3)"
    assert repr(nn.BatchNorm1d(2)).endswith("affine=True, track_running_stats=True)")
    assert repr(nn.LayerNorm(4)) == "LayerNorm((4,), eps=1e-05, elementwise_affine=True)"
    assert repr(nn.Upsample(size=3, mode="bilinear")) == "Upsample(size=3, mode=bilinear)"
    assert repr(nn.Upsample(scale_factor=2.0)) == "Upsample(scale_factor=2.0, mode=nearest)"
    assert (repr(nn.Hardswish(True)), repr(nn.Hardswish())) == ("Hardswish(inplace=True)", "Hardswish()")


REFUSED: dict[str, tuple[Any, type, str]] = {
    "child": (lambda m: m.add_module("x", 3), TypeError, "<class 'int'> is not a Module subclass"),
    "child name": (lambda m: m.add_module("a.b", nn.Tanh()), KeyError, 'module name can\'t contain ".", got: a.b'),
    "taken": (lambda m: m.add_module("seen", nn.Tanh()), KeyError, "attribute 'seen' already exists"),
    "parameter": (
        lambda m: m.register_parameter("p", flow.ones(1)),
        TypeError,
        "cannot assign '<class 'oneflow.Tensor'>' object to parameter 'p' (nn.Parameter or None required)",
    ),
    "parameter name": (lambda m: m.register_parameter(3, None), TypeError, "parameter name should be a string"),
    "buffer": (
        lambda m: m.register_buffer("b", np.ones(1)),
        TypeError,
        "cannot assign '<class 'numpy.ndarray'>' object to buffer 'b' (Tensor or None required)",
    ),
    "set child": (
        lambda m: setattr(m, "gru", 3),
        TypeError,
        "cannot assign '<class 'int'>' as child module 'gru' (nn.Module or None expected)",
    ),
    "set buffer": (lambda m: setattr(m, "seen", 3), TypeError, "as buffer 'seen' (Tensor or None expected)"),
    "to nothing": (lambda m: m.to(), ValueError, "Unsupported parameters in module.to"),
    "to int": (
        lambda m: m.to(flow.int32),
        TypeError,
        "only accepts floating point dtypes, but got desired dtype=oneflow",
    ),
    "consistent": (lambda m: m.to_consistent(), RuntimeError, ".to_consistent has been removed, please use .to_global"),
    "absent": (lambda m: m.absent, AttributeError, "'Model' object has no attribute 'absent'"),
}


@pytest.mark.parametrize(("change", "kind", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: Any, kind: type, words: str) -> None:
    with pytest.raises(kind) as error:
        change(Model())
    assert words in str(error.value.args[0])


def test_state_is_the_parameters_themselves() -> None:
    model = Model()
    state = model.state_dict()
    assert type(state) is OrderedDict
    assert state["gru.weight_ih_l0"] is model.gru.weight_ih_l0
    assert list(model.state_dict(prefix="a."))[0].startswith("a.")
    destination = OrderedDict()
    assert model.gru.state_dict(destination, "b.") is destination


def test_loading_states() -> None:
    model, other = Model(), Model()
    assert str(other.load_state_dict(model.state_dict())) == "<All keys matched successfully>"
    assert np.array_equal(other.gru.weight_hh_l0.numpy(), model.gru.weight_hh_l0.numpy())
    arrays = {name: value.detach().numpy() + 1 for name, value in model.state_dict().items()}
    other.load_state_dict(arrays)
    np.testing.assert_allclose(other.layers[1].bias.numpy(), model.layers[1].bias.numpy() + 1)
    partial = dict(arrays, extra=flow.ones(1))
    del partial["gru.bias_hh_l0"]
    with pytest.raises(RuntimeError) as error:
        other.load_state_dict(partial)
    assert str(error.value) == (
        "Error(s) in loading state_dict for Model:\n\t"
        'Missing key(s) in state_dict: "gru.bias_hh_l0". \n\tUnexpected key(s) in state_dict: "extra". '
    )
    result = other.load_state_dict(partial, strict=False)
    assert (result.missing_keys, result.unexpected_keys) == (["gru.bias_hh_l0"], ["extra"])
    with pytest.raises(
        RuntimeError, match=r"shape oneflow.Size\(\[2\]\) from checkpoint, the shape in current model is oneflow"
    ):
        other.load_state_dict(dict(arrays, seen=flow.ones(2)), strict=False)
    with pytest.raises(RuntimeError, match="an array of float64 cannot be copied into oneflow.float32"):
        other.load_state_dict(dict(arrays, **{"layers.0.bias": np.zeros(3)}))


def test_casts_keep_the_parameter_objects() -> None:
    model = Model()
    weight = model.gru.weight_ih_l0
    assert model.double() is model
    assert model.gru.weight_ih_l0 is weight
    assert weight.dtype is flow.float64
    assert model.seen.dtype is flow.int64
    assert model.to("cpu", flow.float32).gru.weight_ih_l0.dtype is flow.float32


def test_zero_grad_keeps_zeros_unless_asked() -> None:
    layer = nn.Linear(2, 1)
    layer(flow.ones(1, 2)).sum().backward()
    layer.zero_grad()
    assert layer.weight.grad.tolist() == [[0.0, 0.0]]
    layer.zero_grad(set_to_none=True)
    assert layer.weight.grad is None


def test_hooks() -> None:
    layer, seen = nn.Linear(1, 1), []
    assert layer.register_forward_pre_hook(lambda module, args: args[0] * 2) is None
    layer.register_forward_hook(lambda module, args, result: seen.append(args[0].tolist()))
    layer.register_forward_hook(lambda module, args, result: result * 0)
    assert layer(flow.ones(1, 1)).tolist() == [[0.0]]
    assert seen == [[[2.0]]]


def test_labels_of_any_integer_type() -> None:
    logits, labels = flow.tensor([[1.0, 2.0], [0.5, 0.1]]), flow.tensor([1, 0])
    wanted = nn.CrossEntropyLoss()(logits, labels).item()
    assert nn.CrossEntropyLoss()(logits, labels.to(flow.int32)).item() == wanted
    assert nn.CrossEntropyLoss(None, 0)(logits, labels).item() == nn.CrossEntropyLoss()(logits[:1], labels[:1]).item()
    with pytest.raises(TypeError, match="takes weight, ignore_index, reduction, label_smoothing"):
        nn.CrossEntropyLoss(size_average=True)


LISTINGS = {
    "empty": (nn.ParameterDict(), "ParameterDict()"),
    "one": (
        nn.ParameterList([nn.Parameter(flow.ones(2))]),
        "ParameterList(  (0): Parameter containing: [<class 'oneflow.nn.Parameter'> of size 2])",
    ),
    "two": (
        nn.ParameterDict({"b": nn.Parameter(flow.ones(2, 3)), "a": nn.Parameter(flow.ones(1))}),
        "ParameterDict(\n    (a): Parameter containing: [<class 'oneflow.nn.Parameter'> of size 1]\n"
        "    (b): Parameter containing: [<class 'oneflow.nn.Parameter'> of size 2x3]\n)",
    ),
    "pooling": (
        nn.MaxPool2d((2, 3), 1),
        "MaxPool2d(kernel_size=(2, 3), stride=(1, 1), padding=(0, 0), dilation=(1, 1))",
    ),
    "mean pooling": (nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,), ceil_mode=False)"),
}


@pytest.mark.parametrize(("module", "text"), LISTINGS.values(), ids=LISTINGS.keys())
def test_printed_parameters_and_pools(module: nn.Module, text: str) -> None:
    assert repr(module) == text


def test_train_takes_any_truth_value() -> None:
    model = Model()
    assert [module.training for module in model.train(0).modules()] == [False] * 5
    assert model.train(1).gru.training


@pytest.mark.parametrize("kind", ["GRUCell", "RNNCell", "LSTMCell"])
def test_cells_take_one_step(kind: str) -> None:
    with pytest.raises(AssertionError, match=f"{kind}: Expected input to be 1-D or 2-D but received 3-D tensor"):
        getattr(nn, kind)(2, 3)(flow.ones(1, 1, 2))


def test_packed_sequences_take_oneflows_types() -> None:
    packed = nn.utils.rnn.pack_sequence([flow.ones(3, 2), flow.ones(1, 2)])
    assert packed.to(flow.float64).data.dtype is flow.float64


OVERWRITING = {
    "ReLU": nn.ReLU(inplace=True),
    "LeakyReLU": nn.LeakyReLU(0.1, inplace=True),
    "CELU": nn.CELU(inplace=True),
    "Hardsigmoid": nn.Hardsigmoid(inplace=True),
    "Hardshrink": nn.Hardshrink(inplace=True),
    "Softshrink": nn.Softshrink(0.1, True),
}
KEEPING = {
    "ReLU6": nn.ReLU6(inplace=True), "ELU": nn.ELU(inplace=True), "SELU": nn.SELU(inplace=True),
    "SiLU": nn.SiLU(inplace=True), "Mish": nn.Mish(inplace=True), "Hardtanh": nn.Hardtanh(inplace=True),
    "Hardswish": nn.Hardswish(inplace=True), "Softsign": nn.Softsign(inplace=True),
}  # fmt: skip


@pytest.mark.parametrize("name", [*OVERWRITING, *KEEPING])
def test_what_inplace_does(name: str) -> None:
    """Half of the layers ignore the flag in 0.9.0, and their input stays unchanged."""
    layer = {**OVERWRITING, **KEEPING}[name]
    leaf = flow.tensor([-2.0, 0.05, 7.0], requires_grad=True)
    x = leaf * 1
    y = layer(x)
    assert (y is x) == (name in OVERWRITING)
    assert (x.tolist() == leaf.tolist()) == (name in KEEPING)
    y.sum().backward()
    assert leaf.grad is not None


def test_instance_norm_leaves_its_running_statistics() -> None:
    layer, x = nn.InstanceNorm1d(2, track_running_stats=True), flow.tensor([[[1.0, 3.0], [0.0, 4.0]]])
    trained, evaluated = layer(x), layer.eval()(x)
    np.testing.assert_allclose(trained.numpy(), [[[-1, 1], [-1, 1]]], atol=1e-4)
    assert evaluated.tolist() == trained.tolist()
    assert nn.InstanceNorm1d(2)(flow.tensor([[[1000.1], [0.3]]])).tolist() == [[[0], [0]]]
    assert (layer.running_mean.tolist(), layer.running_var.tolist()) == ([0, 0], [1, 1])


def test_same_padding_is_a_number() -> None:
    layer = nn.Conv1d(1, 1, 2, padding="same", bias=False)
    assert str(layer) == "Conv1d(1, 1, kernel_size=(2,), stride=(1,), padding=[0], bias=False)"
    assert layer(flow.ones(1, 1, 4)).shape == (1, 1, 3)
    assert nn.Conv2d(1, 1, (3, 5), padding="same").padding == [2, 1]
    with pytest.raises(AssertionError, match="groups"):
        nn.Conv2d(3, 4, 1, groups=2)


def test_weights_of_losses_in_the_state() -> None:
    weight = flow.ones(2)
    assert list(nn.BCEWithLogitsLoss(weight, pos_weight=weight).state_dict()) == ["weight"]
    loss = nn.BCEWithLogitsLoss(pos_weight=weight * 2)(flow.zeros(1, 2), flow.ones(1, 2))
    np.testing.assert_allclose(loss.item(), 2 * np.log(2), rtol=1e-6)


@pytest.mark.parametrize("layer", [nn.LayerNorm(16), nn.GroupNorm(1, 2)])
def test_normalizations_keep_the_digits_of_rows_far_from_zero(layer: Any) -> None:
    """The formula in float64; of rows that are not centred, torch's kernel has an error of 3e-3."""
    random = np.random.RandomState(0)
    x, slopes = (random.randn(24, 2, 16) * 0.01 + 1000).astype("float32"), random.randn(24, 2, 16).astype("float32")
    given = flow.tensor(x, requires_grad=True)
    (layer(given) * flow.tensor(slopes)).sum().backward()
    exact = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    axes = (-1,) if isinstance(layer, nn.LayerNorm) else (-2, -1)
    variance, mean = torch.var_mean(exact, axes, correction=0, keepdim=True)
    ((exact - mean) / (variance + 1e-5).sqrt() * torch.tensor(slopes)).sum().backward()
    assert np.abs(given.grad.numpy() - exact.grad.numpy()).max() < 2e-4 * exact.grad.abs().max().item()
