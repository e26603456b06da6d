"""Shapes with unknown sizes, compared with MXNet 1.9.1 (recorded)."""

import pytest

import anygru_mxnet as mx
from anygru_mxnet import sym


def declared(name, *shape):
    return sym.var(name, shape=shape)


WHOLE = {
    "sum": (lambda: declared("a", 0, 10) + declared("b", 12, 0), [(12, 10), (12, 10)]),
    "split, squeezed": (
        lambda: sym.split(declared("a", 0, 10), num_outputs=10, squeeze_axis=True)[1] + declared("c", 5),
        [(5, 10), (5,)],
    ),
    "split": (
        lambda: sym.split(declared("a", 0, 15, 0), num_outputs=3)[1] + declared("c", 3, 5, 2),
        [(3, 15, 2), (3, 5, 2)],
    ),
    "convolution": (
        lambda: (
            sym.Convolution(declared("a", 0, 10, 0, 0), num_filter=21, kernel=(3, 3), pad=(1, 1), no_bias=True)
            + declared("c", 5, 21, 32, 32)
        ),
        [(5, 10, 32, 32), (21, 10, 3, 3), (5, 21, 32, 32)],
    ),
    "concat": (
        lambda: declared("d", 2, 0) + sym.concat(declared("a", 0, 10), declared("b", 0, 5), dim=1),
        [(2, 15), (2, 10), (2, 5)],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_sizes_follow_from_results(name):
    make, expected = WHOLE[name]
    assert make().infer_shape()[0] == expected


x, y = sym.var("x"), sym.var("y")
PARTIAL = {
    "sin": (sym.sin(x), {}, ()),
    "dot": (sym.dot(x, y), {"x": (0, 3, 4), "y": (4, 5)}, (0, 3, 5)),
    "batch_dot": (sym.batch_dot(x, y), {"x": (0, 3, 4), "y": (0, 4, 5)}, (0, 3, 5)),
    "batch_dot, a size too few": (sym.batch_dot(x, y), {"x": (0, 3, 4), "y": (0, 0, 5)}, ()),
    "Embedding": (sym.Embedding(x, y, input_dim=100, output_dim=10), {"x": (0, 5), "y": (100, 10)}, (0, 5, 10)),
    "transpose": (sym.transpose(x, axes=(0, 3, 2, 1)), {"x": (0, 3, 224, 224)}, (0, 224, 224, 3)),
    "pick": (sym.pick(x, y, axis=1), {"x": (0, 3, 3), "y": (0, 3)}, (0, 3)),
    "stack": (sym.stack(x, y), {"x": (0, 3), "y": (2, 3)}, (2, 2, 3)),
    "broadcast_add": (sym.broadcast_add(x, y), {"x": (2, 0), "y": (1, 3)}, (2, 0)),
    "broadcast_mul": (sym.broadcast_mul(x, y), {"x": (0, 0), "y": (2, 1)}, (0, 0)),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_what_is_known_of_a_result(name):
    symbol, given, expected = PARTIAL[name]
    assert symbol.infer_shape_partial(**given)[1] == [expected]
    with mx.util.np_shape(True):  # where 0 is a size, -1 is none, and an unknown shape is None
        given = {key: tuple(size or -1 for size in shape) for key, shape in given.items()}
        assert symbol.infer_shape_partial(**given)[1] == [tuple(size or -1 for size in expected) or None]


def test_known_sizes_that_do_not_broadcast_are_refused():
    with pytest.raises(mx.MXNetError, match="broadcast"):
        sym.broadcast_add(x, y).infer_shape_partial(x=(2, 0), y=(3, 1))


def test_a_range_is_as_long_as_its_reader_needs():
    """As in MXNet 1.9.1 (recorded); gluon-nlp's adaptive softmax asks for it."""
    x, d = mx.sym.var("x"), mx.sym.var("d")
    steps = mx.sym.arange(start=2, step=3, infer_range=True)
    assert (steps + x).infer_shape(x=(4,)) == ([(4,)], [(4,)], [])
    assert (steps + x).eval(x=mx.nd.ones(4))[0].asnumpy().tolist() == [3, 6, 9, 12]
    picked = mx.sym.pick(d, mx.sym.arange(0, infer_range=True, repeat=2)).eval(d=mx.nd.array([[1, 2, 3, 4]] * 4))
    assert picked[0].asnumpy().tolist() == [1, 1, 2, 2]
    with pytest.raises(mx.MXNetError):
        mx.sym.broadcast_add(steps, x).eval(x=mx.nd.ones(4))

    class Places(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x + F.arange(0, None, infer_range=True)

    block = Places()
    block.hybridize()
    assert [block(mx.nd.ones(n)).asnumpy().tolist() for n in (3, 5)] == [[1, 2, 3], [1, 2, 3, 4, 5]]
