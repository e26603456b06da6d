"""Subclasses of Module may override any method by OneFlow's arguments: the module never calls it by others."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn

# The methods of oneflow.nn.Module 0.9.0 that others of it call, with their arguments.
HOOKS = {
    "_apply": "fn", "_get_name": "",
    "_load_from_state_dict": "state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs",
    "_named_members": "get_members_fn, prefix='', recurse=True",
    "_save_to_state_dict": "destination, prefix, keep_vars", "_shallow_repr": "", "add_module": "name, module",
    "apply": "fn", "buffers": "recurse=True", "children": "", "cpu": "", "double": "", "eval": "", "extra_repr": "",
    "float": "", "half": "", "load_state_dict": "state_dict, strict=True", "modules": "",
    "named_buffers": "prefix='', recurse=True", "named_children": "", "named_modules": "memo=None, prefix=''",
    "named_parameters": "prefix='', recurse=True", "parameters": "recurse=True",
    "register_buffer": "name, tensor, persistent=True", "register_parameter": "name, param",
    "requires_grad_": "requires_grad=True", "state_dict": "destination=None, prefix='', keep_vars=False",
    "train": "mode=True", "zero_grad": "set_to_none=False",
}  # fmt: skip
USES: list[Callable[[Any], Any]] = [
    lambda model: [name for name, _ in model.named_parameters()],
    lambda model: [name for name, _ in model.named_buffers()],
    lambda model: [name for name, _ in model.named_modules()],
    lambda model: len(list(model.parameters())) + len(list(model.buffers())) + len(list(model.modules())),
    lambda model: sorted(model.state_dict()),
    lambda model: model.load_state_dict(model.state_dict()),
    lambda model: model.double().float().to("cpu").cpu() and None,
    lambda model: model.train(False).eval().train().training,
    lambda model: model.zero_grad(),
    lambda model: model.requires_grad_(False).requires_grad_() and None,
    lambda model: model.apply(lambda part: None) and None,
    lambda model: sorted(copy.deepcopy(model).state_dict()),
    lambda model: repr(model),
    lambda model: model(flow.ones(2, 3)).shape,
]


def overriding(name: str) -> type:
    """A layer that overrides one method, by OneFlow's arguments, and hands it on."""
    arguments = HOOKS[name]
    given = ", ".join(each.split("=")[0] for each in arguments.split(", ")) if arguments else ""
    scope: dict[str, Any] = {"Base": Layer, "calls": []}
    text = f"def {name}(self, {arguments}):\n    calls.append(1)\n    return super(Kind, self).{name}({given})"
    exec(text, scope)
    scope["Kind"] = type("Layer", (Layer,), {name: scope[name], "calls": scope["calls"]})
    return scope["Kind"]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 3)
        self.shared = self.gru
        self.linear = nn.Linear(3, 3)
        self.register_buffer("scale", flow.ones(3))
        self.register_parameter("shift", nn.Parameter(flow.zeros(3)))
        self.add_module("norm", nn.BatchNorm1d(3))

    def forward(self, x: Any) -> Any:
        return self.norm(self.linear(x)) * self.scale + self.shift


@pytest.mark.parametrize("name", HOOKS)
def test_a_method_overridden_by_oneflows_arguments(name: str) -> None:
    kind = overriding(name)
    for use in USES:
        assert str(use(nn.Sequential(kind()))) == str(use(nn.Sequential(Layer())))
        use(kind())
    assert kind.calls or name in ("_shallow_repr", "children", "half")


def test_members_may_be_chosen() -> None:
    """TensorLayerX overrides `_named_members` so."""

    class Chosen(Layer):
        def _named_members(self, get_members_fn: Any, prefix: str = "", recurse: bool = True) -> Any:
            for name, member in super()._named_members(get_members_fn, prefix, recurse):
                if "gru" not in name:
                    yield name, member

    names = [name for name, _ in Chosen().named_parameters()]
    assert names == ["shift", "linear.weight", "linear.bias", "norm.weight", "norm.bias"]
