"""The tests that every dialect runs on itself. Chainer 7.8.1 gives these shapes and errors of sizes."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

import anygru_chainer as chainer
from anygru.dialects.suite import DialectSuite, SizeArgument

F, L = chainer.functions, chainer.links
A, IMAGE = np.ones((2, 3), "f"), np.ones((1, 1, 4, 6), "f")
X = chainer.Variable(A)


def initialized(*sizes, **keywords):
    """A parameter that gets its shape later."""
    parameter = chainer.Parameter(0.0)
    parameter.initialize(*sizes, **keywords)
    return parameter


class TestDialect(DialectSuite):
    dialect = "chainer"
    floors = Path(__file__).with_name("floors.txt")
    sizes = {
        "chainer.Variable.reshape": SizeArgument(X.reshape, (3, -1), (3, 2), separate=True),
        "chainer.Variable.transpose": SizeArgument(X.transpose, (1, 0), (3, 2), separate=True),
        "chainer.Variable.mean": SizeArgument(X.mean, (0, 1), (), TypeError, TypeError, keyword="axis"),
        **{
            f"chainer.functions.{name}": SizeArgument(
                partial(getattr(F, name), X), sizes, shape, error, lists, arrays, keyword
            )
            for name, sizes, shape, error, lists, arrays, keyword in (
                ("reshape", (3, -1), (3, 2), TypeError, True, False, "shape"),
                ("broadcast_to", (4, 2, 3), (4, 2, 3), TypeError, True, False, "shape"),
                ("sum_to", (1, 3), (1, 3), TypeError, True, False, "shape"),
                ("transpose", (1, 0), (3, 2), TypeError, True, True, "axes"),
                ("tile", (2, 3), (4, 9), TypeError, TypeError, False, "reps"),
                ("sum", (0, 1), (), False, TypeError, False, "axis"),
                ("mean", (0, 1), (), TypeError, TypeError, False, "axis"),
                ("average", (0, 1), (), TypeError, TypeError, False, "axis"),
                ("max", (0, 1), (), False, TypeError, False, "axis"),
                ("logsumexp", (0, 1), (), TypeError, TypeError, False, "axis"),
            )
        },
        "chainer.Parameter": SizeArgument(
            partial(chainer.Parameter, chainer.initializers.HeNormal()),
            (4, 5),
            (4, 5),
            ValueError,
            arrays=True,
            keyword="shape",
        ),
        "chainer.Parameter.initialize": SizeArgument(
            initialized, (4, 5), (4, 5), TypeError, arrays=True, keyword="shape"
        ),
        **{
            f"chainer.functions.{name}": SizeArgument(
                partial(getattr(F, name), IMAGE), (2, 2), shape, separate=True, arrays=True, keyword="ksize"
            )
            for name, shape in (
                ("max_pooling_2d", (1, 1, 2, 3)),
                ("average_pooling_2d", (1, 1, 2, 3)),
                ("unpooling_2d", (1, 1, 7, 11)),
            )
        },
        "chainer.links.LayerNormalization": SizeArgument(
            lambda *sizes, **keywords: L.LayerNormalization(*sizes, **keywords)(A),
            (3,),
            (2, 3),
            True,
            arrays=True,
            keyword="size",
        ),
        "chainer.links.BatchNormalization": SizeArgument(
            lambda *sizes, **keywords: L.BatchNormalization(*sizes, **keywords)(IMAGE),
            (1, 4, 6),
            (1, 1, 4, 6),
            arrays=True,
            keyword="size",
        ),
    }


def test_a_process_that_has_read_no_entry_points_can_import_the_original_name():
    program = "from anygru import dialects; dialects.install(); import chainer.functions; print(chainer.__file__)"
    environment = {name: value for name, value in os.environ.items() if name != "ANYGRU_DIALECTS"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "anygru_chainer" in done.stdout, done.stderr[-2000:]
