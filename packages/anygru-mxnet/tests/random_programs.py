"""Small random programs, and their results: `python random_programs.py answers.json.xz` records MXNet's answers.

The same file draws the programs, runs them and sums up their results, under MXNet 1.9.1 (Python 3.8) and in the tests, so
that a program has one meaning. A program is text; its results are `out`. Of an array the answers keep dtype, shape and a few
numbers that any other value would change: some elements, and a sum with weights.
"""

# MXNet runs this file with Python 3.8, and its lines of choices are read better whole.
# ruff: noqa: B905, E501, SIM115, UP031
import importlib
import json
import lzma
import os
import random
import subprocess
import sys
import time
import warnings

import numpy as np

FLOATS = ["float32", "float32", "float32", "float64"]
DTYPES = ["float32", "float32", "float64", "float16", "int32", "int64", "int8", "uint8"]


class Draws(random.Random):
    """Random pieces of programs."""

    def one(self, *choices):
        return self.choice(choices)

    def shape(self, least=1, most=3, size=4):
        return tuple(self.randint(1, size) for _ in range(self.randint(least, most)))

    def array(self, shape, dtype="float32", kind="n"):
        return f"A({self.randint(0, 999)}, {tuple(shape)!r}, {dtype!r}, {kind!r})"

    def axis(self, shape):
        return self.randrange(-len(shape), len(shape))

    def like(self, shape):
        """A shape that broadcasts with another."""
        return tuple(1 if self.random() < 0.3 else size for size in shape)


def with_gradients(expression, *arrays):
    names = "abcd"[: len(arrays)]
    lines = [f"{n} = {a}" for n, a in zip(names, arrays)] + [f"{n}.attach_grad()" for n in names]
    lines += ["with autograd.record():", f"    y = F({expression})"]
    lines += ["autograd.backward(y, [A(5, q.shape, D(q), 'n') for q in y])"]
    return "\n".join([*lines, "out = y + [{}]".format(", ".join(n + ".grad" for n in names))])


def plain(expression, *arrays):
    lines = [f"{n} = {a}" for n, a in zip("abcd", arrays)]
    return "\n".join([*lines, "out = " + expression])


def either(r, dtype, expression, *arrays):
    return (with_gradients if dtype.startswith("float") and r.random() < 0.4 else plain)(expression, *arrays)


UNARY = [
    "abs", "exp", "log", "sqrt", "cbrt", "rsqrt", "square", "reciprocal", "sin", "cos", "tan", "arctan", "sinh",
    "tanh", "arcsinh", "sigmoid", "relu", "softsign", "sign", "ceil", "floor", "rint", "round", "fix", "trunc",
    "gamma", "gammaln", "erf", "expm1", "log1p", "log2", "log10", "degrees", "radians", "negative", "logical_not",
    "ones_like", "zeros_like", "shape_array", "size_array", "flatten",
]  # fmt: skip


def unary(r):
    dtype = r.choice(DTYPES)
    return either(r, dtype, f"nd.{r.choice(UNARY)}(a)", r.array(r.shape(), dtype, "p"))


PAIRS = [
    "add", "subtract", "multiply", "divide", "modulo", "power", "maximum", "minimum", "equal", "greater",
    "lesser_equal", "logical_and", "logical_xor",
]  # fmt: skip


def pairs(r):
    dtype, shape, name = r.choice(DTYPES), r.shape(), r.choice(["broadcast_hypot", "broadcast_mod", *PAIRS])
    return either(r, dtype, f"nd.{name}(a, b)", r.array(shape, dtype, "p"), r.array(r.like(shape), dtype, "p"))


def numbers(r):
    dtype, operator = r.choice(DTYPES), r.one("+", "-", "*", "/", "%", "**", "==", "<", ">=")
    number = r.one("2", "0.5", "3", "True", "np.float32(2.5)", "np.int64(3)", "7")
    text = r.one("a {} {}", "{1} {0} a") if operator != "**" else "a {} {}"
    return either(r, dtype, text.format(operator, number), r.array(r.shape(), dtype, "p"))


def in_place(r):
    dtype, shape = r.choice(DTYPES), r.shape()
    lines = ["a = " + r.array(shape, dtype), "b = " + r.array(r.like(shape), dtype, "p"), "c = a"]
    return "\n".join(
        [*lines, "a {} {}".format(r.one("+=", "-=", "*="), r.one("b", "2", "0.5")), "out = [a, c, a is c]"]
    )


def reductions(r):
    shape, dtype = r.shape(), r.choice(DTYPES)
    options = [r.one("", f", axis={r.axis(shape)}", f", axis={tuple(range(len(shape)))[-2:]!r}")]
    options += [r.one("", ", keepdims=True"), r.one("", "", ", exclude=True")]
    name = r.one("sum", "mean", "prod", "max", "min", "nansum", "nanprod")
    return either(r, dtype, "nd.{}(a{})".format(name, "".join(options)), r.array(shape, dtype))


def orders(r):
    shape, dtype = r.shape(), r.choice(DTYPES[:5])
    axis = r.axis(shape)
    call = r.one(
        "nd.argmax(a, axis={})", "nd.argmin(a, axis={}, keepdims=True)", "nd.sort(a, axis={}, is_ascend=False)",
        "nd.argsort(a, axis={}, dtype='int32')", "nd.topk(a, axis={}, k=1, ret_typ='both')", "nd.topk(a, axis={}, k=1, ret_typ='mask')",
        "nd.norm(a, axis={})", "nd.cumsum(a, axis={})", "nd.log_softmax(a, axis={})", "nd.softmin(a, axis={})",
    )  # fmt: skip
    floats = any(name in call for name in ("norm", "soft"))
    return plain(call.format(axis), r.array(shape, "float32" if floats else dtype, "d"))


def shapes(r):
    shape = r.shape(2, 4)
    call = r.one(
        "nd.transpose(a)", "a.T", "nd.swapaxes(a, 0, 1)", "nd.expand_dims(a, axis=1)", "nd.flip(a, axis=(0, 0))",
        "nd.flip(a, axis={0})", "nd.tile(a, reps=(2, 1))", "nd.repeat(a, repeats=2, axis={0})", "nd.diag(a, k=1)",
        "nd.reshape(a, shape=(-3, -2))", "nd.reshape(a, shape=(0, -1))", "a.reshape((-1, 0), reverse=True)",
        "nd.reshape(a, shape=(-4, 1, -1, -2))", "nd.slice_axis(a, axis={0}, begin=0, end=1)", "nd.broadcast_axis(nd.sum(a, axis=0, keepdims=True), axis=0, size=3)",
        "nd.concat(a, a, dim={0})", "nd.stack(a, a, axis=1)", "nd.split(nd.concat(a, a, dim={0}), num_outputs=2, axis={0})",
        "nd.clip(a, -1, 1)", "nd.clip(a, 1, -1)", "nd.moveaxis(a, 0, -1)", "nd.squeeze(nd.expand_dims(a, axis=0))",
    )  # fmt: skip
    return either(r, "float32", call.format(r.axis(shape)), r.array(shape))


def slices(r):
    shape = r.shape(1, 3, 5)
    bound = lambda: [r.one(None, r.randint(-5, 5)) for _ in shape]  # noqa: E731
    call = f"nd.slice(a, begin={tuple(bound())!r}, end={tuple(bound())!r}, step={tuple(r.one(None, 1, 2, -1, -2) for _ in shape)!r})"
    return either(r, "float32", call, r.array(shape))


def indices(r):
    shape = r.shape(1, 4, 5)
    key = []
    for size in shape[: r.randint(1, len(shape))]:
        below = lambda: r.randrange(size)  # noqa: B023, E731
        key.append(
            r.one(
                str(below()),
                str(below() - size),
                f"{below()}:",
                f":{1 + below()}",
                "::-1",
                "None",
                "::2",
                f"[{below()}]",
                f"[{below()}, {below()}]",
                f"nd.array([{below()}, {below()}])",
            )  # fmt: skip
        )
    if not any(part != "None" for part in key):
        key.append("0")
    key, dtype = ", ".join(key), r.choice(DTYPES)
    way = r.random()
    # Together with lists MXNet loses gradients and values at negative indices.
    if way < 0.5 or "None" in key or ("[" in key and "-" in key):
        return plain(f"a[{key}]", r.array(shape, dtype))
    if way < 0.7:
        return with_gradients(f"a[{key}] * 2", r.array(shape))
    return "a = {}\na[{}] = {}\nout = a".format(r.array(shape, dtype), key, r.one("3", "2.5", "nd.ones((1,)) * 4"))


def pickers(r):
    rows, columns = r.randint(1, 4), r.randint(2, 5)
    dtype = r.choice(FLOATS)
    call = r.one(
        "nd.take(a, I(3, (2, 2), {0}), axis=0)", "nd.take(a, I(4, (3,), {0} + 2), mode='wrap')", "nd.pick(a, I(5, ({0},), {1}), axis=1)",
        "nd.batch_take(a, I(6, ({0},), {1} + 2))", "nd.Embedding(I(7, (2, 3), {0}), a, input_dim={0}, output_dim={1})",
        "nd.gather_nd(a, nd.stack(I(8, (3,), {0}), I(9, (3,), {1})))", "nd.where(I(1, ({0}, {1}), 2), a, -a)",
        "nd.one_hot(I(2, (3,), 4), depth=4, on_value=2)", "nd.unravel_index(I(2, (5,), 12), shape=(3, 4))",
        "nd.SequenceMask(nd.stack(a, a), nd.array(range(1, {0} + 1)), use_sequence_length=True, value=-1)",
    )  # fmt: skip
    return plain(call.format(rows, columns), r.array((rows, columns), dtype))


def layers_of_operators(r):
    call = r.one(
        "nd.FullyConnected(a, b, num_hidden=2, no_bias=True)", "nd.Pooling(a, kernel=(2,), pool_type='{}')", "nd.dot(a, b, transpose_b=True)",
        "nd.Pooling(a, kernel=(2,), stride=(2,), pad=(1,), pool_type='{}')", "nd.Pooling(a, kernel=(2,), pool_type='{}', global_pool=True)",
        "nd.Activation(a, act_type='softrelu')", "nd.LeakyReLU(a, act_type='elu', slope=0.3)", "nd.softmax(a, temperature=2.0)",
        "nd.L2Normalization(a)", "nd.SoftmaxOutput(a, I(3, (2, 3), 6))", "nd.SoftmaxOutput(a, I(3, (2, 4), 5), multi_output=True)",
        "nd.SoftmaxOutput(a, I(3, (2, 3), 4), preserve_shape=True, normalization='valid')", "nd.smooth_l1(a, scalar=2)",
        "nd.LinearRegressionOutput(a, nd.ones((2, 3, 4)))", "nd.LayerNorm(a, nd.ones((4,)), nd.zeros((4,)))",
    )  # fmt: skip
    return with_gradients(
        call.format(r.one("max", "avg", "sum")), r.array((2, 3, 4)), r.array((2, 12 if "Fully" in call else 4))
    )


def recurrent_layers(r):
    kind, layout = r.one("GRU", "GRU", "LSTM", "RNN"), r.one("TNC", "NTC")
    lines = [
        f"net = rnn.{kind}({r.randint(1, 3)}, num_layers={r.randint(1, 2)}, layout={layout!r}, bidirectional={r.random() < 0.4}, input_size=2, prefix='n_')",
        "net.initialize()",
        *(["net.hybridize()"] if r.random() < 0.4 else []),
        "x = " + r.array((2, 3, 2)),
        "x.attach_grad()",
        *(["net(x)"] if r.random() < 0.5 else []),
        "P(net)",
        "states = [A(9, s.shape, 'float32', 'n') for s in net.begin_state(batch_size={})]".format(
            3 if layout == "TNC" else 2
        ),
    ]
    return "\n".join([*lines, _trained("net(x, states)" if r.random() < 0.6 else "net(x)")])


def _trained(call):
    return (
        f"with autograd.record():\n    y = F({call})\nautograd.backward(y, [A(5, q.shape, D(q), 'n') for q in y])\n"
        "out = y + [x.grad] + [p.grad() for p in net.collect_params().values() if p.grad_req != 'null']"
    )


def cells(r):
    inner = r.one("rnn.GRUCell(3, prefix='c_')", "rnn.LSTMCell(2, prefix='c_')", "rnn.RNNCell(3, prefix='c_')")
    cell = r.one("{}", "{}", "rnn.ZoneoutCell({})", "rnn.BidirectionalCell({}, rnn.GRUCell(2, prefix='r_'))").format(
        inner
    )
    lines = ["net = " + cell, "net.initialize()", "x = " + r.array((2, 3, 2)), "x.attach_grad()"]
    call = "net.unroll(3, x, layout='NTC', merge_outputs={})".format(r.one("True", "False", "None"))
    return "\n".join([*lines, call, "P(net)", _trained(call)])


def layers(r):
    net = r.one(
        "nn.Dense(3, activation='tanh')", "nn.Dense(2, flatten=False)", "nn.LayerNorm()", "nn.Conv1D(2, 2)", "nn.PReLU()",
        "nn.ELU(0.5)", "nn.GELU()", "nn.Swish()", "nn.BatchNorm()", "nn.InstanceNorm()", "nn.AvgPool1D(2)", "nn.MaxPool1D(2)",
    )  # fmt: skip
    lines = ["net = " + net, "net.initialize()", "x = " + r.array((2, 3, 4)), "x.attach_grad()", "net(x)", "P(net)"]
    return "\n".join([*lines, _trained("net(x)")])


def losses(r):
    loss, label = r.one(
        ("L2Loss()", "A(1, (3, 4), 'float32', 'n')"), ("L1Loss(weight=2)", "A(1, (3, 4), 'float32', 'n')"), ("HuberLoss(0.5)", "A(1, (3, 4), 'float32', 'n')"),
        ("SoftmaxCELoss()", "I(1, (3,), 4)"), ("SoftmaxCELoss(sparse_label=False)", "nd.softmax(A(2, (3, 4), 'float32', 'n'))"),
        ("SigmoidBCELoss()", "I(2, (3, 4), 2)"), ("KLDivLoss()", "nd.softmax(A(2, (3, 4), 'float32', 'n'))"), ("HingeLoss()", "I(2, (3, 4), 2) * 2 - 1"),
        ("LogisticLoss()", "I(2, (3, 4), 2) * 2 - 1"), ("SquaredHingeLoss()", "I(2, (3, 4), 2) * 2 - 1"), ("PoissonNLLLoss()", "I(2, (3, 4), 5)"),
    )  # fmt: skip
    return with_gradients(f"gluon.loss.{loss}(a, {label})", r.array((3, 4)))


def heads(r):
    lines = ["a = " + r.array((3,)), "a.attach_grad()", "with autograd.record():", "    y = a * a", "    z = y * 3"]
    listed = [r.one("y", "z", "a") for _ in range(r.randint(2, 4))]
    seeds = [f"A({place}, (3,), 'float32', 'n')" for place in range(len(listed))]
    return "\n".join(
        [*lines, "autograd.backward([{}], [{}])".format(", ".join(listed), ", ".join(seeds)), "out = a.grad"]
    )


def optimizers(r):
    name = r.one(
        "sgd", "nag", "adam", "adagrad", "rmsprop", "adadelta", "ftrl", "adamax", "nadam", "signum", "ftml", "lamb"
    )
    options = r.one(
        "",
        ", wd=0.1",
        ", clip_gradient=0.3",
        ", rescale_grad=0.5",
        ", momentum=0.9" if name in ("sgd", "nag", "signum") else "",
    )
    lines = [f"o = mx.optimizer.create({name!r}, learning_rate=0.1{options})", "w = " + r.array((2, 3))]
    lines += ["s = o.create_state(0, w)", "for i in range(3):", "    o.update(0, w, A(i, (2, 3), 'float32', 'n'), s)"]
    return "\n".join([*lines, "out = w"])


def metrics(r):
    name = r.one(
        "Accuracy()",
        "TopKAccuracy(2)",
        "MAE()",
        "MSE()",
        "RMSE()",
        "CrossEntropy()",
        "F1()",
        "MCC()",
        "Loss()",
        "PCC()",
        "F1(average='micro')",
    )
    label, pred = "I({0}, (5,), 2)", "nd.softmax(A({0}, (5, 3), 'float32', 'n'))"
    if any(part in name for part in ("MAE", "MSE", "Loss")):
        label, pred = "A({0}, (5, 2), 'float32', 'n')", "A(1 + {0}, (5, 2), 'float32', 'n')"
    lines = ["m = mx.metric." + name]
    for seed in (r.randint(0, 99), r.randint(0, 99)):
        lines.append(f"m.update([{label.format(seed)}], [{pred.format(seed)}])")
    return "\n".join([*lines, "out = [m.get(), m.num_inst, m.get_global()]"])


def symbols(r):
    made = r.one(
        "mx.sym.FullyConnected(v, num_hidden=3, name='f')", "mx.sym.split(v, num_outputs=1, axis=0)", "mx.sym.SoftmaxOutput(v, name='s')",
        "mx.sym.Group([v * 2, v * 2])", "mx.sym.Activation(v, act_type='tanh') + 1", "mx.sym.zeros_like(v, ctx=mx.cpu())", "mx.sym.sum(v, axis=1)",
        "mx.sym.concat(v, v * 2, dim=1)", "mx.sym.Reshape(v, shape=(0, -1))", "mx.sym.LayerNorm(v, name='l')",
    )  # fmt: skip
    shape = r.shape(2, 3)
    lines = ["v = mx.sym.var('v')", "y = " + made, f"ex = y.simple_bind(mx.cpu(), v={shape!r})"]
    lines += [
        "for i, k in enumerate(sorted(ex.arg_dict)):",
        "    ex.arg_dict[k][:] = A(i, ex.arg_dict[k].shape, 'float32', 'p')",
    ]
    lines += ["ex.forward(is_train=True)", "ex.backward([A(7, o.shape, 'float32', 'n') for o in ex.outputs])"]
    end = "out = [y.list_arguments(), y.list_outputs(), y.infer_shape(v={!r})] + list(ex.outputs) + [ex.grad_dict[k] for k in sorted(ex.grad_dict)]"
    return "\n".join([*lines, end.format(shape)])


NUMPY = [
    "p.exp(a)", "p.tanh(a)", "p.log(a)", "p.sqrt(a)", "p.cumsum(a)", "p.prod(a)", "p.sum(a)", "p.std(a)",
    "p.var(a,axis=1)", "p.average(a)", "p.mean(a)", "p.round(a)", "p.clip(a,1,2)", "p.clip(a,2,1)", "a[::-1,::-1]",
    "a[0,:2]", "a[[1,0],None]", "a[:,[0,1]]", "a[a>1]", "p.where(a>1,a,0)", "a+1.5", "a/2", "p.maximum(a,2)",
    "p.argmax(a,axis=1)", "p.sort(a)", "p.zeros_like(a)", "p.concatenate([a,a],axis=1)", "a.T", "a.reshape(-1)",
    "p.expand_dims(a,1)", "p.linalg.norm(a/1)", "p.arange(1,4,.5,dtype='int32')",
]  # fmt: skip


def numpy_arrays(r):
    dtype = r.one("int32", "int64", "float32", "float32", "uint8")
    make = "mx.npx.set_np()\ntry:\n    p = mx.np\n    a = p.array(V({}, (2, 3), {!r}, 'p'), dtype={!r})\n    out = T({})\nfinally:\n    mx.npx.reset_np()"
    return make.format(r.randint(0, 99), dtype, dtype, r.choice(NUMPY))


def initial_values(r):
    name = r.one(
        "bn_moving_mean",
        "bn_moving_var",
        "x_bias",
        "x_gamma",
        "x_beta",
        "x_moving_avg",
        "x_min",
        "x_max",
        "stn_loc_weight",
        "upsampling0_weight",
        "foo",
    )
    shape = (1, 2, 3, 4) if name.startswith("up") else r.shape()
    return "a = nd.zeros({!r}) + 5\nmx.init.{}({!r}, a)\nout = a".format(
        shape, r.one("Uniform()", "Xavier()", "Zero()"), name
    )


KINDS = [
    unary, pairs, numbers, in_place, reductions, orders, shapes, slices, indices, indices, pickers, layers_of_operators, recurrent_layers,
    cells, layers, losses, heads, optimizers, metrics, symbols, numpy_arrays, initial_values,
]  # fmt: skip

# Whole numbers meet numbers and functions: each line with each of four dtypes.
WHOLE = """1/a|1e3/a|a/2.5|a/-1.5|-1.5/z|1e3%z|z%1e3|z%2.5|z%-3|-3%z|a**-1|(-1)**a|a**0.5|nd.power(a,-7)|z**3|z**9|1e3**a|z*1e3|z+1e3|z-0.5|a==2.5|a<2.5
nd.maximum(a,2.5)|nd.minimum(a,-1.5)|nd.broadcast_hypot(z,z)|nd.broadcast_power(a,z)|nd.broadcast_mod(z,a)|nd.gamma(a)|nd.erfinv(z)|nd.rsqrt(a)
nd.reciprocal(a)|nd.degrees(a)|nd.exp(z)|nd.log(a)|nd.hard_sigmoid(z)|nd.smooth_l1(z,scalar=1)|nd.clip(z,1,-1)|nd.clip(z,-1.5,1.5)|nd.norm(z,ord=1)
nd.arange(1,4,.5,dtype=d)|nd.zeros_like(a,ctx=mx.cpu())|a.as_np_ndarray()|nd.empty((2,0),dtype=d).shape|nd.arange(24).reshape((2,3,4))[0,:,[1,2]]"""


def programs(seed, count):
    """The programs of a seed, and the fixed ones."""
    r = Draws(seed)
    drawn = [KINDS[place % len(KINDS)](r) for place in range(count)]
    setup = "d = {!r}\na = nd.array([0, 1, 2, 3, 5], dtype=d)\nz = nd.array({}, dtype=d)\nout = {}"
    for dtype in ("int8", "uint8", "int32", "int64"):
        z = [3, 2, 1, 4, 100] if dtype == "uint8" else [-3, -2, -1, 4, 100]
        drawn += [setup.format(dtype, z, text) for line in WHOLE.split("\n") for text in line.split("|")]
    return drawn


class Runner:
    """Runs programs on a module that is MXNet or answers to its names."""

    def __init__(self, mx):
        self.mx, self.nd = mx, mx.nd
        # The dialect's own name is not `mxnet`.
        nn, rnn = (importlib.import_module(mx.__name__ + ".gluon." + part) for part in ("nn", "rnn"))
        self.names = {
            "mx": mx, "nd": mx.nd, "np": np, "autograd": mx.autograd, "gluon": mx.gluon, "nn": nn, "rnn": rnn, "A": self.array, "V": self.values,
            "I": self.whole, "F": self.flat, "P": self.fill, "T": self.summed, "D": lambda array: np.dtype(array.dtype).name,
        }  # fmt: skip

    def values(self, seed, shape, dtype, kind):
        """Normal numbers; positive ("p") ones; whole ones without equal ones ("d")."""
        r = np.random.RandomState(seed)
        x = r.randn(*shape) * 1.5
        if kind == "p":
            x = np.abs(x) + 0.5
        if kind == "d":
            x = r.permutation(x.size).reshape(shape) - 1.0
        if "int" in dtype:
            x = np.round(x * 2) + (kind == "p")
            x = np.abs(x) if dtype == "uint8" else x
        return x.astype(dtype)

    def array(self, seed, shape, dtype, kind):
        return self.nd.array(self.values(seed, shape, dtype, kind), dtype=dtype)

    def whole(self, seed, shape, below):
        return self.nd.array(np.random.RandomState(seed).randint(0, below, shape), dtype="int32")

    def flat(self, results):
        return [part for one in results for part in self.flat(one)] if isinstance(results, (list, tuple)) else [results]

    def fill(self, net):
        for place, (name, parameter) in enumerate(net.collect_params().items()):
            values = np.random.RandomState(100 + place).uniform(-0.7, 0.7, parameter.shape)
            parameter.set_data(self.nd.array(np.abs(values) + 0.5 if "running_var" in name else values))

    def summed(self, value):
        """A result as numbers, lists and texts."""
        if isinstance(value, dict) and "sum" in value:
            return value
        if isinstance(value, (list, tuple)):
            return [self.summed(part) for part in value]
        if hasattr(value, "asnumpy"):
            value = np.asarray(value.asnumpy())
        if isinstance(value, (np.ndarray, np.generic, float)) and np.asarray(value).dtype.kind in "biuf":
            x = np.asarray(value)
            numbers = x.ravel().astype(np.float64)
            finite = np.where(np.isfinite(numbers), numbers, 0.0)
            picked = numbers[:: max(1, len(numbers) // 3)][:3]
            weighted = float((finite * np.cos(np.arange(len(finite)))).sum())
            return {
                "sum": [
                    x.dtype.name,
                    list(x.shape),
                    ["%.7g" % n for n in [*picked, weighted]],
                    "%.3g" % np.abs(finite).sum(),
                ]
            }
        return str(value)

    def run(self, text):
        """The results of a program, or the names of its exception's classes."""
        names = dict(self.names)
        try:
            with warnings.catch_warnings(), self.mx.name.NameManager():
                warnings.simplefilter("ignore")
                exec(text, names)
                return self.summed(names["out"])
        except Exception as error:
            return {"error": [kind.__name__ for kind in type(error).__mro__][:-1]}


SEED, COUNT = 20, 2200


def record(path, first):
    """Append MXNet's answers, from one program to the last, a line for each. MXNet may end the process."""
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        if name not in np.__dict__:  # MXNet 1.9.1 reads names that later versions of NumPy have dropped
            setattr(np, name, kind)
    mx = importlib.import_module("mxnet")
    runner = Runner(mx)
    with open(path, "a") as file:
        for text in programs(SEED, COUNT)[first:]:
            file.write(json.dumps(runner.run(text), separators=(",", ":")) + "\n")
            file.flush()
    os._exit(0)


def main():
    """Record all answers, a new process after each program that ends one, or hangs: such a program has no answer."""
    parts, target = sys.argv[1] + ".part", sys.argv[1]
    total = len(programs(SEED, COUNT))
    while True:
        done = sum(1 for _ in open(parts)) if os.path.exists(parts) else 0
        if done == total:
            break
        child = subprocess.Popen([sys.executable, __file__, parts, str(done)])
        seen, since = done, time.time()
        while child.poll() is None and time.time() - since < 15:
            time.sleep(0.2)
            now = sum(1 for _ in open(parts)) if os.path.exists(parts) else 0
            seen, since = now, since if now == seen else time.time()
        child.kill()
        child.wait()
        done = sum(1 for _ in open(parts)) if os.path.exists(parts) else 0
        if done < total:
            with open(parts, "a") as file:
                file.write("null\n")
    with open(parts) as file, open(target, "wb") as packed:
        content = {"seed": SEED, "count": COUNT, "answers": [json.loads(line) for line in file]}
        packed.write(lzma.compress(json.dumps(content, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        record(sys.argv[1], int(sys.argv[2]))
    else:
        main()
