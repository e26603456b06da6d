"""Small random programs, and summaries of their results.

Run by Chainer's own Python, `python random_programs.py FILE.json.xz` records the results of Chainer.
The number of a program determines it: one to three functions, or a few training steps of a link. A summary has the
kinds of the outputs and of the first and second gradients, with two sums of their values.
"""

import json
import lzma
import random
import sys
import warnings

import numpy as np

N_PROGRAMS = 3000
FLOATS = ("float32", "float32", "float32", "float64", "float16")
UNARY = {
    "absolute": (-2, 2), "arccos": (-0.9, 0.9), "arcsin": (-0.9, 0.9), "arctan": (-2, 2), "ceil": (-2, 2), "cos": (-2, 2),
    "clipped_relu": (-1, 30), "crelu": (-2, 2), "elu": (-2, 2), "exp": (-2, 2), "expm1": (-2, 2), "fix": (-2, 2),
    "flatten": (-1, 1), "floor": (-2, 2), "hard_sigmoid": (-4, 4), "identity": (-2, 2), "leaky_relu": (-2, 2),
    "log": (0.1, 3), "log10": (0.1, 3), "log1p": (-0.5, 3), "log2": (0.1, 3), "log_softmax": (-2, 2), "relu": (-2, 2),
    "relu6": (-2, 9), "rsqrt": (0.2, 3), "selu": (-2, 2), "sigmoid": (-5, 5), "sign": (-2, 2), "sin": (-2, 2),
    "sinh": (-2, 2), "softmax": (-2, 2), "softplus": (-3, 3), "sqrt": (0.1, 3), "square": (-2, 2), "tan": (-1, 1),
    "tanh": (-2, 2),
}  # fmt: skip
REDUCTIONS = ("sum", "mean", "average", "max", "min", "prod", "logsumexp", "argmax", "argmin", "cumsum", "cumprod")


class Draw:
    """Draws of a program: `pick` and `below` from Python's generator, `array` from NumPy's."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.numpy = np.random.RandomState(number)
        self.dtype = self.pick(*FLOATS)

    def pick(self, *options):
        return options[int(self.random.random() * len(options))]

    def below(self, stop, start=0):
        return start + int(self.random.random() * (stop - start))

    def shape(self, least=0, most=4):
        return tuple([self.pick(1, 2, 3, 4, 3, 2, 3, 4, 0) for _ in range(self.below(most, least))])

    def array(self, shape, low=-2.0, high=2.0, dtype=None):
        return np.asarray(self.numpy.uniform(low, high, shape)).astype(dtype or self.dtype)

    def axis(self, ndim):
        return self.below(ndim, -ndim) if ndim and self.random.random() < 0.95 else ndim

    def axes(self, ndim):
        kind = self.random.random()
        if kind < 0.25:
            return None
        if kind < 0.5:
            return self.axis(ndim)
        every = [axis - ndim * (self.random.random() < 0.3) for axis in range(ndim)]
        return tuple([axis for axis in every if self.random.random() < 0.5])

    def stretched(self, shape):
        """A shape that usually broadcasts to `shape`."""
        sizes = [1 if self.random.random() < 0.3 else size for size in shape]
        if sizes and self.random.random() < 0.06:
            sizes[-1] += 1
        return tuple(sizes[self.below(len(sizes) + 1) if self.random.random() < 0.3 else 0 :])


def unary(draw, F):
    name = draw.pick(*sorted(UNARY))
    low, high = UNARY[name]
    return [draw.array(draw.shape(), low, high)], getattr(F, name)


def reduction(draw, F):
    name, x = draw.pick(*REDUCTIONS), draw.array(draw.shape(), 0.3)
    if name in ("argmax", "argmin", "cumsum", "cumprod"):
        axis = draw.pick(None, draw.axis(x.ndim))
        return [x], lambda x: getattr(F, name)(x, axis)
    axes, options = draw.axes(x.ndim), {} if name == "logsumexp" else {"keepdims": draw.pick(False, True)}
    return [x], lambda x: getattr(F, name)(x, axis=axes, **options)


def binary(draw, F):
    name = draw.pick(
        "+", "-", "*", "/", "**", "maximum", "minimum", "fmod", "arctan2", "squared_error", "matmul", "where"
    )
    x = draw.array(draw.shape(), 0.2)
    y = draw.array(draw.stretched(x.shape), 0.2)
    if name == "matmul":
        rows = draw.shape(1, 4)
        return [draw.array(rows), draw.array((*rows[:-2], rows[-1], 3))], F.matmul
    if name == "where":
        condition = draw.array(x.shape) > 0
        return [x, y], lambda x, y: F.where(condition, x, y)
    operators = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
        "**": lambda x, y: x**y,
    }  # fmt: skip
    if name in operators and draw.random.random() < 0.4:
        constant = draw.pick(2, 0.5, -1, 0, np.float64(1.5))
        return [x], lambda x: operators[name](x, constant)
    return [x, y], operators[name] if name in operators else getattr(F, name)


def form(draw, F):
    x = draw.array(draw.shape(), dtype=draw.pick(draw.dtype, draw.dtype, draw.dtype, "int32"))
    axis, other = draw.axis(x.ndim), draw.axis(x.ndim)
    places = draw.pick(1, 2, [1], [1, 2], [2, 1], [0, 0], [])
    target = draw.stretched(x.shape)
    numbers = draw.numpy.permutation(x.shape[0] if x.ndim else 1).astype("int32")
    inverse = draw.pick(False, True)
    width = draw.pick(1, (1, 2), 0, [(1, 0)] * x.ndim)
    name, call = draw.pick(
        ("expand_dims", lambda x: F.expand_dims(x, axis)), ("squeeze", lambda x: F.squeeze(x, axis)),
        ("flip", lambda x: F.flip(x, axis)), ("rollaxis", lambda x: F.rollaxis(x, axis, other)),
        ("moveaxis", lambda x: F.moveaxis(x, axis, other)), ("swapaxes", lambda x: F.swapaxes(x, axis, other)),
        ("separate", lambda x: F.separate(x, axis)), ("split_axis", lambda x: F.split_axis(x, places, axis)),
        ("sum_to", lambda x: F.sum_to(x, target)), ("repeat", lambda x: F.repeat(x, 2, axis)),
        ("permutate", lambda x: F.permutate(x, numbers, axis, inverse)), ("tile", lambda x: F.tile(x, (2, 1))),
        ("pad", lambda x: F.pad(x, width, "constant", constant_values=2.0)), ("T", lambda x: x.T),
        ("reshape", lambda x: F.reshape(x, (2, -1))), ("diagonal", lambda x: F.diagonal(x, 1)),
    )  # fmt: skip
    return [x], call


def indexing(draw, F):
    def one():
        number, last = draw.below(3, -3), draw.pick(None, 2, -1)
        return draw.pick(
            number, slice(draw.pick(None, 1, -2), last, draw.pick(None, 2, -1)), None, Ellipsis, [0, -1, 0]
        )

    keys = tuple([one() for _ in range(draw.below(4))])
    sizes = [max(size, 1) for size in draw.shape(1)]
    return [draw.array(sizes)], lambda x: x[keys]


def loss(draw, F):
    rows, classes = draw.below(4, 1), draw.below(5, 2)
    x, y = draw.array((rows, classes)), draw.array((rows, classes))
    labels = draw.numpy.randint(-1 if draw.random.random() < 0.3 else 0, classes, rows).astype("int32")
    reduce, ignored, twice = draw.pick("mean", "no"), draw.pick(-1, 0), draw.pick(False, True)
    halved, label_num = draw.pick("half_squared_sum", "no"), draw.pick(None, classes)
    steps = [draw.array((rows, 4)) for _ in range(draw.below(5, 1))]
    targets = draw.numpy.randint(1, 4, (rows, 2)).astype("int32")
    names = {
        "softmax_cross_entropy": lambda x: F.softmax_cross_entropy(
            x, labels, reduce=reduce, ignore_label=ignored, enable_double_backprop=twice
        ),
        "sigmoid_cross_entropy": lambda x: F.sigmoid_cross_entropy(
            x, np.abs(labels)[:, None] % 2 + 0 * y.astype("int32")
        ),
        "hinge": lambda x: F.hinge(x, np.abs(labels), "L1", reduce),
        "huber_loss": lambda x: F.huber_loss(x, y, 0.5, "no"),
        "ctc": lambda *xs: F.connectionist_temporal_classification(list(xs), targets, 0, reduce=reduce),
        "r2_score": lambda x: F.r2_score(x, y),
        "mean_squared_error": lambda x: F.mean_squared_error(x, y),
        "gaussian_kl_divergence": lambda x: F.gaussian_kl_divergence(x, y, reduce),
        "decov": lambda x: F.decov(x, halved),
        "cross_covariance": lambda x: F.cross_covariance(x, y, halved),
        "classification_summary": lambda x: F.classification_summary(x, np.abs(labels), label_num),
        "contrastive": lambda x: F.contrastive(x, y, np.abs(labels) % 2, reduce=reduce),
    }
    name = draw.pick(*names)
    return (steps if name == "ctc" else [x]), names[name]


def window(draw, F):
    size, stride, pad, both = draw.below(4, 1), draw.below(3, 1), draw.below(2), draw.pick(True, False)
    x, filters = draw.array((draw.pick(2, 1), 2, 4, 5)), draw.array((3, 2, size, size))
    pad = min(pad, size - 1)
    names = {
        "convolution_2d": ([x, filters], lambda x, w: F.convolution_2d(x, w, None, stride, pad)),
        "max_pooling_2d": ([x], lambda x: F.max_pooling_2d(x, size, stride, pad, both)),
        "average_pooling_2d": ([x], lambda x: F.average_pooling_2d(x, size, stride, pad)),
        "unpooling_2d": ([x], lambda x: F.unpooling_2d(x, size, stride, cover_all=both)),
    }
    return names[draw.pick(*names)]


def link(draw, chainer):
    """Steps of a link, with an update of its parameters between forward and backward in some programs."""
    F, L = chainer.functions, chainer.links
    draw.dtype = "float32"
    rows, size = draw.below(4, 1), draw.below(4, 1)
    xs = [draw.array((rows, 3)) for _ in range(3)]
    n, steps, late = draw.pick(1, 2), draw.below(4, 1), draw.random.random() < 0.3
    made = {
        "GRU": lambda: L.GRU(3, size), "StatefulGRU": lambda: L.StatefulGRU(3, size, bias_init=0.2),
        "LSTM": lambda: L.LSTM(3, size), "StatefulPeepholeLSTM": lambda: L.StatefulPeepholeLSTM(3, size),
        "StatefulMGU": lambda: L.StatefulMGU(3, size), "Linear": lambda: L.Linear(3, size),
        "GroupNormalization": lambda: L.GroupNormalization(3),
        "LayerNormalization": lambda: L.LayerNormalization(3), "Highway": lambda: L.Highway(3),
        "NStepGRU": lambda: L.NStepGRU(n, 3, size, 0.0), "NStepBiGRU": lambda: L.NStepBiGRU(n, 3, size, 0.4),
        "NStepLSTM": lambda: L.NStepLSTM(n, 3, size, 0.4), "NStepBiRNNTanh": lambda: L.NStepBiRNNTanh(n, 3, size, 0.0),
        "StatelessGRU": lambda: L.StatelessGRU(3, size), "StatelessLSTM": lambda: L.StatelessLSTM(3, size),
    }  # fmt: skip
    name = draw.pick(*sorted(made))
    rule = draw.pick("WeightDecay", "Lasso", "GradientClipping", None)
    place = draw.pick("optimizer", "optimizer_hooks")

    def call(*xs):
        layer = made[name]()
        optimizer = chainer.optimizers.MomentumSGD(0.1).setup(layer)
        if rule is not None:
            optimizer.add_hook(getattr(getattr(chainer, place), rule)(0.1))
        if name.startswith("NStep"):
            found = layer(*[None] * (2 if "LSTM" in name else 1), list(xs))
            ys = [*found[:-1], *found[-1]]
        elif name.startswith("Stateless"):
            h = chainer.Variable(np.full((rows, size), 0.1, "float32"))
            ys = [*layer(None, h, xs[0])] if "LSTM" in name else [layer(h, xs[0])]
        else:
            ys = [layer(x) for x in xs[:steps]]
        if late and "RNN" not in name:
            for param in layer.params():
                param.array *= 0.5
        layer.cleargrads()
        sum([F.sum(y * y) for y in ys]).backward(retain_grad=False)
        if "RNN" not in name:  # their second gradients over an update differ, as the README lists
            optimizer.update()
        return [*ys, *[param for _, param in sorted(layer.namedparams())]]

    return xs, call


def program(draw, chainer):
    """The inputs and the function of a program."""
    F = chainer.functions
    kind = draw.pick(unary, reduction, reduction, binary, form, form, indexing, loss, window, link)
    if kind is link:
        return link(draw, chainer)
    inputs, first = kind(draw, F)
    names = [draw.pick("tanh", "relu", "sin", "square", "sigmoid", "absolute") for _ in range(draw.below(3))]
    axes = draw.pick(None, 0, -1, ())

    def call(*xs):
        found = first(*xs)
        ys = list(found) if isinstance(found, (tuple, list)) else [found]
        for name in names:
            ys = [getattr(F, name)(y) for y in ys]
        return [F.sum(y, axis=axes) if names else y for y in ys]

    return inputs, call


def kept(array):
    """The summary of an array: dtype, shape, places that are not finite, and two sums of the finite values."""
    if array is None:
        return None
    array = np.asarray(array)
    values = array.astype("float64").ravel()
    finite = np.where(np.isfinite(values), values, 0)
    sums = [float(np.dot(finite, np.cos(np.arange(len(values))))), float(np.abs(finite).sum())]
    odd = [int(np.isnan(values).sum()), int(np.isinf(values).sum())]
    return [str(array.dtype), list(array.shape), odd, [float(f"{number:.6g}") for number in sums]]


def run(chainer, number):
    """Results of a program: "y", "g" and "gg", each a list of summaries or the classes of an exception."""
    draw, results = Draw(number), {}
    inputs, call = program(draw, chainer)
    np.random.seed(number)
    stage = "y"
    try:
        xs = [chainer.Variable(x) for x in inputs]
        ys = call(*xs)
        results["y"] = [kept(y.array) for y in ys]
        ys = [y for y in ys if y.dtype.kind == "f" and y.creator is not None]
        if not ys:
            return results
        stage = "g"
        gys = [chainer.Variable(draw.array(y.shape, -1, 1, y.dtype)) for y in ys]
        for x in xs:
            x.cleargrad()
        for y, gy in zip(ys, gys):  # noqa: B905 (Chainer's Python has no `strict`)
            y.grad = gy.array
        chainer.backward(ys)
        results["g"] = [kept(x.grad) for x in xs]
        stage = "gg"
        grads = chainer.grad(ys, xs, gys, enable_double_backprop=True)
        for x in xs:
            x.cleargrad()
        squares = [chainer.functions.sum(g * g) for g in grads if g is not None]
        if squares and sum(squares).creator is not None:
            sum(squares).backward()
        results["gg"] = [kept(x.grad) for x in xs]
    except Exception as error:
        results[stage] = [base.__name__ for base in type(error).__mro__]
    return results


def record(path):
    import chainer

    rows = {}
    for number in range(N_PROGRAMS):
        found = run(chainer, number)
        rows[number] = {stage: row[:1] if row and isinstance(row[0], str) else row for stage, row in found.items()}
    with lzma.open(path, "wt", preset=9) as file:
        json.dump(rows, file, separators=(",", ":"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    record(sys.argv[1])
