"""Whole programs as people write them in a hurry: `python careless_programs.py SEED COUNT answers.json` records MXNet's answers.

Layers without names, missing dtypes and sizes, positional and keyword arguments, buckets, callbacks, saving and resuming. MXNet's
random numbers are anygru's, so that the initial weights need not be set. Two faults of MXNet are not drawn: its gradients after
`forward(is_train=False)` through BatchNorm, and `grad_req="null"` with several Dropout nodes, where its engine fails. `BatchNorm`
with its default `fix_gamma=True` is also not drawn: `get_params` of a module returns the present values, and in MXNet a copy
from the last update.
"""

# MXNet runs this file with Python 3.8.
# ruff: noqa: E501, UP031
import importlib
import json
import random
import re
import sys
import tempfile
import warnings

import numpy as np


def pick(r, *choices):
    return r.choice(choices)


def call(r, name, **arguments):
    """A call with positional and keyword arguments. Arguments with the value None are omitted."""
    given = [(key, value) for key, value in arguments.items() if value is not None]
    places = r.randint(0, len(given))
    while places and list(arguments)[:places] != [key for key, _ in given[:places]]:
        places -= 1
    parts = [str(value) for _, value in given[:places]] + ["%s=%s" % pair for pair in given[places:]]
    return "%s(%s)" % (name, ", ".join(parts))


def layer(r, sequence):
    """A layer, and whether its result is a sequence."""
    units = r.randint(2, 5)
    if sequence and r.random() < 0.6:
        kind = pick(r, "GRU", "GRU", "LSTM", "RNN")
        return call(
            r,
            "rnn." + kind,
            hidden_size=units,
            num_layers=pick(r, None, 1, 2),
            layout="'NTC'",
            bidirectional=pick(r, None, True),
        ), True
    flat = pick(r, None, False) if sequence else None
    kind = r.random()
    if kind < 0.5:
        return call(
            r,
            "nn.Dense",
            units=units,
            activation=pick(r, None, "'relu'", "'tanh'"),
            use_bias=pick(r, None, False),
            flatten=flat,
        ), sequence and flat is False
    if kind < 0.65:
        return "nn.Dropout(%s)" % pick(r, 0.3, 0.5), sequence
    if kind < 0.8:
        return "nn.LayerNorm()", sequence
    return pick(r, "nn.Activation('sigmoid')", "nn.LeakyReLU(0.1)", "nn.BatchNorm()", "nn.Swish()"), sequence


def stack(r, sequence=True, classes=3):
    lines = ["net = nn.%s()" % pick(r, "HybridSequential", "Sequential")]
    scoped = r.random() < 0.5
    lines += ["with net.name_scope():"] if scoped else []
    for _ in range(r.randint(1, 3)):
        text, sequence = layer(r, sequence)
        lines.append(("    " if scoped else "") + "net.add(%s)" % text)
    lines.append(("    " if scoped else "") + "net.add(nn.Dense(%d))" % classes)
    lines.append(
        "net.initialize(%s)"
        % pick(r, "", "mx.init.Xavier()", "init=mx.init.Normal(0.2)", "'uniform'", "mx.init.Uniform(0.3), mx.cpu()")
    )
    if r.random() < 0.5:
        lines.append("net.hybridize()")
    return lines


OPTIMIZERS = [
    "'sgd'", "'sgd', {'learning_rate': 0.1, 'momentum': 0.9}", "'adam', {'learning_rate': 0.01}", "'adam'", "'rmsprop'",
    "'adagrad', {'learning_rate': 0.1, 'wd': 0.01}", "'nag', {'learning_rate': 0.05, 'momentum': 0.5}", "'adadelta'", "'adamax'",
    "'nadam'", "'ftrl'", "'signum'", "mx.optimizer.SGD(0.1)", "mx.optimizer.Adam(learning_rate=0.02, clip_gradient=0.5)",
]  # fmt: skip
LOSSES = [
    "gluon.loss.SoftmaxCrossEntropyLoss()",
    "gluon.loss.SoftmaxCELoss()",
    "gluon.loss.L2Loss()",
    "gluon.loss.HuberLoss()",
]


def data_lines(r, loss):
    x = pick(
        r,
        "nd.random.uniform(shape=(6, 4, 3))",
        "nd.random.normal(0, 1, (6, 4, 3))",
        "nd.array(np.arange(72).reshape(6, 4, 3) / 72.0)",
        "nd.random.randn(6, 4, 3)",
    )
    y = pick(
        r,
        "nd.array([0, 1, 2, 0, 1, 2])",
        "nd.array(np.arange(6) % 3)",
        "nd.random.randint(0, 3, shape=6).astype('float32')",
    )
    if "L2" in loss or "Huber" in loss:
        y = pick(r, "nd.ones((6, 3))", "nd.random.uniform(0, 1, shape=(6, 3))")
    return ["x = " + x, "y = " + y]


def training(r):
    loss = r.choice(LOSSES)
    lines = stack(r) + data_lines(r, loss)
    lines += ["loss_of = " + loss, "trainer = gluon.Trainer(net.collect_params(), %s)" % r.choice(OPTIMIZERS)]
    lines += [
        "for i in range(3):",
        "    with autograd.record(%s):" % pick(r, "", "", "train_mode=True"),
        "        loss = loss_of(net(x), y)",
        "    %s" % pick(r, "loss.backward()", "loss.mean().backward()", "autograd.backward([loss])"),
        "    trainer.step(%s)" % pick(r, "6", "x.shape[0]", "batch_size=1", "1, ignore_stale_grad=True"),
        "    put(loss)",
    ]
    return lines + ["put(sorted(net.collect_params().keys()), net(x))"]


def accumulation(r):
    lines = (
        stack(r)
        + data_lines(r, "CE")
        + ["for p in net.collect_params().values():", "    p.grad_req = %s" % pick(r, "'add'", "'write'")]
    )
    lines += [
        "trainer = gluon.Trainer(net.collect_params(), %s)" % r.choice(OPTIMIZERS),
        "loss_of = gluon.loss.SoftmaxCrossEntropyLoss()",
    ]
    lines += [
        "for i in range(2):",
        "    for part in (slice(0, 3), slice(3, 6)):",
        "        with autograd.record():",
        "            loss = loss_of(net(x[part]), y[part])",
        "        loss.backward()",
        "    trainer.step(6)",
    ]
    lines += [pick(r, "    net.collect_params().zero_grad()", "    pass"), "    put(loss)"]
    return lines + [
        pick(r, "trainer.set_learning_rate(0.3)", "pass"),
        "put(trainer.learning_rate, [p.grad() for p in net.collect_params().values() if p.grad_req != 'null'])",
    ]


def resuming(r):
    lines = (
        stack(r)
        + data_lines(r, "CE")
        + [
            "loss_of = gluon.loss.SoftmaxCrossEntropyLoss()",
            "def train(net, trainer, steps):",
            "    for i in range(steps):",
            "        with autograd.record():",
            "            loss = loss_of(net(x), y)",
            "        loss.backward()",
            "        trainer.step(6)",
            "    put(loss)",
        ]
    )
    rule = r.choice(OPTIMIZERS[:12])
    lines += ["trainer = gluon.Trainer(net.collect_params(), %s)" % rule, "train(net, trainer, 2)"]
    lines += pick(
        r,
        ["net.save_parameters(folder + '/p')", "net.load_parameters(folder + '/p'%s)" % pick(r, "", ", ctx=mx.cpu()")],
        ["net.collect_params().save(folder + '/p')", "net.collect_params().load(folder + '/p')"],
    )
    lines += ["trainer.save_states(folder + '/s')", "trainer = gluon.Trainer(net.collect_params(), %s)" % rule]
    lines += [
        pick(r, "trainer.load_states(folder + '/s')", "pass"),
        "train(net, trainer, 2)",
        "put(sorted(nd.load(folder + '/p')))",
    ]
    return lines


def exporting(r):
    lines = [line.replace("nn.Sequential", "nn.HybridSequential") for line in stack(r)] + [
        "net.hybridize()",
        "x = nd.random.uniform(shape=(2, 4, 3))",
        "put(net(x))",
        "net.export(folder + '/m'%s)" % pick(r, "", ", 3", ", epoch=1"),
    ]
    lines += [
        "import glob",
        "params = sorted(glob.glob(folder + '/m-*.params'))[-1]",
        "block = gluon.SymbolBlock.imports(folder + '/m-symbol.json', %s, params)" % pick(r, "['data']", "'data'"),
        "put(block(x), sorted(nd.load(params)))",
    ]
    return lines + ["put(mx.sym.load(folder + '/m-symbol.json').list_arguments())"]


def operator(r, source):
    return pick(
        r,
        "mx.sym.FullyConnected(%s, num_hidden=%d%s)" % (source, r.randint(2, 4), pick(r, "", ", name='fc%d'" % r.randint(0, 9))),
        "mx.sym.Activation(%s, act_type=%s)" % (source, pick(r, "'relu'", "'tanh'", "'sigmoid'")),
        "mx.sym.Dropout(%s%s)" % (source, pick(r, "", ", p=0.3")),
        "mx.sym.BatchNorm(%s, fix_gamma=False)" % source,
        "%s * 2 + 1" % source,
        "mx.sym.LayerNorm(data=%s)" % source,
    )  # fmt: skip


def symbol_lines(r, source="data", head=True):
    lines, name = ["data = mx.sym.%s('data')" % pick(r, "Variable", "var")], source
    for _ in range(r.randint(1, 3)):
        lines.append("net = " + operator(r, name))
        name = "net"
    lines.append("net = mx.sym.FullyConnected(net, num_hidden=3)")
    if head:
        lines.append(
            "net = mx.sym.SoftmaxOutput(net, %s)"
            % pick(
                r,
                "name='softmax'",
                "mx.sym.var('softmax_label'), name='softmax'",
                "name='softmax', normalization='batch'",
            )
        )
    return lines


MODULE_OPTIMIZERS = [
    "",
    ", optimizer='sgd'",
    ", optimizer='adam', optimizer_params={'learning_rate': 0.01}",
    ", optimizer='rmsprop'",
    ", optimizer_params=(('learning_rate', 0.1),)",
    ", optimizer='sgd', optimizer_params={'learning_rate': 0.1, 'momentum': 0.9, 'wd': 0.01}",
]


def module(r):
    lines = symbol_lines(r)
    shape = pick(r, "(10, 4)", "(10, 5)", "(8, 2, 3)")
    lines += [
        "x, y = np.random.RandomState(%d).uniform(-1, 1, %s)%s, np.arange(%s[0]) %% 3"
        % (r.randint(0, 99), shape, pick(r, "", ".astype('float32')"), shape)
    ]
    lines += [
        "it = mx.io.NDArrayIter(x, y%s)"
        % pick(r, "", ", 4", ", batch_size=2", ", 3, last_batch_handle='discard'", ", 4, False, 'roll_over'"),
        "m = mx.mod.Module(net%s)" % pick(r, "", ", context=mx.cpu()"),
    ]
    lines += ["seen = []", "m.fit(it, %snum_epoch=2%s%s%s%s)" % (
        pick(r, "", "it, "), pick(r, "", ", eval_metric='ce'", ", eval_metric=mx.metric.Accuracy()", ", eval_metric=['acc', 'ce']"), r.choice(MODULE_OPTIMIZERS),
        pick(r, "", ", initializer=mx.init.Xavier()", ", initializer=mx.init.Normal(0.1)"),
        pick(r, "", ", batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch))", ", epoch_end_callback=lambda e, s, a, b: seen.append((e, sorted(a)))", ", batch_end_callback=[mx.callback.Speedometer(1, 1)]"),
    )]  # fmt: skip
    lines += [
        "put(seen, m.predict(it), m.score(it, %s))"
        % pick(r, "'acc'", "['acc', 'ce']", "mx.metric.create('mae')" if False else "'ce'")
    ]
    lines += pick(
        r,
        [
            "m.save_checkpoint(folder + '/c', 2)",
            "s, a, b = mx.model.load_checkpoint(folder + '/c', 2)",
            "put(s.list_arguments(), sorted(a), sorted(b), a)",
        ],
        ["put(*[sorted(p.items()) for p in m.get_params()])"],
        ["m.save_params(folder + '/p')", "put(nd.load(folder + '/p'))"],
    )
    return lines


def buckets(r):
    cell = pick(
        r, "mx.rnn.GRUCell(3)", "mx.rnn.LSTMCell(3, prefix='l_')", "mx.rnn.RNNCell(3)", "mx.rnn.SequentialRNNCell()"
    )
    lines = ["cell = " + cell] + (
        ["cell.add(mx.rnn.GRUCell(3, prefix='a_'))", "cell.add(mx.rnn.GRUCell(2, prefix='b_'))"]
        if "Sequential" in cell
        else []
    )
    units = 2 if "Sequential" in cell else 3
    lines += [
        "def sym_gen(T):",
        "    d, l = mx.sym.Variable('data'), mx.sym.Variable('softmax_label')",
        "    e = mx.sym.Embedding(d, input_dim=6, output_dim=3%s)" % pick(r, "", ", name='embed'"),
        "    %s" % pick(r, "cell.reset()", "pass"),
        "    o, _ = cell.unroll(T, inputs=e, merge_outputs=True%s)" % pick(r, "", ", layout='NTC'"),
        "    f = mx.sym.FullyConnected(mx.sym.reshape(o, shape=(-1, %d)), num_hidden=6%s)"
        % (units, pick(r, "", ", name='pred'")),
        "    return mx.sym.SoftmaxOutput(f, mx.sym.reshape(l, shape=(-1,)), name='softmax'), ('data',), ('softmax_label',)",
    ]
    if r.random() < 0.5:
        lines += [
            "sentences = [[1, 2, 3], [3, 4], [2, 5, 1], [4, 4, 2], [1, 5], [2, 2], [3, 1, 5], [5, 5]]",
            "np.random.seed(1)",
            "import random as ra; ra.seed(1)",
            "it = mx.rnn.BucketSentenceIter(sentences, 2, buckets=[2, 3], invalid_label=0)",
        ]
        lines += [
            "m = mx.mod.BucketingModule(sym_gen, default_bucket_key=it.default_bucket_key)",
            "m.fit(it, num_epoch=2, eval_metric=mx.metric.Perplexity(0), optimizer='sgd'%s)"
            % pick(r, "", ", optimizer_params={'learning_rate': 0.1}, initializer=mx.init.Xavier()"),
        ]
    else:
        lines += [
            "m = mx.mod.BucketingModule(sym_gen, %s)" % pick(r, "5", "default_bucket_key=5"),
            "m.bind([('data', (2, 5))], [('softmax_label', (2, 5))])",
            "m.init_params(%s)" % pick(r, "", "mx.init.One()", "initializer=mx.init.Uniform(0.1)"),
            "m.init_optimizer(%s)" % pick(r, "", "optimizer='adam'", "optimizer_params={'learning_rate': 0.1}"),
        ]
        lines += [
            "for T in %s:" % pick(r, "(5, 3)", "(3, 5, 2)", "(4,)"),
            "    a = [nd.array([[1] * T, [2] * T])]",
            "    b = mx.io.DataBatch(a, a, bucket_key=T, provide_data=[('data', (2, T))], provide_label=[('softmax_label', (2, T))])",
            "    m.forward_backward(b)",
            "    m.update()",
            "    put(m.get_outputs())",
        ]
    return lines + ["put(sorted(m.get_params()[0].items()))"]


def binding(r):
    lines = symbol_lines(r, head=r.random() < 0.5)
    lines += [
        "put(net.list_arguments(), net.list_outputs(), net.list_auxiliary_states(), net.infer_shape(data=(2, 5)))",
        "ex = net.simple_bind(%s, %sdata=(2, 5))"
        % (pick(r, "mx.cpu()", "ctx=mx.cpu()"), pick(r, "", "grad_req='add', ")),
    ]
    lines += [
        "for k in ex.arg_dict:",
        "    ex.arg_dict[k][:] = %s"
        % pick(
            r,
            "nd.random.uniform(-1, 1, ex.arg_dict[k].shape)",
            "0.5",
            "mx.random.normal(0, 1, shape=ex.arg_dict[k].shape)",
        ),
    ]
    lines += [
        "out = ex.forward(is_train=%s)" % pick(r, "True", "1"),
        "ex.backward(%s)" % pick(r, "", "[nd.ones((2, 3))]", "nd.ones((2, 3))"),
        "put(out, [ex.grad_dict[k] for k in sorted(ex.grad_dict)])",
    ]
    return lines


VALUES = [
    "[]", "[[1, 2], [3, 4]]", "np.arange(4)", "np.array([1, 2], dtype=object)", "np.array(['a'])", "np.float64(3)",
    "5", "[1.5, None]", "(1, 2)", "[[1], [2, 3]]", "np.zeros((0, 3))", "range(3)", "np.array([True, False])",
    "{'a': 1}", "nd.ones((2,))", "[nd.ones((2,))]", "'abc'", "None", "np.ones((2, 2), 'int64')", "np.array(3.5)",
    "[True, False]", "np.float16([1, 2])",
]  # fmt: skip


def arrays(r):
    lines = []
    for _ in range(r.randint(2, 4)):
        lines.append(
            "try_(lambda: nd.array(%s%s))"
            % (r.choice(VALUES), pick(r, "", ", dtype='float64'", ", mx.cpu()", ", dtype=np.int32"))
        )
    a = pick(
        r,
        "nd.arange(6).reshape((2, 3))",
        "nd.ones((2, 3), dtype='int32')",
        "nd.array([[1, 2, 3], [4, 5, 6]], dtype='float64')",
    )
    for _ in range(r.randint(2, 4)):
        lines.append("try_(lambda: %s)" % pick(
            r, "a + np.ones(3)", "a + np.float64(2)", "a[5]", "a[:, 5]", "a.asscalar()", "a.sum().asscalar()", "bool(a)", "len(a)", "a == a", "a > 2", "a[a > 2]", "a[0] = 7", "a[[0, 1]]",
            "a * a.T", "a.reshape((4, 2))", "a.reshape(-1)", "a.mean(axis=1)", "a / 2", "a % 2.0", "-a", "a.astype('int8')", "nd.dot(a, a)", "nd.concat(a, a)", "nd.concat(a, a, dim=0)", "nd.stack(a, a)",
            "nd.concatenate([a, a], axis=1)", "list(a)", "a.max(), a.argmax(axis=1)", "nd.split(a, 3, axis=1)", "nd.split(a, num_outputs=2)", "int(a[0, 0].asscalar())", "a.shape, a.size, a.ndim", "a.attach_grad()",
            "nd.waitall()", "a ** 2", "2 ** a", "a.T", "a.norm()", "a.clip(1, 3)", "a.topk(k=2)", "a.sort()", "a.expand_dims(0)", "nd.where(a > 2, a, a)", "a += 1", "nd.one_hot(a, 7)", "nd.softmax(a)", "nd.pick(a, nd.array([0, 1]))",
        ).replace("a[0] = 7", "a.__setitem__(0, 7)").replace("a += 1", "a.__iadd__(1)"))  # fmt: skip
    return ["a = " + a, *lines]


def loading(r):
    lines = [
        "x = np.arange(30).reshape(10, 3)%s" % pick(r, ".astype('float32')", "", " / 3.0"),
        "y = %s" % pick(r, "np.arange(10)", "list(range(10))", "nd.arange(10)", "np.arange(10, dtype='float32')"),
    ]
    lines += [
        "ds = gluon.data.ArrayDataset(x, y)%s"
        % pick(r, "", ".transform_first(lambda d: d * 2)", ".transform(lambda d, l: (d + 1, l))"),
        "np.random.seed(3)",
        "import random as ra; ra.seed(3)",
    ]
    lines += [
        "for b in gluon.data.DataLoader(ds, %s%s):"
        % (
            pick(r, "4", "batch_size=3"),
            pick(r, "", ", last_batch='discard'", ", last_batch='rollover'", ", True", ", shuffle=True"),
        ),
        "    put(b)",
    ]
    return lines


def scheduling(r):
    s = pick(
        r,
        "mx.lr_scheduler.FactorScheduler(2, 0.5)",
        "mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.1)",
        "mx.lr_scheduler.PolyScheduler(6)",
        "mx.lr_scheduler.CosineScheduler(6, 0.1)",
        "mx.lr_scheduler.FactorScheduler(step=1, factor=0.9, base_lr=0.3)",
        "mx.lr_scheduler.PolyScheduler(6, base_lr=0.2, warmup_steps=2)",
    )
    lines = (
        stack(r)
        + data_lines(r, "CE")
        + [
            "loss_of = gluon.loss.SoftmaxCrossEntropyLoss()",
            "trainer = gluon.Trainer(net.collect_params(), '%s', {'learning_rate': 0.1, 'lr_scheduler': %s})"
            % (pick(r, "sgd", "adam"), s),
        ]
    )
    return lines + [
        "for i in range(5):",
        "    with autograd.record():",
        "        loss = loss_of(net(x), y).%s" % pick(r, "mean()", "sum()"),
        "    loss.backward()",
        "    trainer.step(1)",
        "    put(trainer.learning_rate, loss)",
    ]


def blocks(r):
    lines = [
        "class Net(gluon.%s):" % pick(r, "HybridBlock", "HybridBlock", "Block"),
        "    def __init__(self, **kwargs):",
        "        super(Net, self).__init__(**kwargs)",
    ]
    scoped = r.random() < 0.5
    pad = "            " if scoped else "        "
    lines += ["        with self.name_scope():"] if scoped else []
    lines += [
        pad + "self.embed = nn.Embedding(10, 4)",
        pad + "self.rnn = rnn.%s(%d, layout='NTC')" % (pick(r, "GRU", "LSTM"), r.randint(2, 4)),
        pad + "self.out = nn.Dense(%s)" % pick(r, "3", "units=3, flatten=True"),
    ]
    if "HybridBlock" in lines[0]:
        lines += [
            "    def hybrid_forward(self, F, x):",
            "        h = self.rnn(self.embed(x))",
            "        return self.out(%s)"
            % pick(
                r,
                "h",
                "F.mean(h, axis=1)",
                "F.slice_axis(h, axis=1, begin=-1, end=None)",
                "F.Dropout(h, 0.2)",
                "F.concat(h, h)",
            ),
        ]
    else:
        lines += [
            "    def forward(self, x):",
            "        h = self.rnn(self.embed(x))",
            "        return self.out(%s)" % pick(r, "h", "h[:, -1]", "h.mean(axis=1)", "nd.Dropout(h, p=0.2)"),
        ]
    lines += [
        "net = Net(%s)" % pick(r, "", "prefix='net_'"),
        "net.initialize(%s)" % pick(r, "", "mx.init.Xavier(magnitude=2.24)"),
        pick(r, "net.hybridize()", "pass"),
    ]
    lines += [
        "x = %s"
        % pick(
            r,
            "nd.array([[1, 2, 3], [4, 5, 6]])",
            "nd.array([[1, 2, 3], [4, 5, 6]], dtype='int32')",
            "nd.random.randint(0, 10, shape=(2, 3))",
        ),
        "y = nd.array([0, 2])",
        "trainer = gluon.Trainer(net.collect_params(), %s)" % r.choice(OPTIMIZERS),
    ]
    lines += [
        "for i in range(2):",
        "    with autograd.record():",
        "        l = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)",
        "    l.backward()",
        "    trainer.step(2)",
        "    put(l.mean())",
    ]
    return lines + [
        "put(sorted(net.collect_params()), sorted(net.collect_params(%s)))" % pick(r, "'.*weight'", "'.*bias|.*h2h.*'"),
        pick(
            r,
            "put(net.rnn.weight.shape if hasattr(net.rnn, 'weight') else 0)",
            "put(str(net))",
            "put(net.out.weight.data())",
        ),
    ]


def drawing(r):
    draws = [
        "nd.random.uniform(shape=3)",
        "nd.random.normal(2, 3, (2, 2))",
        "nd.random.shuffle(nd.arange(5))",
        "nd.random.multinomial(nd.array([0.2, 0.8]), 4)",
        "nd.random.randint(0, 9, shape=(3,))",
        "nd.random.poisson(3, shape=4)",
        "nd.random.exponential(2, shape=3)",
        "nd.random.gamma(2, 2, shape=3)",
        "mx.np.random.uniform(size=2)",
        "nd.random.randn(2, 2)",
        "nd.uniform(0, 1, shape=(2,))",
        "nd.normal(shape=(2,))",
        "mx.random.uniform(0, 1, shape=2)",
        "nd.Dropout(nd.ones((6,)), p=0.5, mode='always')",
    ]
    lines = []
    for _ in range(r.randint(2, 5)):
        lines.append(pick(r, "mx.random.seed(%d)" % r.randint(0, 99), "pass"))
        lines.append("put(%s)" % r.choice(draws))
    return lines


def metrics(r):
    m = pick(
        r,
        "mx.metric.Accuracy()",
        "mx.metric.create('acc')",
        "mx.metric.CompositeEvalMetric(['acc', 'ce'])",
        "mx.metric.TopKAccuracy(2)",
        "mx.metric.F1()",
        "mx.metric.MSE()",
        "mx.metric.Perplexity(None)",
        "mx.metric.np(lambda l, p: float(abs(l - p[:, 0]).sum()))",
        "mx.metric.CrossEntropy()",
        "mx.metric.Loss()",
    )
    lines = [
        "m = " + m,
        "p = nd.softmax(nd.random.normal(shape=(4, %d)))" % (2 if "F1" in m else 3),
        "l = nd.array([0, 1, 1, 0])",
    ]
    return lines + [
        "try_(lambda: m.update(%s))" % pick(r, "[l], [p]", "l, p", "labels=[l], preds=[p]", "[l, l], [p, p]", "[l], p"),
        "put(m.get(), m.get_name_value())",
        pick(r, "m.reset()", "pass"),
        "put(m.get())",
    ]


KINDS = [
    training, accumulation, resuming, exporting, module, buckets, binding, arrays, loading, scheduling, blocks,
    drawing, metrics,
]  # fmt: skip


def programs(seed, count):
    r = random.Random(seed)
    return ["\n".join(KINDS[place % len(KINDS)](r)) for place in range(count)]


def in_float64(text):
    """The program in float64, where rounding is 1e-9 of its size in float32."""
    lines = []
    for line in text.split("\n"):
        lines.append(line)
        if line.startswith("net.initialize("):
            lines.append("net.cast('float64')")
        if re.match("[xy] = ", line):
            lines.append("{0} = {0}.astype('float64')".format(line[0]))
    return "\n".join(lines)


def reordered(text, order=(5, 2, 4, 1, 0, 3)):
    """The program with its six samples in another order, which changes only the rounding of sums."""
    back = [order.index(place) for place in range(6)]
    text = text.replace("loss_of = ", "x, y = x[[{0}]], y[[{0}]]\nloss_of = ".format(str(list(order))[1:-1]), 1)
    return text.replace("put(loss)", "put(loss[%s])" % back)


class Runner:
    """Runs programs with a framework, and returns the values of their calls of `put`."""

    def __init__(self, mx):
        self.mx = mx

    def plain(self, value):
        if isinstance(value, self.mx.nd.NDArray):
            numbers = value.asnumpy().astype("float64")
            return {
                "array": [
                    value.dtype.__name__,
                    list(value.shape),
                    [float("%.6g" % n) for n in numbers.ravel()[:8]],
                    float("%.6g" % np.nansum(numbers)),
                ]
            }
        if isinstance(value, (list, tuple)):
            return [self.plain(part) for part in value]
        if isinstance(value, dict):
            return [[str(key), self.plain(part)] for key, part in sorted(value.items())]
        if isinstance(value, (bool, int, str)) or value is None:
            return value
        if isinstance(value, (float, np.generic)):
            return float("%.6g" % float(value))
        return type(value).__name__

    def run(self, text, seed):
        mx, found = self.mx, []

        def put(*values):
            found.extend(self.plain(value) for value in values)

        def try_(function):
            try:
                put(function())
                mx.nd.waitall()
            except Exception as error:
                found.append("error " + type(error).__name__)

        names = {
            "mx": mx, "np": np, "nd": mx.nd, "gluon": mx.gluon, "nn": mx.gluon.nn, "rnn": mx.gluon.rnn,
            "autograd": mx.autograd, "put": put, "try_": try_,
        }  # fmt: skip
        mx.random.seed(seed)
        mx.name.NameManager.current = mx.name.NameManager()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(text, dict(names, folder=folder))
                mx.nd.waitall()
            except Exception as error:
                found.append("error " + type(error).__name__)
        return found


def record_proofs(names, runner):
    """Answers for the programs "SEED/PLACE" in float64 and for other orders of their samples."""
    found = {}
    for name in names:
        seed, place = map(int, name.split("/"))
        text = programs(seed, place + 1)[place]
        found[name] = [runner.run(change(text), place) for change in (in_float64, reordered)]
    return found


if __name__ == "__main__":
    runner = Runner(importlib.import_module("mxnet"))
    if "/" in sys.argv[1]:
        with open(sys.argv[2], "w") as file:
            json.dump(record_proofs(sys.argv[1].split(","), runner), file)
        sys.exit()
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    with open(sys.argv[3], "w") as file:
        for place, text in enumerate(programs(seed, count)):
            file.write(json.dumps(runner.run(text, place)) + "\n")
            file.flush()
