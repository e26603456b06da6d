"""`gluon.ParameterDict`: parameters by their full names, made, shared, set, saved and loaded together."""

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

import numpy as np

from ... import initializer
from ...context import Context, ContextLike
from ...initializer import Initial
from ...ndarray.ndarray import NDArray
from ...ndarray.utils import load, save
from ..utils import brief, indent
from .constant import Constant
from .parameter import Parameter

__all__ = ["ParameterDict"]

_NAMING = "For more info on naming, please see the naming tutorial of MXNet."


class ParameterDict:
    """Parameters in the order of their creation.

    Args:
        prefix: put before the names given to `get`.
        shared: another dict, which provides parameters of equal names.
    """

    def __init__(self, prefix: str = "", shared: "ParameterDict | None" = None) -> None:
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared

    def __repr__(self) -> str:
        name = self._prefix + " " if self._prefix else ""
        return f"{name}(\n" + "\n".join(indent(f"  {value}", 2) for value in self.values()) + "\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def __len__(self) -> int:
        return len(self._params)

    def items(self) -> ItemsView[str, Parameter]:
        """Names and parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """Names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """Put before the names given to `get`."""
        return self._prefix

    def _find(self, name: str) -> Parameter | None:
        if name in self._params:
            return self._params[name]
        if self._shared is not None and name in self._shared._params:
            self._params[name] = self._shared._params[name]
            return self._params[name]
        return None

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter of a name (without the prefix). If it does not exist, it is created with the given arguments.

        Raises:
            AssertionError: for an existing parameter with other attributes.
        """
        name = self.prefix + name
        parameter = self._find(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
            return parameter
        for key, wanted in kwargs.items():
            existing = getattr(parameter, key, None)
            if existing is None:
                setattr(parameter, key, wanted)
            elif (
                key == "shape"
                and wanted is not None
                and _fill_shape(parameter, wanted, existing)
                or key == "dtype"
                and np.dtype(wanted) == np.dtype(existing)
            ):
                continue
            else:
                assert wanted is None or wanted == existing, (
                    f"Cannot retrieve Parameter '{name}' because desired attribute does not match with stored for "
                    f"attribute '{key}': desired '{wanted}' vs stored '{existing}'."
                )
        return parameter

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """The constant of a name. If it does not exist, it is created with the value.

        Raises:
            KeyError: without a value for a name that does not exist.
            AssertionError: for an existing constant of another value, and for a parameter that is not a constant.
        """
        name = self.prefix + name
        parameter = self._find(name)
        if parameter is None:
            if value is None:
                raise KeyError(
                    f"No constant named '{name}'. Please specify value if you want to create a new constant."
                )
            parameter = self._params[name] = Constant(name, value)
        elif value is not None:
            assert isinstance(parameter, Constant), f"Parameter '{name}' already exists but it is not a constant."
            given = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            assert np.array_equal(parameter.value.asnumpy(), given), (
                f"Constant '{name}' already exists but it's value doesn't match new value"
            )
        return parameter  # type: ignore[return-value]

    def update(self, other: "ParameterDict | dict[str, Parameter]") -> None:
        """Add the parameters of another dict.

        Raises:
            AssertionError: for another parameter of the same name.
        """
        for name, parameter in other.items():
            assert self._params.get(name, parameter) is parameter, (
                f"Cannot update self with other because they have different Parameters with the same name '{name}'"
            )
        self._params.update(other.items())

    def initialize(
        self, init: Initial = None, ctx: ContextLike = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initialize every parameter; `init` fills parameters without an initializer."""
        default: Any = initializer.Uniform() if init is None else init
        if verbose:
            default.set_verbosity(verbose=verbose)
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: ContextLike) -> None:
        """Move every parameter to other contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """The different contexts of all parameters."""
        return list(dict.fromkeys(context for parameter in self.values() for context in parameter.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of every parameter, such as grad_req."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Write the values to a file, names without a prefix.

        Raises:
            ValueError: for a name that does not begin with it.
        """
        values = {}
        for parameter in self.values():
            data = parameter._reduce()
            if not parameter.name.startswith(strip_prefix):
                raise ValueError(
                    f"Prefix '{strip_prefix}' is to be striped before saving, but Parameter's name '{parameter.name}' does "
                    f"not start with '{strip_prefix}'. this may be due to your Block shares parameters from other Blocks or "
                    f"you forgot to use 'with name_scope()' when creating child blocks. {_NAMING}"
                )
            values[parameter.name[len(strip_prefix) :]] = data
        save(filename, values)

    def load(
        self,
        filename: str,
        ctx: ContextLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take the values from a file, a prefix put before its names.

        Raises:
            AssertionError: for missing or unknown names, unless they are allowed, other shapes or dtypes.
            MXNetError: for a missing or damaged file.
        """
        if restore_prefix:
            for name in self.keys():
                assert name.startswith(restore_prefix), (
                    f"restore_prefix is '{restore_prefix}' but Parameters name '{name}' does not start with "
                    f"'{restore_prefix}'. {_NAMING}"
                )
        self.load_dict(
            load(filename), ctx, allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source
        )

    def load_dict(
        self,
        param_dict: Any,
        ctx: ContextLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take the values from a dict of arrays; as `load`."""
        given = param_dict.items() if isinstance(param_dict, dict) else param_dict
        values = {
            restore_prefix + (name[4:] if name.startswith(("arg:", "aux:")) else name): value for name, value in given
        }
        source = f"file: {filename}" if filename else "param_dict"
        if not allow_missing:
            for name in self.keys():
                assert name in values, (
                    f"Parameter '{name[len(restore_prefix) :]}' is missing in {source}, which contains parameters: "
                    f"{brief(values)}. Please make sure source and target networks have the same prefix. {_NAMING}"
                )
        for name, value in values.items():
            if name not in self._params:
                assert ignore_extra, (
                    f"Parameter '{name[len(restore_prefix) :]}' loaded from {source} is not present in ParameterDict, "
                    f"choices are: {brief(self._params)}. Set ignore_extra to True to ignore. "
                    f"Please make sure source and target networks have the same prefix. {_NAMING}"
                )
                continue
            self[name]._load_init(value, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)


def _fill_shape(parameter: Parameter, wanted: tuple[int, ...], existing: tuple[int, ...]) -> bool:
    """Complete the unknown sizes of a shape from another shape. Returns False if the shapes differ."""
    if len(wanted) != len(existing) or any(a != b and a > 0 and b > 0 for a, b in zip(wanted, existing, strict=True)):
        return False
    parameter._shape = tuple(a if a > 0 else b for a, b in zip(wanted, existing, strict=True))
    return True
