"""Modules that hold modules or parameters."""

from typing import Any

import torch

from ...framework.tensor import Parameter
from .adopted import adopt
from .module import Module

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Sequential(adopt(torch.nn.Sequential)):  # type: ignore[misc]
    """As torch.nn.Sequential, but the modules left after a deletion keep their names."""

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index]
        for name in [names] if isinstance(names, str) else names:
            delattr(self, name)


ModuleDict = adopt(torch.nn.ModuleDict)


class ModuleList(torch.nn.ModuleList, Module):
    """As torch.nn.ModuleList, printed without folding repeated modules."""

    __repr__ = torch.nn.Module.__repr__


class ParameterList(torch.nn.ParameterList, Module):
    """As torch.nn.ParameterList, for parameters alone."""

    def __setitem__(self, index: int, parameter: Parameter) -> None:
        name = str(range(len(self))[index])
        self.register_parameter(name, parameter)

    def __repr__(self) -> str:
        return _listing(self)


class ParameterDict(torch.nn.ParameterDict, Module):
    """As torch.nn.ParameterDict."""

    def __repr__(self) -> str:
        return _listing(self)


def _listing(module: Module) -> str:
    """The parameters, a line each; a single one on the line of the class."""
    lines = [f"  ({name}): {_brief(parameter)}" for name, parameter in module._parameters.items()]
    text = "".join(f"\n  {line}" for line in lines) + "\n" if len(lines) > 1 else "".join(lines)
    return f"{module._get_name()}({text})"


def _brief(parameter: Any) -> str:
    return f"Parameter containing: [{type(parameter)} of size {'x'.join(map(str, parameter.shape))}]"
