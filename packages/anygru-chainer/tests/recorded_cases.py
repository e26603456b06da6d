"""Calls of functions with results recorded in Chainer 7.8.1.

Run by Chainer's own Python, `python recorded_cases.py FILE.npz` records them again.
"""

import sys

import numpy as np


def draw(*shape, seed=0):
    return np.random.RandomState(seed + sum(shape)).randn(*shape).astype(np.float32)


def cases(F):
    """Name: (function of Variables, arrays)."""
    found = {}
    found.update(_layers(F))
    found.update(_windows(F))
    found.update(_losses(F))
    found.update(_others(F))
    return found


def _layers(F):
    found = {
        "lstm": (F.lstm, draw(3, 4), draw(2, 16)),
        "lstm_more_axes": (F.lstm, draw(3, 2, 5), draw(2, 8, 5)),
        "slstm": (F.slstm, draw(3, 4), draw(3, 4, seed=1), draw(3, 16), draw(3, 16, seed=2)),
        "tree_lstm": (F.tree_lstm, draw(3, 4), draw(3, 4, seed=3), draw(3, 20)),
    }
    steps = (draw(3, 3), draw(2, 3, seed=1), draw(2, 3, seed=2), draw(1, 3, seed=3))
    for kind, n_weights, n_states, activation in (
        ("lstm", 8, 2, None), ("gru", 6, 1, None), ("rnn", 2, 1, "tanh"), ("rnn", 2, 1, "relu"),
    ):  # fmt: skip
        for directions in (1, 2):
            for layers, dropout in ((1, 0.0), (2, 0.0), (2, 0.5)):
                arrays = [draw(layers * directions, 3, 4, seed=i) for i in range(n_states)]
                weights, biases = _weights(n_weights, layers, directions)
                call = _n_step(F, kind, n_weights, n_states, directions, layers, dropout, activation)
                name = f"n_step_{kind}_{activation}_{directions}_{layers}_{dropout}"
                found[name] = (call, *arrays, *weights, *biases, *steps)
    return found


def _weights(n_weights, layers, directions):
    weights, biases = [], []
    for layer in range(layers):
        for _ in range(directions):
            below = 3 if layer == 0 else 4 * directions
            for j in range(n_weights):
                weights.append(draw(4, below if j < n_weights // 2 else 4, seed=3 * j + layer))
                biases.append(draw(4, seed=j))
    return weights, biases


def _n_step(F, kind, n_weights, n_states, directions, layers, dropout, activation):
    def call(*variables):
        n = n_weights * layers * directions
        states, rest = variables[:n_states], list(variables[n_states:])
        weights, biases, xs = rest[:n], rest[n : 2 * n], rest[2 * n :]
        grouped = [[part[i : i + n_weights] for i in range(0, n, n_weights)] for part in (weights, biases)]
        function = getattr(F, f"n_step_{'bi' if directions == 2 else ''}{kind}")
        return function(layers, dropout, *states, *grouped, xs, **({"activation": activation} if activation else {}))

    return call


def _windows(F):
    x, w, b = draw(2, 3, 7, 8), draw(4, 3, 3, 2), draw(4)
    found = {
        "convolution_2d_groups": (lambda x, w: F.convolution_2d(x, w, groups=2), draw(2, 4, 5, 5), draw(6, 2, 3, 3)),
        "convolution_1d": (lambda *a: F.convolution_1d(*a, stride=2, pad=1), draw(2, 3, 9), draw(4, 3, 3), b),
        "convolution_3d": (
            lambda *a: F.convolution_3d(*a, stride=2, pad=1), draw(1, 3, 5, 5, 5), draw(4, 3, 3, 3, 3), b,
        ),
        "dilated_convolution_2d": (lambda *a: F.dilated_convolution_2d(*a, 1, 1, 2), x, w, b),
        "depthwise_convolution_2d": (lambda *a: F.depthwise_convolution_2d(*a, 1, 1), x, draw(2, 3, 3, 3), draw(6)),
        "deconvolution_2d": (lambda *a: F.deconvolution_2d(*a, stride=2, pad=1), x, draw(3, 4, 3, 2), b),
        "deconvolution_2d_outsize": (
            lambda *a: F.deconvolution_2d(*a, stride=3, pad=1, outsize=(20, 22)), x, draw(3, 4, 3, 2), b,
        ),
        "deconvolution_2d_groups": (
            lambda *a: F.deconvolution_2d(*a, stride=2, pad=1, groups=2, dilate=2),
            draw(2, 4, 5, 5), draw(4, 3, 3, 3),
        ),
        "deconvolution_1d": (lambda *a: F.deconvolution_1d(*a, stride=2, pad=1), draw(2, 3, 9), draw(3, 4, 3), b),
        "spatial_pyramid_pooling_2d": (lambda x: F.spatial_pyramid_pooling_2d(x, 3, pooling="max"), x),
        "unpooling_2d": (lambda x: F.unpooling_2d(x, (2, 3)), x),
        "unpooling_2d_overlapping": (lambda x: F.unpooling_2d(x, 3, 2, 1, cover_all=False), x),
        "unpooling_2d_outsize": (lambda x: F.unpooling_2d(x, 2, outsize=(14, 16)), x),
        "unpooling_1d": (lambda x: F.unpooling_1d(x, 3, 1), draw(2, 3, 9)),
        "max_pooling_nd": (lambda x: F.max_pooling_nd(x, (2, 3, 2)), draw(1, 2, 5, 6, 7)),
        "average_pooling_2d": (lambda x: F.average_pooling_2d(x, 3, 2, 1), x),
        "average_pooling_2d_pair": (lambda x: F.average_pooling_2d(x, (2, 3)), x),
        "average_pooling_nd_no_padding": (lambda x: F.average_pooling_nd(x, 3, 2, 1, pad_value=None), x),
        "average_pooling_1d": (lambda x: F.average_pooling_1d(x, 3, 2, 1), draw(2, 3, 9)),
    }  # fmt: skip
    for cover_all in (False, True):
        found[f"convolution_2d_{cover_all}"] = (
            lambda *a, c=cover_all: F.convolution_2d(*a, stride=(2, 3), pad=(1, 2), cover_all=c, dilate=(2, 1)),
            x, w, b,
        )  # fmt: skip
        found[f"max_pooling_2d_{cover_all}"] = (lambda x, c=cover_all: F.max_pooling_2d(x, 3, 2, 1, cover_all=c), x)
        found[f"max_pooling_1d_{cover_all}"] = (
            lambda x, c=cover_all: F.max_pooling_1d(x, 3, 2, 1, cover_all=c), draw(2, 3, 9),
        )  # fmt: skip
    return found


def _losses(F):
    a, b, c = draw(3, 4), draw(3, 4, seed=1), draw(3, 4, seed=2)
    labels, alike = np.array([1, 0, 3], "i"), np.array([1, 0, 1], "i")
    words, samples = np.array([2, -1, 3], "i"), np.array([[0, 1, 2], [3, 4, 5], [5, 4, 3]], "i")
    chain = (draw(3, 3), draw(3, 3, seed=1), draw(2, 3), draw(1, 3))
    tags = [np.array([0, 1, 2], "i"), np.array([1, 1], "i"), np.array([2], "i")]
    steps, texts = tuple(draw(2, 4, seed=i) for i in range(5)), np.array([[1, 2], [2, 3]], "i")
    lengths = (np.array([5, 4], "i"), np.array([2, 1], "i"))
    ctc = F.connectionist_temporal_classification
    found = {
        "argmax_crf1d": (lambda cost, *xs: F.argmax_crf1d(cost, list(xs)), *chain),
        "argmax_crf1d_dense": (
            lambda cost, *xs: F.argmax_crf1d(cost, list(xs)), draw(3, 3), *[draw(3, 3, seed=i) for i in range(4)],
        ),
        "negative_sampling_samples": (
            lambda x, w: F.negative_sampling(x, labels, w, lambda s: samples.copy(), 2, return_samples=True),
            a, draw(6, 4),
        ),
        "soft_targets": (
            lambda x, t: F.softmax_cross_entropy(x, F.softmax(t), soft_target_loss="kl-divergence"), a, b,
        ),
    }  # fmt: skip
    for r in ("sum", "mean", "no"):
        found[f"gaussian_kl_divergence_{r}"] = (lambda m, v, r=r: F.gaussian_kl_divergence(m, v, reduce=r), a, c)
        found[f"gaussian_nll_{r}"] = (lambda x, m, v, r=r: F.gaussian_nll(x, m, v, reduce=r), b, a, c)
        found[f"bernoulli_nll_{r}"] = (lambda x, y, r=r: F.bernoulli_nll(x, y, reduce=r), a, c)
    for r in ("sum", "no"):
        found[f"negative_sampling_{r}"] = (
            lambda x, w, r=r: F.negative_sampling(x, words, w, lambda s: samples.copy(), 2, reduce=r), a, draw(6, 4),
        )  # fmt: skip
    for r in ("mean", "no"):
        for norm in ("L1", "L2"):
            found[f"hinge_{norm}_{r}"] = (lambda x, n=norm, r=r: F.hinge(x, labels, norm=n, reduce=r), a)
        found[f"triplet_{r}"] = (lambda x, p, n, r=r: F.triplet(x, p, n, reduce=r), a, b, c)
        found[f"contrastive_{r}"] = (lambda x, p, r=r: F.contrastive(x, p, alike, margin=3, reduce=r), a, b)
        found[f"ctc_{r}"] = (lambda *xs, r=r: ctc(list(xs), texts, 0, *lengths, reduce=r), *steps)
        found[f"ctc_whole_{r}"] = (lambda *xs, r=r: ctc(list(xs), texts, 0, reduce=r), *steps)
        found[f"crf1d_{r}"] = (lambda cost, *xs, r=r: F.crf1d(cost, list(xs), tags, reduce=r), *chain)
    return found


def _others(F):
    a, b = draw(3, 4), draw(3, 4, seed=1)
    shares = np.random.RandomState(0).rand(3, 4).astype(np.float32) * 0.8 + 0.1
    square = draw(3, 3)
    return {
        "zoneout": (lambda h, x: F.zoneout(h, x, 0.4), a, b),
        "gumbel_softmax": (lambda x: F.gumbel_softmax(x, tau=0.7), a),
        "rrelu": (F.rrelu, a),
        "ndtr": (F.ndtr, a), "log_ndtr": (F.log_ndtr, a), "erfcx": (F.erfcx, a),
        "ndtri": (F.ndtri, shares), "erfcinv": (F.erfcinv, shares),
        "fix": (F.fix, 3 * a), "fmod": (F.fmod, 3 * a, b), "arctan2": (F.arctan2, a, b),
        "det": (F.det, square), "inv": (F.inv, square),
        "batch_det": (F.batch_det, draw(2, 3, 3)), "batch_inv": (F.batch_inv, draw(2, 3, 3)),
        "cholesky": (F.cholesky, square @ square.T + np.eye(3, dtype=np.float32)),
        "group_normalization": (
            lambda x, g, b: F.group_normalization(x, 2, g, b), draw(2, 4, 5), draw(4), draw(4, seed=1),
        ),
        "local_response_normalization": (F.local_response_normalization, draw(2, 7, 3)),
        "local_response_normalization_options": (
            lambda x: F.local_response_normalization(x, n=3, k=1, alpha=0.3), draw(2, 7, 3, 2),
        ),
    }  # fmt: skip


def results(chainer, function, arrays):
    """The outputs, the gradients of the arrays (empty where there is none), and the next number of the generator."""
    variables = [chainer.Variable(array.copy()) for array in arrays]
    np.random.seed(7)
    outputs, pending = [], [function(*variables)]
    while pending:
        item = pending.pop(0)
        if isinstance(item, (tuple, list)):
            pending = list(item) + pending
        else:
            outputs.append(item)
    loss = 0
    for y in outputs:
        if isinstance(y, chainer.Variable) and y.creator is not None and y.requires_grad:
            loss = loss + chainer.functions.sum(y * np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype))
    if isinstance(loss, chainer.Variable):
        loss.backward()
    found = [y.array if isinstance(y, chainer.Variable) else y for y in outputs]
    found += [np.zeros(0) if x.grad is None else x.grad for x in variables]
    return [*found, np.array(np.random.rand())]


def packed(values):
    """Arrays in one vector, and a text of their shapes and dtypes."""
    kinds = " ".join(f"{value.dtype}{list(value.shape)}" for value in values).replace(", ", ",")
    return np.concatenate([np.asarray(value, np.float32).ravel() for value in values]), kinds


if __name__ == "__main__":
    import chainer as original

    recorded = {}
    for case, (call, *given) in cases(original.functions).items():
        recorded[case], kinds = packed(results(original, call, given))
        recorded[case + ".kinds"] = np.array(kinds)
    np.savez_compressed(sys.argv[1], **recorded)
