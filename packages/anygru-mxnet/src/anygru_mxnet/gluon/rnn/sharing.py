"""Handing the parameters of a layer to a torch module without copying them."""

from typing import TypeVar

from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def share(module: Module, names: list[str], tensors: list[Tensor]) -> Module:
    """Replace a module's parameters by parameters on the memory of the tensors."""
    for name, tensor in zip(names, tensors, strict=True):
        setattr(module, name, nn.Parameter(tensor.detach()))
    return module
