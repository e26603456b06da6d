"""The scopes that are open when Chainer calls user code: configuration, reporters and init scopes, one row for each callback.

Run by Chainer's own Python, `python scope_cases.py` prints the rows as Chainer 7.8.1 gives them.
"""

import contextlib
import importlib
import tempfile
import warnings

import numpy as np


def rows(chainer):
    """Name of a callback -> (train, enable_backprop, type_check, in_recomputing, number of reporters) at its first call."""
    F, L = chainer.functions, chainer.links
    found = {}

    def note(name):
        config, reporter = chainer.config, chainer.reporter
        reporters = getattr(reporter, "_reporters", None) or reporter._get_reporters
        state = config.train, config.enable_backprop, config.type_check, config.in_recomputing
        found.setdefault(name, [*map(bool, state), len(reporters())])

    class Model(chainer.Chain):
        def __init__(self, name):
            super().__init__()
            self.called = name
            with self.init_scope():
                note_init(self)
                self.l = L.Linear(2, 1)

        def forward(self, x):
            note(self.called)
            loss = F.sum(self.l(x))
            chainer.report({"loss": loss}, self)
            return loss

    def note_init(link):
        with link.init_scope():
            pass
        found["after an inner init_scope"] = bool(link._within_init_scope)

    class Extension(chainer.training.Extension):
        trigger = 1, "iteration"

        def initialize(self, trainer):
            note("Extension.initialize")

        def finalize(self):
            note("Extension.finalize")

        def on_error(self, trainer, exc, tb):
            note("Extension.on_error")

        def __call__(self, trainer):
            note("Extension.__call__")

    def noting(name, function):
        def call(*args, **kwargs):
            note(name)
            return function(*args, **kwargs)

        return call

    data = [np.ones(2, "f")] * 4
    convert = chainer.dataset.concat_examples
    _train(chainer, Model, Extension, noting, data, convert)
    _evaluate(chainer, Model, noting, data, convert)
    _functions(chainer, note, noting)
    _hooks(chainer, Model, note)
    return found


def _functions(chainer, note, noting):
    F = chainer.functions
    gradient_check = importlib.import_module(f"{chainer.__name__}.gradient_check")

    class Node(chainer.FunctionNode):
        def forward(self, inputs):
            note("FunctionNode.forward")
            return (inputs[0] * 2,)

        def backward(self, indexes, gys):
            note(f"FunctionNode.backward, double backprop {chainer.config.enable_backprop}")
            return (gys[0] * 2,)

    x = chainer.Variable(np.ones(2, "f"))
    for double in (False, True):
        F.sum(Node().apply((x,))[0]).backward(enable_double_backprop=double)
    calls = iter(("forget, first call", "forget, second call"))
    F.sum(F.forget(lambda t: noting(next(calls), F.tanh)(t), x)).backward()
    gradient_check.numerical_grad(noting("numerical_grad", lambda: (x.array * 2,)), (x.array,), (x.array,))


def _train(chainer, Model, Extension, noting, data, convert):
    model = Model("model in a Trainer")
    optimizer = chainer.optimizers.SGD().setup(model)
    for timing in ("pre", "post"):
        optimizer.add_hook(noting(f"optimizer hook, {timing}", lambda optimizer: None), name=timing, timing=timing)
    rule = model.l.W.update_rule
    rule.add_hook(noting("update rule's hook", lambda rule, param: None), name="rule")
    iterator = chainer.iterators.SerialIterator(data, 2)
    with tempfile.TemporaryDirectory() as folder:
        updater = chainer.training.StandardUpdater(
            iterator, optimizer, converter=noting("converter of an updater", convert)
        )
        stop = noting("stop trigger", lambda trainer: trainer.updater.iteration >= 2)
        trainer = chainer.training.Trainer(updater, stop, folder)
        trainer.extend(Extension())
        trainer.extend(noting("extension before training", lambda t: None), name="first", call_before_training=True)
        trainer.extend(noting("extension", lambda t: None), name="e", trigger=noting("trigger", lambda t: True))
        trainer.run()
        models = {"main": Model("ParallelUpdater in no_backprop_mode"), "second": Model("second model")}
        optimizer = chainer.optimizers.SGD().setup(models["main"])
        updater = chainer.training.ParallelUpdater(
            chainer.iterators.SerialIterator(data, 2), optimizer, models=models, devices={"main": -1, "second": -1}
        )
        with chainer.no_backprop_mode():
            updater.update()
        trainer = chainer.training.Trainer(updater, (5, "iteration"), folder)

        def fail(trainer):
            raise KeyError("an extension fails")

        trainer.extend(Extension())
        trainer.extend(fail, name="fail")
        with contextlib.suppress(KeyError):
            trainer.run(show_loop_exception_msg=False)


def _evaluate(chainer, Model, noting, data, convert):
    evaluator = chainer.training.extensions.Evaluator(
        chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False),
        Model("model in an Evaluator"),
        converter=noting("converter of an Evaluator", convert),
        eval_hook=noting("eval_hook", lambda evaluator: None),
    )
    evaluator()


def _hooks(chainer, Model, note):
    class Hook(chainer.FunctionHook):
        name = "noting"

        def forward_preprocess(self, function, in_data):
            note("function hook, forward")

        def backward_preprocess(self, function, in_data, out_grad):
            note("function hook, backward")

    class LinkHook(chainer.LinkHook):
        name = "noting"

        def forward_preprocess(self, args):
            note("link hook")

    with Hook(), LinkHook(), chainer.using_config("train", False):
        Model("model in using_config")(np.ones((1, 2), "f")).backward()


if __name__ == "__main__":
    import chainer

    warnings.simplefilter("ignore")
    for name, row in rows(chainer).items():
        print(f"    {name!r}: {row},")
