"""Wrappers and hooks of other libraries: computed correctly, or refused with a way out."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from helpers import close
from torch import Tensor, nn

import anygru

tensors = pytest.importorskip("torch.distributed.tensor", reason="torch before 2.4 has no such module")
public = pytest.mark.needs_torch(2, 5, because="an older torch has no public DTensor")


@pytest.fixture
def mesh() -> Iterator[Any]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.device_mesh.init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def distribute(module: nn.Module, mesh: Any, placement: Any) -> None:
    for name, parameter in list(module.named_parameters()):
        setattr(module, name, nn.Parameter(tensors.distribute_tensor(parameter.data, mesh, [placement])))


def whole(tensor: Any) -> Tensor:
    return tensor.full_tensor()


@public
@pytest.mark.parametrize("placement", ["Replicate()", "Shard(0)"])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_distributed_weights_and_input_compute_as_whole_ones(mesh: Any, placement: str, reset: Any) -> None:
    layer = anygru.GRU(3, 4, 2, bidirectional=True, reset=reset, dtype=torch.float64)
    input = torch.randn(5, 2, 3, dtype=torch.float64)
    expected = layer(input)[0]
    grads = torch.autograd.grad(expected.square().sum(), list(layer.parameters()))
    distribute(layer, mesh, eval(placement, vars(tensors)))
    found = layer(tensors.distribute_tensor(input, mesh, [tensors.Replicate()]))[0]
    close(whole(found), expected)
    for one, other in zip(torch.autograd.grad(found.square().sum(), list(layer.parameters())), grads, strict=True):
        close(whole(one), other)


@public
def test_distributed_tensors_are_not_mixed_with_whole_ones(mesh: Any) -> None:
    layer, cell, input = anygru.GRU(3, 4), anygru.GRUCell(3, 4), torch.randn(5, 2, 3)
    spread = tensors.distribute_tensor(input, mesh, [tensors.Replicate()])
    with pytest.raises(TypeError, match="input and weights must all be DTensors or none"):
        layer(spread)
    distribute(layer, mesh, tensors.Shard(0))
    distribute(cell, mesh, tensors.Shard(0))
    for call in (lambda: layer(input), lambda: cell(input[0]), lambda: layer.stream()):
        with pytest.raises(TypeError, match="input and weights must all be DTensors or none"):
            call()
    with pytest.raises(TypeError, match="weight_ih_l0 is a DTensor"):
        layer.freeze()
    for call in (lambda: layer(spread, lengths=[5, 2]), lambda: layer([spread[:, 0], spread[:3, 1]])):
        with pytest.raises(TypeError, match="input is a DTensor, which is computed as a dense batch only"):
            call()


@pytest.mark.parametrize("make", [anygru.GRU, anygru.GRUCell])
def test_opacus_is_refused(make: Any) -> None:
    """Its hooks differentiate a cell by the input alone: the gradients of each sample were wrong."""

    def hook(module: nn.Module, given: Any, output: Any) -> None:
        """Of Opacus, by its module."""

    hook.__module__ = "opacus.grad_sample.grad_sample_module"
    with pytest.raises(TypeError, match=rf"Opacus cannot .* anygru\.{make.__name__}: train opacus\.layers\.DPGRU"):
        make(3, 4).register_forward_hook(hook)
    hook.__module__ = __name__
    make(3, 4).register_forward_hook(hook, prepend=True).remove()
