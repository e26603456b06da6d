# ruff: noqa: C408, SIM115, UP031, UP032  (it also runs under the original, on Python 3.8, where it is short)
"""Small random programs, and a runner that gives their results as plain values.

    python programs.py SEED COUNT ANSWERS    under OneFlow 0.9.0: run the programs and write their results
    python programs.py again ANSWERS         run the programs of a file again, such as `arguments.json.xz`

The test compares with these answers, so this file is independent: it needs OneFlow or the dialect, and NumPy. Each
program is one line, `name(arguments)` or an operator, drawn from the tables below. A program that ends the original's process
has no answer: its line is written before it runs, and the next start continues with the next program.
"""

import json
import lzma
import os
import random
import subprocess
import sys

FLOATS = ["float32", "float64"]
TYPES = ["float32"] * 4 + ["float64", "int64", "int32", "int8", "uint8", "bool"]
NUMBERS = ["2", "-1", "0", "0.5", "-1.5", "True", "1e10", "float('nan')"]

ONE = (
    "abs acos asin atan ceil cos erf exp expm1 floor log log1p neg reciprocal round rsqrt sigmoid sign sin softplus "
    "sqrt square tan tanh relu gelu silu mish selu logical_not isnan"
)
TWO = "add sub mul div floor_divide fmod pow maximum minimum eq ne gt ge lt le logical_and logical_or logical_xor atan2"
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", ">=", "==", "&", "|", "^"]
REDUCED = "sum mean prod max min std var argmax argmin all any logsumexp amax amin nansum cumsum"


def shape(draw, least=0, most=3):
    return tuple(draw.choice([0, 1, 2, 3, 4, 2, 3]) for _ in range(draw.randint(least, most)))


def tensor(draw, sizes, kind=None):
    kind = kind or draw.choice(TYPES)
    return "make({!r}, {!r}, {})".format(sizes, kind, draw.randrange(10**6))


def like(draw, sizes):
    """A shape that broadcasts with another."""
    return tuple(1 if draw.random() < 0.3 else size for size in sizes[draw.randint(0, len(sizes)) :]) if sizes else ()


def operand(draw, sizes, number=0.3):
    return draw.choice(NUMBERS) if draw.random() < number else tensor(draw, like(draw, sizes))


def unary(draw):
    name, given = draw.choice(ONE.split()), tensor(draw, shape(draw))
    return draw.choice(["flow.{0}({1})", "{1}.{0}()"]).format(name, given)


def binary(draw):
    sizes = shape(draw)
    first, second = tensor(draw, sizes), operand(draw, sizes)
    if draw.random() < 0.15:
        first, second = draw.choice(NUMBERS), first
    if draw.random() < 0.5:
        return "{} {} {}".format(first, draw.choice(OPERATORS), second)
    return "flow.{}({}, {})".format(draw.choice(TWO.split()), first, second)


def assigned(draw):
    sizes = shape(draw)
    sign = draw.choice(["+=", "-=", "*=", "/="])
    return "changed({}, {!r}, {})".format(tensor(draw, sizes), sign, operand(draw, sizes))


def reduced(draw):
    sizes = shape(draw)
    name = draw.choice(REDUCED.split())
    given = [] if draw.random() < 0.3 else ["dim=%d" % draw.randint(-max(len(sizes), 1), max(len(sizes) - 1, 0))]
    if given and name != "cumsum" and draw.random() < 0.3:
        given.append("keepdim=True")
    return draw.choice(["flow.{0}({1}, {2})", "{1}.{0}({2})"]).format(name, tensor(draw, sizes), ", ".join(given))


def index(draw, sizes):
    def part(size):
        return draw.choice([
            str(draw.randint(-size, max(size - 1, 0))), ":", "1:", "::2", "::-1", ":-1", "None", "...", "True",
            "[0, %d]" % max(size - 1, 0), "flow.tensor([0])",
        ])  # fmt: skip

    return ", ".join(part(size) for size in sizes[: draw.randint(1, len(sizes))])


def indexed(draw):
    sizes = shape(draw, 1)
    place, given = index(draw, sizes), tensor(draw, sizes)
    if draw.random() < 0.6:
        return "{}[{}]".format(given, place)
    value = draw.choice(NUMBERS + [tensor(draw, (1,))])
    return "put({}, lambda x: x.__setitem__(at[{}], {}))".format(given, place, value)


def moved(draw):
    sizes = shape(draw, 1)
    dim, given = draw.randint(-len(sizes), len(sizes) - 1), tensor(draw, sizes)
    return draw.choice([
        "flow.flip({0}, {1})", "flow.flip({0}, [{1}])", "flow.roll({0}, 1, {1})", "flow.roll({0}, (1, 2), (0, {1}))",
        "flow.roll({0}, 2)", "flow.narrow({0}, {1}, 0, 1)", "flow.topk({0}, 2, dim={1})", "flow.sort({0}, dim={1})",
        "flow.argsort({0}, dim={1}, descending=True)", "flow.transpose({0}, 0, {1})", "flow.unbind({0}, {1})",
        "flow.chunk({0}, 2, dim={1})", "flow.squeeze({0}, {1})", "flow.unsqueeze({0}, {1})", "{0}.stride()", "{0}.size({1})",
        "{0}.type()", "flow.clamp({0}, -0.5, 0.5)", "flow.clamp({0}, min=1)", "flow.masked_fill({0}, {0} > 0, 1e10)",
        "flow.full_like({0}, -1.5)", "flow.tril({0})", "flow.diag({0})", "flow.repeat_interleave({0}, 2)",
    ]).format(given, dim)  # fmt: skip


def product(draw):
    rows, inner, columns = (draw.randint(1, 3) for _ in range(3))
    kind = draw.choice(["float32", "float64", "int64", "int32"])
    other = kind if draw.random() < 0.8 else draw.choice(TYPES)
    first, second = tensor(draw, (rows, inner), kind), tensor(draw, (inner, columns), other)
    added = tensor(draw, (columns,), kind)
    batches = [tensor(draw, (2, *sizes), kind) for sizes in [(rows, columns), (rows, inner), (inner, columns)]]
    return draw.choice([
        "flow.matmul({0}, {1})", "flow.mm({0}, {1})", "flow.addmm({2}, {0}, {1})", "flow.norm({0})", "flow.norm({0}, p=1)",
        "flow.addmm({2}, {0}, {1}, beta=0.5, alpha=2)", "flow.baddbmm({3}, {4}, {5})", "flow.linalg.norm({0}, 2, dim=0)",
        "flow.addcmul({0}, {0}, {0}, value=0.5)", "flow.addcdiv({0}, {0}, {0})", "flow.linalg.vector_norm({0})",
    ]).format(first, second, added, *batches)  # fmt: skip


def created(draw):
    kind = draw.choice(TYPES + ["float16"])
    value = draw.choice(
        ["[1, 2]", "[1.5, 2]", "True", "2.5", "[]", "None", "'a'", "1 + 2j", "np.ones((2, 0))", "2**40"]
    )
    return draw.choice([
        "flow.arange(0, 5, 2.5, dtype=flow.{0})", "flow.arange(1, 3.5)", "flow.linspace(5, 0, 3, dtype=flow.{0})",
        "flow.linspace(0, 1, 5)", "flow.full((2,), {2}, dtype=flow.{0})", "flow.tensor({1})", "flow.LongTensor({1})",
        "flow.tensor({1}, dtype=flow.float32)", "flow.hann_window(6)", "flow.hann_window(5, periodic=False)",
        "flow.ones(2, dtype=flow.{0}).new_tensor([1.5, 2])", "flow.bincount(flow.tensor([], dtype=flow.int64))",
        "flow.bincount(flow.tensor([1, 3]), minlength=2)", "flow.ones(2, 3).dtype", "flow.zeros((2, 0), dtype=flow.{0})",
    ]).format(kind, value, draw.choice(NUMBERS))  # fmt: skip


def layer(draw):
    b, c, n = draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 4)
    line, image = (tensor(draw, sizes, draw.choice(FLOATS)) for sizes in [(b, c, n), (b, c, n, n + 1)])
    rows, others = (tensor(draw, (b, c), "float32") for _ in range(2))
    reduction = draw.choice(["none", "mean", "sum", "avg"])
    pooling = "nn.%sPool%%dd(%d, stride=%d)" % (draw.choice(["Max", "Avg"]), draw.randint(1, 3), draw.randint(1, 2))
    return draw.choice([
        pooling % 1 + "({0})", pooling % 2 + "({1})", "repr(%s)" % (pooling % draw.randint(1, 3)), "F.elu({2}, 0.5)",
        "F.leaky_relu({2}, alpha=0.1)", "F.hardtanh({2}, -1.0, 1.0)", "F.elu({2})", "F.leaky_relu({2})", "{2}.softplus()",
        "F.mse_loss({2}, {3}, reduction='{4}')", "F.l1_loss({2}, {3}, reduction='{4}')", "F.softmax({2}, dim=-1)",
        "F.cross_entropy({2}, flow.zeros(%d, dtype=flow.int64), reduction='{4}')" % b, "F.one_hot({2})", "F.dropout({2}, p=1.5)",
        "nn.InstanceNorm1d(%d)({0})" % c, "F.conv1d({0}, {0}, padding='same')", "F.interpolate({1}, scale_factor=0.5)",
        "F.unfold({1}, kernel_size=2)", "F.pad({2}, (1, 0, 0, 1))", "F.pad({2}[0], (1, 0, 0, 1))", "F.log_softmax({0})",
        "flow.optim.SGD([])", "F.normalize({2}, dim=1)", "nn.LayerNorm(%d)({2})" % c,
    ]).format(line, image, rows, others, reduction)  # fmt: skip


def recurrent(draw):
    kind = draw.choice(["GRU", "GRU", "GRU", "LSTM", "RNN"])
    i, h, t, b = draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 3)
    wrong = draw.random() < 0.1
    options = draw.choice(["", ", num_layers=2", ", bidirectional=True", ", batch_first=True", ", bias=False"])
    if draw.random() < 0.2:
        state = draw.choice(["", ", " + tensor(draw, (b, h), "float32")]) if kind != "LSTM" else ""
        return "trained(nn.{}Cell({}, {}), {}{})".format(kind, i, h, tensor(draw, (b, i + wrong), "float32"), state)
    return "trained(nn.{}({}, {}{}), {})".format(
        kind, i, h, options, tensor(draw, (t, b, i + wrong), "float64" if wrong and draw.random() < 0.5 else "float32")
    )


KINDS = [
    unary, binary, binary, assigned, reduced, reduced, indexed, moved, moved, product, created, layer, layer,
    recurrent,
]  # fmt: skip


def programs(seed, count):
    """The programs of a seed, the same on every Python."""
    draw = random.Random(seed)
    return [draw.choice(KINDS)(draw) for _ in range(count)]


class _At:
    """`at[1:, 0]` is the index itself."""

    def __getitem__(self, index):
        return index


class Runner:
    """Runs programs with one framework, `import oneflow` or the dialect."""

    def __init__(self, flow):
        import numpy as np

        self.flow, self.np = flow, np
        self.names = dict(
            flow=flow, nn=flow.nn, F=flow.nn.functional, np=np, at=_At(),
            make=self.make, changed=self.changed, put=self.put, trained=self.trained,
        )  # fmt: skip

    def make(self, sizes, kind, seed):
        values = self.np.random.RandomState(seed).randn(*sizes) * 2
        if kind == "bool":
            values = values > 0
        elif not kind.startswith("float"):
            values = self.np.abs(self.np.round(values)) if kind == "uint8" else self.np.round(values)
        return self.flow.tensor(self.np.asarray(values).astype(kind), dtype=getattr(self.flow, kind))

    def changed(self, x, sign, other):
        names = dict(x=x, other=other)
        exec("x %s other" % sign, names)
        return names["x"]

    def put(self, x, change):
        change(x)
        return x

    def trained(self, layer, *inputs):
        """A layer's output, and its weights' gradients."""
        draw = self.np.random.RandomState(7)
        for weight in layer.parameters():
            with self.flow.no_grad():
                weight.copy_(self.flow.tensor((draw.randn(*weight.shape) * 0.4).astype("float32")))
        found = layer(*inputs)
        flat = [part for value in (found if isinstance(found, tuple) else [found])
                for part in (value if isinstance(value, tuple) else [value])]  # fmt: skip
        sum((part * part).sum() for part in flat).backward()
        return flat + [weight.grad for weight in layer.parameters()]

    def answer(self, program):
        """A program's result, or the name of its exception's class, as JSON has it."""
        try:
            return self.plain(eval(program, dict(self.names)))
        except Exception as error:
            return {"raises": type(error).__name__, "classes": [kind.__name__ for kind in type(error).__mro__]}

    def plain(self, value):
        if isinstance(value, self.flow.Tensor):
            values = value.detach().numpy()
            kept = [repr(float(x)) if values.dtype.kind == "f" else int(x) for x in values.ravel().tolist()]
            kept = ["%.5g" % float(x) if isinstance(x, str) else x for x in kept]
            return {"type": str(value.dtype), "shape": list(value.shape), "values": kept}
        if isinstance(value, (list, tuple)):
            return [self.plain(part) for part in value]
        return value if isinstance(value, (str, bool)) or value is None else str(value)


def recorded(script, seed, count, path):
    """The rows of a script's programs. The script is started again behind each program that ends its process."""
    lines = path + ".lines"
    while True:
        done = open(lines).read().splitlines() if os.path.exists(lines) else []
        if done and done[-1] == "end":
            break
        subprocess.run([sys.executable, script, str(seed), str(count), path, "run"], stderr=subprocess.DEVNULL)
    os.remove(lines)
    return [json.loads(line) for line in done if line.startswith("{")]


def run(runner, drawn, path):
    """Run the programs that a file of lines does not have yet, write a line for each answer, and end the process."""
    lines = path + ".lines"
    begun = sum(line.startswith("begin") for line in open(lines)) if os.path.exists(lines) else 0
    with open(lines, "a") as file:
        for number, program in enumerate(drawn[begun:], begun):
            file.write("begin\n")
            file.flush()
            file.write(json.dumps({"number": number, "answer": runner.answer(program)}) + "\n")
            file.flush()
        file.write("end\n")
    os._exit(0)


def record(seed, count, path):
    """Run the programs of a seed and write all answers."""
    drawn, answers = programs(seed, count), []
    for row in recorded(__file__, seed, count, path):
        if isinstance(row["answer"], dict):
            row["answer"].pop("classes", None)
        answers.append([drawn[row["number"]], row["answer"]])
    with lzma.open(path, "wt", preset=9) as file:
        file.write(json.dumps({"seed": seed, "programs": answers}))


def again(path):
    """Run the programs of a file of answers again and write the new answers. No program may end the process."""
    import oneflow

    runner = Runner(oneflow)
    with lzma.open(path, "rt") as file:
        found = [[program, runner.answer(program)] for program, _ in json.load(file)["programs"]]
    for _, answer in found:
        if isinstance(answer, dict):
            answer.pop("classes", None)
    with lzma.open(path, "wt", preset=9) as file:
        file.write(json.dumps({"programs": found}))


if __name__ == "__main__" and sys.argv[1] == "again":
    again(sys.argv[2])
elif __name__ == "__main__" and len(sys.argv) > 4:
    import oneflow

    run(Runner(oneflow), programs(int(sys.argv[1]), int(sys.argv[2])), sys.argv[3])
elif __name__ == "__main__":
    record(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
