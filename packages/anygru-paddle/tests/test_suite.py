"""The tests that every dialect runs on itself. Paddle 2.6.2 gives these shapes and errors of sizes."""

from functools import partial
from pathlib import Path

import anygru_paddle as paddle
from anygru.dialects.suite import DialectSuite, SizeArgument

X, IMAGE = paddle.ones([2, 3]), paddle.ones([1, 1, 2, 3])
F = paddle.nn.functional
INT32, FLOAT64 = {"dtype": "int32"}, {"dtype": "float64"}
SHAPED = partial(SizeArgument, sizes=(4, 5), shape=(4, 5), separate=TypeError, arrays=True, keyword="shape")


class TestDialect(DialectSuite):
    dialect = "paddle"
    floors = Path(__file__).with_name("floors.txt")
    sizes = {
        **{
            f"paddle.{make.__name__}": SHAPED(make, options=INT32) for make in (paddle.ones, paddle.zeros, paddle.empty)
        },
        **{
            f"paddle.{make.__name__}": SHAPED(make, options=FLOAT64)
            for make in (paddle.rand, paddle.randn, paddle.standard_normal, paddle.uniform)
        },
        "paddle.full": SHAPED(partial(paddle.full, fill_value=2.0), options=INT32),
        "paddle.normal": SHAPED(partial(paddle.normal, 0.0, 1.0), separate=False),
        "paddle.randint": SHAPED(partial(paddle.randint, 1, 5), options=INT32),
        "paddle.create_parameter": SHAPED(partial(paddle.create_parameter, dtype="float32"), arrays=False),
        "paddle.nn.Layer.create_parameter": SHAPED(paddle.nn.Layer().create_parameter, arrays=False, options=FLOAT64),
        "paddle.crop": SizeArgument(partial(paddle.crop, X), (1, 2), (1, 2), ValueError, arrays=True, keyword="shape"),
        "paddle.nn.functional.interpolate": SizeArgument(
            partial(F.interpolate, IMAGE), (4, 6), (1, 1, 4, 6), ValueError, arrays=True, keyword="size"
        ),
        "paddle.nn.functional.adaptive_avg_pool2d": SizeArgument(
            partial(F.adaptive_avg_pool2d, IMAGE), (2, 3), (1, 1, 2, 3), ValueError, arrays=True, keyword="output_size"
        ),
        **{
            f"paddle.{'Tensor.' * (not given)}{name}": SizeArgument(
                partial(getattr(paddle, name), *given) if given else getattr(X, name),
                sizes,
                shape,
                error,
                arrays=name not in ("reshape", "view"),
                keyword=keyword,
            )
            for name, sizes, shape, keyword, error in (
                ("reshape", (3, -1), (3, 2), "shape", ValueError),
                ("view", (3, 2), (3, 2), "shape_or_dtype", TypeError),
                ("broadcast_to", (4, 2, 3), (4, 2, 3), "shape", TypeError),
                ("expand", (4, 2, 3), (4, 2, 3), "shape", TypeError),
                ("transpose", (1, 0), (3, 2), "perm", ValueError),
                ("tile", (2, 3), (4, 9), "repeat_times", False),
                ("unsqueeze", (0, 1), (1, 1, 2, 3), "axis", False),
                ("flip", (0, 1), (2, 3), "axis", False),
                ("squeeze", (0, 1), (2, 3), "axis", False),
                ("sum", (0, 1), (), "axis", TypeError),
                ("mean", (0, 1), (), "axis", ValueError),
                ("max", (0, 1), (), "axis", ValueError),
                ("all", (0, 1), (), "axis", ValueError),
            )
            for given in ((), (X,))
        },
    }
