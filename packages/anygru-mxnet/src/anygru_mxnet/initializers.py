"""The base class of initializers, the rules for names, and the registry, for `mx.init`."""

import json
import logging
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from anygru.extend import near

from .ndarray.ndarray import NDArray

_registry: dict[str, type["Initializer"]] = {}


Initial: TypeAlias = "str | Initializer | None"


class InitDesc(str):
    """The name of a parameter, with its attributes as `attrs`."""

    attrs: dict[str, Any]
    global_init: "Initializer | None"

    def __new__(cls, name: str, attrs: dict | None = None, global_init: "Initializer | None" = None) -> "InitDesc":
        """A name that carries attributes."""
        described = super().__new__(cls, name)
        described.attrs = attrs or {}
        described.global_init = global_init
        return described


class Initializer:
    """Fills arrays with first values. A subclass defines `_init_weight(name, array)`."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None) -> "Initializer":
        """Log each parameter with a number from `print_func`, by default the root mean square of the values."""
        self._verbose = verbose
        self._print_func = print_func or (lambda x: str(np.linalg.norm(x.asnumpy()) / x.size**0.5))
        return self

    def dumps(self) -> str:
        """The initializer as text, for symbol files."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: Any, arr: NDArray) -> None:
        if not isinstance(desc, InitDesc):
            if not isinstance(desc, str):
                raise TypeError("name must be string")
            if not isinstance(arr, NDArray):
                raise TypeError("arr must be NDArray")
            self._by_legacy_name(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
        else:
            self._by_name(desc, arr)
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, own or "its name says", self._print_func(arr))

    # The names "moving_avg" and "stn_loc" come from MXNet's early layers.
    def _by_legacy_name(self, name: str, arr: NDArray) -> None:
        """Fill an array by a rule for its name. An `InitDesc` has fewer rules."""
        if name.startswith("upsampling"):
            arr[:] = bilinear_weights(arr.shape)
        elif name.startswith("stn_loc") and name.endswith("weight"):
            self._init_zero(name, arr)
        elif name.startswith("stn_loc") and name.endswith("bias"):
            assert arr.shape == (6,), f"the bias of a localization network must have the shape (6,), got {arr.shape}"
            arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])
        elif name.endswith(("moving_mean", "moving_inv_var", "moving_avg")):
            self._init_zero(name, arr)
        elif name.endswith("moving_var"):
            self._init_one(name, arr)
        else:
            self._by_name(InitDesc(name, global_init=self), arr)

    def _by_name(self, desc: InitDesc, arr: NDArray) -> None:
        for ending, fill in (
            ("weight", self._init_weight),
            ("bias", self._init_bias),
            ("gamma", self._init_gamma),
            ("beta", self._init_beta),
            ("min", self._init_zero),
            ("max", self._init_one),
        ):
            if desc.endswith(ending):
                fill(desc, arr)
                return
        self._init_default(desc, arr)

    def _init_zero(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_bias(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_gamma(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_beta(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        raise NotImplementedError("Must override it")

    def _init_default(self, name: Any, arr: NDArray) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}. Default initialization is now limited to "
            '"weight", "bias", "gamma" (1.0), and "beta" (0.0). Set init= of the parameter.'
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None  # type: ignore[assignment]


def register(klass: type[Initializer]) -> type[Initializer]:
    """Register an initializer under its class name in lower case."""
    return _enter(klass, klass.__name__)


def alias(*names: str) -> Callable[[type[Initializer]], type[Initializer]]:
    """Register an initializer under further names."""

    def enter(klass: type[Initializer]) -> type[Initializer]:
        for name in names:
            _enter(klass, name)
        return klass

    return enter


def _enter(klass: type[Initializer], name: str) -> type[Initializer]:
    assert issubclass(klass, Initializer), "Can only register subclass of Initializer"
    before = _registry.get(name.lower())
    if before is not None and before is not klass:
        warnings.warn(
            f"New initializer {klass.__name__} registered with name {name.lower()} overrides {before}", UserWarning
        )
    _registry[name.lower()] = klass
    return klass


def create(init: Any, /, *args: Any, **kwargs: Any) -> Initializer:
    """An initializer from an object, a registered name, or the text of `dumps`.

    Raises:
        AssertionError: for a name that is not registered.
    """
    if isinstance(init, Initializer):
        assert len(args) + len(kwargs) == 0, "initializer is already an instance. Additional arguments are invalid"
        return init
    assert isinstance(init, str), "initializer must be of string type"
    if init.startswith("["):
        name, kwargs = json.loads(init)
        return create(name, **kwargs)
    assert init.lower() in _registry, (
        f"{init.lower()} is not registered. Please register with initializer.register first{near(init, _registry)}"
    )
    return _registry[init.lower()](*args, **kwargs)


def bilinear_weights(shape: tuple[int, ...]) -> np.ndarray:
    """Weights of bilinear interpolation over the last two axes. The factor follows from the last axis, as in MXNet."""
    factor = np.ceil(shape[3] / 2)
    center = (2 * factor - 1 - factor % 2) / (2 * factor)
    down, across = (1 - abs(np.arange(size) / factor - center) for size in shape[2:])
    return np.broadcast_to(np.outer(down, across), shape)
