"""The methods of torch's tensors that OneFlow's do not have: asking for one is an AttributeError in a program.

Programs and libraries ask by `hasattr` for the methods of a tensor. Torch's own code, which runs where its functions are not
overridden, still sees all methods.
"""

import types
from typing import Any

import torch

from anygru.extend import names

from .tensor import Tensor

# Methods that torch's loaders, samplers, optimizers and files call on tensors of a program.
_OF_TORCH = {
    "as_subclass", "data_ptr", "detach_", "new", "random_", "record_stream", "register_post_accumulate_grad_hook", "resize_",
    "resolve_conj", "resolve_neg", "set_", "share_memory_", "storage", "untyped_storage",
}  # fmt: skip


class _Absent:
    """A method that only torch's own code sees."""

    def __init__(self, name: str, value: Any) -> None:
        self._name, self._value = name, value

    def __get__(self, tensor: Any, kind: type) -> Any:
        if torch._C._is_torch_function_enabled():
            owner = f"{kind.__name__!r} object" if tensor is not None else f"type object {kind.__name__!r}"
            raise AttributeError(f"{owner} has no attribute {self._name!r}", name=self._name, obj=tensor)
        return self._value.__get__(tensor, kind)


def _hide() -> None:
    listed = names("oneflow")
    kept = {*listed.covered["oneflow.Tensor"], *_OF_TORCH}
    for name in dir(torch.Tensor):
        value = getattr(torch.Tensor, name)
        is_method = isinstance(value, (types.MethodDescriptorType, types.FunctionType))
        if is_method and not name.startswith(("_", "is_")) and name not in kept and name not in vars(Tensor):
            setattr(Tensor, name, _Absent(name, value))


_hide()
