"""`gluon.Block`: a tree of layers with names, parameters, hooks and files."""

import re
import warnings
from collections.abc import Callable
from typing import Any

from ...base import DtypeLike
from ...context import ContextLike
from ...initializer import Initial
from ...ndarray.utils import load, save
from ..utils import HookHandle, brief, indent
from . import saving
from .naming import BlockScope, new_names
from .parameter import Parameter
from .parameter_dict import ParameterDict
from .summary import print_summary

__all__ = ["Block"]


class Block:
    """A layer or model: a subclass makes its children and parameters, and defines `forward`.

    Args:
        prefix: the beginning of all names; by default the class name in lower case and a number.
        params: a dict of shared parameters.
    """

    # Whether `summary` shows a row for the block. It shows no rows for containers.
    _in_summary = True

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = new_names(prefix, params, self._alias)
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[int, Callable] = {}
        self._forward_pre_hooks: dict[int, Callable] = {}

    def __repr__(self) -> str:
        blocks = [
            f"  ({key}): {indent(repr(block), 2)}" for key, block in self.__dict__.items() if isinstance(block, Block)
        ]
        return f"{type(self).__name__}(\n" + "\n".join(blocks) + "\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        existing = getattr(self, name, None)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise TypeError(f"Changing attribute type for {name} from {type(existing)} to {type(value)}is not allowed.")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            assert name not in self._reg_params, (
                f"Overriding Parameter attribute {name} is not allowed. If you want to share parameters between blocks, "
                "please set 'params' at Block construction instead."
            )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def _alias(self) -> str:
        return type(self).__name__.lower()

    @property
    def prefix(self) -> str:
        """The beginning of the names of the block, its children and parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> BlockScope:
        """Children that are made inside `with self.name_scope():` have the block's prefix."""
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without its children's."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of the block and of all blocks inside it. `select` is a regular expression for their names."""
        self._warn_about_hidden_blocks()
        found = ParameterDict(self._params.prefix)
        if not select:
            found.update(self.params)
        else:
            # The pattern matches from the beginning of the name: "weight" matches no parameter (MXNet 1.9.1, observed).
            pattern = re.compile(select)
            found.update({name: value for name, value in self.params.items() if pattern.match(name)})
        for child in self._children.values():
            found.update(child.collect_params(select=select))
        return found

    def _warn_about_hidden_blocks(self) -> None:
        """Blocks in lists, tuples and dicts are not children unless they are registered."""
        children = set(map(id, self._children.values()))

        def hidden(value: Any) -> bool:
            if isinstance(value, (list, tuple)):
                return any(map(hidden, value))
            if isinstance(value, dict):
                return any(map(hidden, value.values()))
            return isinstance(value, Block) and id(value) not in children

        for key, value in self.__dict__.items():
            if isinstance(value, (list, tuple, dict)) and key not in _OWN_CONTAINERS and hidden(value):
                warnings.warn(
                    f'"{type(self).__name__}.{key}" is an unregistered container with Blocks. Note that Blocks inside the '
                    "list, tuple or dict will not be registered automatically. Make sure to register them using "
                    "register_child() or switching to nn.Sequential/nn.HybridSequential instead. ",
                    stacklevel=3,
                )

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their attribute paths."""
        prefix += "." if prefix else ""
        found = {prefix + key: value for key, value in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def register_child(self, block: "Block", name: str | None = None) -> None:
        """Register a block as a child, under a name or a number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[["Block"], Any]) -> "Block":
        """Call a function on all blocks inside this block and then on the block itself. Returns the block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self, init: Initial = None, ctx: ContextLike = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initialize all parameters; `init` (Uniform(0.07) by default) fills parameters without an initializer."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Let the hybrid blocks inside run as graphs, or as Python code again."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def cast(self, dtype: DtypeLike) -> None:
        """Change the dtype of all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self.params.values():
            parameter.cast(dtype)

    def register_forward_pre_hook(self, hook: Callable) -> HookHandle:
        """Call `hook(block, inputs)` before every forward pass."""
        return HookHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable) -> HookHandle:
        """Call `hook(block, inputs, output)` after every forward pass."""
        return HookHandle(self._forward_hooks, hook)

    def register_op_hook(self, callback: Callable, monitor_all: bool = False) -> None:
        """Call `callback(name, operator, array)` for each result (with `monitor_all`, also for each input) of every graph."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def __call__(self, *args: Any) -> Any:
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        output = self.forward(*args)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, output)
        return output

    def forward(self, *args: Any) -> Any:
        """The computation of the block; a subclass defines it."""
        raise NotImplementedError

    def summary(self, *inputs: Any) -> None:
        """Print the layers' outputs and numbers of parameters for the given inputs."""
        print_summary(self, inputs)

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Write the values of all parameters under their attribute paths. `deduplicate` writes a shared parameter once."""
        parameters = self._collect_params_with_prefix()
        if deduplicate:
            # A shared parameter has its last path: "1.weight" for the layers 0 and 1 (MXNet 1.9.1, observed).
            last_path = {parameter: path for path, parameter in parameters.items()}
            parameters = {path: parameter for parameter, path in last_path.items()}
        save(filename, {path: parameter._reduce() for path, parameter in parameters.items()})

    def save_params(self, filename: str) -> None:
        """Write the values under names without the block's prefix (deprecated)."""
        warnings.warn(
            "save_params is deprecated. Please use save_parameters. Note that if you want load from SymbolBlock later, "
            "please use export instead.",
            stacklevel=2,
        )
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_parameters(
        self,
        filename: str,
        ctx: ContextLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read the values from a file of `save_parameters`, `save_params` or `export`.

        Raises:
            AssertionError: for a missing parameter, another shape or dtype.
            AttributeError: for a file of arrays without names.
            ValueError: for an unknown parameter. MXNetError: for a missing or damaged file.
        """
        loaded = load(filename)
        parameters = self._collect_params_with_prefix()
        if not loaded and not parameters:
            return
        if not isinstance(loaded, dict):
            raise AttributeError(f"file '{filename}' holds a list of arrays without names, which no parameter can take")
        # Names without a dot are full names, which `save_params` and `export` write, not attribute paths.
        if not any("." in key for key in loaded):
            self.collect_params().load_dict(
                loaded, ctx, allow_missing, ignore_extra, self.prefix, filename, cast_dtype, dtype_source
            )
            return
        if not allow_missing:
            paths: dict[Parameter, list[str]] = {}
            for path, parameter in parameters.items():
                paths.setdefault(parameter, []).append(path)
            for path, parameter in parameters.items():
                assert any(known in loaded for known in paths[parameter]), (
                    f"Parameter '{path}' is missing in file '{filename}', which contains parameters: {brief(loaded)}. "
                    "Set allow_missing=True to ignore missing parameters."
                )
        for path, values in loaded.items():
            if path in parameters:
                parameters[path]._load_init(values, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            elif not ignore_extra:
                raise ValueError(
                    f"Parameter '{path}' loaded from file '{filename}' is not present in ParameterDict, which contains "
                    f"parameters {brief(parameters)}. Set ignore_extra=True to ignore. "
                )

    def save(self, prefix: str) -> None:
        """Write the parameters, and the graphs of hybridized blocks, to `prefix-model.params` and `prefix-model.json`."""
        saving.save(self, prefix)

    def load(self, prefix: str) -> None:
        """Read the files of `save`.

        Raises:
            MXNetError: for a missing or damaged file.
        """
        saving.load(self, prefix)

    def load_params(
        self, filename: str, ctx: ContextLike = None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> None:
        """`load_parameters` under its old name (deprecated)."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)


_OWN_CONTAINERS = frozenset({"_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks"})
