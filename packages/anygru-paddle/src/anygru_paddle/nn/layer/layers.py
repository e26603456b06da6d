"""`paddle.nn.Layer`: a torch module that answers in Paddle's words.

torch's own machinery (hooks, `__call__`, optimizers, DistributedDataParallel, pickling) works on it unchanged: parameters
live in `_parameters`, buffers in `_buffers`, sublayers in torch's `_modules`. Where torch calls a method that Paddle spells
with other arguments (`named_parameters(recurse=...)`, `state_dict(prefix=...)`, `train(mode)`), both spellings are taken.
"""

import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._C._dynamo.eval_frame import get_eval_frame_callback  # set while torch.compile is at work, before it traces

from ...base import unique_name
from ...base.framework import EagerParamBase, tracer
from ...base.layer_helper import LayerHelper, create_parameter
from ...base.seams import not_traced
from ...framework.dtype import as_dtype
from ...framework.framework import get_default_dtype
from ...tensor.tensor import Tensor
from ...tensor.uninitialized import create_tensor
from . import casting
from .hooks import HookRemoveHelper, StateDictHook, assign
from .state import load_state, state_of

__all__ = ["HookRemoveHelper", "Layer"]


def _snake_case(name: str) -> str:
    """GRUCell -> gru_cell, BatchNorm1D -> batch_norm1d, My_Net -> my__net."""
    parts = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", parts).lower()


class KeepsPrecision:
    """Marks batch normalization, which `Layer.float16` and `bfloat16` leave unchanged."""


def _named(table: str, what: str) -> Callable[..., Iterator[tuple[str, Any]]]:
    def named(
        self: "Layer",
        prefix: str = "",
        include_sublayers: bool = True,
        recurse: bool | None = None,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        deep = include_sublayers if recurse is None else recurse
        yield from self._named_members(
            lambda layer: getattr(layer, table).items(), prefix=prefix, recurse=deep, remove_duplicate=remove_duplicate
        )

    named.__name__, named.__doc__ = f"named{table}", what
    return named


class Layer(torch.nn.Module):
    """The base of all layers.

    Args:
        name_scope: the stem of the layer's name; default: the class's name in snake case.
        dtype: the layer's dtype attribute; parameters have the default dtype unless given another.
    """

    training: bool
    _full_name: str
    _dtype: Any
    _paddle_state_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        set_plainly: Callable[[str, Any], None] = super().__setattr__
        set_plainly("_full_name", unique_name.generate(name_scope or _snake_case(type(self).__name__)))
        set_plainly("_dtype", dtype)
        set_plainly("_paddle_state_hooks", OrderedDict())

        if hasattr(type(self), "_build_once"):  # layers of Paddle 1.x make their parameters when they see an input
            building = self.register_forward_pre_hook(lambda _, inputs: self._make_parameters(building, inputs))

    def _make_parameters(self, hook: Any, inputs: tuple[Any, ...]) -> None:
        hook.remove()
        type(self)._build_once(self, *inputs)  # type: ignore[attr-defined]

    @functools.cached_property
    def _helper(self) -> LayerHelper:
        return LayerHelper(self._full_name)

    @property
    def _sub_layers(self) -> dict[str, Any]:
        return self._modules

    @property
    def _forward_post_hooks(self) -> dict[int, Callable[..., Any]]:
        return self._forward_hooks

    @property
    def _non_persistable_buffer_names_set(self) -> set[str]:
        return self._non_persistent_buffers_set

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        assign(self, name, value)

    def create_parameter(
        self, shape: Any, attr: Any = None, dtype: Any = None, is_bias: bool = False, default_initializer: Any = None
    ) -> Any:
        """A new parameter named after this layer, to be assigned to an attribute; None if `attr` is False.

        Args:
            shape: lengths of the axes, all above 0.
            attr: a ParamAttr, a name, an initializer, a regularizer or None.
            dtype: the default dtype unless given.
            is_bias: makes zeros the default and `.b_K` the name.
            default_initializer: used where `attr` names none; Xavier's uniform values unless given.

        Raises:
            ValueError: if the name of `attr` is taken.
        """
        kind = get_default_dtype() if dtype is None else dtype
        return create_parameter(attr, shape, kind, is_bias, default_initializer, self._full_name)

    def create_variable(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Tensor:
        """An empty tensor named after this layer, float32 unless a dtype is given."""
        stem = (
            f"{self._full_name}.{name}"
            if name is not None
            else unique_name.generate(f"{self._full_name}._generated_var")
        )
        return create_tensor("float32" if dtype is None else dtype, stem, bool(persistable))

    create_tensor = create_variable

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Register `parameter` (or None) as the attribute `name`, and return it.

        Raises:
            TypeError: unless the name is a str and the value a parameter.
            KeyError: for a name that is empty, dotted or taken.
        """
        self._check_name(name, "parameter", self._parameters)
        if parameter is not None and not isinstance(parameter, EagerParamBase):
            raise TypeError(f"The parameter to be added should be a Parameter, but received {type(parameter)}.")
        if parameter is None:
            self._parameters[name] = None
        else:
            setattr(self, name, parameter)
        return parameter

    def _check_name(self, name: Any, kind: str, table: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of {kind} should be a string, but received {type(name)}.")
        if "." in name:
            raise KeyError(f"The name of {kind} can not contain `.`, because when you access the newly added {kind} in the "
                           "form of `self.**.**`, it will cause AttributeError.")  # fmt: skip
        if name == "":
            raise KeyError(f"The name of {kind} can not be empty.")
        if hasattr(self, name) and name not in table:
            raise KeyError(f"The {kind} '{name}' already exists.")

    def parameters(self, include_sublayers: bool = True, recurse: bool | None = None) -> list[Any]:  # type: ignore[override]
        """The parameters of this layer and its sublayers, each once; `recurse` is torch's name for `include_sublayers`."""
        return [parameter for _, parameter in self.named_parameters("", include_sublayers, recurse)]

    named_parameters = _named("_parameters", "Names and parameters, each parameter once.")

    def clear_gradients(self) -> None:
        """Make the gradients of all trainable parameters zeros."""
        for parameter in self.parameters():
            if parameter.trainable:
                parameter.clear_gradient()

    def register_buffer(self, name: str, tensor: Any, persistable: bool = True) -> None:
        """Register a tensor other than a parameter; a persistable one is part of the state_dict.

        Raises:
            TypeError: unless the name is a str and the value a tensor.
            KeyError: for a name that is empty, dotted or taken.
        """
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"The registered buffer should be a Paddle.Tensor, but received {type(tensor)}.")
        self._buffers[name] = tensor
        if persistable:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def buffers(self, include_sublayers: bool = True, recurse: bool | None = None) -> list[Any]:  # type: ignore[override]
        """The buffers of this layer and its sublayers, each once."""
        return [buffer for _, buffer in self.named_buffers("", include_sublayers, recurse)]

    named_buffers = _named("_buffers", "Names and buffers, each buffer once.")

    def add_sublayer(self, name: Any, sublayer: Any) -> Any:
        """Register `sublayer` (or None) as the attribute `name`, and return it.

        Raises:
            AssertionError: unless it is a layer.
        """
        if sublayer is not None and not isinstance(sublayer, torch.nn.Module):
            raise AssertionError(f"add_sublayer: sublayer must be a Layer or None, got {type(sublayer).__name__}")
        self._modules[name] = sublayer
        return sublayer

    def sublayers(self, include_self: bool = False, *, include_sublayers: bool = True) -> list[Any]:
        """All layers below this one, each once, parents first; without `include_sublayers`, which is of 1.8, the next ones."""
        below = self.named_sublayers(include_self=include_self) if include_sublayers else self.named_children()
        return [layer for _, layer in below]

    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set[Any] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Names and layers below this one, each once.

        Layers in `layers_set` are skipped, but their sublayers are not; visited layers are added to it.
        """
        seen = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self
        for key, layer in self.named_children():
            inner = f"{prefix}.{key}" if prefix else key
            if isinstance(layer, Layer):
                yield from layer.named_sublayers(prefix=inner, include_self=True, layers_set=seen)
            else:
                yield from layer.named_modules(seen, inner)

    def full_name(self) -> str:
        """The layer's own name, such as gru_cell_0."""
        return self._full_name

    def extra_repr(self) -> str:
        """The text in the brackets when the layer is printed; subclasses override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        text = type(self).__name__ + "("
        text += "\n  " + "\n  ".join(extra) + "\n" if len(extra) > 1 else "".join(extra)
        inner = [f"({name}): " + repr(layer).replace("\n", "\n  ") for name, layer in self._modules.items()]
        if inner:
            text += "\n  " + "\n  ".join(inner) + "\n"
        return text + ")"

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """The hooks and `forward`; under torch.compile computed eagerly, since torch would trace tensors as its own."""
        if torch.compiler.is_compiling() or get_eval_frame_callback() is not None:
            return _eagerly(self, inputs, kwargs)
        return super().__call__(*inputs, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: a layer of the dialect is computed eagerly; see `__call__`."""

    def register_forward_pre_hook(self, hook: Callable[..., Any], **torch_options: Any) -> Any:
        """Call `hook(layer, inputs)` before forward; its result, unless None, becomes the inputs."""
        return HookRemoveHelper(super().register_forward_pre_hook(hook, **torch_options))

    def register_forward_post_hook(self, hook: Callable[..., Any]) -> HookRemoveHelper:
        """Call `hook(layer, inputs, output)` after forward; its result, unless None, becomes the output."""
        return HookRemoveHelper(super().register_forward_hook(hook))

    def train(self, mode: bool = True) -> None:  # type: ignore[override]
        """Set this layer and all below it to training; torch calls it with a mode."""
        tracer._train_mode = mode
        # Sublayers' own `train` and `eval` are not called, unlike in torch (recorded, 2.6.2).
        for layer in self.modules():
            layer.training = mode

    def eval(self) -> None:  # type: ignore[override]
        """Set this layer and all below it to evaluation."""
        Layer.train(self, False)

    def backward(self, *inputs: Any) -> None:
        """Not for layers: gradients come from `loss.backward()`."""
        raise ValueError("Layer shouldn't implement backward")

    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        *,
        prefix: str | None = None,
        keep_vars: bool = True,
    ) -> Any:
        """Live parameters and persistable buffers by name; `prefix` is torch's name for `structured_name_prefix`.

        `destination` receives only this layer's own entries when there are sublayers; the returned dict has all.
        """
        name_prefix = structured_name_prefix if prefix is None else prefix
        return state_of(self, destination, include_sublayers, name_prefix, False, use_hook)

    def to_static_state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
    ) -> Any:
        """As `state_dict`, with the buffers that are not persistable."""
        return state_of(self, destination, include_sublayers, structured_name_prefix, True, use_hook)

    def register_state_dict_hook(self, hook: Callable[..., Any]) -> StateDictHook:
        """Call `hook(state)` on every state_dict made; its result, unless None, replaces the state."""
        return StateDictHook(self._paddle_state_hooks, hook)

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Overwrite parameters and persistable buffers with the tensors or arrays of the same name.

        Args:
            state_dict: names and values.
            use_structured_name: look values up by attribute path (`0.weight`); if False, by tensor name (`linear_0.w_0`).

        Returns:
            The names that were missing (or had another shape) and the unexpected names. Each missing one also
            gives a UserWarning.

        Raises:
            AssertionError: for a value of another dtype.
        """
        return load_state(self, state_dict, use_structured_name)

    set_dict = load_dict = set_state_dict

    def to(self, device: Any = None, dtype: Any = None, blocking: Any = None, **torch_options: Any) -> "Layer":  # type: ignore[override]
        """Move parameters and buffers to a device and cast all of them (including integers) to a dtype, in place.

        Args:
            device: 'cpu', 'gpu', 'gpu:x' or a place.
            dtype: a dtype, its name, or a NumPy dtype.
            blocking: True, False or None, for copies between devices.

        Raises:
            ValueError: for an unknown device.
            TypeError: for an unknown dtype.
            AssertionError: for another kind of `blocking`.
        """
        if isinstance(device, (torch.dtype, torch.Tensor)):
            super().to(device, **torch_options)
            return self
        target = casting.checked_device(device)
        if not isinstance(blocking, (bool, type(None))):
            raise AssertionError("blocking value error, must be the True, False or None")
        casting.cast(self, target, None if dtype is None else as_dtype(dtype))
        if device is None and dtype is None:
            return self
        # A device alone makes the dtype None in 2.6.2, too (recorded).
        casting.rename_dtype(self, casting.spelled(dtype))
        return self

    def astype(self, dtype: Any = None) -> "Layer":
        """Cast all parameters and buffers (including integers), in place.

        Raises:
            ValueError: unless `dtype` is a dtype's name, a Paddle dtype or a NumPy dtype.
        """
        kind = casting.checked_dtype(dtype)
        casting.cast(self, None, kind)
        casting.rename_dtype(self, kind)
        return self

    def float(self, excluded_layers: Any = None) -> "Layer":
        """Cast floating-point parameters and buffers to float32, in place, except in layers of the classes given."""
        return casting.to_floating(self, "float32", casting.checked_classes(excluded_layers))

    def float16(self, excluded_layers: Any = None) -> "Layer":
        """As `float`, to float16; on a CPU a UserWarning and no change. Batch normalization is not cast."""
        return casting.to_floating(self, "float16", casting.checked_classes(excluded_layers, (KeepsPrecision,)))

    def bfloat16(self, excluded_layers: Any = None) -> "Layer":
        """As `float`, to bfloat16; on a CPU without AVX-512 a UserWarning and no change. Batch normalization is not cast."""
        return casting.to_floating(self, "bfloat16", casting.checked_classes(excluded_layers, (KeepsPrecision,)))


@torch._disable_dynamo  # type: ignore[attr-defined]
def _eagerly(layer: Layer, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a layer without tracing it by torch.compile."""
    return torch.nn.Module.__call__(layer, *inputs, **kwargs)


not_traced(Layer.__call__)  # type: ignore[arg-type]
