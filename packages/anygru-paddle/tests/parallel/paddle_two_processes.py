"""Random programs for two processes: a shared network, its shards of data, training, and collectives.

    python paddle_two_processes.py record SEED COUNT paddle_two_processes.json.xz      with Paddle 2.6.2 records its answers
    anygru run paddle_two_processes.py answer PROGRAMS ANSWERS                         computes each process's answers here

The two processes start from different weights; `DataParallel` gives both the weights of the first.
"""

import json
import lzma
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import paddle_whole_programs  # noqa: E402
from paddle_programs import run  # noqa: E402

BACKWARDS = [
    "loss.backward()",
    "(loss * 2).backward()",
    "paddle.autograd.backward([loss])",
    "with dp.no_sync():\n            (loss * 0.5).backward()\n        (dp(x) ** 2).mean().backward()",
]
COLLECTIVES = [
    "dist.all_reduce(total)",
    "dist.all_reduce(total, op=dist.ReduceOp.MAX)",
    "dist.all_reduce(total, sync_op=False).wait()",
    "dist.broadcast(total, src=1)",
    "parts = []; dist.all_gather(parts, total); out += parts",
    "parts = []; dist.all_gather_object(parts, {'rank': rank, 'loss': round(total.item(), 4)}); out.append(str(parts))",
    "dist.reduce(total, dst=0); dist.barrier()",
    "dist.scatter(total, [total * 0 + 1., total * 0 + 2.] if rank == 0 else None, src=0)",
]
OPTIONS = ["", ", find_unused_parameters=True", ", comm_buffer_size=1, last_comm_buffer_size=1"]


class Draw(paddle_whole_programs.Draw):
    """Draws programs for two processes from one seed."""

    def program(self):
        """The code of one program; each process runs it."""
        rnn, wide = self.recurrent(3)
        optimizer = self.one_of(paddle_whole_programs.OPTIMIZERS).format(
            rate=self.one_of(paddle_whole_programs.SCHEDULES), more=", parameters=dp.parameters()"
        )
        tail = self.one_of(paddle_whole_programs.TAILS[:7]).replace("SIZE", str(wide))
        norm = self.one_of(["", "h = self.norm(h)"])
        hook = self.one_of(["", "net.fc.weight.register_hook(lambda g: g * 0.5)"])
        seed, options = self.number(1, 99), self.one_of(OPTIONS)
        sampler = f"{self.number(1, 2)}, shuffle={self.one_of([True, False])}, drop_last={self.one_of([True, False])}"
        return f"""import paddle.distributed as dist
rank = dist.get_rank()
paddle.seed({seed} + rank)
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rnn, self.norm, self.fc = {rnn}, nn.LayerNorm({wide}), nn.Linear({wide}, 2)
        self.register_buffer("mean", paddle.full([1], 1. + rank))
    def forward(self, x):
        out_, state = self.rnn(x)
        {tail}
        {norm}
        return self.fc(h) * self.mean
net = Net()
dp = paddle.DataParallel(net{options})
{hook}
data = paddle.io.TensorDataset([paddle.to_tensor(A([7, 5, 3], 'float32', -2, 2))])
order = paddle.io.DistributedBatchSampler(data, {sampler})
out.append(len(order))
opt = paddle.optimizer.{optimizer}
for epoch in range(2):
    order.set_epoch(epoch)
    for (x,) in paddle.io.DataLoader(data, batch_sampler=order):
        loss = (dp(x) ** 2).mean()
        {self.one_of(BACKWARDS)}
        opt.step()
        opt.clear_grad()
        out.append(loss.detach())
total = loss.detach().reshape([1])
{self.one_of(COLLECTIVES)}
out.append(total)
out += list(dp.parameters())
out.append(str(list(dp.state_dict())))
dp.eval()
out.append(dp(paddle.ones([1, 5, 3])).detach())
"""


def answer(codes, path):
    """Run the programs in this process of two; its answers are written to `path` with the rank behind it."""
    import paddle

    paddle.distributed.init_parallel_env()
    answers = [run(code, number, paddle) for number, code in enumerate(codes)]
    Path(f"{path}.{paddle.distributed.get_rank()}").write_text(json.dumps(answers))


def in_two(codes, path):
    """The answers of both processes: two lists."""
    import paddle

    paddle.distributed.spawn(answer, args=(codes, str(path)), nprocs=2)
    return [json.loads(Path(f"{path}.{rank}").read_text()) for rank in (0, 1)]


def record(seed, count, path):
    """Write `count` programs with Paddle's answers."""
    draw = Draw(seed)
    codes = [draw.program() for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder, lzma.open(path, "wt") as file:
        json.dump([codes, *in_two(codes, Path(folder) / "answers")], file)


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        in_two(json.loads(Path(sys.argv[2]).read_text()), sys.argv[3])
