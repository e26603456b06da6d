"""ChainerMN's names in one process and in two."""

import os
import subprocess
import sys

import pytest
import torch

from anygru_chainer import chainermn

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
shown = "result", comm.size, len(part), model.W.array.tolist(), comm.allreduce_obj({"rank": comm.rank})
print(" ".join(map(str, shown)) + "\\n", end="")  # at once: the other process may write between the parts of a print
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


def results_of_two(program, folder):
    """The lines that two processes print after "result"."""
    path = folder / "program.py"
    path.write_text(program)
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "2", str(path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return [line.split("result ")[1] for line in done.stdout.splitlines() if "result" in line]


@pytest.mark.slow
def test_two_processes_average_their_gradients(tmp_path):
    results = results_of_two(PROGRAM, tmp_path)
    # the first update only hands out W = 1; each of the other two subtracts 0.1 times the mean of 0+1+2+3 and 4+5+6+7
    weight = 1 - 2 * 0.1 * 14
    assert len(results) == 2
    for line in results:
        size, length, *_ = line.split()
        assert (size, length) == ("2", "4")
        assert float(line.split("[[")[1].split(",")[0]) == pytest.approx(weight)
        assert "{'rank': 1}" in line


FUNCTIONS = """
import sys
import numpy as np
import chainer
import chainer.functions as F
import chainermn
from chainermn import functions as M

comm = chainermn.create_communicator("naive")
me = comm.rank

def show(*parts):  # at once: print writes part by part, and the other process between them
    sys.stdout.write(" ".join(map(str, ("result", me, *parts))) + "\\n")

x = chainer.Variable(np.array([1.0 + me, 2.0], "f"))

def step(name, ys, weight=1.0):
    x.cleargrad()
    sum(F.sum(y * (i + weight)) for i, y in enumerate(ys)).backward()
    show(name, [y.array.tolist() for y in ys], None if x.grad is None else x.grad.tolist())

step("allgather", M.allgather(comm, x), 1.0 + me)
step("alltoall", M.alltoall(comm, [x, x * 2]), 1.0 + me)
step("bcast", [M.bcast(comm, x if me == 1 else None, root=1)], 1.0 + me)
found = M.gather(comm, x, root=0)
step("gather", found if me == 0 else [found])
step("scatter", [M.scatter(comm, [x, x * 3] if me == 0 else None, root=0)], 1.0 + me)
x.cleargrad()
if me == 0:
    sent = M.send(x * 2, comm, rank=1, tag=3)
    y = M.recv(comm, rank=1, delegate_variable=sent, tag=4)
    F.sum(y).backward()
    show("ring", y.array.tolist(), x.grad.tolist())
else:
    sent = M.send(M.recv(comm, rank=0, tag=3) * 5, comm, rank=0, tag=4)
    sent.backward()
comm.finalize()
"""


@pytest.mark.slow
def test_functions_between_two_processes_send_gradients_back(tmp_path):
    # x is [1, 2] in process 0 and [2, 2] in process 1; process p weighs output i by i + 1 + p
    assert sorted(results_of_two(FUNCTIONS, tmp_path)) == [
        "0 allgather [[1.0, 2.0], [2.0, 2.0]] [3.0, 3.0]",
        "0 alltoall [[1.0, 2.0], [2.0, 2.0]] [5.0, 5.0]",
        "0 bcast [[2.0, 2.0]] None",
        "0 gather [[1.0, 2.0], [2.0, 2.0]] [1.0, 1.0]",
        "0 ring [10.0, 20.0] [10.0, 10.0]",
        "0 scatter [[1.0, 2.0]] [7.0, 7.0]",
        "1 allgather [[1.0, 2.0], [2.0, 2.0]] [5.0, 5.0]",
        "1 alltoall [[2.0, 4.0], [4.0, 4.0]] [8.0, 8.0]",
        "1 bcast [[2.0, 2.0]] [3.0, 3.0]",
        "1 gather [[]] [2.0, 2.0]",
        "1 scatter [[3.0, 6.0]] None",
    ]
