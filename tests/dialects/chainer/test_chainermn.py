"""ChainerMN's names in one process and in two."""

import os
import subprocess
import sys

import pytest
import torch

from anygru.dialects.chainer import chainermn

PROGRAM = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
import chainermn

comm = chainermn.create_communicator("naive")
model = L.Linear(2, 1, initialW=float(comm.rank + 1))
optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.1), comm).setup(model)
examples = [(np.full(2, i, "f"),) for i in range(8)] if comm.rank == 0 else None
part = chainermn.scatter_dataset(examples, comm)
x = np.stack([a for (a,) in part[:]])
for _ in range(3):
    optimizer.update(lambda: F.sum(model(x)))
print("result", comm.size, len(part), model.W.array.tolist(), comm.allreduce_obj({"rank": comm.rank}))
comm.finalize()
"""


def test_what_cannot_be_honoured_is_refused():
    with pytest.raises(ValueError, match="Unrecognized communicator"):
        chainermn.create_communicator("carrier_pigeon")
    with pytest.raises(ValueError, match="mpi_comm"):
        chainermn.create_communicator("naive", mpi_comm=1)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="needs CUDA"):
            chainermn.create_communicator()
    with pytest.raises(NotImplementedError, match="double_buffering"):
        chainermn.create_multi_node_optimizer(None, None, double_buffering=True)


@pytest.mark.slow
def test_two_processes_average_their_gradients(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", str(path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    results = [line for line in done.stdout.splitlines() if "result" in line]
    # the first update only hands out W = 1; each of the other two subtracts 0.1 times the mean of 0+1+2+3 and 4+5+6+7
    weight = 1 - 2 * 0.1 * 14
    assert len(results) == 2
    for line in results:
        size, length, *_ = line.split("result ")[1].split()
        assert (size, length) == ("2", "4")
        assert float(line.split("[[")[1].split(",")[0]) == pytest.approx(weight)
        assert "{'rank': 1}" in line
