"""Small random programs, and the function that runs a program. `test_random_programs.py` replays them against Paddle's answers.

    python paddle_programs.py SEED COUNT paddle_programs.json.xz        in an environment with Paddle 2.6.2 renews the answers

The file needs only NumPy and the standard library, and runs under Python 3.8, for which Paddle 2.6.2 has wheels. A program
fills the list `out`; it finds `np`, `paddle`, `nn`, `F`, `A(shape, dtype, low, high)`, which draws an array, `T(array, train)`,
which makes a tensor, and `G(results)`, which adds the gradients of the leaves x, y and w.
"""

import json
import linecache
import lzma
import os
import random
import sys

import numpy as np

FLOATS = ["float32", "float32", "float64"]
WHOLE = ["int32", "int64", "int64"]
DTYPES = [*FLOATS, *WHOLE, "bool", "uint8", "int16", "float16"]
NAMES = {
    "any": "abs sin cos tanh exp square sign floor round frac neg erf expm1 sinh isnan conj nan_to_num sgn deg2rad trunc",
    "positive": "log log2 log1p sqrt rsqrt reciprocal lgamma digamma",
    "two": "add subtract multiply divide maximum minimum pow remainder floor_divide fmax atan2 hypot logaddexp heaviside equal "
    "not_equal less_than logical_and bitwise_or gcd lcm ldexp dist inner outer isclose allclose equal_all lerp nextafter cross",
    "reduced": "sum mean max min prod amax all any logsumexp std var median nanmean nansum argmax argmin count_nonzero nanmedian",
    "activation": "relu relu6 sigmoid log_sigmoid softsign silu mish tanhshrink hardsigmoid hardswish swish selu gelu softmax "
    "log_softmax elu celu leaky_relu softplus hardtanh hardshrink softshrink thresholded_relu glu",
}


class Draw:
    """Draws programs from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.one_of = lambda items: items[int(self.random.random() * len(items))]
        self.number = lambda low, high: low + int(self.random.random() * (high - low + 1))

    def shape(self, low=0, high=3):
        return [self.one_of([1, 2, 3, 4]) for _ in range(self.number(low, high))]

    def tensor(self, name, shape, dtype=None, low=-2, high=2, train=0.7):
        dtype = dtype or self.one_of(FLOATS)
        trains = dtype in FLOATS and self.random.random() < train
        return f"{name} = T(A({shape}, '{dtype}', {low}, {high}), {trains})"

    def near(self, shape):
        """A shape that broadcasts with `shape`."""
        short = [1 if self.random.random() < 0.25 else length for length in shape]
        return short[self.number(0, len(short)) :] if self.random.random() < 0.3 else short

    def axis(self, rank):
        return repr(self.number(-rank, rank - 1)) if rank and self.random.random() < 0.7 else "None"

    def of_one(self):
        kind = self.one_of(["any", "positive"])
        dtype = self.one_of([*FLOATS, *WHOLE, "bool"])
        low = -2 if kind == "any" else 0.1
        return [
            self.tensor("x", self.shape(), dtype, low),
            f"out += [paddle.{self.one_of(NAMES[kind].split())}(x)]; G(out)",
        ]

    def of_two(self):
        shape, dtype = self.shape(), self.one_of([*FLOATS, *WHOLE, "bool"])
        other = dtype if self.random.random() < 0.7 else self.one_of(DTYPES)
        name = self.one_of(NAMES["two"].split())
        more = ", 0.3" if name == "lerp" else ", p={}".format(self.one_of(["1", "2"])) if name == "dist" else ""
        return [
            self.tensor("x", shape, dtype, 0.1), self.tensor("y", self.near(shape), other, 0.1),
            f"out += [paddle.{name}(x, y{more})]; G(out)",
        ]  # fmt: skip

    def operator(self):
        sign = self.one_of(["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|"])
        shape, dtype = self.shape(), self.one_of(DTYPES)
        numbers = ["2", "3", "2.5", "True", "1.0", "np.float32(1.5)", "np.int64(2)", "np.float64(0.5)"]
        right = self.tensor("y", self.near(shape), self.one_of([dtype, dtype, *DTYPES]), 1, 4, 0.3)
        if self.random.random() < 0.5:
            right = "y = " + self.one_of(numbers)
        form = "x %s y" if self.random.random() < 0.8 else "y %s x"
        return [self.tensor("x", shape, dtype, 1, 4), right, "out += [%s]; G(out)" % (form % sign)]

    def reduction(self):
        shape, name = self.shape(), self.one_of(NAMES["reduced"].split())
        dtype = "bool" if name in ("all", "any") else self.one_of([*FLOATS, *WHOLE])
        call = "paddle.{}(x, axis={}, keepdim={})".format(name, self.axis(len(shape)), self.one_of(["True", "False"]))
        return [self.tensor("x", shape, dtype), f"out += [{call}]; G(out)"]

    def form(self):
        shape = self.shape(1)
        rank, axis = len(shape), self.number(0, len(shape) - 1)
        calls = [
            "x.reshape([-1])", "paddle.reshape(x, [0, -1])", "x.flatten()", f"x.unsqueeze({axis})", "x.squeeze()", "x.T",
            f"paddle.flip(x, [{axis}])", f"paddle.roll(x, 1, {axis})", f"paddle.tile(x, [2] * {rank})",
            f"paddle.concat([x, x * 2], axis={axis})", f"paddle.stack([x, x], {axis})", f"x.unbind({axis})[0]",
            f"paddle.split(x, [1, -1], axis={axis})[0]", "paddle.tril(x)", "paddle.diag_embed(x)", f"paddle.cumsum(x, {axis})",
            "paddle.broadcast_to(x, [2] + x.shape)", f"paddle.sort(x, {axis})", f"paddle.topk(x, 1, {axis})[0]",
            f"paddle.gather(x, paddle.to_tensor([0, 0]), axis={axis})", "paddle.where(x > 0, x, x * 2)", "paddle.unique(x)",
            "paddle.masked_select(x, x > 0)", f"paddle.index_select(x, paddle.to_tensor([0]), {axis})", "paddle.nonzero(x > 0)",
            "paddle.einsum('...i,...i->...', x, x)", "paddle.tensordot(x, x, 1)", "paddle.matmul(x, x, transpose_y=True)",
            f"paddle.norm(x, axis={axis})", f"paddle.quantile(x, 0.3, axis={axis})", f"paddle.slice(x, [{axis}], [0], [1])",
        ]  # fmt: skip
        return [self.tensor("x", shape, self.one_of([*FLOATS, "int64"])), f"out += [{self.one_of(calls)}]; G(out)"]

    def item(self, length):
        def near():
            return self.one_of(["", self.number(-length, length)])

        kinds = [
            str(self.number(-length, length - 1)), f"{near()}:{near()}", f"{near()}:{near()}:{self.one_of([2, -1, -2])}",
            str([self.number(0, length - 1) for _ in range(2)]), f"paddle.to_tensor([{self.number(0, length - 1)}])",
            str([self.random.random() < 0.5 for _ in range(length)]), "None", "...",
        ]  # fmt: skip
        return self.one_of(kinds[:3] * 2 + kinds)

    def index(self, shape):
        items = [self.item(length) for length in shape[: self.number(1, len(shape))]]
        while items.count("...") > 1:
            items.remove("...")
        return "x > 0" if self.random.random() < 0.15 else ", ".join(items)

    def reading(self):
        shape = self.shape(1)
        return [
            self.tensor("x", shape, self.one_of([*FLOATS, "int64", "bool"])),
            f"out += [x[{self.index(shape)}]]; G(out)",
        ]

    def writing(self):
        shape, dtype = self.shape(1), self.one_of([*FLOATS, "int64"])
        values = ["1", "-2.5", "True", f"paddle.zeros([1], '{dtype}')", "np.ones([1])", "T(A(%s, '%s', 0, 2), False)"]
        value = self.one_of([*values, values[-1]])
        value = value % (self.one_of([shape, shape[-1:]]), dtype) if "%s" in value else value
        return [self.tensor("x", shape, dtype), "y = x * 1", f"y[{self.index(shape)}] = {value}", "out += [y]; G(out)"]

    def in_place(self):
        shape, dtype = self.shape(0), self.one_of([*FLOATS, "int64"])
        calls = [
            "add_(w)", "subtract_(w)", "multiply_(w)", "scale_(2.0,1.0)", "clip_(-0.5,0.5)", "exp_()", "tanh_()",
            "zero_()", "fill_(3)", "reshape_([-1])", "unsqueeze_(0)", "squeeze_()", "abs_()", "floor_()", "sqrt_()",
            "pow_(2)", "remainder_(w)", "cast_('float64')", "neg_()", "set_value(w)", "sigmoid_()",
            "masked_fill_(w>0,0)", "round_()", "copy_(w,True)", "cumsum_()", "reciprocal_()", "t_()",
            "floor_divide_(w)", "lerp_(w,0.5)",
        ]  # fmt: skip
        lines = [f"y.{self.one_of(calls)}" for _ in range(self.number(1, 3))]
        start = self.one_of(["y = x * 2", "y = x * 2", "y = x", "y = x.detach()"])
        first = [self.tensor("x", shape, dtype, 0.3), self.tensor("w", shape, dtype, 0.3), start]
        return [*first, *lines, "out += [y, y.inplace_version]; G(out)"]

    def activation(self):
        name = self.one_of(NAMES["activation"].split())
        return [self.tensor("x", [self.number(1, 3), 4], self.one_of(FLOATS)), f"out += [F.{name}(x)]; G(out)"]

    def loss(self):
        rows, columns = self.number(1, 3), self.number(2, 4)
        labels = f"paddle.to_tensor(A([{rows}], 'int64', 0, {columns - 1}))"
        mean = self.one_of(["mean", "sum", "none"])
        calls = [
            f"F.cross_entropy(x, {labels}, reduction='{mean}')", f"F.mse_loss(x, w, '{mean}')",
            f"F.l1_loss(x, w, '{mean}')", f"F.smooth_l1_loss(x, w, '{mean}')", f"F.kl_div(x, F.softmax(w), '{mean}')",
            f"F.binary_cross_entropy_with_logits(x, F.sigmoid(w), reduction='{mean}')", "F.margin_ranking_loss(x, w, x.sign())",
            f"F.nll_loss(F.log_softmax(x), {labels}, reduction='{mean}')", "F.label_smooth(x)", "F.square_error_cost(x, w)",
            "F.cosine_similarity(x, w, axis=1)", "F.normalize(x)", "F.pairwise_distance(x, w)",
            "F.hinge_embedding_loss(x, w.sign())",
        ]  # fmt: skip
        shape, dtype = [rows, columns], self.one_of(FLOATS)
        return [
            self.tensor("x", shape, dtype),
            self.tensor("w", shape, dtype),
            f"out += [{self.one_of(calls)}]; G(out)",
        ]

    def layer(self):
        size = self.number(2, 4)
        layers = [
            (f"nn.Linear({size}, 3)", [2, size]), (f"nn.LayerNorm({size})", [2, size]), (f"nn.BatchNorm1D({size})", [3, size]),
            (f"nn.Conv1D({size}, 2, 3, padding=1)", [2, size, 5]), (f"nn.Conv2D({size}, 2, 2)", [1, size, 3, 3]),
            ("nn.MaxPool1D(2, 2, padding=1, ceil_mode=True)", [1, size, 5]), ("nn.AvgPool2D(2)", [1, size, 4, 4]),
            (f"nn.GroupNorm(1, {size})", [2, size, 3]), ("nn.PReLU()", [2, size]), ("nn.Dropout(0.4)", [3, size]),
            (f"nn.Sequential(nn.Linear({size}, 4), nn.Tanh(), nn.Linear(4, 1))", [3, size]),
        ]  # fmt: skip
        made, shape = self.one_of(layers)
        lines = [f"paddle.seed({self.number(0, 99)})", "m = " + made, self.tensor("x", shape, "float32", train=1)]
        return [*lines, "out += [m(x), repr(m)]; G(out)", "out += [p.grad for p in m.parameters()]"]

    def recurrent(self):
        steps, batch, size, hidden = (self.number(1, 3) for _ in range(4))
        kind, layers = self.one_of(["GRU", "GRU", "LSTM", "SimpleRNN"]), self.number(1, 2)
        way = self.one_of(["forward", "bidirect"])
        # No lengths in both directions: Paddle's own gradients are wrong there.
        lengths = self.one_of(["", f", sequence_length=paddle.to_tensor(A([{batch}], 'int64', 0, {steps}))"])
        lengths = "" if way == "bidirect" else lengths
        return [
            f"paddle.seed({self.number(0, 99)})", f"m = nn.{kind}({size}, {hidden}, {layers}, direction='{way}')",
            self.tensor("x", [batch, steps, size], "float32", train=1), f"y = flat(m(x{lengths}))", "out += y; G(y)",
            "out += [p.grad for p in m.parameters()]",
        ]  # fmt: skip

    def training(self):
        rate = self.one_of([
            "0.1", "paddle.optimizer.lr.StepDecay(0.1, 2, gamma=0.5)", "paddle.optimizer.lr.CosineAnnealingDecay(0.1, 3)",
            "paddle.optimizer.lr.NoamDecay(16, 2)", "paddle.optimizer.lr.LinearWarmup(0.2, 2, 0.0, 0.2)",
        ])  # fmt: skip
        optimizer = self.one_of(
            ["SGD", "Momentum", "Adam", "AdamW", "Adamax", "Adagrad", "RMSProp", "Adadelta", "Lamb"]
        )
        clip = self.one_of(["", ", grad_clip=nn.ClipGradByGlobalNorm(0.5)", ", grad_clip=nn.ClipGradByNorm(0.3)"])
        step = "; r.step()" if "lr." in rate else ""
        return [
            f"paddle.seed({self.number(0, 9)})", "m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))", "r = " + rate,
            f"o = paddle.optimizer.{optimizer}(r, parameters=m.parameters(){clip})", "x = T(A([5, 3], 'float32', -1, 1), False)",
            "for i in range(3): loss = (m(x) ** 2).mean(); loss.backward(); o.step(); o.clear_grad(); out += [loss]" + step,
            "out += [p for p in m.parameters()]",
        ]  # fmt: skip

    def text(self):
        shape, dtype = self.shape(0, 2), self.one_of(DTYPES)
        kinds = [
            "repr(x)", "x.tolist()", "str(x.astype('float64'))", f"x.astype('{self.one_of(DTYPES)}')", "x.numpy()",
            "len(x)",
        ]  # fmt: skip
        return [
            self.tensor("x", shape, dtype, train=0),
            "out += [{}]".format(self.one_of([*kinds, "bool(x)", "float(x)", "x.shape"])),
        ]

    def program(self):
        kinds = [
            self.of_one, self.of_two, self.operator, self.reduction, self.form, self.reading, self.writing,
            self.in_place,
        ]  # fmt: skip
        rest = [self.activation, self.loss, self.layer, self.recurrent, self.training, self.text]
        return "\n".join(self.one_of([*kinds, *kinds, *rest])())


def flat(value):
    """Nested lists and tuples as one list."""
    return [each for part in value for each in flat(part)] if isinstance(value, (list, tuple)) else [value]


def encoded(value, paddle):
    """A result as JSON: floating-point numbers with seven digits."""
    if isinstance(value, paddle.Tensor):
        kind = "stop" if value.stop_gradient and "float" in str(value.dtype) else ""
        return ["tensor", str(value.dtype).split(".")[-1], kind, encoded(value.numpy(), paddle)]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        numbers = array.ravel().tolist()
        if array.dtype.kind == "f":
            numbers = [float(f"{number:.7g}") for number in numbers]
        return ["array", str(array.dtype), list(array.shape), numbers]
    if isinstance(value, (list, tuple)):
        return ["list", *[encoded(each, paddle) for each in value]]
    return ["other", repr(value)]


def run(code, number, paddle):
    """The results of a program, or the names of the classes of the exception that it raised."""
    chance, out = np.random.RandomState(number), []

    def array(shape, dtype, low, high):
        if dtype == "bool":
            return chance.uniform(0, 1, shape) > 0.5
        if "int" in dtype:
            return chance.randint(int(max(low, 0 if dtype[0] == "u" else low)), int(high) + 2, shape).astype(dtype)
        return chance.uniform(low, high, shape).astype(dtype)

    def tensor(values, train=False):
        return paddle.to_tensor(values, stop_gradient=not train)

    def gradients(results):
        losses = []
        for each in flat(results):
            if isinstance(each, paddle.Tensor) and not each.stop_gradient and "float" in str(each.dtype):
                weights = np.cos(np.arange(int(np.prod(each.shape)))).reshape(each.shape)
                losses.append((each * paddle.to_tensor(weights.astype(str(each.dtype).split(".")[-1]))).sum())
        if losses:
            for each in losses[:-1]:
                each.backward(retain_graph=True)
            losses[-1].backward()
        leaves = [names.get(name) for name in "xyw"]
        out.extend(
            each.grad for each in leaves if isinstance(each, paddle.Tensor) and each.is_leaf and not each.stop_gradient
        )

    names = {
        "np": np, "paddle": paddle, "nn": paddle.nn, "F": paddle.nn.functional, "A": array, "T": tensor,
        "G": gradients,
    }  # fmt: skip
    names.update(out=out, flat=flat)
    paddle.seed(0)
    paddle.set_default_dtype("float32")
    # paddle.jit.to_static of 2.6.2 reads the source of a forward pass.
    linecache.cache["<program>"] = (len(code), None, code.splitlines(True), "<program>")
    with paddle.utils.unique_name.guard():
        try:
            exec(compile(code, "<program>", "exec"), names)
            return [encoded(each, paddle) for each in out]
        except Exception as error:
            return {"error": [each.__name__ for each in type(error).__mro__]}


def written():
    """The programs of `written_programs.txt`: former faults, and rules that only Paddle has."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "written_programs.txt")) as file:
        return [code.strip("\n") for code in file.read().split("\n---\n")]


def answered(codes):
    """Programs with their numbers and Paddle's answers. Each runs in a new process, since some end their process."""
    import paddle

    rows = []
    for number, code in enumerate(codes):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(writing, "w") as end:
                end.write(json.dumps(run(code, number, paddle)))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as end:
            text = end.read()
        os.waitpid(child, 0)
        if text:
            rows.append([number, code, json.loads(text)])
    return rows


def record(seed, count, path):
    """Write `count` random programs, and the written ones, with Paddle's answers."""
    draw = Draw(seed)
    rows = {"random": answered([draw.program() for _ in range(count)]), "written": answered(written())}
    with lzma.open(path, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        json.dump(rows, file)


if __name__ == "__main__":
    record(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
