"""Normalisations as layers."""

from types import ModuleType
from typing import Any

import numpy as np

from ...base import DtypeLike
from ...initializer import Initial
from ...symbol.nesting import Data
from ..blocks.hybrid import HybridBlock
from ..blocks.parameter_dict import ParameterDict

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm"]


def _options(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in values.items())


class BatchNorm(HybridBlock):
    """Normalisation over the batch, by running means when predicting (Ioffe, Szegedy 2015).

    Args:
        axis: the axis of the C channels.
        momentum: the factor on the old running statistics; torch's momentum is 1 minus it.
        epsilon: added to the variances.
        center: whether beta [C] is learnt; otherwise it is constant.
        scale: whether gamma [C] is learnt; otherwise it is 1 for any initializer.
        use_global_stats: whether training also normalises by the running statistics.
        beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer: initializers.
        in_channels: C; 0 waits for the first input.

    The running variance is the mean of squares; torch divides by n - 1 (MXNet 1.9.1, observed).
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        running_mean_initializer: Initial = "zeros",
        running_variance_initializer: Initial = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }

        def add(name: str, init: Initial, learnt: bool) -> Any:
            return self.params.get(
                name,
                grad_req="write" if learnt else "null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=learnt,
            )

        self.gamma = add("gamma", gamma_initializer, scale)
        self.beta = add("beta", beta_initializer, center)
        self.running_mean = add("running_mean", running_mean_initializer, False)
        self.running_var = add("running_var", running_variance_initializer, False)

    def cast(self, dtype: DtypeLike) -> None:
        """Change the dtype. Statistics remain float32 if the parameters become float16."""
        super().cast("float32" if np.dtype(dtype).name == "float16" else dtype)

    def hybrid_forward(
        self, F: ModuleType, x: Data, gamma: Data, beta: Data, running_mean: Data, running_var: Data
    ) -> Any:
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        channels = self.gamma.shape[0]
        return f"{type(self).__name__}({_options(self._kwargs)}, in_channels={channels if channels else None})"


def _add(block: HybridBlock, name: str, size: int, init: Initial, learnt: bool) -> None:
    """Create gamma or beta of a block. It has no gradient unless it is learnt."""
    grad_req = "write" if learnt else "null"
    setattr(block, name, block.params.get(name, grad_req=grad_req, shape=(size,), init=init, allow_deferred_init=True))


class _ScaledNorm(HybridBlock):
    """The base of LayerNorm and InstanceNorm: gamma, beta and their options."""

    def __init__(
        self,
        axis: int,
        epsilon: float,
        center: bool,
        scale: bool,
        beta_initializer: Initial,
        gamma_initializer: Initial,
        in_channels: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        _add(self, "gamma", in_channels, gamma_initializer, scale)
        _add(self, "beta", in_channels, beta_initializer, center)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_options(self._kwargs)}, in_channels={self._reg_params['gamma'].shape[0]})"  # type: ignore[index]


class LayerNorm(_ScaledNorm):
    """Normalisation of each vector along an axis (Ba et al. 2016).

    Args:
        axis: the normalised axis, of C elements.
        epsilon: added to the variances.
        center, scale: whether beta and gamma [C] are learnt; otherwise they are constant.
        beta_initializer, gamma_initializer: initializers.
        in_channels: C; 0 waits for the first input.
        prefix, params: as for `Block`.
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, prefix=prefix, params=params
        )

    def hybrid_forward(self, F: ModuleType, data: Data, gamma: Data, beta: Data) -> Any:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)


class InstanceNorm(_ScaledNorm):
    """Normalisation of each channel of each sample (Ulyanov et al. 2016).

    The arguments are as in `LayerNorm`; `axis` is the channels' axis, and gamma is not learnt by default.
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)

    def hybrid_forward(self, F: ModuleType, x: Data, gamma: Data, beta: Data) -> Any:
        """Normalised over all axes but the first and `axis`."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        turned = F.InstanceNorm(F.swapaxes(x, 1, self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return turned.swapaxes(1, self._axis)


class BatchNormReLU(BatchNorm):
    """BatchNorm, then relu."""

    def hybrid_forward(
        self, F: ModuleType, x: Data, gamma: Data, beta: Data, running_mean: Data, running_var: Data
    ) -> Any:
        """Normalised along `axis`, negative numbers set to 0."""
        return F.relu(super().hybrid_forward(F, x, gamma, beta, running_mean, running_var))


class GroupNorm(HybridBlock):
    """Normalisation of groups of channels (Wu, He 2018); gamma and beta have one element a group, as in MXNet 1.9.

    The arguments are as in `LayerNorm`, with a number of groups that divides C in [N, C, ...].
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups = num_groups
        self._epsilon = epsilon
        _add(self, "gamma", num_groups, gamma_initializer, scale)
        _add(self, "beta", num_groups, beta_initializer, center)

    def hybrid_forward(self, F: ModuleType, data: Data, gamma: Data, beta: Data) -> Any:
        """Normalised within each group."""
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_options(self._kwargs)})"
