"""The first example of `paddle.DataParallel`'s page, as printed there, and the error of a failing worker."""

import paddle
import paddle.distributed as dist
import paddle.nn as nn
import paddle.optimizer as opt


class LinearNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self._linear1 = nn.Linear(10, 10)
        self._linear2 = nn.Linear(10, 1)

    def forward(self, x):
        return self._linear2(self._linear1(x))


def train():
    # 1. initialize parallel environment
    dist.init_parallel_env()
    # 2. create data parallel layer & optimizer
    layer = LinearNet()
    dp_layer = paddle.DataParallel(layer)
    loss_fn = nn.MSELoss()
    adam = opt.Adam(learning_rate=0.001, parameters=dp_layer.parameters())
    # 3. run layer
    inputs = paddle.randn([10, 10], "float32")
    outputs = dp_layer(inputs)
    labels = paddle.randn([10, 1], "float32")
    loss = loss_fn(outputs, labels)
    loss.backward()
    adam.step()
    adam.clear_grad()
    alone = dist.new_group([0])
    assert (dist.get_rank(alone), alone.is_member()) == (-1, False)
    return dist.get_rank(), layer._linear1.weight.numpy()


def mismatched():
    dist.init_parallel_env()
    paddle.DataParallel(nn.GRU(3, 4 + dist.get_rank()))


if __name__ == "__main__":
    context = dist.spawn(train, nprocs=2)
    (first, weights), (second, others) = [queue.get() for queue in context.return_queues]
    assert (first, second) == (0, 1)
    assert (weights == others).all()
    failure = None
    try:
        dist.spawn(mismatched, nprocs=2)
    except Exception as error:
        failure = error
    assert type(failure) is Exception
    message = str(failure)
    assert "Traceback" in message
    assert "parameter 'weight_ih_l0' is [12, 3] float32 on rank 0 and [15, 3] float32 on rank 1" in message
    print("done", dist.get_rank(), dist.get_world_size())
