"""Rows over torch: special functions, integrals, losses with margins, windows, grids, response normalization."""

import numpy as np
from recorder import record, record_error

import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(3)


def f(*shape):
    return paddle.to_tensor(rng.uniform(0.1, 0.9, shape).astype("float32"))


x, y, z = f(4, 5), f(4, 5), f(2, 4, 6, 6)
lab = paddle.to_tensor([0, 3, 1, 4])
pm = paddle.sign(f(4, 5) - 0.5)
record("i0e", paddle.i0e(x))
record("i1e", x.i1e())
record("poly0", x.polygamma(0))
record_error("polyneg", lambda: paddle.polygamma(x, -1))
record("mg", paddle.multigammaln(x + 3, 2))
record("frexp", paddle.frexp(x * 9))
record_error("frexpi", lambda: paddle.frexp(lab))
record("polar", paddle.polar(x, y).abs())
record("polarr", paddle.as_real(paddle.polar(x, y)))
record("trap", paddle.trapezoid(x))
record("trapx", paddle.trapezoid(x, y, axis=0))
record("trapd", paddle.trapezoid(x, dx=0.5, axis=0))
record_error("trapb", lambda: paddle.trapezoid(x, y, 2.0))
record_error("trapi", lambda: paddle.trapezoid(lab))
record("ct", paddle.cumulative_trapezoid(x, axis=0))
record("ctx", paddle.cumulative_trapezoid(x, y))
record("vander", paddle.vander(x[0]))
record("vander2", paddle.vander(lab, 3, True))
record_error("vander3", lambda: paddle.vander(x))
record("comb", paddle.combinations(lab))
record("comb2", paddle.combinations(lab, 3, True))
record("comb0", paddle.combinations(lab, 0))
record_error("combe", lambda: paddle.combinations(x))
record("nq", paddle.nanquantile(paddle.to_tensor([[1.0, float("nan"), 3.0], [4.0, 5.0, 6.0]]), [0.3, 0.5], axis=1))
record("nq2", paddle.nanquantile(x, 0.25))
record("nqk", paddle.nanquantile(x, 0.5, 0, True))
record("ss", paddle.select_scatter(x, f(5), 0, 1))
record("ds", paddle.diagonal_scatter(x, f(4)))
record("si", paddle.shard_index(paddle.to_tensor([[16], [1]]), 20, 2, 0))
record("si2", paddle.shard_index(paddle.to_tensor([[16], [1]]), 20, 2, 1, 7))
record(
    "g",
    [F.gaussian_nll_loss(x, y, f(4, 5), full=b, reduction=r) for b in (False, True) for r in ("mean", "sum", "none")],
)
record("g1", nn.GaussianNLLLoss()(x, y, f(4, 1)))
record(
    "po",
    [
        F.poisson_nll_loss(x, y * 5, a, b, reduction=r)
        for a in (True, False)
        for b in (False, True)
        for r in ("mean", "none")
    ],
)
record("poL", nn.PoissonNLLLoss()(x, y))
record("sm", [F.soft_margin_loss(x, pm, r) for r in ("mean", "sum", "none")])
record("smi", nn.SoftMarginLoss()(x, pm.astype("int64")))
record(
    "mm",
    [
        F.multi_margin_loss(x, lab, p, m, w, r)
        for p, m, w, r in ((1, 1.0, None, "mean"), (2, 0.5, f(5), "none"), (1, 1.0, f(5), "sum"))
    ],
)
record("mmL", nn.MultiMarginLoss()(x, lab))
record(
    "ml",
    [
        F.multi_label_soft_margin_loss(x, (pm > 0).astype("float32"), w, r)
        for w, r in ((None, "mean"), (f(4, 5), "none"), (None, "sum"))
    ],
)
record("mlL", nn.MultiLabelSoftMarginLoss()(x, (pm > 0).astype("float32")))
record(
    "tr",
    [
        F.triplet_margin_with_distance_loss(x, y, f(4, 5), swap=s, reduction=r)
        for s in (False, True)
        for r in ("mean", "none")
    ],
)
record("trd", F.triplet_margin_with_distance_loss(x, y, f(4, 5), lambda a, b: (a - b).abs().sum(-1)))
record("dice", F.dice_loss(x, lab.unsqueeze(-1)))
record("np_", F.npair_loss(x, y, paddle.to_tensor([0.0, 1.0, 0.0, 2.0])))
record(
    "fl",
    [
        F.sigmoid_focal_loss(x, (pm > 0).astype("float32"), n, reduction=r)
        for n, r in ((None, "sum"), (paddle.to_tensor([3.0]), "mean"), (None, "none"))
    ],
)
record("un", [F.unfold(z, 3), F.unfold(z, [2, 3], 2, [1, 0], 1), F.unfold(z, [2, 2], 1, [1, 0, 2, 1])])
record("unL", nn.Unfold(kernel_sizes=[3, 3])(z))
record("fo", F.fold(F.unfold(z, 2, 2), [6, 6], 2, 2))
record("foL", nn.Fold(output_sizes=6, kernel_sizes=[2, 2], strides=2)(F.unfold(z, 2, 2)))
record("ag", F.affine_grid(f(2, 2, 3), [2, 3, 4, 4]))
record(
    "gs",
    [
        F.grid_sample(z, f(2, 3, 3, 2) * 2 - 1.2, mode=m, padding_mode=p, align_corners=a)
        for m in ("bilinear", "nearest")
        for p in ("zeros", "border")
        for a in (True, False)
    ],
)
record("lr", [F.local_response_norm(z, s, alpha=0.1) for s in (1, 2, 3, 4, 5)])
record("lrl", F.local_response_norm(z, 3, alpha=0.1, data_format="NHWC"))
record("lr3", F.local_response_norm(f(2, 4, 5), 3, alpha=0.5, data_format="NCL"))
record("lrL", nn.LocalResponseNorm(size=5)(z))
record("s2", nn.Softmax2D()(z))
record_error("s2e", lambda: nn.Softmax2D()(x))
record(
    "texts",
    [str(each) for each in (nn.LocalResponseNorm(size=5), nn.Unfold([2, 2]), nn.Softmax2D(), nn.GaussianNLLLoss())],
)
