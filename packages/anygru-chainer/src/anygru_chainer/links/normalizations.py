"""Normalization with a learnt scale and shift: of batches, groups of channels and rows."""

from collections.abc import Iterator
from typing import Any

import numpy

from .. import initializers
from ..configuration import config, get_dtype
from ..functions.normalizations import (
    batch_normalization,
    fixed_batch_normalization,
    group_normalization,
    layer_normalization,
)
from ..link import Link
from ..types import DTypeSpec, InitializerSpec, VariableLike
from ..utils import argument
from ..utils.helpers import size_of_shape
from ..variable import Parameter, Variable

__all__ = ["BatchNormalization", "GroupNormalization", "LayerNormalization"]


class Affine(Link):
    """The base of normalizations with a learnt scale gamma [size] and shift beta [size].

    Args:
        size: None: taken from the first input.
        eps: added to the variance.
        initial_gamma, initial_beta: 1 and 0 by default.
    """

    def __init__(
        self, size: int | None, eps: float, initial_gamma: InitializerSpec, initial_beta: InitializerSpec
    ) -> None:
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.gamma = Parameter(1 if initial_gamma is None else initial_gamma)
            self.beta = Parameter(0 if initial_beta is None else initial_beta)
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        self.gamma.initialize(size)
        self.beta.initialize(size)


class BatchNormalization(Link):
    """Batch normalization with a learnt scale gamma and shift beta, and running averages for evaluation.

    `avg_mean`, `avg_var` and `N` (the number of batches of finetuning) are saved with the parameters.

    Args:
        size: number of channels, or the shape of all axes that are not averaged over.
        decay: of the running averages.
        eps: added to the variance.
        dtype: of parameters and averages; by default `config.dtype` (float32 for mixed16).
        use_gamma, use_beta: whether to learn the scale and the shift.
        initial_gamma, initial_beta, initial_avg_mean, initial_avg_var: 1, 0, 0 and 1 by default.
        axis: the axes that are averaged over. With it `size` is optional, and the first input determines the shape.

    Raises:
        RuntimeError: neither `size` nor `axis` was given.
    """

    gamma: Any = None
    beta: Any = None

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: DTypeSpec = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: InitializerSpec = None,
        initial_beta: InitializerSpec = None,
        axis: int | tuple[int, ...] | None = None,
        initial_avg_mean: InitializerSpec = None,
        initial_avg_var: InitializerSpec = None,
    ) -> None:
        super().__init__()
        if size is None and axis is None:
            raise RuntimeError("size or axis is required")
        self.decay = decay
        self.eps = eps
        self.axis: Any = (axis,) if isinstance(axis, int) else axis
        self._dtype = get_dtype(dtype, map_mixed16=numpy.float32)
        self._initial_averages = [
            0 if initial_avg_mean is None else initial_avg_mean,
            1 if initial_avg_var is None else initial_avg_var,
        ]
        with self.init_scope():
            if use_gamma:
                self.gamma = self._make_parameter(1 if initial_gamma is None else initial_gamma)
            if use_beta:
                self.beta = self._make_parameter(0 if initial_beta is None else initial_beta)
        self.add_persistent("N", 0)
        self.add_persistent("avg_mean", None)
        self.add_persistent("avg_var", None)
        if size is not None:
            self._initialize_params(size)

    def _make_parameter(self, initializer: InitializerSpec) -> Parameter:
        initializer = initializers.get_initializer(initializer)
        initializer.dtype = self._dtype
        return Parameter(initializer)

    def _initialize_params(self, shape: tuple[int, ...] | int) -> None:
        self.avg_mean, self.avg_var = [
            initializers.generate_array(
                initializers.get_initializer(initial), shape, self.xp, dtype=self._dtype, device=self.device
            )
            for initial in self._initial_averages
        ]
        for parameter in (self.gamma, self.beta):
            if parameter is not None:
                parameter.initialize(shape)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from [("size", self.avg_mean.shape[0]), ("decay", self.decay), ("eps", self.eps)]
        yield from [("dtype", self.avg_mean.dtype), ("use_gamma", True), ("use_beta", True)]

    def forward(self, x: VariableLike, **kwargs: Any) -> Variable:
        """The normalized x.

        Args:
            x: [B, size, ...].
            finetune: average over all batches since `start_finetuning` instead of letting old ones decay.
        """
        (finetune,) = argument.parse_kwargs(
            kwargs, ("finetune", False), test="test argument is not supported anymore. Use chainer.using_config"
        )
        if self.avg_mean is None:
            self._initialize_params(tuple([size for a, size in enumerate(x.shape) if a not in self.axis]))
        gamma = self.xp.ones_like(self.avg_mean) if self.gamma is None else self.gamma
        beta = self.xp.zeros_like(self.avg_mean) if self.beta is None else self.beta
        if not config.train:
            return fixed_batch_normalization(x, gamma, beta, self.avg_mean, self.avg_var, self.eps, self.axis)
        running, decay = (self.avg_mean, self.avg_var), self.decay
        if config.in_recomputing:  # the second call of F.forget counts for nothing
            running = None, None
        elif finetune:
            self.N += 1
            decay = 1.0 - 1.0 / self.N
        mean, variance = running
        return batch_normalization(
            x, gamma, beta, eps=self.eps, running_mean=mean, running_var=variance, decay=decay, axis=self.axis
        )

    def start_finetuning(self) -> None:
        """Restart the averages: set N to 0."""
        self.N = 0


class GroupNormalization(Affine):
    """Normalization of groups of channels with a learnt scale gamma and shift beta for each channel.

    Args:
        groups: number of groups, by which the number of channels can be divided.
        size: number of channels; None: taken from the first input.
        eps: added to the variance.
        initial_gamma, initial_beta: 1 and 0 by default.
    """

    def __init__(
        self,
        groups: int,
        size: int | None = None,
        eps: float = 1e-5,
        initial_gamma: InitializerSpec = None,
        initial_beta: InitializerSpec = None,
    ) -> None:
        gamma = initializers.get_initializer(1 if initial_gamma is None else initial_gamma)
        beta = initializers.get_initializer(0 if initial_beta is None else initial_beta)
        # Under `mixed16` these are float32, and LayerNormalization's are float16 (Chainer 7.8.1, recorded).
        gamma.dtype = beta.dtype = get_dtype(None, map_mixed16=numpy.float32)
        super().__init__(size, eps, gamma, beta)
        self.groups = groups

    def forward(self, x: VariableLike) -> Variable:
        """The normalized x [B, C, ...] (ValueError for less than two axes)."""
        if self.gamma.array is None:
            if x.ndim < 2:
                raise ValueError(
                    "Input dimension must be at least 2, including batch size dimension (first dimension)."
                )
            self._initialize_params(x.shape[1])
        return group_normalization(x, self.groups, self.gamma, self.beta, self.eps)


class LayerNormalization(Affine):
    """Layer normalization of rows with a learnt scale gamma and shift beta.

    Args:
        size: size of a row; None: taken from the first input.
        eps: added to the variance.
        initial_gamma, initial_beta: 1 and 0 by default.
    """

    def __init__(
        self,
        size: int | None = None,
        # The function's own default is 1e-5 (Chainer 7.8.1, seen for both).
        eps: float = 1e-6,
        initial_gamma: InitializerSpec = None,
        initial_beta: InitializerSpec = None,
    ) -> None:
        super().__init__(size, eps, initial_gamma, initial_beta)

    def forward(self, x: VariableLike) -> Variable:
        """The normalized x [B, N]."""
        if self.gamma.array is None:
            self._initialize_params(size_of_shape(x.shape[1:]))
        return layer_normalization(x, self.gamma, self.beta, self.eps)
