"""Hooks that measure the time of links, or replace a link's weight while it runs."""

from typing import Any

import numpy

from . import backend
from .backends._tensors import as_tensor
from .configuration import config
from .function_hook import LinkHook
from .function_hooks import Stopwatch
from .functions.normalizations import group_normalization
from .functions.products import matmul
from .links.convolutions import Deconvolution2D, DeconvolutionND
from .variable import Parameter

__all__ = ["SpectralNormalization", "TimerHook", "WeightStandardization"]


class TimerHook(Stopwatch, LinkHook):
    """Measures each link, as (name of the class, seconds) in `call_history`; outer links include inner links."""

    name = "TimerHook"
    title = "LinkName"

    def forward_preprocess(self, args: Any) -> None:
        self._begin()

    def forward_postprocess(self, args: Any) -> None:
        self._end(type(args.link).__name__)


class WeightHook(LinkHook):
    """The base class: a hook of one link, which replaces a weight by `weight_of(link)` during a call.

    Args:
        weight_name: name of the link's weight (ValueError at `add_hook` if it is missing).
        name: name of the hook.
    """

    original_weight: Any

    def __init__(self, weight_name: str, name: str | None) -> None:
        self.weight_name = weight_name
        self._initialized = False
        if name is not None:
            self.name = name

    def __enter__(self) -> Any:
        raise NotImplementedError("This hook is not supposed to be used as context manager.")

    def added(self, link: Any) -> None:
        if not hasattr(link, self.weight_name):
            raise ValueError(f"Weight '{self.weight_name}' does not exist!")
        if getattr(link, self.weight_name).array is not None:
            self._prepare(link)

    def _prepare(self, link: Any) -> None:
        """Called when the weight has a value."""
        self._initialized = True

    def weight_of(self, link: Any) -> Any:
        """The weight to use in a call."""
        raise NotImplementedError

    def forward_preprocess(self, args: Any) -> None:
        link = args.link
        if not self._initialized:
            if getattr(link, self.weight_name).array is None:
                link._initialize_params(args.args[0].shape[1])
            self._prepare(link)
        self.original_weight = getattr(link, self.weight_name)
        setattr(link, self.weight_name, self.weight_of(link))

    def forward_postprocess(self, args: Any) -> None:
        setattr(args.link, self.weight_name, self.original_weight)


class SpectralNormalization(WeightHook):
    """Divides a link's weight by its largest singular value, found by power iteration (Miyato et al., 2018).

    The link gets the estimate of the left singular vector as `<weight_name>_u`, saved with it. Add the hook before the
    optimizer is set up if `use_gamma` is on.

    Args:
        n_power_iteration: steps of the power iteration a call (AssertionError below 1).
        eps: added to norms.
        use_gamma: multiply by a learnt number, `link.gamma`, at first the largest singular value.
        factor: the divisor of the singular value.
        weight_name: name of the link's weight.
        name: name of the hook.
    """

    name = "SpectralNormalization"
    v: Any = None

    def __init__(
        self, n_power_iteration: int = 1, eps: float = 1e-6, use_gamma: bool = False, factor: float | None = None,
        weight_name: str = "W", name: str | None = None,
    ) -> None:  # fmt: skip
        if n_power_iteration < 1:
            raise AssertionError(f"n_power_iteration must be at least 1, got {n_power_iteration}")
        super().__init__(weight_name, name)
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.use_gamma = use_gamma
        self.factor = factor
        self.vector_name = weight_name + "_u"
        self.axis = 0

    def added(self, link: Any) -> None:
        self.axis = 1 if isinstance(link, (Deconvolution2D, DeconvolutionND)) else 0
        super().added(link)

    def deleted(self, link: Any) -> None:
        delattr(link, self.vector_name)
        if self.use_gamma:
            del link.gamma

    def _prepare(self, link: Any) -> None:
        weight = getattr(link, self.weight_name)
        n = weight.shape[self.axis]
        if n == 0:
            raise ValueError(f"Expect {self.weight_name}.shape[{self.axis}] > 0")
        setattr(link, self.vector_name, link.device.send(numpy.random.normal(size=n).astype(weight.dtype)))
        link.register_persistent(self.vector_name)
        if self.use_gamma:
            largest = as_tensor(self.reshape_W(weight.array)).svd().S[0]
            with link.init_scope():
                link.gamma = Parameter(link.device.send(largest.cpu().numpy()))
        self._initialized = True

    def weight_of(self, link: Any) -> Any:
        weight, u = getattr(link, self.weight_name), getattr(link, self.vector_name)
        matrix = self.reshape_W(weight)
        # The second call of `forget` must see the same vectors, so it does not iterate again.
        if not config.in_recomputing:
            with link.device.create_context():
                for _ in range(self.n_power_iteration):
                    self.v = self._unit(u @ matrix.array)
                    u = self._unit(matrix.array @ self.v)
                if config.train:
                    backend.copyto(getattr(link, self.vector_name), u)
        sigma = matmul(matmul(u, matrix), self.v)
        if self.factor is not None:
            sigma /= self.factor
        return link.gamma * weight / sigma if self.use_gamma else weight / sigma

    def _unit(self, vector: Any) -> Any:
        return vector / (backend.get_array_module(vector).sqrt((vector * vector).sum()) + self.eps)

    def reshape_W(self, W: Any) -> Any:
        """The weight as a matrix [outputs, all other axes]."""
        if self.axis:
            W = W.transpose((self.axis, *[axis for axis in range(W.ndim) if axis != self.axis]))
        return W if W.ndim == 2 else W.reshape(W.shape[0], -1)


class WeightStandardization(WeightHook):
    """Standardizes the weights of each output of a link to mean 0 and variance 1 (Qiao et al., 2019).

    Args:
        eps: added to the variance.
        weight_name: name of the link's weight.
        name: name of the hook.
    """

    name = "WeightStandardization"

    def __init__(self, *, eps: float = 1e-5, weight_name: str = "W", name: str | None = None) -> None:
        super().__init__(weight_name, name)
        self.eps = eps

    def weight_of(self, link: Any) -> Any:
        weight = getattr(link, self.weight_name)
        ones, zeros = (make((weight.shape[1],), weight.dtype) for make in (link.xp.ones, link.xp.zeros))
        return group_normalization(weight, 1, ones, zeros, self.eps)
