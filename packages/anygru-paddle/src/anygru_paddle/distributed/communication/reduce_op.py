"""`ReduceOp`: how values of several processes become one."""

import torch.distributed as dist


class ReduceOp:
    """The ways to reduce; plain numbers, as in Paddle."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


# The mean is a sum and a division, because Gloo has no mean.
TORCH_OPS = {
    ReduceOp.SUM: dist.ReduceOp.SUM,
    ReduceOp.MAX: dist.ReduceOp.MAX,
    ReduceOp.MIN: dist.ReduceOp.MIN,
    ReduceOp.PROD: dist.ReduceOp.PRODUCT,
    ReduceOp.AVG: dist.ReduceOp.SUM,
}


def check_op(op: int, name: str) -> None:
    """Raise ValueError unless the number is a ReduceOp."""
    if op not in TORCH_OPS:
        raise ValueError(f"Unknown reduce_op type for {name}.")
