"""Global and thread-local settings: `chainer.config`, `chainer.global_config`, `chainer.using_config`; versions."""

import contextlib
import importlib.metadata
import os
import platform
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

import numpy
import torch
from numpy.typing import DTypeLike


class GlobalConfig:
    """Settings shared by all threads; assigning to `chainer.config` overrides a setting for a thread."""

    # cudnn_deterministic, warn_nondeterministic, autotune, schedule_func, use_ideep, lazy_grad_sum,
    # cudnn_fast_batch_normalization and use_static_graph exist because scripts set them; anygru does not read them.
    debug: Any = None
    cudnn_deterministic: Any = None
    warn_nondeterministic: Any = None
    enable_backprop: Any = None
    keep_graph_on_report: Any = None
    train: Any = None
    type_check: Any = None
    use_cudnn: Any = None
    use_cudnn_tensor_core: Any = None
    autotune: Any = None
    schedule_func: Any = None
    use_ideep: Any = None
    lazy_grad_sum: Any = None
    cudnn_fast_batch_normalization: Any = None
    dtype: Any = None
    _will_recompute: Any = None
    in_recomputing: Any = None
    use_static_graph: Any = None
    compute_mode: Any = None

    def show(self, file: TextIO = sys.stdout) -> None:
        """Print the settings, one `name value` line each."""
        _show(self, sorted(self.__dict__), file)


class LocalConfig:
    """The current thread's settings; values that the thread has not set come from the global settings."""

    _global: GlobalConfig
    _local: threading.local

    def __init__(self, global_config: GlobalConfig) -> None:
        object.__setattr__(self, "_global", global_config)
        object.__setattr__(self, "_local", threading.local())

    def __getattr__(self, name: str) -> Any:
        own = self._local.__dict__
        return own[name] if name in own else getattr(self._global, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._local, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._local, name)

    def show(self, file: TextIO = sys.stdout) -> None:
        """Print the settings as this thread sees them, one `name value` line each."""
        _show(self, sorted({*self._global.__dict__, *self._local.__dict__}), file)


def _show(config: Any, names: list[str], file: TextIO) -> None:
    width = max(len(name) for name in names)
    for name in names:
        file.write(f"{name:<{width}} {getattr(config, name)}\n")


global_config: Any = GlobalConfig()
config: Any = LocalConfig(global_config)


@contextlib.contextmanager
def using_config(name: str, value: Any, config: Any = config) -> Iterator[None]:
    """Change a setting inside a `with` block of the current thread."""
    own = config._local.__dict__
    was_set = name in own
    old = own.get(name)
    setattr(config, name, value)
    try:
        yield
    finally:
        if was_set:
            setattr(config, name, old)
        else:
            delattr(config, name)


class _Mixed16:
    """float16, with float32 for operations that need the precision."""

    dtype = numpy.dtype(numpy.float16)

    def __repr__(self) -> str:
        return "dtype('mixed16')"


mixed16 = _Mixed16()


def _configure() -> None:
    environ = os.environ

    def flag(name: str, default: str) -> bool:
        return bool(int(environ.get(name, default)))

    global_config.debug = flag("CHAINER_DEBUG", "0")
    global_config.cudnn_deterministic = False
    global_config.warn_nondeterministic = False
    global_config.enable_backprop = True
    global_config.keep_graph_on_report = flag("CHAINER_KEEP_GRAPH_ON_REPORT", "0")
    global_config.train = True
    global_config.type_check = flag("CHAINER_TYPE_CHECK", "1")
    global_config.use_cudnn = environ.get("CHAINER_USE_CUDNN", "auto")
    global_config.use_cudnn_tensor_core = "auto"
    global_config.autotune = False
    global_config.schedule_func = None
    global_config.use_static_graph = True
    global_config.use_ideep = environ.get("CHAINER_USE_IDEEP", "never")
    global_config.lazy_grad_sum = flag("CHAINER_LAZY_GRAD_SUM", "0")
    global_config.cudnn_fast_batch_normalization = flag("CHAINER_CUDNN_FAST_BATCH_NORMALIZATION", "0")
    name = environ.get("CHAINER_DTYPE", "float32")
    if name not in ("float16", "float32", "float64", "mixed16"):
        raise TypeError(f'incorrect dtype name in CHAINER_DTYPE: "{name}". Only float16/32/64 are allowed.')
    global_config.dtype = mixed16 if name == "mixed16" else numpy.dtype(name)
    global_config._will_recompute = False
    global_config.in_recomputing = False
    global_config.compute_mode = None


_configure()


def get_dtype(dtype: DTypeLike | None = None, map_mixed16: Any = None) -> numpy.dtype:
    """A dtype, or the configured one for None; `map_mixed16` replaces mixed16 (float16 by default)."""
    if dtype is None:
        dtype = config.dtype
    if dtype is mixed16 and map_mixed16 is not None:
        dtype = map_mixed16
    return numpy.dtype(dtype)


def get_compute_mode() -> Any:
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
        warnings.warn(
            'chainer.DebugMode is deprecated. Use chainer.using_config("debug", ...) instead.',
            DeprecationWarning,
            stacklevel=2,
        )
        self._block = using_config("debug", debug)

    def __enter__(self) -> None:
        self._block.__enter__()

    def __exit__(self, *args: Any) -> None:
        self._block.__exit__(*args)


__version__ = "7.8.1"


def print_runtime_info(out: TextIO | None = None) -> None:
    """Print the versions of Python's platform, the dialect, NumPy, PyTorch and CUDA."""
    (sys.stdout if out is None else out).write(
        f"Platform: {platform.platform()}\nChainer: {__version__} (dialect of anygru {importlib.metadata.version('anygru')})\n"
        f"NumPy: {numpy.__version__}\nPyTorch: {torch.__version__}\nCUDA: {torch.version.cuda or 'Not Available'}\n"
    )


class PerformanceWarning(RuntimeWarning):
    """Something works, but slower than it could."""
