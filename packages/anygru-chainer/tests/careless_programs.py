"""Random whole programs that ignore dtypes, and a record of the results of their statements.

Run by Chainer's own Python, `python careless_programs.py FILE.json.xz` records the results of Chainer; with SEED and N behind
it, the results of other programs. The number of a program determines it: data, a model, changes of the model,
user-defined functions, NumPy, steps of training. A statement that fails gives the name of its exception, and the
program
continues.
"""

import json
import lzma
import random
import sys
import threading
import warnings

import numpy as np

N_PROGRAMS = 400
START = """
class Own(chainer.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return inputs[0] * 3,
    def backward(self, indexes, gys):
        return gys[0] * 3,
class Old(chainer.Function):
    def forward(self, inputs): return inputs[0] ** 2,
    def backward(self, inputs, gys): return 2 * inputs[0] * gys[0],
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(4, 3); self.b = L.Linear(None, 3)
    def __call__(self, x): return self.b(F.tanh(self.a(x)))
def inside(function):
    found = []
    def call():
        try: found.append(function())
        except Exception as error: found.append(type(error).__name__)
    thread = threading.Thread(target=call)
    thread.start(); thread.join(); return found
x = DATA; v = V(x) if isinstance(x, np.ndarray) else x; m = MODEL; p = list(m.params()); y = v
"""
DATA = (
    "R.randn(3, 4).astype('f')", "R.randn(3, 4).astype('f')", "R.randn(3, 4).astype('f')", "R.randn(3, 4)", "R.randn(4)",
    "np.arange(12).reshape(3, 4)", "np.ones((3, 4), 'f')[:, ::-1]", "[[1.0, 2, 3, 4]]", "np.float32(2)", "np.zeros((0, 4), 'f')",
    "np.array([[1, 2, 3, 4], [5, 6, 7, 8]], object)", "R.randn(3, 4).astype('f').T", "R.rand(3, 4).astype(np.float16)",
)  # fmt: skip
MODEL = (
    "Net()", "Net()", "L.Linear(4, 3)", "L.Linear(3)", "L.Linear(None, 3)", "L.StatelessGRU(4, 3)", "L.GRU(4, 3)", "L.LSTM(4, 3)",
    "chainer.Sequential(L.Linear(4, 3), F.relu, L.Linear(3, 3))", "chainer.ChainList(L.Linear(4, 3), L.Linear(3, 2))",
    "L.NStepGRU(1, 4, 3, 0.0)", "L.BatchNormalization(4)", "L.LayerNormalization(4)", "L.EmbedID(9, 3)",
)  # fmt: skip
STATEMENTS = (
    # NumPy with Variables
    "v + x", "x + v", "v * np.float32(2)", "np.float32(2) * v", "v * [1, 2]", "v / 0", "x - v", "np.exp(x) * v",
    "v ** 2", "2 ** v", "v @ x.T", "v == v", "v > 0", "v[0]", "v[-1:]", "v[:, 0]", "v[[0, 1]]", "v[x > 0]", "v[None]",
    "v[..., 0]", "len(v)", "abs(v)", "[each for each in v]", "np.asarray(v.array).sum()", "v.data.mean()",
    "v.reshape(-1)", "v.reshape((4, -1))", "v.reshape([2, 6])", "v.transpose()", "v.transpose(1, 0)",
    "v.transpose((1, 0))", "v.transpose([1, 0])", "v.T", "v.sum()", "v.mean(axis=0)", "v.dtype", "F.sum(v, 0)",
    "F.sum(v, axis=[0])", "F.sum(v, axis=(0, 1), keepdims=True)", "F.max(v, 1)", "F.reshape(v, (12,))",
    "F.reshape(v, 12)", "F.concat([v, x])", "F.concat((v, v), 0)", "F.stack([x, v])", "F.softmax(v)", "F.relu(x)",
    "F.dropout(v, 0.0)", "F.cast(v, 'd')", "F.matmul(v, v, False, True)", "F.broadcast_to(v, (2, 3, 4))",
    "F.expand_dims(v, 1)", "F.squeeze(v[None])", "F.flatten(v)", "F.split_axis(v, 2, 1)", "F.separate(v)",
    "F.where(x > 0, v, x)", "F.tile(v, 2)", "F.tile(v, (2, 1))", "F.pad(v, 1, 'constant')",
    "F.mean_squared_error(v, x)", "F.softmax_cross_entropy(v, np.array([0, 1, 2]))",
    "F.softmax_cross_entropy(v, np.array([0, 1, 2], 'i'))", "F.accuracy(v, np.array([0, 1, 2]))",
    "F.get_item(v, (0, 1))", "F.transpose(v, (1, 0))", "F.swapaxes(v, 0, 1)", "F.rollaxis(v, 1)",
    "F.linear(v, np.ones((2, 4), 'f'))", "F.linear(v, np.ones((2, 4)))", "F.embed_id(np.array([0, 1]), x)",
    "F.identity(v)", "repr(v)[:9]", "v.label", "v.xp.__name__", "v.rank", "v.creator is None", "v.requires_grad",
    "chainer.as_variable(x).requires_grad",
    # user-defined functions
    "Own().apply((v,))", "Own().apply((x,))[0]", "Own().apply([v, v])", "Own()(v)", "Old()(v)", "Old()(x)",
    "Old().apply((v,))", "F.sum(Own().apply((v,))[0])", "F.sum(Old()(v))", "F.forget(lambda t: t * t, v)",
    "F.sum(F.forget(lambda t: Old()(t), v))",
    # the model and surgery
    "m(v)", "m(x)", "m(None, [x, x[:1]])", "m(v[0])", "m(v, v)", "m(np.array([0, 1]))", "m.copy()(v)",
    "m.copy('init')(v).shape", "sorted(m.namedparams())", "[name for name, _ in sorted(m.namedparams())]",
    "[c.name for c in m.children()]", "m.count_params()", "[k.shape for k in p]", "m.b", "m.a.W.shape",
    "setattr(m, 'extra', 3)", "setattr(m, 'a', L.Linear(4, 3))", "delattr(m, 'b')", "m.add_link('c', L.Linear(3, 3))",
    "m.add_link(L.Linear(3, 3))", "m.add_param('q', (2,))", "m.add_persistent('n', 1)", "m[0]", "m[-1](v)",
    "m['a'](v)", "m.append(L.Linear(3, 2))", "m.W.array.fill(1)", "m.W.data[...] = 2",
    "setattr(m.W, 'array', np.ones((3, 4), 'f'))", "m.disable_update()", "m.enable_update()", "m.update_enabled",
    "m.reset_state()", "m.xp.__name__", "m.to_cpu() is m", "m.repeat(2)", "m.init_scope().__enter__()",
    "[n for n, _ in m.namedlinks()]", "m.addgrads(m)", "m.copyparams(m)", "m.zerograds()", "m.cleargrads()",
    "len(list(m.links()))", "m.name", "m.within_init_scope", "[k.name for k in p]", "[k.grad is None for k in p]",
    # gradients, optimizers, scopes and threads
    "F.sum(v).backward()", "v.backward()", "F.sum(v * v).backward()", "v.grad", "v.cleargrad()",
    "v.unchain_backward()", "p[0].grad", "F.sum(m(v)).backward()", "F.mean(m(v) ** 2).backward(retain_grad=True)",
    "chainer.grad([F.sum(v * v)], [v])", "v.grad_var", "optimizers.SGD(0.1).setup(m).update(lambda: F.sum(m(v)))",
    "optimizers.Adam().setup(m).update(lambda t: F.sum(m(t) ** 2), v)",
    "optimizers.MomentumSGD(lr=0.1).setup(m).update()", "optimizers.AdaGrad().setup(m).t",
    "optimizers.SGD(0.1).setup([m])", "inside(lambda: chainer.config.train)", "inside(lambda: F.sum(m(v)).array)",
    "inside(lambda: chainer.config.enable_backprop)", "WITH('train', False, lambda: F.dropout(v).array)",
    "WITH('enable_backprop', False, lambda: m(v).creator)", "chainer.get_dtype()",
    "WITH('dtype', np.float64, lambda: L.Linear(4, 2).W.dtype)",
    "WITH('train', False, lambda: inside(lambda: chainer.config.train))",
    "WITH('no_such', 1, lambda: chainer.config.no_such)", "chainer.config.no_such",
    "WITH('type_check', False, lambda: F.relu(x))", "chainer.report({'loss': 1})",
    "chainer.serializers.save_npz(FILE, m)", "chainer.serializers.load_npz(FILE, m)",
    "chainer.dataset.concat_examples([(x[0], 1), (x[1], 2)])", "chainer.dataset.concat_examples([x[0], x[:1]])",
    "chainer.datasets.TupleDataset(x, x)[0]", "chainer.iterators.SerialIterator(list(x), 2, shuffle=False).next()",
    "len(chainer.datasets.split_dataset(x, 2)[1])", "chainer.Variable(None).array", "V([1, 2])", "V(3)",
    "V(np.float32(3))", "V(v)", "chainer.Parameter(x).dtype", "chainer.Parameter(0, (2, 2)).array",
    "chainer.Parameter(initializers.Normal(), (2,)).shape",
)  # fmt: skip
ASSIGNED = (
    "y = v * 2", "v = F.tanh(v)", "v = V(np.array(x))", "y = m(v)", "x = x + 1", "x = np.array(x)", "v.array[:] = 1",
    "p = p[:1]", "y = F.sum(v)",
)  # fmt: skip


def kept(value, depth=0):
    """The compared parts of a value: types, dtypes, shapes and rounded numbers."""
    array = getattr(value, "array", value)
    if isinstance(array, (np.ndarray, np.generic)):
        array = np.asarray(array)
        numbers = array.astype(np.float64).ravel() if array.dtype.kind in "fiub" else []
        return [
            type(value).__name__,
            str(array.dtype),
            list(array.shape),
            [float(f"{n:.3e}") for n in list(numbers)[:6]],
        ]
    if isinstance(value, (list, tuple)) and depth < 3:
        return [type(value).__name__, *[kept(each, depth + 1) for each in value]]
    if isinstance(value, np.dtype):
        return str(value)
    return repr(value) if isinstance(value, (bool, int, str, type(None))) else type(value).__name__


def program(number):
    """The statements of a program."""
    draws = random.Random(number)
    lines = [START.replace("DATA", draws.choice(DATA)).replace("MODEL", draws.choice(MODEL))]
    for _ in range(draws.randint(4, 12)):
        lines.append(draws.choice(ASSIGNED) if draws.random() < 0.15 else draws.choice(STATEMENTS))
    return lines


def run(chainer, number, folder):
    """The results of a program's statements."""
    np.random.seed(number % 2**32)
    names = {
        "chainer": chainer, "F": chainer.functions, "L": chainer.links, "V": chainer.Variable, "np": np, "threading": threading,
        "optimizers": chainer.optimizers, "initializers": chainer.initializers, "R": np.random.RandomState(number % 2**32),
        "FILE": f"{folder}/{number}.npz", "WITH": lambda name, value, function: _within(chainer, name, value, function),
    }  # fmt: skip
    found = []
    for line in program(number):
        try:
            if line.startswith("\n") or line in ASSIGNED:
                exec(line, names)
                found.append(kept(names["y"]))
            else:
                found.append(kept(eval(line, names) if "] = " not in line else exec(line, names)))
        except Exception as error:
            found.append(["raises", *[each.__name__ for each in type(error).__mro__[:-3]]])
    grads = [getattr(names.get("v"), "grad", None), *[each._grad for each in names.get("p", ())]]
    return [*found, [kept(each) for each in grads]]


def _within(chainer, name, value, function):
    with chainer.using_config(name, value):
        return function()


def record(path, seed=0, count=N_PROGRAMS):
    import tempfile

    import chainer  # of this interpreter

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder, lzma.open(path, "wt") as file:
        json.dump({number: run(chainer, number, folder) for number in range(seed, seed + count)}, file)


if __name__ == "__main__":
    record(sys.argv[1], *map(int, sys.argv[2:]))
