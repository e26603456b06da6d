"""`kvstore="dist_sync"` in two processes against the same steps written in NumPy."""

import os
import subprocess
import sys

import numpy as np

PROGRAM = """
import mxnet as mx
from mxnet import autograd, gluon

store = mx.kv.create("dist_sync")
net = gluon.nn.Dense(1, in_units=2)
net.initialize(mx.init.One())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store)
x = mx.nd.array([[1.0, 2.0]]) * (store.rank + 1)
for _ in range(2):
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(2)
with open(f"weight{store.rank}of{store.num_workers}", "w") as file:
    print(*net.weight.data().asnumpy().ravel(), file=file)
"""


def test_gradients_are_summed_over_processes(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", "program.py"],
        cwd=tmp_path,
        env=dict(os.environ, OMP_NUM_THREADS="1"),
        timeout=600,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    weight, bias = np.ones(2), 0.0
    for _ in range(2):
        inputs = [np.array([1.0, 2.0]) * worker for worker in (1, 2)]
        slopes = [2 * (weight @ x + bias) for x in inputs]
        gradient = sum(slope * x for slope, x in zip(slopes, inputs, strict=True))
        weight, bias = weight - 0.1 * gradient / 2, bias - 0.1 * sum(slopes) / 2
    for rank in range(2):
        found = np.array((tmp_path / f"weight{rank}of2").read_text().split(), dtype=float)
        np.testing.assert_allclose(found, weight, rtol=1e-5)
