"""Chainer 7.8's vocabulary on PyTorch: Variables and functions, links, optimizers, serializers, the training loop.

A Variable holds a NumPy array; functions compute on torch tensors over the same memory and are differentiated by torch;
GRUs are computed by `anygru.functional`. See `names.txt` beside this file for what is covered.
"""

import warnings as _warnings
from typing import Any as _Any

import numpy as _numpy

from .._hook.not_covered import cover as _cover
from ._version import __version__
from .configuration import config, get_dtype, global_config, mixed16, using_config

disable_experimental_feature_warning = False


def get_compute_mode() -> _Any:
    """The configured compute mode (always None: it belongs to iDeep)."""
    return config.compute_mode


def is_debug() -> bool:
    """Whether debug mode is on in this thread."""
    return bool(config.debug)


def set_debug(debug: bool) -> None:
    """Turn debug mode on or off in this thread: more checks, stack traces with errors of backpropagation."""
    config.debug = debug


class DebugMode:
    """Switches debug mode inside a `with` block. Deprecated: use `using_config("debug", ...)`."""

    def __init__(self, debug: bool) -> None:
        _warnings.warn(
            'chainer.DebugMode is deprecated. Use chainer.using_config("debug", ...) instead.',
            DeprecationWarning,
            stacklevel=2,
        )
        self._block = using_config("debug", debug)

    def __enter__(self) -> None:
        self._block.__enter__()

    def __exit__(self, *args: _Any) -> None:
        self._block.__exit__(*args)


from . import (  # noqa: E402
    backend,
    backends,
    computational_graph,
    cuda,
    dataset,
    datasets,
    distribution,
    distributions,
    function_hooks,
    functions,
    gradient_check,
    initializers,
    iterators,
    link_hooks,
    links,
    optimizer_hooks,
    optimizers,
    serializers,
    testing,
    training,
    types,
    utils,
    variable,
    warnings,
)
from . import variable_operators as _variable_operators  # noqa: E402
from ._gradients import backward  # noqa: E402
from ._hooks import get_function_hooks  # noqa: E402
from .backend import get_device, using_device  # noqa: E402
from .backends.cuda import should_use_cudnn, should_use_cudnn_tensor_core  # noqa: E402
from .device_resident import DeviceResident  # noqa: E402
from .distribution import Distribution, cross_entropy, kl_divergence, register_kl  # noqa: E402
from .function import (  # noqa: E402
    Function,
    FunctionAdapter,
    force_backprop_mode,
    no_backprop_mode,
)
from .function_hook import FunctionHook  # noqa: E402
from .function_node import FunctionNode, grad  # noqa: E402
from .initializer import Initializer  # noqa: E402
from .link import Chain, ChainList, Link  # noqa: E402
from .link_hook import LinkHook  # noqa: E402
from .optimizer import GradientMethod, Optimizer, UpdateRule  # noqa: E402
from .reporter import (  # noqa: E402
    DictSummary,
    Reporter,
    Summary,
    get_current_reporter,
    report,
    report_scope,
)
from .sequential import Sequential  # noqa: E402
from .serializer import AbstractSerializer, Deserializer, Serializer  # noqa: E402
from .utils.walker_alias import WalkerAlias as _WalkerAlias  # noqa: E402
from .variable import Parameter, Variable, as_array, as_variable  # noqa: E402

setattr(utils, "WalkerAlias", _WalkerAlias)  # noqa: B010 (its file stands above that of the package `utils`)


def get_array_types() -> tuple[type, ...]:
    """The classes of arrays."""
    types: tuple[type, ...] = (_numpy.ndarray, backends.cuda.ndarray) if backends.cuda.available else (_numpy.ndarray,)
    return types


def get_cpu_array_types() -> tuple[type, ...]:
    """The classes of arrays on the CPU."""
    return (_numpy.ndarray,)


def is_arrays_compatible(arrays: _Any) -> bool:
    """Whether all arrays (None aside) are on the same kind of device."""
    return len({isinstance(array, _numpy.ndarray) for array in arrays if array is not None}) <= 1


def print_runtime_info(out: _Any = None) -> None:
    """Print the versions of what computes."""
    import importlib.metadata
    import platform
    import sys

    import torch

    out = sys.stdout if out is None else out
    out.write(
        f"Platform: {platform.platform()}\nChainer: {__version__} (dialect of anygru {importlib.metadata.version('anygru')})\n"
        f"NumPy: {_numpy.__version__}\nPyTorch: {torch.__version__}\nCUDA: {torch.version.cuda or 'Not Available'}\n"
    )


__all__ = [
    "AbstractSerializer",
    "Chain",
    "ChainList",
    "DebugMode",
    "Deserializer",
    "DeviceResident",
    "DictSummary",
    "Distribution",
    "Function",
    "FunctionAdapter",
    "FunctionHook",
    "FunctionNode",
    "GradientMethod",
    "Initializer",
    "Link",
    "LinkHook",
    "Optimizer",
    "Parameter",
    "Reporter",
    "Sequential",
    "Serializer",
    "Summary",
    "UpdateRule",
    "Variable",
    "__version__",
    "as_array",
    "as_variable",
    "backend",
    "backends",
    "backward",
    "computational_graph",
    "config",
    "cross_entropy",
    "cuda",
    "dataset",
    "datasets",
    "distribution",
    "distributions",
    "disable_experimental_feature_warning",
    "force_backprop_mode",
    "function_hooks",
    "functions",
    "get_array_types",
    "get_compute_mode",
    "get_cpu_array_types",
    "get_current_reporter",
    "get_device",
    "get_dtype",
    "get_function_hooks",
    "global_config",
    "grad",
    "gradient_check",
    "initializers",
    "is_arrays_compatible",
    "is_debug",
    "iterators",
    "kl_divergence",
    "link_hooks",
    "links",
    "mixed16",
    "no_backprop_mode",
    "optimizer_hooks",
    "optimizers",
    "print_runtime_info",
    "register_kl",
    "report",
    "report_scope",
    "serializers",
    "set_debug",
    "should_use_cudnn",
    "should_use_cudnn_tensor_core",
    "testing",
    "training",
    "types",
    "using_config",
    "using_device",
    "utils",
    "variable",
    "warnings",
]

_cover(__name__)
