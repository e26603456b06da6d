"""The tests that every dialect runs on itself. OneFlow 0.9.0 gives these shapes."""

from functools import partial
from pathlib import Path

import anygru_oneflow as flow
from anygru.dialects.suite import DialectSuite, SizeArgument

X = flow.ones(2, 3)
INT32 = {"dtype": flow.int32}


class TestDialect(DialectSuite):
    dialect = "oneflow"
    floors = Path(__file__).with_name("floors.txt")
    sizes = {
        **{
            f"oneflow.{make.__name__}": SizeArgument(make, (4, 5), (4, 5), separate=True, options=INT32)
            for make in (flow.ones, flow.zeros, flow.empty)
        },
        **{
            f"oneflow.{make.__name__}": SizeArgument(
                make, (4, 5), (4, 5), separate=True, keyword="size", options={"dtype": flow.float64, "device": "cpu"}
            )
            for make in (flow.rand, flow.randn)
        },
        **{
            f"oneflow.Tensor.{name}": SizeArgument(
                getattr(X, name), (4, 5), (4, 5), separate=True, options={**INT32, "requires_grad": False}
            )
            for name in ("new_zeros", "new_ones", "new_empty")
        },
        **{
            f"oneflow.{name}": SizeArgument(
                partial(getattr(flow, name), X), (4, 5), (4, 5), keyword="size", options=INT32
            )
            for name in ("new_zeros", "new_ones", "new_empty")
        },
        "oneflow.full": SizeArgument(partial(flow.full, fill_value=2.0), (4, 5), (4, 5), keyword="size", options=INT32),
        "oneflow.normal": SizeArgument(partial(flow.normal, 0.0, 1.0), (4, 5), (4, 5)),
        "oneflow.randint": SizeArgument(partial(flow.randint, 1, 5), (4, 5), (4, 5), keyword="size", options=INT32),
        "oneflow.Tensor.new_full": SizeArgument(
            partial(X.new_full, fill_value=2.0), (4, 5), (4, 5), keyword="size", options=INT32
        ),
        "oneflow.Tensor.view": SizeArgument(X.view, (3, 2), (3, 2), separate=True),
        "oneflow.reshape": SizeArgument(partial(flow.reshape, X), (3, -1), (3, 2), keyword="shape"),
        "oneflow.Tensor.broadcast_to": SizeArgument(X[0].broadcast_to, (4, 3), (4, 3), keyword="shape"),
        "oneflow.Tensor.reshape": SizeArgument(X.reshape, (3, -1), (3, 2), separate=True),
        "oneflow.Tensor.expand": SizeArgument(X.expand, (4, 2, 3), (4, 2, 3), separate=True),
        "oneflow.Tensor.repeat": SizeArgument(X.repeat, (2, 3), (4, 9), separate=True),
        "oneflow.Tensor.tile": SizeArgument(X.tile, (2, 3), (4, 9), separate=True),
        "oneflow.Tensor.permute": SizeArgument(X.permute, (1, 0), (3, 2), separate=True),
        "oneflow.Tensor.flip": SizeArgument(X.flip, (0, 1), (2, 3)),
        "oneflow.permute": SizeArgument(partial(flow.permute, X), (1, 0), (3, 2)),
    }
