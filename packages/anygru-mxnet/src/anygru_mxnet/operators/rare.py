"""Operators that few recurrent programs use: rearrangements of images, densities of distributions, straight-through gradients."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

import torch
from torch import Tensor
from torch import distributions as laws
from torch.nn import functional

from ..base import MXNetError, Sizes
from .elementwise import round_away
from .registry import operator, truth


def _pair(value: Sizes, default: int) -> tuple[int, ...]:
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return tuple(int(size) for size in sizes if size is not None) or (default, default)


@operator("depth_to_space")
def _depth_to_space(data: Tensor, block_size: int) -> Tensor:
    n, c, h, w = data.shape
    b = int(block_size)
    return data.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)


@operator("space_to_depth")
def _space_to_depth(data: Tensor, block_size: int) -> Tensor:
    n, c, h, w = data.shape
    b = int(block_size)
    return data.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b**2, h // b, w // b)


@operator("im2col")
def _im2col(data: Tensor, kernel: Sizes, stride: Sizes = None, dilate: Sizes = None, pad: Sizes = None) -> Tensor:
    return functional.unfold(data, _pair(kernel, 1), _pair(dilate, 1), _pair(pad, 0), _pair(stride, 1))


@operator("col2im")
def _col2im(
    data: Tensor, output_size: Sizes, kernel: Sizes, stride: Sizes = None, dilate: Sizes = None, pad: Sizes = None
) -> Tensor:
    sizes = _pair(output_size, 1), _pair(kernel, 1)
    return functional.fold(data, *sizes, _pair(dilate, 1), _pair(pad, 0), _pair(stride, 1))


@operator("LRN", alike=True)
def _lrn(data: Tensor, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: int | None = None) -> Tensor:
    if nsize is None:
        raise MXNetError(
            "LRN: Required parameter nsize of int (non-negative) is not presented; give the number of channels"
        )
    # torch divides alpha by the size.
    return functional.local_response_norm(data, int(nsize), alpha, beta, knorm)


@operator("_contrib_AdaptiveAvgPooling2D")
def _adaptive_pooling(data: Tensor, output_size: Sizes = 1) -> Tensor:
    sizes = _pair(output_size, 1)
    return functional.adaptive_avg_pool2d(data, (sizes[0], sizes[-1]))


def _steps(size: int, data: Tensor) -> Tensor:
    """Evenly spaced positions from -1 to 1. A single position is -1."""
    return torch.arange(size, dtype=data.dtype, device=data.device) * (2.0 / max(size - 1, 1)) - 1


def _check_value(operator: str, name: str, value: str, *known: str) -> None:
    if value not in known:
        raise MXNetError(f"{operator}: {name} must be {' or '.join(known)}, got {value!r}")


@operator("GridGenerator")
def _grid_generator(data: Tensor, transform_type: str, target_shape: Sizes = (0, 0)) -> Tensor:
    """The sampling positions, x before y, from the six numbers of an affine map, or from a flow that is added to each
    position."""
    _check_value("GridGenerator", "transform_type", transform_type, "affine", "warp")
    height, width = _pair(target_shape, 0) if transform_type == "affine" else data.shape[2:]
    y, x = torch.meshgrid(_steps(height, data), _steps(width, data), indexing="ij")
    if transform_type == "affine":
        places = torch.stack([x, y, torch.ones_like(x)]).reshape(3, -1)
        return (data.reshape(-1, 2, 3) @ places).reshape(-1, 2, height, width)
    scale = data.new_tensor([max(width - 1, 1) / 2, max(height - 1, 1) / 2]).reshape(1, 2, 1, 1)
    return data / scale + torch.stack([x, y])


@operator("BilinearSampler", inputs=2)
def _bilinear_sampler(data: Tensor, grid: Tensor, cudnn_off: bool | None = None) -> Tensor:
    return functional.grid_sample(data, grid.permute(0, 2, 3, 1), align_corners=True)


@operator("SpatialTransformer", inputs=2)
def _spatial_transformer(
    data: Tensor,
    loc: Tensor,
    target_shape: Sizes = (0, 0),
    transform_type: str = "",
    sampler_type: str = "",
    cudnn_off: bool | None = None,
) -> Tensor:
    _check_value("SpatialTransformer", "transform_type", transform_type, "affine")
    _check_value("SpatialTransformer", "sampler_type", sampler_type, "bilinear")
    return _bilinear_sampler(data, _grid_generator(loc, transform_type, target_shape))


def _heads(data: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """Split (time, batch, heads * parts * size) into parts of shape (batch * heads, time, size)."""
    time, batch, width = data.shape
    split = data.reshape(time, batch * heads, parts, width // heads // parts).permute(2, 1, 0, 3)
    return split.unbind(0)


def _joined(attended: Tensor, heads: int) -> Tensor:
    return attended.permute(1, 0, 2).reshape(attended.shape[1], attended.shape[0] // heads, -1)


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    return (queries / queries.shape[-1] ** 0.5) @ keys.mT


@operator("_contrib_interleaved_matmul_selfatt_qk")
def _self_scores(queries_keys_values: Tensor, heads: int) -> Tensor:
    return _scores(*_heads(queries_keys_values, int(heads), 3)[:2])


@operator("_contrib_interleaved_matmul_selfatt_valatt", inputs=2)
def _self_attended(queries_keys_values: Tensor, attention: Tensor, heads: int) -> Tensor:
    return _joined(attention @ _heads(queries_keys_values, int(heads), 3)[2], int(heads))


@operator("_contrib_interleaved_matmul_encdec_qk", inputs=2)
def _cross_scores(queries: Tensor, keys_values: Tensor, heads: int) -> Tensor:
    return _scores(_heads(queries, int(heads), 1)[0], _heads(keys_values, int(heads), 2)[0])


@operator("_contrib_interleaved_matmul_encdec_valatt", inputs=2)
def _cross_attended(keys_values: Tensor, attention: Tensor, heads: int) -> Tensor:
    return _joined(attention @ _heads(keys_values, int(heads), 2)[1], int(heads))


@operator("khatri_rao")
def _khatri_rao(*args: Tensor) -> Tensor:
    """The products of all pairs of elements of the columns."""
    result = args[0]
    for factor in args[1:]:
        result = (result.unsqueeze(1) * factor).reshape(-1, factor.shape[1])
    return result


@operator("_contrib_quadratic", alike=True)
def _quadratic(data: Tensor, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Tensor:
    return a * data * data + b * data + c


@operator("_contrib_round_ste", alike=True)
def _round_ste(data: Tensor) -> Tensor:
    return data + (round_away(data) - data).detach()


@operator("_contrib_sign_ste", alike=True)
def _sign_ste(data: Tensor) -> Tensor:
    return data + (torch.sign(data) - data).detach()


@operator("_contrib_gradientmultiplier", alike=True)
def _gradient_multiplier(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
    return data.detach() + (data - data.detach()) * scalar


@operator("_contrib_index_copy", inputs=3)
def _index_copy(old_tensor: Tensor, index_vector: Tensor, new_tensor: Tensor) -> Tensor:
    return old_tensor.index_copy(0, index_vector.long(), new_tensor)


@operator("fill_element_0index", inputs=3)
def _fill_element(lhs: Tensor, mhs: Tensor, rhs: Tensor) -> Tensor:
    return lhs.scatter(1, rhs.long().unsqueeze(1), mhs.unsqueeze(1))


def _places(size: int, offset: int, lower: Any) -> tuple[Tensor, Tensor]:
    below = truth(lower) if offset == 0 else offset < 0
    rows, columns = torch.tril_indices(size, size, offset if below else -offset)
    return (rows, columns) if below else (columns, rows)


@operator("_linalg_extracttrian", "linalg_extracttrian")
def _extract_triangle(A: Tensor, offset: int = 0, lower: bool = True) -> Tensor:
    rows, columns = _places(A.shape[-1], int(offset), lower)
    return A[..., rows, columns]


def _density(name: str, law: Callable[..., Any]) -> None:
    """Register the density of a distribution. Its parameters are the inputs after the sample."""
    names = ["sample", *signature(law).parameters]
    places = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD) for each in names]
    whole = Signature([*places, Parameter("is_log", Parameter.POSITIONAL_OR_KEYWORD, default=False)])

    def compute(*arguments: Any, **given: Any) -> Tensor:
        values = dict(whole.bind(*arguments, **given).arguments)
        sample, is_log = values.pop("sample"), values.pop("is_log", False)
        spread = [p.reshape(p.shape + (1,) * (sample.dim() - p.dim())) for p in values.values()]
        density: Tensor = law(*spread).log_prob(sample)
        return density if truth(is_log) else density.exp()

    compute.__signature__ = whole  # type: ignore[attr-defined]
    operator(f"_random_pdf_{name}", f"random_pdf_{name}", inputs=len(names))(compute)


for _name, _law in (
    ("normal", lambda mu, sigma: laws.Normal(mu, sigma, validate_args=False)),
    ("uniform", lambda low, high: laws.Uniform(low, high, validate_args=False)),
    ("exponential", lambda lam: laws.Exponential(lam, validate_args=False)),
    ("poisson", lambda lam: laws.Poisson(lam, validate_args=False)),
    ("gamma", lambda alpha, beta: laws.Gamma(alpha, beta, validate_args=False)),
    # torch counts successes before k failures, MXNet failures before k successes: for p = 0.2, k = 3 the density at 0 is 0.008
    # (1.9.1, observed).
    ("negative_binomial", lambda k, p: laws.NegativeBinomial(k, 1 - p, validate_args=False)),
    (
        "generalized_negative_binomial",
        lambda mu, alpha: laws.NegativeBinomial(1 / alpha, mu * alpha / (1 + mu * alpha), validate_args=False),
    ),
):
    _density(_name, _law)


@operator("_random_pdf_dirichlet", "random_pdf_dirichlet", inputs=2)
def _dirichlet_density(sample: Tensor, alpha: Tensor, is_log: bool = False) -> Tensor:
    spread = alpha.reshape(alpha.shape[:-1] + (1,) * (sample.dim() - alpha.dim()) + alpha.shape[-1:])
    density = laws.Dirichlet(spread, validate_args=False).log_prob(sample)
    return density if truth(is_log) else density.exp()
