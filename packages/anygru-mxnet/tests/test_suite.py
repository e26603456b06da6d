"""The tests that every dialect runs on itself. MXNet 1.9.1 gives these shapes and errors of sizes."""

from functools import partial
from pathlib import Path

import anygru_mxnet as mx
from anygru.dialects.suite import DialectSuite, SizeArgument

X, Y, S = mx.nd.ones((2, 3)), mx.np.ones((2, 3)), mx.sym.var("x")
INT32 = {"dtype": "int32"}
SHAPED = partial(SizeArgument, sizes=(4, 5), shape=(4, 5))


def evaluated(symbol):
    """A function of sizes that computes the symbol's result."""
    return lambda *sizes, **keywords: symbol(*sizes, **keywords).eval(x=X)[0]


class TestDialect(DialectSuite):
    dialect = "mxnet"
    floors = Path(__file__).with_name("floors.txt")
    sizes = {
        **{
            f"mxnet.nd.{make.__name__}": SHAPED(make, arrays=make is mx.nd.empty, keyword="shape", options=INT32)
            for make in (mx.nd.ones, mx.nd.zeros, mx.nd.empty)
        },
        **{
            f"mxnet.np.{make.__name__}": SHAPED(make, separate=TypeError, keyword="shape", options=INT32)
            for make in (mx.np.ones, mx.np.zeros, mx.np.empty)
        },
        **{
            f"mxnet.sym.{make.__name__}": SHAPED(evaluated(make), keyword="shape", options=INT32)
            for make in (mx.sym.ones, mx.sym.zeros)
        },
        "mxnet.nd.full": SHAPED(partial(mx.nd.full, val=2.0), keyword="shape", options=INT32, arrays=True),
        "mxnet.np.full": SHAPED(partial(mx.np.full, fill_value=2.0), keyword="shape", options=INT32),
        **{
            f"mxnet.nd.random.{name}": SHAPED(partial(getattr(mx.nd.random, name), 1, 5), keyword="shape")
            for name in ("uniform", "normal", "randint", "gamma")
        },
        **{
            f"mxnet.np.random.{name}": SHAPED(partial(getattr(mx.np.random, name), 1, 5), keyword="size")
            for name in ("uniform", "normal", "randint", "gamma")
        },
        "mxnet.gluon.Parameter": SHAPED(partial(mx.gluon.Parameter, "w", "write"), keyword="shape", arrays=True),
        "mxnet.gluon.nn.MaxPool2D": SizeArgument(
            lambda *sizes, **keywords: mx.gluon.nn.MaxPool2D(*sizes, **keywords)(mx.nd.ones((1, 1, 4, 6))),
            (2, 2),
            (1, 1, 2, 3),
            separate=True,
            keyword="pool_size",
        ),
        **{
            f"mxnet.{kind}.{name}": SizeArgument(function, sizes, shape, separate, keyword=keyword)
            for name, sizes, shape, keyword in (
                ("reshape", (3, -1), (3, 2), "shape"),
                ("broadcast_to", (2, 3), (2, 3), "shape"),
                ("tile", (2, 3), (4, 9), "reps"),
                ("transpose", (1, 0), (3, 2), "axes"),
            )
            for kind, function, separate in (
                ("nd", partial(getattr(mx.nd, name), X), False),
                ("nd.NDArray", getattr(X, name), name == "reshape" or (name == "transpose" and TypeError)),
                ("sym", evaluated(partial(getattr(mx.sym, name), S)), False),
                ("sym.Symbol", evaluated(getattr(S, name)), name == "reshape"),
            )
        },
        **{
            f"mxnet.np.{name}": SizeArgument(partial(getattr(mx.np, name), Y), sizes, shape, keyword=keyword)
            for name, sizes, shape, keyword in (
                ("reshape", (3, -1), (3, 2), "newshape"),
                ("broadcast_to", (4, 2, 3), (4, 2, 3), "shape"),
                ("tile", (2, 3), (4, 9), "reps"),
                ("transpose", (1, 0), (3, 2), "axes"),
                ("sum", (0, 1), (), "axis"),
                ("mean", (0, 1), (), "axis"),
                ("sum", (), (2, 3), "axis"),
            )
        },
        "mxnet.np.ndarray.reshape": SizeArgument(Y.reshape, (3, -1), (3, 2), separate=True),
        "mxnet.np.ndarray.transpose": SizeArgument(Y.transpose, (1, 0), (3, 2), separate=True),
    }
