"""The scopes in which MXNet 1.9.1 calls a user's functions. `python callback_scopes.py` prints the scopes of each callback.

Run by MXNet it gives `data/callback_scopes.json`.
"""

# MXNet runs this file with Python 3.8.
# ruff: noqa: UP031
import json
import re
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

seen = {}


def look(callback):
    """Note the scopes that are open where a callback runs."""
    prefix, number = re.match(r"(.*?)_plusscalar(\d+)", (mx.sym.var("x") + 1).name).groups()
    seen.setdefault(
        callback,
        {
            "prefix": prefix,
            "names": "fresh" if number == "0" else "of the caller",
            "attributes": dict(sorted(mx.sym.var("y").list_attr().items())),
            "context": str(mx.current_context()),
            "recording": autograd.is_recording(),
            "training": autograd.is_training(),
            "numpy": [mx.util.is_np_array(), mx.util.is_np_shape()],
        },
    )


def bucketing():
    def sym_gen(key):
        look("sym_gen of BucketingModule(...)" if not made else "sym_gen of switch_bucket")
        data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
        return mx.sym.SoftmaxOutput(data, name="softmax"), ("data",), ("softmax_label",)

    made = []
    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=2)
    made.append(module)
    module.bind([("data", (2, 2))], [("softmax_label", (2,))])
    module.init_params()
    module.switch_bucket(3, [("data", (3, 2))], [("softmax_label", (3,))])


class Block(gluon.HybridBlock):
    def __init__(self, label, **kwargs):
        super().__init__(**kwargs)
        self.label = label
        with self.name_scope():
            look("__init__ within name_scope")
            self.weight = self.params.get("weight", shape=(1,), init=Init(), allow_deferred_init=True)

    def hybrid_forward(self, F, x, weight):
        look("hybrid_forward, " + self.label + ("" if F is nd else " (traced)"))
        return x * weight


class Plain(gluon.Block):
    def forward(self, x):
        look("forward of Block")
        return x


class Init(mx.init.Initializer):
    def _init_weight(self, name, arr):
        look("Initializer")
        arr[:] = 1


class Deferred(mx.init.Initializer):
    def _init_weight(self, name, arr):
        look("Initializer, deferred")
        arr[:] = 1


def blocks():
    for label in ("arrays", "hybridized"):
        block = Block(label, prefix="b_")
        block.initialize(ctx=mx.cpu(1))
        if label == "hybridized":
            block.hybridize()
        with autograd.record():
            block(nd.ones((1,), ctx=mx.cpu(1)))
    Block("symbols", prefix="b_")(mx.sym.var("data"))
    with autograd.record():
        Plain()(nd.ones((1,), ctx=mx.cpu(1)))
    deferred = gluon.nn.Dense(1, weight_initializer=Deferred())
    deferred.initialize()
    with autograd.record():
        deferred(nd.ones((1, 2)))
    hooked = Plain()
    hooked.register_forward_pre_hook(lambda *a: look("forward_pre_hook"))
    hooked.register_forward_hook(lambda *a: look("forward_hook"))
    hooked(nd.ones((1,), ctx=mx.cpu(1)))
    with autograd.record():
        gluon.nn.Lambda(lambda x: (look("Lambda"), x)[1])(nd.ones((1,), ctx=mx.cpu(1)))
        gluon.nn.HybridLambda(lambda F, x: (look("HybridLambda"), x)[1])(nd.ones((1,), ctx=mx.cpu(1)))


class Cell(gluon.rnn.HybridRecurrentCell):
    def state_info(self, batch_size=0):
        return [{"shape": (batch_size, 2), "__layout__": "NC"}]

    def begin_state(self, batch_size=0, func=nd.zeros, **kwargs):
        look("begin_state of unroll")
        return super().begin_state(batch_size, func, **kwargs)

    def _alias(self):
        return "cell"

    def hybrid_forward(self, F, x, s):
        look("hybrid_forward of a cell in unroll")
        return x, [s]


def cells():
    Cell().unroll(2, nd.ones((1, 2, 2), ctx=mx.cpu(1)), layout="NTC")


class Function(autograd.Function):
    def forward(self, x):
        look("Function.forward")
        return x * 2

    def backward(self, g):
        look("Function.backward")
        return g * 2


class Op(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        look("CustomOp.forward")
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        look("CustomOp.backward")
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("looks")
class Prop(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        look("create_operator")
        return Op()

    def infer_shape(self, shapes):
        look("infer_shape")
        return super().infer_shape(shapes)


def operators():
    x = nd.ones((1,), ctx=mx.cpu(1))
    x.attach_grad()
    with autograd.record():
        y = Function()(x)
    y.backward()
    with autograd.record():
        y = nd.Custom(x, op_type="looks")
    y.backward()
    nd.waitall()


def loops():
    v = mx.sym.var("v")
    mx.sym.contrib.foreach(lambda x, s: (look("foreach, symbols"), (x + s, s + 1))[1], v, mx.sym.var("s"))
    mx.sym.contrib.while_loop(
        lambda i: (look("while_loop cond, symbols"), i < 3)[1],
        lambda i: (look("while_loop func, symbols"), (i, i + 1))[1],
        [v],
        max_iterations=4,
    )
    mx.sym.contrib.cond(
        v < 1, lambda: (look("cond then, symbols"), v + 1)[1], lambda: (look("cond else, symbols"), v + 2)[1]
    )
    a = nd.ones((2,), ctx=mx.cpu(1))
    mx.nd.contrib.foreach(lambda x, s: (look("foreach, arrays"), (x + s, s + 1))[1], a, nd.ones((1,)))
    mx.nd.contrib.cond(a[0] < 1, lambda: (look("cond then, arrays"), a)[1], lambda: (look("cond else, arrays"), a)[1])


def training():
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.HybridLambda(
            lambda F, x: (look("net in Estimator.fit" if autograd.is_recording() else "net in Estimator.evaluate"), x)[
                1
            ]
        )
    )
    net.add(gluon.nn.Dense(1))
    net.initialize()

    class Loss(gluon.loss.L2Loss):
        def hybrid_forward(self, F, *args, **kwargs):
            look("loss in Estimator")
            return super().hybrid_forward(F, *args, **kwargs)

    from mxnet.gluon.contrib import estimator

    e = estimator.Estimator(
        net, Loss(), train_metrics=mx.metric.MSE(), trainer=gluon.Trainer(net.collect_params(), Opt())
    )
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((2, 1), "f"), np.ones((2, 1), "f")), 1)
    e.logger.setLevel(50)
    e.fit(data, data, epochs=1)


@mx.optimizer.register
class Opt(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        look("Optimizer.create_state")

    def update(self, index, weight, grad, state):
        look("Optimizer.update")
        weight[:] -= 0.1 * grad

    update_multi_precision = update


def module():
    class Metric(mx.metric.MSE):
        def update(self, labels, preds):
            look("EvalMetric.update in fit")
            super().update(labels, preds)

    net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="f"), name="lin")
    it = mx.io.NDArrayIter(np.ones((2, 1), "f"), np.ones((2, 1), "f"), 1, label_name="lin_label")
    m = mx.mod.Module(net, label_names=("lin_label",))
    m.fit(
        it,
        num_epoch=1,
        optimizer=Opt(),
        eval_metric=Metric(),
        batch_end_callback=lambda p: look("batch_end_callback"),
        epoch_end_callback=lambda *a: look("epoch_end_callback"),
        initializer=ModuleInit(),
        monitor=mx.mon.Monitor(1, stat_func=lambda a: (look("Monitor stat_func"), a)[1]),
    )


class ModuleInit(mx.init.Initializer):
    def __call__(self, name, arr):
        look("Initializer in Module")
        arr[:] = 1


def old_autograd():
    from mxnet.contrib import autograd as old

    old.grad_and_loss(lambda x: (look("contrib.autograd.grad_and_loss"), x * x)[1])(nd.ones((1,), ctx=mx.cpu(1)))


def data():
    label = ["Dataset.__getitem__"]

    class Data(gluon.data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            look(label[0])
            return np.float32(i)

    with autograd.record():
        list(gluon.data.DataLoader(Data(), 1, batchify_fn=lambda parts: (look("batchify_fn"), nd.array(parts))[1]))
    label[0] = "Dataset.__getitem__ in a worker"
    with mx.util.np_shape(True), mx.util.np_array(True):
        list(gluon.data.DataLoader(Data(), 1, num_workers=1, thread_pool=True))
    kv = mx.kv.create("local")
    kv.init(3, nd.ones((1,)))
    kv._set_updater(lambda key, a, b: look("updater of a KVStore"))
    kv.push(3, nd.ones((1,)))
    out = nd.ones((1,))
    kv.pull(3, out=out)
    nd.waitall()

    @mx.util.use_np
    def f():
        look("use_np")

    f()


def record():
    for part in (bucketing, blocks, cells, operators, loops, training, module, old_autograd, data):
        with warnings.catch_warnings(), mx.AttrScope(__outer__="1"), mx.name.NameManager():
            warnings.simplefilter("ignore")
            for _ in range(3):
                mx.sym.var("x") + 1
            part()
    return seen


if __name__ == "__main__":
    print("{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in record().items()) + "\n}")
