"""Files exchanged with MXNet 1.9 itself, where an interpreter that has it is named by ANYGRU_MXNET_PYTHON."""

import os
import subprocess
import textwrap

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd
from anygru_mxnet.gluon import nn, rnn

PYTHON = os.environ.get("ANYGRU_MXNET_PYTHON")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="ANYGRU_MXNET_PYTHON names no interpreter that has MXNet 1.9"),
    pytest.mark.slow,
]

MODEL = """
class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(7, 4)
            self.gru = rnn.GRU(3, 2, layout="NTC", bidirectional=True, input_size=4)
            self.cell = rnn.GRUCell(3, input_size=6)
            self.norm = nn.LayerNorm(in_channels=3)
            self.out = nn.Dense(2, in_units=3, activation="tanh")

    def hybrid_forward(self, F, x):
        steps, _ = self.cell.unroll(4, self.gru(self.embed(x)), merge_outputs=True)
        return self.out(self.norm(F.max(steps, axis=1)))

def make(prefix):
    net = Net(prefix=prefix)
    net.initialize()
    rng = np.random.RandomState(5)
    for parameter in net.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-1, 1, parameter.shape)))
    return net

def step(net, trainer, x):
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(1)

ids = nd.array([[1, 2, 3, 6], [0, 5, 4, 2]])
"""


def original(code, folder):
    """Run a program under MXNet itself."""
    program = (
        "import numpy as np, mxnet as mx\nfrom mxnet import autograd, gluon, nd\nfrom mxnet.gluon import nn, rnn\n"
        + MODEL
        + textwrap.dedent(code)
    )
    done = subprocess.run([PYTHON, "-W", "ignore", "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "mx": mx, "autograd": autograd, "gluon": gluon, "nd": nd, "nn": nn, "rnn": rnn}
    exec(MODEL, names)
    return names


def test_it_reads_what_anygru_writes(here, tmp_path):
    net = here["make"]("net_")
    net.save_parameters("block.params")
    net.hybridize()
    np.save("out.npy", net(here["ids"]).asnumpy())
    net.export("model", epoch=3)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    here["step"](net, trainer, here["ids"])
    net.save_parameters("after.params")
    trainer.save_states("after.states")
    here["step"](net, trainer, here["ids"])
    np.save("next.npy", net(here["ids"]).asnumpy())
    original(
        """
        expected = np.load("out.npy")
        net = Net()
        net.load_parameters("block.params")
        assert abs(net(ids).asnumpy() - expected).max() < 1e-5
        block = gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0003.params")
        assert abs(block(ids).asnumpy() - expected).max() < 1e-5
        net.load_parameters("after.params")
        trainer = gluon.Trainer(net.collect_params(), "adam")
        trainer.load_states("after.states")
        assert trainer.learning_rate == 0.05
        step(net, trainer, ids)
        assert abs(net(ids).asnumpy() - np.load("next.npy")).max() < 1e-5
        """,
        tmp_path,
    )


def test_anygru_reads_what_it_writes(here, tmp_path):
    original(
        """
        net = make("net_")
        net.save_parameters("block.params")
        net.hybridize()
        np.save("out.npy", net(ids).asnumpy())
        net.export("model")
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9,
            "lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.5)})
        step(net, trainer, ids)
        net.save_parameters("after.params")
        trainer.save_states("after.states")
        step(net, trainer, ids)
        np.save("next.npy", net(ids).asnumpy())
        """,
        tmp_path,
    )
    expected = np.load("out.npy")
    net = here["Net"]()
    net.load_parameters("block.params")
    np.testing.assert_allclose(net(here["ids"]).asnumpy(), expected, atol=1e-5)
    block = gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
    np.testing.assert_allclose(block(here["ids"]).asnumpy(), expected, atol=1e-5)
    net.load_parameters("after.params")
    trainer = gluon.Trainer(net.collect_params(), "adam")
    trainer.load_states("after.states")
    here["step"](net, trainer, here["ids"])
    np.testing.assert_allclose(net(here["ids"]).asnumpy(), np.load("next.npy"), atol=1e-5)
