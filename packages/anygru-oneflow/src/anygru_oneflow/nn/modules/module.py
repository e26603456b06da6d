"""`oneflow.nn.Module`: torch's, with OneFlow's parameters, state_dict, errors and layouts over processes."""

import contextlib
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from ...framework.dressing import dress
from ...framework.dtype import dtype, plain, translated
from ...framework.tensor import Parameter, Tensor, as_parameter
from .graph_block import GraphModule


@contextlib.contextmanager
def _worded(message: str) -> Iterator[None]:
    """Give a TypeError of torch OneFlow's words."""
    try:
        yield
    except TypeError as error:
        raise TypeError(message) from error


def _name_checked(name: object, kind: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type(name)}")


_TABLES = (
    ("_parameters", "parameter", "nn.Parameter"),
    ("_modules", "child module", "nn.Module"),
    ("_buffers", "buffer", "Tensor"),
)


class Module(torch.nn.Module):
    """The base of all layers and models."""

    # Registration: tensors that torch's layers create become OneFlow's, in place.

    def register_parameter(self, name: str, param: Parameter | None) -> None:  # type: ignore[override]
        if type(param) is torch.nn.Parameter:
            as_parameter(param)
        _name_checked(name, "parameter")
        with _worded(f"cannot assign '{type(param)}' object to parameter '{name}' (nn.Parameter or None required)"):
            super().register_parameter(name, param)  # type: ignore[arg-type]

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:  # type: ignore[override]
        _name_checked(name, "buffer")
        with _worded(f"cannot assign '{type(tensor)}' object to buffer '{name}' (Tensor or None required)"):
            super().register_buffer(name, dress(tensor), persistent)

    def add_module(self, name: str, module: torch.nn.Module | None) -> None:
        if module is None or isinstance(module, torch.nn.Module):
            _name_checked(name, "module")
        with _worded(f"{type(module)} is not a Module subclass"):
            super().add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        for table, kind, wanted in _TABLES:
            if name in self.__dict__.get(table, ()):
                with _worded(f"cannot assign '{type(value)}' as {kind} '{name}' ({wanted} or None expected)"):
                    return super().__setattr__(name, value)
        super().__setattr__(name, value)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> None:  # type: ignore[override]
        """`hook(module, arguments)` sees the positional arguments and may give others."""
        # 0.9.0 gives no handle back, so a hook stays (recorded).
        super().register_forward_pre_hook(hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> None:  # type: ignore[override]
        """`hook(module, arguments, result)` may give another result."""
        super().register_forward_hook(hook)

    # Methods that subclasses override. They call one another with OneFlow's arguments; torch has one more.

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is not None and id(member) not in seen:
                    if remove_duplicate:
                        seen.add(id(member))
                    yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[Any]:
        """The parameters of this module and its submodules with their names, each once."""
        yield from self._members("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[Any]:
        """The buffers of this module and its submodules with their names, each once."""
        yield from self._members("_buffers", prefix, recurse, remove_duplicate)

    def _members(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        only_torch_asks = {} if once else {"remove_duplicate": False}
        return self._named_members(
            lambda module: getattr(module, table).items(), prefix=prefix, recurse=recurse, **only_torch_asks
        )

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and its submodules with their names, each once."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, below, *([] if remove_duplicate else [False]))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and its submodules, each once."""
        found = self.named_modules() if remove_duplicate else self.named_modules(remove_duplicate=False)
        return (module for _, module in found)

    # State: the values of state_dict are the parameters and buffers themselves.

    def state_dict(  # type: ignore[override]
        self, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """The parameters and persistent buffers by name; `keep_vars` makes no difference in OneFlow."""
        if destination is not None and not hasattr(destination, "_metadata"):
            state = super().state_dict(prefix=prefix, keep_vars=True)
            destination.update(state)
            return destination
        return super().state_dict(destination=destination, prefix=prefix, keep_vars=True)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> Any:  # type: ignore[override]
        """Copy the values of a state, tensors or NumPy arrays, into this module.

        Returns:
            The names that were missing and unexpected.

        Raises:
            RuntimeError: names that are missing or unexpected, if strict; values of another shape; local values for a
                global module, or the reverse.
        """
        state_dict.keys()  # OneFlow asks for them before it checks anything: other values are AttributeErrors
        return super().load_state_dict(state_dict.copy(), strict)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        saved = {name: tensor for name, tensor in self._buffers.items() if name not in self._non_persistent_buffers_set}
        own = {name: tensor for name, tensor in [*self._parameters.items(), *saved.items()] if tensor is not None}
        for name, tensor in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
            elif error := _copy(state_dict[key], tensor, key):
                error_msgs.append(error)
        for key in state_dict:
            name = key[len(prefix) :].split(".", 1)[0]
            if key.startswith(prefix) and name not in self._modules and name not in own:
                unexpected_keys.append(key)

    # OneFlow 0.9.0 keeps the gradients and fills them with zeros (recorded); torch drops them.
    def zero_grad(self, set_to_none: bool = False) -> None:
        parameters: Any = self.parameters()
        for parameter in parameters:
            parameter._zero_grad_(set_to_none)

    def __getstate__(self) -> dict[str, Any]:
        """The state that copies and pickles keep: everything except the forward hooks."""
        state = self.__dict__.copy()
        for hooks in ("_forward_hooks", "_forward_pre_hooks"):
            if state.get(hooks):
                warnings.warn("The module hooks will not be remained after serializing", stacklevel=2)
                state[hooks] = OrderedDict()
        return state

    def train(self, mode: Any = True) -> Any:
        """Set `training` here and in every module below to the mode, which OneFlow does not check."""
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    # Types, devices, layouts

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Change every parameter and buffer; gradients are dropped."""
        parameters: Any = self.parameters(recurse)
        for parameter in parameters:
            parameter.grad = None
        return super()._apply(fn, recurse)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """`to(device)`, `to(dtype)`, `to(device, dtype)` or `to(tensor)`, in place.

        Raises:
            ValueError: no argument, or an argument of another kind.
            TypeError: a data type that is not floating point.

        In a graph, `to(oneflow.nn.graph.GraphModule)` gives the settings of this module, `to(oneflow.nn.Module)` itself.
        """
        if args and isinstance(args[0], type):
            return self._graph_block() if issubclass(args[0], GraphModule) else self
        given = {name: value for name, value in kwargs.items() if name in ("device", "dtype", "tensor")}
        known = (str, int, torch.device, dtype, torch.Tensor)
        if not 1 <= len(args) + len(given) <= 2 or not all(isinstance(value, known) for value in args):
            raise ValueError(f"Unsupported parameters in module.to: {args} and {kwargs}")
        wanted = next((value for value in [*args, *given.values()] if isinstance(value, dtype)), None)
        if wanted is not None and not wanted.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={wanted}")
        parameters: Any = self.parameters()
        if next((parameter.is_global for parameter in parameters), False):
            return self._global_to([*args, *given.values()], wanted)
        like = next((value for value in [*args, *given.values()] if isinstance(value, torch.Tensor)), None)
        if like is not None:
            return super().to(like.device, plain(like.dtype))
        return translated(super().to)(*args, **given)

    def _graph_block(self) -> GraphModule:
        if "_settings_in_graph" not in vars(self):
            vars(self)["_settings_in_graph"] = GraphModule(self)
        return vars(self)["_settings_in_graph"]

    def __getattr__(self, name: str) -> Any:
        if name == "config":  # how OneFlow 0.8 spelled `to(GraphModule)`
            return self._graph_block()
        return super().__getattr__(name)

    def _global_to(self, asked: list[Any], wanted: dtype | None) -> Any:
        """`to` for global parameters, which stay where their placement has them."""
        places = {torch.device(value).type for value in asked if isinstance(value, (str, torch.device))}
        tensor: Any = next(self.parameters())
        if places - {tensor.placement.type}:
            raise RuntimeError(f"a global module stays on {tensor.placement}; to_global(placement, sbp) moves it")
        return self if wanted is None else super().to(plain(wanted))

    def cpu(self) -> Any:
        return self.to("cpu")

    def to_global(self, placement: Any = None, sbp: Any = None) -> Any:
        """Make every parameter and buffer global, or give global ones another layout, in place."""
        return self._each(lambda tensor: tensor.to_global(placement=placement, sbp=sbp))

    def to_local(self) -> Any:
        """Keep of every parameter and buffer this process's piece, in place."""
        return self._each(lambda tensor: tensor.to_local())

    def to_consistent(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(".to_consistent has been removed, please use .to_global instead")

    def _each(self, change: Callable[[Any], Any]) -> Any:
        """Replace every parameter and buffer; shared ones stay shared."""
        changed: dict[Any, Any] = {}
        with torch.no_grad():
            for module in self.modules():
                for name, parameter in module._parameters.items():
                    if parameter is not None:
                        if parameter not in changed:
                            changed[parameter] = _changed(parameter, change)
                        module._parameters[name] = changed[parameter]
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        module._buffers[name] = change(buffer)
        return self

    def _shallow_repr(self) -> str:
        """`repr` without the children."""
        lines = self.extra_repr().split("\n")
        inside = lines[0] if len(lines) == 1 else "\n  " + "\n  ".join(lines) + "\n"
        return f"{self._get_name()}({inside})"


def _changed(parameter: Any, change: Callable[[Any], Any]) -> Parameter:
    return Parameter(change(parameter.detach()), parameter.requires_grad)


def _copy(value: Any, tensor: Any, key: str) -> str | None:
    """Copy a value of a state into a parameter or buffer; return an error message if it does not fit."""
    if tuple(value.shape) != tuple(tensor.shape):
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    kinds = {True: "global", False: "local"}
    is_global = isinstance(value, Tensor) and value.is_global
    if isinstance(value, Tensor) and is_global != tensor.is_global:
        help = (
            "Maybe you need to convert the checkpoint param to global, or set global_src_rank=0 when using flow.load to "
            "load model's state_dict"
            if tensor.is_global
            else "Maybe you need to convert your model to global."
        )
        return (
            f'local / global mismatch for "{key}":  param from checkpoint is {kinds[is_global]} tensor, but the param in '
            f"current model is {kinds[tensor.is_global]} tensor. {help}"
        )
    if isinstance(value, np.ndarray) and value.dtype != tensor.detach().cpu().numpy().dtype:
        return f'While copying the parameter "{key}": an array of {value.dtype} cannot be copied into {tensor.dtype}.'
    with torch.no_grad():
        source = value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        if tensor.is_global and not is_global:
            source = dress(source).to_global(placement=tensor.placement, sbp=tensor.sbp)
        tensor.copy_(source)
    return None
