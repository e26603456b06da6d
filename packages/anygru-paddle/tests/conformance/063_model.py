"""paddle.Model: fit, evaluate, predict, save, load, callbacks, what is printed (times left out), and metrics."""
import contextlib
import io
import re

import numpy as np
from recorder import record, record_error

import paddle
from paddle import nn
from paddle.static import InputSpec
from paddle.utils import unique_name


class Numbers(paddle.io.Dataset):
    def __init__(self, count):
        rng = np.random.RandomState(3)
        self.x = rng.uniform(-1, 1, (count, 4)).astype("float32")
        self.y = (self.x.sum(1) > 0).astype("int64").reshape(-1, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


def fresh(**options):
    paddle.seed(5)
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    model = paddle.Model(network, InputSpec([None, 4], "float32", "x"), InputSpec([None, 1], "int64", "y"))
    rate = options.pop("rate", 0.05)
    optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy(), **options)
    return model


@contextlib.contextmanager
def printed(name):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        yield
    lines = re.sub(r"\d+(us|ms|s)/step", "T/step", text.getvalue())
    lines = re.sub(r"ETA: [\d:]+s?", "ETA", re.sub(r"checkpoint (at|has been saved at) .*/", r"checkpoint \1 ", lines))
    lines = re.sub(r"[\d.]+ (sec|samples/sec)", r"T \1", lines)
    # the last digits of losses depend on the machine
    lines = re.sub(r"(\d\.\d{2})\d\d", r"\1", lines).replace("\b", "")
    # the bar covers what it drew before, whose width is that of the time
    record(name, re.sub(r" +(?=[\r\n]|$)", "", lines))


class Told(paddle.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __getattribute__(self, name):
        if name.startswith("on_"):
            self.calls.append(name)
        return super().__getattribute__(name)


train, test = Numbers(20), Numbers(6)
model = fresh()
told = Told()
with printed("fit"):
    model.fit(train, test, batch_size=8, epochs=2, log_freq=1, verbose=2, shuffle=False, callbacks=told)
record("calls", told.calls)
record("weights", model.network.state_dict()["0.weight"])
with printed("evaluate"):
    result = model.evaluate(test, batch_size=4, verbose=2)
record("result_keys", list(result))
record("result_loss", np.float32(result["loss"][0]))
record("result_acc", np.float32(result["acc"]))
with printed("predict"):
    outputs = model.predict(test, batch_size=4, verbose=2)
record("outputs", [part for part in outputs[0]])
with printed("predict_stacked"):
    record("stacked", model.predict(test, batch_size=4, stack_outputs=True, verbose=0)[0])
with printed("bar"):
    model.evaluate(test, batch_size=2, verbose=1, log_freq=1)

with printed("saving"), unique_name.guard():
    model = fresh()
    model.fit(train, batch_size=10, epochs=2, save_dir="saved", verbose=0, shuffle=False)
with unique_name.guard():
    other = fresh(rate=0.05)
    other.load("saved/final")
    record("loaded", other.network.state_dict()["0.weight"])
    record("train_batch", [np.asarray(v) for v in other.train_batch([train.x[:5]], [train.y[:5]])[0]])
    record("eval_batch", [np.asarray(v) for v in other.eval_batch([train.x[:5]], [train.y[:5]])[0]])
    record("predict_batch", other.predict_batch([train.x[:5]]))

model = fresh(rate=0.0)
with printed("early"):
    model.fit(train, test, batch_size=20, epochs=5, verbose=0, shuffle=False,
              callbacks=paddle.callbacks.EarlyStopping("loss", patience=2, save_best_model=False))
model = fresh(rate=0.1)
with printed("plateau"):
    model.fit(train, test, batch_size=20, epochs=4, verbose=0, shuffle=False,
              callbacks=paddle.callbacks.ReduceLROnPlateau("acc", patience=1, min_delta=10.0, min_lr=0.02))
record("lowered", model._optimizer.get_lr())
model = fresh(rate=paddle.optimizer.lr.StepDecay(0.1, 2))
model.fit(train, batch_size=5, epochs=1, verbose=0, shuffle=False)
record("scheduled", model._optimizer.get_lr())
model = fresh()
model.fit(train, batch_size=5, epochs=1, verbose=0, shuffle=False, accumulate_grad_batches=2)
record("accumulated", model.network.state_dict()["0.weight"])
model = fresh()
with printed("iterations"):
    model.fit(train, batch_size=5, epochs=3, verbose=2, log_freq=1, shuffle=False, num_iters=6)
model = paddle.Model(nn.Linear(4, 1))
model.prepare(paddle.optimizer.SGD(0.1, model.parameters()), nn.MSELoss())
with printed("no_metrics"):
    model.fit(((paddle.to_tensor(train.x[i: i + 4]), paddle.to_tensor(train.x[i: i + 4, :1])) for i in (0, 4)), verbose=2, log_freq=1)

record_error("no_data", lambda: model.fit())
record_error("bad_loss", lambda: fresh().prepare(loss=3))
record_error("bad_metric", lambda: fresh().prepare(metrics=[3]))
record_error("not_prepared", lambda: paddle.Model(nn.Linear(1, 1)).train_batch([np.ones((1, 1), "float32")]))
record_error("no_file", lambda: model.load("nowhere"))
record_error("other_shapes", lambda: model.load("saved/final"))
