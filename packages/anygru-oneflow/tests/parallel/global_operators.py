"""Every covered operator as an expression, to be computed in every layout over processes; importable by them.

In an expression `x` and `y` are global tensors [4, 4] between 0.1 and 0.9, `z` is [4, 4, 4], `i` an image [4, 4, 4, 4], `v` a
volume [4, 4, 4, 4, 4] and `n` whole numbers [4, 4] between 0 and 3; all of them have one layout. `c` (x > 0.5) is computed.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import anygru_oneflow as flow
from anygru_oneflow import nn
from anygru_oneflow.nn import functional as F

ONE = """abs acos arccos arcsin arctan arctanh asin atan atanh ceil cos cosh erf erfc erfinv exp expm1 floor gelu lgamma log log10
log1p log2 log_softmax mish neg negative quick_gelu reciprocal relu round rsqrt selu sigmoid sign silu sin sinh softmax softplus
softsign sqrt square t tan tanh trunc logical_not isnan isinf isfinite sum mean prod max min std var argmax argmin all any
logsumexp(0) amax amin median nansum nonzero argwhere flatten squeeze atleast_1d atleast_2d atleast_3d inverse tril triu diag norm
acosh(+1) arccosh(+1) zeros_like ones_like numel arcsinh asinh"""
TWO = """add atan2 div eq equal floor_divide fmod ge greater greater_equal gt le logical_and logical_or logical_xor lt maximum
minimum mul ne not_equal pow sub matmul mm logaddexp isclose allclose broadcast_like hstack([]) vstack([]) dstack([])
column_stack([]) row_stack([]) stack([]) cat([]) concat([]) broadcast_tensors"""
DIM = """sum mean prod max min std var argmax argmin all any logsumexp amax amin cumsum cumprod softmax log_softmax argsort sort
unbind nansum median norm"""
METHODS = """clone contiguous detach double float half int long bool T type_as(y) expand_as(y) view_as(y) reshape_as(y) where(c,y)
to(flow.float64) masked_fill(c,2.0) masked_select(c) add_(1) mul_(2) sub_(1) div_(2) zero_() fill_(2.0) clamp_(0.3,0.6)
floor_() sin_() relu_() masked_fill_(c,1.0) tolist() numpy()"""
# Images of one, two and three dimensions.
IMAGES = {"z": 1, "i": 2, "v": 3}
POOLS = ("F.avg_pool{}d({},2)", "F.max_pool{}d({},2)", "F.adaptive_avg_pool{}d({},1)", "F.adaptive_max_pool{}d({},2)")
MORE = """
flow.addcdiv(x, y, y + 1, value=2); flow.addcmul(x, x, y, value=0.5); flow.addmm(x, y, x); flow.baddbmm(z, z, z); flow.bmm(z, z)
flow.chunk(x, 2, 0); flow.chunk(x, 2, 1); flow.split(x, 2, 0); flow.split(x, 2, 1); flow.tensor_split(x, 2); flow.hsplit(x, 2)
flow.vsplit(x, 2); flow.clamp(x, 0.3, 0.6); flow.clip(x, 0.3, 0.6); flow.clamp_min(x, 0.3); flow.clamp_max(x, 0.6)
flow.diagonal(x, 0, 0, 1); flow.dot(x[0], y[1]); flow.einsum('ij,jk->ik', x, y); flow.expand(x, (2, 4, 4)); flow.flip(x, 0)
flow.flip(x, [0, 1]); flow.gather(x, 0, n); flow.gather(x, 1, n); flow.gather_nd(x, n[:, :2]); flow.index_select(x, 0, n[0])
flow.index_select(x, 1, n[0]); flow.index_add(x, 0, n[0], y); flow.scatter(x, 0, n, y); flow.scatter(x, 1, n, 2.0)
flow.scatter_add(x, 0, n, y); flow.scatter_add(x, 1, n, y); flow.masked_fill(x, c, 2.0); flow.masked_select(x, c)
flow.where(c, x, y); flow.where(c, x, 1.0); flow.meshgrid(x[0], y[0]); flow.movedim(x, 0, 1); flow.mv(x, y[0]); flow.narrow(x, 0, 1, 2)
flow.narrow(x, 1, 1, 2); flow.pad(x, (1, 1)); F.pad(i, (1, 1, 1, 1), mode='reflect'); F.pad(i, (1, 1, 1, 1), mode='replicate')
flow.permute(x, (1, 0)); flow.repeat(x, (2, 1)); flow.repeat_interleave(x, 2, 0); flow.repeat_interleave(x, 2, 1); flow.reshape(x, (2, 8))
flow.roll(x, 1, 0); flow.roll(x, 1, 1); flow.roll(x, 1); flow.searchsorted(x, y); flow.select(x, 0, 1); flow.select(x, 1, 1)
flow.slice(x, ((0, 2, 1), (1, 3, 1))); flow.softmax(x, -1); flow.squeeze(x.unsqueeze(0), 0); flow.swapaxes(x, 0, 1); flow.swapdims(x, 0, 1)
flow.tensordot(x, y, dims=1); flow.tile(x, (1, 2)); flow.topk(x, 2, 0); flow.topk(x, 2, 1); flow.transpose(x, 0, 1)
flow.tril(x, 1); flow.triu(x, 1); flow.tril(z, 1); flow.triu(z, 1); flow.unique(n); flow.unsqueeze(x, 0); flow.unsqueeze(x, 1)
flow.batch_gather(x, n); flow.bincount(n[0]); flow.in_top_k(n[0], x, 2); flow.quantile(x, 0.5); flow.softshrink(x, 0.3)
flow.threshold(x, 0.5, 2.0); flow.as_strided(x, (2, 2), (1, 2)); flow.broadcast_to(x, (2, 4, 4)); flow.cast(x, flow.float32)
flow.tensor_scatter_nd_update(x, n[:, :2], y[:, 0]); flow.scatter_nd(n[:, :1], y, (4, 4)); flow.linalg.norm(x); flow.linalg.vector_norm(x)
flow.linalg.matrix_norm(x); flow.linalg.inv(x + flow.ones_like(x).triu()); flow.linalg.diagonal(x); flow.linalg.cross(x[:, :3], y[:, :3])
x + 1; 1 - x; x / 2; 2 / x; x ** 2; 2 ** x; x % 0.3; x // 0.3; -x; x @ y; x > 0.5; x + y[0]; x * y[:, :1]; x[0]; x[:, 1]; x[1:3, ::2]; x[..., None]
x[n[0]]; x[:, n[0]]; x[c]; x.view(16); x.view(2, 8); x.view(8, 2); x.reshape(-1); z.view(16, 4); z.view(4, 16); z.flatten(1); z.permute(2, 0, 1)
x.unfold(0, 2, 1); x.unfold(1, 2, 2); x.repeat(2, 1); x.tile(1, 2); x.expand(2, 4, 4); x.type(flow.float32); x.to(flow.float32); x.cast(flow.float32)
F.celu(x); F.elu(x, 1.0); F.glu(x, 0); F.glu(x, 1); F.hardshrink(x, 0.3); F.hardsigmoid(x); F.hardswish(x); F.hardtanh(x, 0.2, 0.7); F.leaky_relu(x, 0.1)
F.logsigmoid(x); F.prelu(x, y[0, :1]); F.prelu(x, y[0]); F.relu6(x); F.softshrink(x, 0.3); F.threshold(x, 0.5, 2.0); F.normalize(x); F.normalize(x, dim=0)
F.one_hot(n, 4); F.embedding(n, x); F.linear(x, y); F.linear(z, y, y[0]); F.layer_norm(x, (4,)); F.layer_norm(z, (4, 4)); F.layer_norm(z, (4,), y[0], y[1])
F.batch_norm(x, None, None, training=True); F.batch_norm(i, x[0].detach(), x[1].detach(), y[2], y[3]); F.cosine_similarity(x, y); F.cosine_similarity(x, y, dim=0)
F.pairwise_distance(x, y); F.mse_loss(x, y); F.mse_loss(x, y, reduction='sum'); F.mse_loss(x, y, reduction='none'); F.l1_loss(x, y)
F.smooth_l1_loss(x, y); F.kl_div(x.log(), y); F.kl_div(x.log(), y, reduction='sum'); F.binary_cross_entropy(x, y.detach())
F.binary_cross_entropy_with_logits(x, y.detach()); F.cross_entropy(x, n[0]); F.cross_entropy(x, n[0], reduction='sum'); F.cross_entropy(x, n[0], reduction='none')
F.cross_entropy(x, n[0], ignore_index=1); F.cross_entropy(x, n[0], y[0].detach()); F.cross_entropy(z, n); F.sparse_softmax_cross_entropy(n[0], x)
nn.NLLLoss()(x.log(), n[0]); F.triplet_margin_loss(x, y, y * 0.5, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction='mean'); nn.MarginRankingLoss()(x, y, c * 2.0 - 1); nn.BCELoss()(x, y.detach())
nn.CTCLoss()(flow.log_softmax(z, 2), n[:, :2] % 3 + 1, [4, 4, 4, 4], [2, 2, 2, 2]); nn.CosineSimilarity()(x, y); nn.KLDivLoss()(x.log(), y)
F.conv1d(z, z[:, :, :2]); F.conv2d(i, i[:, :, :2, :2]); F.conv3d(v, v[:, :, :2, :2, :2]); F.conv2d(i, i[:, :, :2, :2], y[0], padding=1)
F.conv_transpose1d(z, z[:, :, :2]); F.conv_transpose2d(i, i[:, :, :2, :2]); F.conv_transpose3d(v, v[:, :, :2, :2, :2])
F.interpolate(i, scale_factor=2); F.interpolate(i, scale_factor=2, mode='bilinear'); F.interpolate(i, size=(3, 3), mode='bicubic')
F.grid_sample(i, i[..., :2], align_corners=False); F.affine_grid(i[:, 0, :2, :3], (4, 1, 2, 2)); F.fold(z, (3, 3), 2); F.unfold(i, kernel_size=2)
F.dropout(x, 0.0); F.dropout(x, 0.5, training=False); F.dropout1d(z, 0.5, training=False); F.dropout2d(i, 0.5, training=False); F.dropout3d(v, 0.5, training=False)
nn.GroupNorm(2, 4).to(flow.float64).to_global(x.placement, B)(i); nn.InstanceNorm1d(4).to(flow.float64)(z); nn.InstanceNorm2d(4).to(flow.float64)(i)
nn.InstanceNorm3d(4).to(flow.float64)(v); nn.PixelShuffle(2)(i); nn.ZeroPad2d(1)(i); nn.ConstantPad1d(1, 2.0)(z); nn.ConstantPad2d(1, 2.0)(i); nn.ConstantPad3d(1, 2.0)(v)
nn.ReflectionPad1d(1)(z); nn.ReflectionPad2d(1)(i); nn.ReplicationPad1d(1)(z); nn.ReplicationPad2d(1)(i); nn.Upsample(scale_factor=2)(i); nn.RMSLayerNorm(4).to(flow.float64).to_global(x.placement, B)(x)
nn.RMSNorm(4).to(flow.float64).to_global(x.placement, B)(x); nn.BatchNorm1d(4).to(flow.float64).eval().to_global(x.placement, B)(z)
nn.BatchNorm2d(4).to(flow.float64).eval().to_global(x.placement, B)(i); nn.BatchNorm3d(4).to(flow.float64).eval().to_global(x.placement, B)(v)
nn.CrossEntropyLoss()(x, n[0]); nn.QuickGELU()(x); nn.Flatten()(z); nn.Identity()(x); nn.Softmax(0)(x); nn.LogSoftmax(1)(x); nn.Threshold(0.5, 2.0)(x)
"""  # noqa: E501

# Layers without parameters, by the tensor that they take.
LAYERS = {
    "x": "ReLU ReLU6 Sigmoid Tanh SiLU Mish SELU CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU "
    "LogSigmoid Softplus Softshrink Softsign Dropout(0.0) LayerNorm(4,elementwise_affine=False)",
    "z": "AvgPool1d(2) MaxPool1d(2) AdaptiveAvgPool1d(1) AdaptiveMaxPool1d(2) Fold((3,3),2)",
    "i": "AvgPool2d(2) MaxPool2d(2) AdaptiveAvgPool2d(1) AdaptiveMaxPool2d(2) Unfold(2) UpsamplingBilinear2d(scale_factor=2) "
    "UpsamplingNearest2d(scale_factor=2)",
    "v": "AvgPool3d(2) MaxPool3d(2) AdaptiveAvgPool3d(1) AdaptiveMaxPool3d(2)",
}
PAIRS = ("MSELoss", "L1Loss", "SmoothL1Loss", "BCEWithLogitsLoss")

B = flow.sbp.broadcast


def expressions() -> list[str]:
    """All of them, from the tables."""
    found: list[str] = []
    for text in ONE.split():
        name, _, rest = text.partition("(")
        if rest.startswith("+1"):
            found.append(f"flow.{name}(x + 1)")
        else:
            found.append(f"flow.{name}(x, {rest}" if rest else f"flow.{name}(x)")
    for text in TWO.split():
        name, _, listed = text.partition("(")
        found.append(f"flow.{name}([x, y])" if listed else f"flow.{name}(x, y)")
    found += [f"flow.{name}(x, dim={dim})" for name in DIM.split() for dim in (0, 1)]
    for text in METHODS.split():
        found.append(f"x.{text}" if "(" in text or text == "T" else f"x.{text}()")
    for name, axes in IMAGES.items():
        found += [text.format(axes, name) for text in POOLS]
    for given, layers in LAYERS.items():
        found += [f"nn.{layer if '(' in layer else layer + '()'}({given})" for layer in layers.split()]
    found += [f"nn.{layer}()(x, y.detach())" for layer in PAIRS]
    found += [part.strip() for line in MORE.strip().splitlines() for part in line.split("; ")]
    return found


def inputs() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    values = {name: draw.uniform(0.1, 0.9, [4] * axes) for name, axes in zip("xyziv", (2, 2, 3, 4, 5), strict=True)}
    return {**values, "n": draw.integers(0, 4, (4, 4))}


def layouts(axes: int) -> Iterator[tuple[Any, ...]]:
    """Every layout over a mesh of this number of dimensions."""
    return itertools.product((B, flow.sbp.partial_sum, flow.sbp.split(0), flow.sbp.split(1)), repeat=axes)


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [part for entry in result for part in _flat(entry)]
    return [result]


def _whole(value: Any) -> Any:
    return value.detach().numpy().copy() if isinstance(value, flow.Tensor) else np.asarray(value)


def given(place: Any, layout: Any) -> tuple[dict[str, Any], list[Any]]:
    """The names of the expressions in one layout, and the tensors among them that take gradients."""
    found: dict[str, Any] = {"flow": flow, "nn": nn, "F": F, "B": [B] * len(layout or ())}
    leaves = []
    for name, values in inputs().items():
        tensor = flow.tensor(values)
        if place is not None:
            # Images and volumes are small along every dimension, so that they have the layouts of matrices.
            tensor = tensor.to_global(place, [B] * len(layout)).to_global(sbp=layout).detach()
        if name != "n":
            leaves.append(tensor.requires_grad_())
        found[name] = tensor
    found["c"] = found["x"].detach() > 0.5
    return found, leaves


def outcome(text: str, named: dict[str, Any], leaves: list[Any]) -> list[Any]:
    """The results of an expression, its gradients, and the gradients of their squares: NumPy arrays, or None."""
    if ("_(" in text or text.startswith("x.relu_")) and "conv" not in text:  # they change x, which must not be a leaf
        named = {**named, "x": named["x"] * 1}
    if not named["x"].is_global:
        text = text.replace(".to_global(x.placement, B)", "")
    results = _flat(eval(text, dict(named)))
    found = [_whole(result) for result in results]
    parts = [part for part in results if isinstance(part, flow.Tensor) and part.requires_grad]
    if parts and all(part.is_floating_point() for part in parts):
        loss = sum((part * part).sum() for part in parts)
        first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        found += [None if gradient is None else _whole(gradient) for gradient in first]
        used = [gradient for gradient in first if gradient is not None and gradient.requires_grad]
        if used and "CTC" not in text:  # torch has its first derivative only
            second = sum((gradient * gradient).sum() for gradient in used)
            found += [
                None if gradient is None else _whole(gradient)
                for gradient in torch.autograd.grad(second, leaves, allow_unused=True)
            ]
    return found


def _is_refused(text: str, layout: tuple[Any, ...]) -> bool:
    """An open sum cannot be changed in place; each process normalizes its own part of a batch, as in OneFlow 0.9.0."""
    changes = re.search(r"\.(?!mul|div|zero)\w+_\(", text)
    open_sum = flow.sbp.partial_sum in layout
    return bool(changes and open_sum) or ("training=True" in text and layout != (B,) * len(layout))


def differences(texts: list[str], ranks: list[Any], share: tuple[int, int] = (0, 1)) -> list[str]:
    """The expressions and layouts that fail, or differ from one process.

    Args:
        share: (n, m) takes the nth of every m layouts.
    """
    place = flow.placement("cpu", ranks)
    single = given(None, None)
    alone = [_outcome_of_seed(text, *single) for text in texts]
    wrong = []
    for layout in itertools.islice(layouts(np.ndim(ranks)), share[0], None, share[1]):
        divided = given(place, layout)
        for text, expected in zip(texts, alone, strict=True):
            if _is_refused(text, layout):
                continue
            try:
                fault = _fault(expected, _outcome_of_seed(text, *divided))
            except Exception as error:
                fault = f"{type(error).__name__}: {str(error).strip()[:200]}"
            if fault:
                wrong.append(f"{text} of {layout}: {fault}")
    return wrong


def _outcome_of_seed(text: str, named: dict[str, Any], leaves: list[Any]) -> list[Any]:
    torch.manual_seed(0)
    return outcome(text, named, leaves)


def _fault(alone: list[Any], found: list[Any]) -> str:
    if len(alone) != len(found):
        return f"{len(found)} results and gradients, expected {len(alone)}"
    for number, (wanted, got) in enumerate(zip(alone, found, strict=True)):
        if wanted is None or got is None:
            # Whether an unused gradient is None or zeros is of no account.
            if (wanted is not None and wanted.any()) or (got is not None and got.any()):
                return f"{number}: None on one side"
        elif wanted.shape != got.shape:
            return f"{number}: shape {got.shape}, expected {wanted.shape}"
        elif not np.allclose(got, wanted, rtol=1e-5, atol=1e-6, equal_nan=True):
            return f"{number}: value"
    return ""
