"""Run by two processes: the other examples of `paddle.DataParallel`'s page, and the collectives.

Every expected value below was seen under Paddle 2.6.2 with Gloo.
"""

import os
import sys

import numpy
import paddle
import paddle.distributed as dist
import paddle.nn as nn
from paddle.autograd import PyLayer
from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients


class cus_tanh(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        grad = dy * (1 - paddle.square(y))
        return grad


class SimpleNet(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)

    def forward(self, inputs):
        inputs = cus_tanh.apply(inputs)
        return self.linear(inputs)


class NoSyncNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self._linear = nn.Linear(10, 1)

    def forward(self, x):
        return self._linear(x)


def same_everywhere(array):
    gathered = []
    dist.all_gather_object(gathered, array)
    return all((other == array).all() for other in gathered)


def manual_synchronization():
    model = SimpleNet()
    model = paddle.DataParallel(model)
    opt = paddle.optimizer.SGD(learning_rate=0.01, parameters=model.parameters())
    for _ in range(10):
        x_data = numpy.random.randn(2, 2).astype(numpy.float32)
        x = paddle.to_tensor(x_data)
        x.stop_gradient = False
        # step 1 : skip gradient synchronization by 'no_sync'
        with model.no_sync():
            y_pred = model(x)
            loss = y_pred.mean()
            loss.backward()
        # step 2 : fuse + allreduce manually before optimization
        fused_allreduce_gradients(list(model.parameters()), None)
        opt.step()
        opt.clear_grad()
    assert same_everywhere(model.state_dict()["linear.weight"].numpy())


def no_sync():
    dp_model = paddle.DataParallel(NoSyncNet())
    inputs_1 = paddle.randn([10, 10], "float32") + float(dist.get_rank())
    inputs_2 = paddle.ones([10, 10], "float32")
    with dp_model.no_sync():
        # gradients will not be synchronized
        dp_model(inputs_1).backward()
    assert not same_everywhere(dp_model.parameters()[0].grad.numpy())
    # synchronization happens here
    dp_model(inputs_2).backward()
    assert same_everywhere(dp_model.parameters()[0].grad.numpy())


class PartNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(2, 1)
        self.unused = nn.Linear(2, 1)

    def forward(self, x):
        return self.used(x)


def unused_parameters():
    model = paddle.DataParallel(PartNet())  # find_unused_parameters=False
    for _ in range(2):
        model(paddle.ones([1, 2]) * (1.0 + dist.get_rank())).sum().backward()
        assert model._layers.used.weight.grad.numpy().ravel().tolist() == [1.5, 1.5]
        assert model._layers.unused.weight.grad is None
        model._layers.used.weight.clear_gradient(False)


def save_and_load():
    emb = paddle.nn.Embedding(10, 10)
    emb = paddle.DataParallel(emb)
    state_dict = emb.state_dict()
    path = f"paddle_dy{dist.get_rank()}.pdparams"
    paddle.save(state_dict, path)
    para_state_dict = paddle.load(path)
    assert list(para_state_dict) == ["weight"]
    for load in (emb.set_state_dict, emb.set_dict, emb.load_dict):
        assert load(para_state_dict) is None


def collectives(rank):
    def tensor(*values):
        return paddle.to_tensor(list(values))

    def after(function, value, **keywords):
        task = function(value, **keywords)
        assert task.wait()
        assert task.is_completed()
        return value.numpy().tolist()

    results = {"SUM": [3.0, 4.0], "MAX": [2.0, 2.0], "MIN": [1.0, 2.0], "PROD": [2.0, 4.0]}
    for name, expected in results.items():
        for sync_op in (True, False):
            value = tensor(1.0 + rank, 2.0)
            assert after(dist.all_reduce, value, op=getattr(dist.ReduceOp, name), sync_op=sync_op) == expected, name
    assert after(dist.all_reduce, tensor(1 + rank)) == [3]
    assert after(dist.all_reduce, tensor(True, rank == 0, False)) == [True, True, False]
    weight = paddle.ones([2])
    weight.stop_gradient = False
    assert after(dist.all_reduce, weight) == [2.0, 2.0]
    assert weight.stop_gradient is False
    gathered = []
    dist.all_gather(gathered, tensor(rank, 5))
    assert [part.numpy().tolist() for part in gathered] == [[0, 5], [1, 5]]
    assert all(isinstance(part, paddle.Tensor) and part.stop_gradient for part in gathered)
    into = [paddle.zeros([1]), paddle.zeros([1])]
    dist.all_gather(into, tensor(rank + 0.5))
    assert [part.item() for part in into] == [0.5, 1.5]
    assert after(dist.broadcast, tensor(float(rank)), src=1) == [1.0]
    assert after(dist.reduce, tensor(1.0 + rank), dst=0) == ([3.0] if rank == 0 else [2.0])
    parts = [tensor(1.0, 2.0), tensor(3.0, 4.0)] if rank == 0 else None
    assert after(dist.scatter, paddle.zeros([2]), tensor_list=parts, src=0) == ([1.0, 2.0] if rank == 0 else [3.0, 4.0])
    objects = []
    dist.scatter_object_list(objects, [10, 20] if rank == 0 else None, src=0)
    assert objects == [10 * (rank + 1)]
    objects = [rank, f"a{rank}"]
    dist.broadcast_object_list(objects, 0)
    assert objects == [0, "a0"]
    collected = [] if rank == 0 else None
    dist.gather(tensor(rank * 1.0), collected, dst=0)
    assert rank != 0 or [part.item() for part in collected] == [0.0, 1.0]
    if rank == 0:
        dist.send(tensor(7.0), dst=1)
        assert dist.isend(tensor(8.0), dst=1).wait()
    else:
        assert after(dist.recv, paddle.zeros([1]), src=0) == [7.0]
        assert after(dist.irecv, paddle.zeros([1]), src=0) == [8.0]
    received = []
    dist.alltoall([tensor(rank * 2.0), tensor(rank * 2.0 + 1)], received)
    assert [part.item() for part in received] == [rank, rank + 2.0]
    out = paddle.zeros([1])
    dist.reduce_scatter(out, [tensor(1.0 + rank), tensor(10.0 + rank)])
    assert out.item() == (3.0 if rank == 0 else 21.0)
    dist.barrier()


def groups(rank):
    everyone = dist.get_group(0)
    assert repr(everyone) == f"rank: {rank}, nranks: 2, id: 0, ranks: 0, 1; name: _default_pg"
    assert (dist.get_backend(), everyone.is_member(), everyone.get_group_rank(1)) == ("GLOO", True, 1)
    both = dist.new_group([0, 1])
    assert (both.id, both.rank, both.nranks, both.name) == (10, rank, 2, "_default_pg10")
    value = paddle.to_tensor([1.0 + rank])
    dist.all_reduce(value, group=both)
    assert value.item() == 3.0
    second = dist.new_group([1])  # of one process, and so without a member
    assert (dist.get_rank(second), dist.get_world_size(second)) == (-1, -1)
    model = paddle.DataParallel(nn.Linear(1, 1), group=both, comm_buffer_size=2, last_comm_buffer_size=0.5)
    assert (model.comm_buffer_size, model.last_comm_buffer_size) == (2 * 2**20, 2**19)
    assert model.group is both


if __name__ == "__main__":
    assert sys.argv[1:] == ["--lr", "0.1"]
    assert os.environ["PADDLE_TRAINER_ID"] == str(dist.get_rank())
    assert os.environ["PADDLE_TRAINERS_NUM"] == "2"
    env = dist.ParallelEnv()
    assert (env.rank, env.world_size, env.nranks, env.local_rank) == (dist.get_rank(), 2, 2, dist.get_rank())
    assert len(env.trainer_endpoints) == 2
    assert env.current_endpoint == env.trainer_endpoints[env.rank]
    first = dist.init_parallel_env()
    assert dist.init_parallel_env() is first
    manual_synchronization()
    no_sync()
    unused_parameters()
    save_and_load()
    collectives(env.rank)
    groups(env.rank)
    dist.destroy_process_group()
    assert not dist.is_initialized()
    print("done", env.rank)
