"""oneflow.Tensor: types, sizes, printing, the autograd graph."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru.dialects import NotCoveredError

TEXTS = {
    "float": (flow.tensor([1.0, -2.5]), "tensor([ 1.0000, -2.5000], dtype=oneflow.float32)"),
    "whole": (flow.ones(2, 2), "tensor([[1., 1.],\n        [1., 1.]], dtype=oneflow.float32)"),
    "scalar": (flow.tensor(1.5), "tensor(1.5000, dtype=oneflow.float32)"),
    "int": (flow.tensor([[1, 2], [30, 4]]), "tensor([[ 1,  2],\n        [30,  4]], dtype=oneflow.int64)"),
    "bool": (flow.tensor([True, False]), "tensor([ True, False], dtype=oneflow.bool)"),
    "double": (flow.tensor([0.125], dtype=flow.float64), "tensor([0.1250], dtype=oneflow.float64)"),
    "grad": (flow.tensor([1.0], requires_grad=True), "tensor([1.], dtype=oneflow.float32, requires_grad=True)"),
    "empty": (flow.ones(0, 2), "tensor([], size=(0, 2), dtype=oneflow.float32)"),
}


@pytest.mark.parametrize(("tensor", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_printing(tensor: flow.Tensor, text: str) -> None:
    assert repr(tensor) == str(tensor) == text


def test_types_of_new_tensors() -> None:
    assert flow.tensor([1, 2]).dtype is flow.int64
    assert flow.tensor([1.5]).dtype is flow.float32
    assert flow.tensor(np.zeros(2)).dtype is flow.float64
    assert flow.tensor(np.float64(1)).dtype is flow.float32
    assert flow.Tensor([1, 2]).dtype is flow.float32
    assert flow.Tensor(2, 3).shape == (2, 3)
    assert flow.zeros(2, dtype=flow.int32).dtype is flow.int32
    assert str(flow.float32) == "oneflow.float32"
    assert flow.float is flow.float32
    assert pickle.loads(pickle.dumps(flow.float16)) is flow.float16
    assert (flow.tensor([1]) + 1.5).dtype is flow.float32
    assert flow.ones(2).to(flow.float64).type() == "oneflow.DoubleTensor"


def test_sizes_and_devices() -> None:
    x = flow.ones(3, 4)
    assert (str(x.shape), x.shape.numel(), str(x.shape[1:])) == ("oneflow.Size([3, 4])", 12, "oneflow.Size([4])")
    assert isinstance(x.shape, tuple)
    assert str(x.shape + (1,)) == "oneflow.Size([3, 4, 1])"
    assert (str(x.device), repr(x.device)) == ("cpu:0", "device(type='cpu', index=0)")
    assert isinstance(x.device, flow.device)
    assert flow.device("cpu") == flow.device("cpu", 0)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda device type"):
        flow.device("tpu")


def test_whole_numbers_are_divided_toward_zero() -> None:
    assert (flow.tensor([-7, 7]) // 2).tolist() == [-3, 3]
    assert (flow.tensor([-7.0, 7.0]) // 2).tolist() == [-4.0, 3.0]
    assert (flow.tensor([-7, 7]) % 4).tolist() == [-3, 3]


def test_results_and_gradients_are_oneflows() -> None:
    x = flow.tensor([1.0, 2.0], requires_grad=True)
    values, indices = (x * 3).view(1, 2).max(dim=1)
    assert (type(values), type(indices)) == (flow.Tensor, flow.Tensor)
    (x * x).sum().backward()
    assert type(x.grad) is flow.Tensor
    assert x.grad is x.grad
    assert x.numpy().tolist() == [1.0, 2.0]
    assert type(copy.deepcopy(x)) is flow.Tensor
    assert pickle.loads(pickle.dumps(x)).requires_grad
    seen = []
    x.register_hook(lambda gradient: seen.append(type(gradient)))
    (x * 2).sum().backward()
    assert seen == [flow.Tensor] * 2  # OneFlow 0.9 calls the hook of a leaf twice
    assert [type(gradient) for gradient in flow.autograd.grad((x * x).sum(), x)] == [flow.Tensor]


def test_numpy_shares_the_memory() -> None:
    array = np.arange(3, dtype=np.float32)
    tensor = flow.from_numpy(array)
    array[0] = 9
    tensor.numpy()[1] = 8
    assert tensor.tolist() == [9.0, 8.0, 2.0]
    copied = flow.tensor(array)
    array[0] = 0
    assert copied.tolist() == [9.0, 8.0, 2.0]


def test_scalars_format_as_numbers() -> None:
    assert f"{flow.tensor(1.5)} {flow.tensor(0.25):.1f}" == "1.5 0.2"


def test_names_that_are_not_covered_say_so() -> None:
    for module, name in ((flow, "nms"), (flow.one_embedding, "Embedding"), (flow.one_embedding, "Ftrl")):
        with pytest.raises(NotCoveredError, match=f"{name} is not covered by anygru's OneFlow dialect"):
            getattr(module, name)()


def test_nothing_of_torchs_own_is_changed() -> None:
    assert type(torch.ones(2) + 1) is torch.Tensor
    assert type(torch.nn.Linear(1, 1).weight) is torch.nn.Parameter
    assert repr(torch.ones(1)) == "tensor([1.])"


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        (flow, "lineer", ""),
        (flow.nn, "Liner", "nn.Linear"),
        (flow.optim, "SDG", "optim.SGD"),
        (flow.nn.init, "dirac_", ""),
    ],
)
def test_a_typo_is_an_error_in_pythons_words(module: Any, name: str, near: str) -> None:
    original = module.__name__.replace("anygru_oneflow", "oneflow")
    words = f"module '{original}' has no attribute '{name}'" + (f"; did you mean oneflow.{near}?" if near else "")
    with pytest.raises(AttributeError) as raised:
        getattr(module, name)
    assert str(raised.value) == words
    assert type(raised.value) is AttributeError


def test_a_loss_becomes_a_number_without_a_warning():
    """torch warns of `float(loss)`, once in a process; OneFlow's programs print their losses so."""
    torch.set_warn_always(True)
    try:
        loss = (flow.ones(1, requires_grad=True) * 2).sum()
        assert (float(loss), int(loss), f"{loss:.2f}") == (2.0, 2, "2.00")
    finally:
        torch.set_warn_always(False)
