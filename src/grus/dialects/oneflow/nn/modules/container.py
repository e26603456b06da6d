"""Modules that hold modules or parameters."""

from __future__ import annotations

import torch

from grus.dialects.oneflow.nn.modules.adopted import adopt
from grus.dialects.oneflow.nn.modules.module import Module

Sequential = adopt(torch.nn.Sequential)
ModuleDict = adopt(torch.nn.ModuleDict)
ParameterList = adopt(torch.nn.ParameterList)
ParameterDict = adopt(torch.nn.ParameterDict)


class ModuleList(torch.nn.ModuleList, Module):
    """As torch.nn.ModuleList, printed without folding repeated modules."""

    __repr__ = torch.nn.Module.__repr__
