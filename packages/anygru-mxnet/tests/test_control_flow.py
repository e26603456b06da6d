"""Loops and branches as nodes of graphs, and executors: files with MXNet 1.9.1's bytes, and its numbers."""

import hashlib
import json

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd
from anygru_mxnet.base import MXNetError
from anygru_mxnet.gluon import nn, rnn
from anygru_mxnet.gluon.contrib.rnn import dynamic_unroll


class Scan(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = nn.Dense(3, flatten=False, in_units=5)

    def hybrid_forward(self, F, x, h):
        def step(part, states):
            new = F.tanh(self.cell(F.concat(part, states[0], dim=1)))
            return new * 2, [new]

        output, states = F.contrib.foreach(step, x, [h])
        return output, states[0]


class While(gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        return F.contrib.while_loop(
            lambda i, a: i < 4, lambda i, a: ([a + y], [i + 1, a * 2]), [F.zeros((1,)), x], max_iterations=6
        )


class Branch(gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        return F.contrib.cond(F.sum(x) > 1, lambda: x * 2, lambda: y * 3)


# SHA-256 of the symbol files that MXNet 1.9.1 exports for these blocks and shapes, and sums of its results.
RECORDED = [
    (Scan, "n_", [(4, 2, 2), (2, 3)], "09fc7d4314510400a4fcf60a8b896ff7bf9796f2a37950cb16691a60bbafb1f1", 47.757748),
    (While, "w_", [(2,), (2,)], "108bf505c0803b099154a6c89a47abbf492a4977f626ad7d97156faafcf9964d", 34.0),
    (Branch, "c_", [(2,), (2,)], "07da7a2f61d7d96d6e272a81cbb3c1df9a04949d1b100ec75d1682a7c8485836", 4.0),
]


def first(result):
    while isinstance(result, (list, tuple)):
        result = result[0]
    return result


@pytest.mark.parametrize(("kind", "prefix", "shapes", "digest", "total"), RECORDED)
def test_exported_loops_are_those_of_mxnet_and_run_as_the_block_does(kind, prefix, shapes, digest, total, tmp_path):
    mx.AttrScope._subgraph_names.clear()
    block = kind(prefix=prefix)
    block.initialize(mx.init.One())
    inputs = [nd.ones(shapes[0]), nd.ones(shapes[1]) * (0.1 if kind is Scan else 0.5)]
    plain = first(block(*inputs)).asnumpy()
    np.testing.assert_allclose(plain.sum(), total, rtol=1e-6)
    block.hybridize()
    np.testing.assert_allclose(first(block(*inputs)).asnumpy(), plain, rtol=1e-6)
    block.export(str(tmp_path / "x"))
    file = tmp_path / "x-symbol.json"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    again = gluon.SymbolBlock.imports(str(file), ["data0", "data1"], str(tmp_path / "x-0000.params"))
    np.testing.assert_allclose(first(again(*inputs)).asnumpy(), plain, rtol=1e-6)


class Nested(gluon.HybridBlock):
    """Sizes that follow from the data, running averages, a value from outside and a branch, all in a loop."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = rnn.GRUCell(3)
            self.norm = nn.BatchNorm()

    def hybrid_forward(self, F, x, h):
        scale = F.exp(h * 0.1)

        def step(part, states):
            new, states = self.cell(part * 2, states)
            new = F.contrib.cond(F.sum(new) > 0, lambda: new * scale, lambda: new - scale)
            return self.norm(new), states

        return F.contrib.foreach(step, x, [h])[0]


def test_loops_in_graphs_have_gradients_states_and_shapes(tmp_path):
    def trained(hybrid):
        mx.random.seed(3)
        block = Nested(prefix="n_")
        block.initialize(mx.init.Uniform(1))
        if hybrid:
            block.hybridize()
        rng = np.random.RandomState(0)
        x, h = nd.array(rng.uniform(-1, 1, (4, 2, 5))), nd.array(rng.uniform(-1, 1, (2, 3)))
        block(x, h)
        for parameter in (block.cell.i2h_weight, block.cell.h2h_weight):
            parameter.set_data(nd.array(rng.uniform(-1, 1, parameter.shape)))
        x.attach_grad()
        with autograd.record():
            loss = (block(x, h) ** 3).sum()
        loss.backward()
        grads = [p.grad().asnumpy() for p in block.collect_params().values() if p.grad_req != "null"]
        states = [block.norm.running_mean.data().asnumpy(), block.norm.running_var.data().asnumpy()]
        return block, [x.grad.asnumpy(), *grads, *states]

    (_, plain), (block, hybrid) = trained(False), trained(True)
    for expected, got in zip(plain, hybrid, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
    block.export(str(tmp_path / "x"))
    symbol = mx.sym.load(str(tmp_path / "x-symbol.json"))
    assert symbol.list_auxiliary_states() == ["n_batchnorm0_running_mean", "n_batchnorm0_running_var"]
    shapes, (output,), _ = symbol.infer_shape(data0=(4, 2, 5), data1=(2, 3))
    assert shapes[symbol.list_arguments().index("n_gru0_i2h_weight")] == (9, 5)
    assert output == (4, 2, 3)
    assert symbol.infer_type()[1] == [np.float32]
    assert mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


def test_loops_say_what_is_wrong_as_in_mxnet():
    v, i = mx.sym.var("v"), mx.sym.var("i")
    loops = mx.sym.contrib
    with pytest.raises(AssertionError, match="the data arrays have to be used in the loop body"):
        loops.foreach(lambda part, state: (state, state), v, i)
    with pytest.raises(AssertionError, match="different format"):
        loops.foreach(lambda part, state: (part, [state]), v, i)
    with pytest.raises(ValueError, match="max_iterations should be specified"):
        loops.while_loop(lambda a: a < 1, lambda a: (a, a + 1), [i])
    with pytest.raises(ValueError, match="The 2-th loop_var doesn't involve"):
        loops.while_loop(lambda a, b: a < 1, lambda a, b: (a, [a + 1, a]), [i, v], max_iterations=2)
    with pytest.raises(ValueError, match="number of loop_vars should be consistent"):
        loops.while_loop(lambda a: a < 1, lambda a: (a, [a, a]), [i], max_iterations=2)
    with pytest.raises(ValueError, match="differs between then-branch and else-branch"):
        loops.cond(v, lambda: [v, v], lambda: i)
    never = loops.while_loop(lambda a: a < 9, lambda a: (a, [a + 1]), [i], max_iterations=3)[0]
    assert never.eval(i=nd.array([9.0]))[0].asnumpy().tolist() == [[0], [0], [0]]


@pytest.mark.parametrize("wrong", [{"in_data_locs": "[7]"}, {"remain_locs": "[]"}, {"in_state_locs": "x"}])
def test_a_file_with_loops_that_do_not_fit_is_refused(wrong):
    output, _ = mx.sym.contrib.foreach(
        lambda part, s: (part + s * mx.sym.var("w"), s), mx.sym.var("v"), mx.sym.var("i")
    )
    content = json.loads(output.tojson())
    loop = next(node for node in content["nodes"] if node["op"] == "_foreach")
    loop["attrs"].update(wrong)
    with pytest.raises(MXNetError):
        mx.sym.load_json(json.dumps(content))
    del loop["subgraphs"]
    with pytest.raises(MXNetError):
        mx.sym.load_json(json.dumps(content))


def test_an_executor_computes_and_sums_gradients():
    symbol = mx.sym.var("v") * 2 + mx.sym.var("i")
    bound = symbol.simple_bind(mx.cpu(), v=(2,), grad_req={"v": "add", "i": "null"})
    assert bound.grad_dict["i"] is None
    bound.arg_dict["v"][:] = 3
    for _ in range(2):
        bound.forward(is_train=True)
        bound.backward(nd.ones((2,)) * 2)
    assert bound.grad_dict["v"].asnumpy().tolist() == [8, 8]
    assert bound.output_dict[symbol.list_outputs()[0]].asnumpy().tolist() == [6, 6]
    assert bound.reshape(v=(1,), i=(1,)).forward()[0].shape == (1,)
    assert bound.reshape(partial_shaping=True, v=(1,)).forward()[0].shape == (1,)
    with pytest.raises(MXNetError, match="partial_shaping"):
        bound.reshape(v=(1,))  # `i` would no longer be the same array (MXNet 1.9.1, recorded)
    with pytest.raises(MXNetError, match="larger than original"):
        bound.reshape(v=(3,))
    with pytest.raises(TypeError, match="Unknown argument q"):
        bound.forward(q=nd.ones((1,)))
    with pytest.raises(ValueError, match="Shape not match"):
        bound.forward(v=nd.ones((1,)))
    with pytest.raises(ValueError, match='"z" that is not in the arguments'):
        bound.copy_params_from({"z": nd.ones((2,))})
    with pytest.raises(ValueError, match="key `i` is missing in `args`"):
        symbol.bind(mx.cpu(), {"v": nd.ones((2,))})
    given, gradient = nd.array([1.0, 2.0]), nd.zeros((2,))
    held = symbol.bind(mx.cpu(), [given, nd.ones((2,))], [gradient, None])
    assert held.forward(is_train=True)[0].asnumpy().tolist() == [3, 5]
    held.backward(nd.ones((2,)))
    assert gradient.asnumpy().tolist() == [2, 2]
    given[:] = 0
    assert held.forward()[0].asnumpy().tolist() == [1, 1]


def test_a_cell_in_a_loop_of_any_length():
    cell = rnn.GRUCell(3, input_size=2)
    cell.initialize(mx.init.Uniform(1))
    rng = np.random.RandomState(2)
    x, h = nd.array(rng.uniform(-1, 1, (4, 2, 2))), nd.array(rng.uniform(-1, 1, (2, 3)))
    lengths = nd.array([2, 4])
    for given in ({}, {"valid_length": lengths}):
        expected, (last,) = cell.unroll(4, x, [h], layout="TNC", merge_outputs=True, **given)
        found, (state,) = dynamic_unroll(cell, x, [h], **given)
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), atol=1e-6)
        np.testing.assert_allclose(state.asnumpy(), last.asnumpy(), atol=1e-6)
        turned, _ = dynamic_unroll(cell, x.swapaxes(0, 1), [h], layout="NTC")
    np.testing.assert_allclose(turned.asnumpy(), dynamic_unroll(cell, x, [h])[0].swapaxes(0, 1).asnumpy(), atol=1e-6)
    outputs, _ = dynamic_unroll(cell, mx.sym.var("x"), [mx.sym.var("h")], valid_length=mx.sym.var("v"))
    values = {name: parameter.data() for name, parameter in cell.collect_params().items()}
    np.testing.assert_allclose(outputs.eval(x=x, h=h, v=lengths, **values)[0].asnumpy(), found.asnumpy(), atol=1e-6)


# Operator, shape, labels, attributes, and the first numbers of the data's gradient, recorded from MXNet 1.9.1.
OUTPUTS = [
    ("SoftmaxOutput", (2, 3), [1, 2], {}, [0.40929, -0.82323, 0.41394, 0.42823, 0.41384, -0.84206]),
    (
        "SoftmaxOutput", (2, 3, 2), [[1, 0], [2, 1]], {"multi_output": True},
        [0.19268, -0.32841, -0.30513, 0.23992, 0.11244, 0.08849],
    ),
    (
        "SoftmaxOutput", (2, 2, 3), [[1, 0], [2, 1]], {"preserve_shape": True, "grad_scale": 2.0},
        [0.81858, -1.64647, 0.82789, -1.14355, 0.82768, 0.31587],
    ),
    (
        "SoftmaxOutput", (3, 3), [1, 0, 2], {"use_ignore": True, "ignore_label": 0, "normalization": "valid"},
        [0.20464, -0.41162, 0.20697, 0.0, 0.0, 0.0],
    ),
    (
        "SoftmaxOutput", (2, 3), [1, 2], {"normalization": "batch", "smooth_alpha": 0.1},
        [0.17964, -0.36162, 0.18197, 0.18911, 0.18192, -0.37103],
    ),
    (
        "LinearRegressionOutput", (2, 3), [[1, 2, 3], [0, 1, 1]], {"grad_scale": 0.5},
        [-0.01099, -0.31759, -0.34244, 0.07161, -0.10076, -0.2613],
    ),
    (
        "LogisticRegressionOutput", (2, 3), [[1, 0, 1], [0, 1, 1]], {},
        [-0.09403, 0.17453, -0.09327, 0.20193, -0.13413, -0.21275],
    ),
    ("MAERegressionOutput", (2, 3), [[1, 2, 3], [0, -1, 1]], {}, [-1 / 3, -1 / 3, -1 / 3, 1 / 3, 1 / 3, -1 / 3]),
    (
        "SVMOutput", (2, 3), [1, 2], {"margin": 0.5, "regularization_coefficient": 2.0},
        [5.73624, -1.62214, 5.78148, 3.71853, 3.58183, -4.27128],
    ),
    ("SVMOutput", (2, 3), [1, 2], {"use_linear": True}, [1, -1, 1, 1, 1, -1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "labels", "given", "expected"), OUTPUTS)
def test_outputs_that_are_losses_have_their_own_gradient(name, shape, labels, given, expected):
    symbol = getattr(mx.sym, name)(mx.sym.var("data"), name="softmax", **given)
    assert symbol.list_arguments() == ["data", "softmax_label"]
    bound = symbol.simple_bind(mx.cpu(), data=shape)
    bound.arg_dict["data"][:] = np.random.RandomState(4).uniform(-1, 1, shape)
    bound.arg_dict["softmax_label"][:] = np.array(labels)
    trained = bound.forward(is_train=True)[0].asnumpy()
    bound.backward()
    np.testing.assert_allclose(bound.grad_dict["data"].asnumpy().ravel()[:6], expected, atol=2e-5)
    np.testing.assert_array_equal(bound.forward()[0].asnumpy(), trained)


@pytest.mark.parametrize("hybridized", [False, True])
def test_foreach_over_numbers_gives_arrays_of_one_number(hybridized):
    class Loop(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, s):
            return F.contrib.foreach(lambda part, state: (part + state, part * state + 1), x, s)

    loop, x = Loop(), mx.nd.arange(4) + 1
    loop.hybridize(hybridized)
    x.attach_grad()
    with mx.autograd.record():
        outputs, last = loop(x, mx.nd.array([2.0]))
    outputs.backward()
    assert outputs.asnumpy().tolist() == [[3], [5], [10], [26]]
    assert (last.asnumpy().tolist(), x.grad.asnumpy().tolist()) == ([89], [19, 13, 8, 1])
    symbols = mx.sym.Group([*loop(mx.sym.var("x"), mx.sym.var("s"))])
    assert symbols.infer_shape(x=(4,), s=(1,))[1] == [(4, 1), (1,)]
