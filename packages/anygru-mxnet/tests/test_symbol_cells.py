"""`mx.rnn`: cells of the symbol API and sentences in buckets, with the numbers of MXNet 1.9.1."""

import random
import warnings

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import sym

WORDS = 12


def make(kind):
    R = mx.rnn
    if kind == "stack":
        stack = R.SequentialRNNCell()
        stack.add(mx.rnn.LSTMCell(4, prefix="a_"))
        stack.add(R.DropoutCell(0.0))
        stack.add(R.ResidualCell(R.GRUCell(4, prefix="b_")))
        stack.add(R.ZoneoutCell(R.RNNCell(3, "relu", prefix="c_")))
        return stack
    if kind == "both":
        return R.BidirectionalCell(R.GRUCell(3, prefix="a_"), R.FusedRNNCell(4, mode="rnn_tanh", prefix="b_"))
    mode, states = ("gru" if "gru" in kind else "lstm"), "next" in kind
    fused = R.FusedRNNCell(3, num_layers=2, mode=mode, bidirectional=True, prefix="x_", get_next_state=states)
    return fused.unfuse() if "unfused" in kind else fused


def batches(layout):
    random.seed(1)
    np.random.seed(1)
    rng = np.random.RandomState(0)
    sentences = [rng.randint(1, WORDS, rng.randint(2, 6)).tolist() for _ in range(12)]
    return mx.rnn.BucketSentenceIter(sentences, 2, buckets=[3, 5], invalid_label=0, layout=layout[:2])


@pytest.mark.parametrize(
    ("kind", "layout", "merge", "expected"),
    [
        ("stack", "NTC", True, 14.12996),
        ("both", "TNC", False, 16.118815),
        ("lstm", "NTC", True, 14.683512),
        ("gru next", "TNC", None, 16.478854),
        ("unfused gru", "TNC", False, 15.057231),
    ],
)
def test_a_language_model_in_buckets_has_mxnets_perplexity(kind, layout, merge, expected, tmp_path):
    data, cell = batches(layout), make(kind)

    def sym_gen(length):
        embedded = sym.Embedding(sym.var("data"), input_dim=WORDS, output_dim=4, name="emb")
        out, _ = cell.unroll(length, inputs=embedded, layout=layout, merge_outputs=merge)
        out = sym.stack(*out, axis=layout.find("T")) if isinstance(out, list) else out
        scores = sym.FullyConnected(sym.reshape(out, shape=(-3, -1)), num_hidden=WORDS, name="pred")
        labels = sym.reshape(sym.var("softmax_label"), shape=(-1,))
        loss = sym.SoftmaxOutput(scores, labels, use_ignore=True, ignore_label=0, name="softmax")
        return loss, ("data",), ("softmax_label",)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "NTC layout detected")
        module = mx.mod.BucketingModule(sym_gen, default_bucket_key=data.default_bucket_key, context=mx.cpu())
        module.bind(data.provide_data, data.provide_label)
        module.init_params(mx.init.Xavier())
        shapes = {name: value.shape for name, value in module.get_params()[0].items()}
        drawn = {n: np.random.RandomState(len(n)).uniform(-0.9, 0.9, s) for n, s in sorted(shapes.items())}
        module.set_params({name: mx.nd.array(values) for name, values in drawn.items()}, {})
        module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1, "wd": 0.1})
        metric = mx.metric.Perplexity(0)
        for batch in data:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
    assert abs(metric.get()[1] / expected - 1) < 1e-6
    arguments, states = module.get_params()
    prefix = str(tmp_path / "ck")
    mx.rnn.do_rnn_checkpoint(cell, prefix, 2)(1, module.symbol, arguments, states)
    _, again, _ = mx.rnn.load_rnn_checkpoint([cell], prefix, 2)
    assert set(again) == set(arguments)
    assert all((again[name] == arguments[name]).asnumpy().all() for name in again)
    assert any(name.endswith(("_h2h_o_weight", "c_h2h_weight")) for name in mx.nd.load(f"{prefix}-0002.params"))


def test_sentences_are_numbered_as_mxnet_numbers_them():
    encode = mx.rnn.encode_sentences
    numbers = {"\n": 1, "a": 0, "b": 2, "c": 3}
    assert encode([["a", "b"], ["b", "c", "\n"]], invalid_label=1) == ([[0, 2], [2, 3, 1]], numbers)
    given = {"a": 3}
    coded, given = encode([["a", "x", "y", "a"], ["z"]], given, unknown_token="u", start_label=5)
    assert (coded, given) == ([[3, 5, 6, 3], [7]], {"a": 3, "u": 7})
    with pytest.raises(AssertionError, match="Unknown token q"):
        encode([["q"]], {"a": 3})


def test_the_vector_of_a_fused_cell(capsys):
    cell = mx.rnn.FusedRNNCell(2, 2, "lstm", forget_bias=3.0)
    vector = mx.nd.zeros(104)
    described = mx.init.InitDesc("lstm_parameters", sym.Group([cell._parameter]).attr_dict()["lstm_parameters"])
    mx.init.One()(described, vector)
    assert vector[:72].asnumpy().tolist() == [1.0] * 72
    assert vector[72:].asnumpy().tolist() == [0, 0, 3, 3, 0, 0, 0, 0] * 4
    parts = cell.unpack_weights({"lstm_parameters": mx.nd.arange(104)})
    assert parts["lstm_l1_i2h_c_weight"].asnumpy().tolist() == [[48, 49], [50, 51]]
    assert parts["lstm_l0_h2h_f_bias"].asnumpy().tolist() == [82, 83]
    assert mx.rnn.BucketSentenceIter([[1, 2], [2, 3], [1, 2, 3]], 2).buckets == [2]
    assert "discarded 1 sentences" in capsys.readouterr().out


def test_names_shared_variables_and_misuse():
    cell = mx.rnn.LSTMCell(3)
    outputs = sym.Group(cell.unroll(2, sym.var("x"), merge_outputs=False)[0])
    assert outputs.list_outputs() == ["lstm_t0_out_output", "lstm_t1_out_output"]
    weights = ["lstm_i2h_weight", "lstm_i2h_bias", "lstm_h2h_weight", "lstm_h2h_bias"]
    assert outputs.list_arguments() == ["x", *weights]
    assert outputs.attr_dict()["lstm_i2h_bias"] == {"__init__": '["lstmbias", {"forget_bias": 1.0}]'}
    assert cell.state_info == [{"shape": (0, 3), "__layout__": "NC"}] * 2
    assert [state.name for state in cell.begin_state(func=sym.Variable)] == ["lstm_begin_state_2", "lstm_begin_state_3"]
    other = mx.rnn.LSTMCell(3, params=cell.params)
    both = sym.Group([*other(sym.var("y"), other.begin_state())[1], outputs])
    assert [name for name in both.list_arguments() if name.startswith("lstm")] == weights
    with pytest.raises(NotImplementedError, match="unroll"):
        mx.rnn.FusedRNNCell(3)(sym.var("x"), [])
    with pytest.raises(AssertionError, match="FusedRNNCell doesn't support zoneout"):
        mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3))
    mx.rnn.ResidualCell(cell)
    with pytest.raises(AssertionError, match="base cell cannot be called"):
        cell.begin_state()


def test_a_bucket_without_sentences_is_dropped(capsys):
    data = mx.rnn.BucketSentenceIter([[1, 2], [2, 3], [1, 2, 3, 4]], 2, buckets=[9, 2, 3, 4, 7], invalid_label=0)
    assert (data.buckets, data.default_bucket_key, data.idx) == ([2, 4], 4, [(0, 0)])
    capsys.readouterr()


def test_a_graph_is_drawn_as_text(tmp_path, monkeypatch):
    hidden = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    drawing = mx.viz.plot_network(sym.tanh(hidden, name="act"), str(tmp_path / "net"), shape={"data": (2, 4)})
    edges = [line.strip() for line in drawing.source.splitlines() if "->" in line]
    assert edges == ['"fc" -> "data" [label="4"]', '"act" -> "fc" [label="3"]']
    assert "FullyConnected\\nfc" in drawing.source
    assert '"fc_weight" [' in mx.viz.plot_network(hidden, hide_weights=False).source
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="net.gv"):
        drawing.view()
    assert (tmp_path / "net.gv").read_text() == drawing.source


TABLE = """\
____________________________________________________________
Layer (type)        Output Shape   Param #   Previous Layer
============================================================
data(null)          4x9x9          0
____________________________________________________________
c(Convolution)      8x7x7          152       data
____________________________________________________________
b(BatchNorm)        8x7x7          16        c
____________________________________________________________
d(Convolution)      8x7x7          64        b
____________________________________________________________
plus(elemwise_add)  8x7x7          0         d
                                             b
____________________________________________________________
fc(FullyConnected)  3              27        plus
____________________________________________________________
split(SliceChannel)                0         fc
____________________________________________________________
a(Activation)       1              0         split
============================================================
Total params: 259
____________________________________________________________
"""


def test_a_graph_is_printed_as_mxnet_prints_it(capsys):
    layer = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=8, num_group=2, name="c")
    layer = sym.BatchNorm(layer, name="b")
    layer = sym.elemwise_add(
        sym.Convolution(layer, kernel=(1, 1), num_filter=8, no_bias=True, name="d"), layer, name="plus"
    )
    parts = sym.split(sym.FullyConnected(layer, num_hidden=3, name="fc"), num_outputs=3, name="split")
    symbol = sym.Activation(parts[1], act_type="tanh", name="a")
    mx.viz.print_summary(symbol, {"data": (2, 4, 9, 9)}, line_length=60, positions=[20, 35, 45, 60])
    shown = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in shown] == TABLE.splitlines()
    assert {len(line) for line in shown} == {60, len("Total params: 259")}
    mx.viz.print_summary(sym.FullyConnected(sym.var("x"), num_hidden=3), line_length=80)
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == ["Layer", "(type)", "Output", "Shape", "Param", "#", "Previous", "Layer"]
    assert [len(line) for line in shown] == [80] * 7 + [len("Total params: 3"), 80]
    with pytest.raises(ValueError, match="incomplete"), pytest.warns(UserWarning, match="Cannot decide shape"):
        mx.viz.print_summary(symbol, {"fc_weight": (3, 392)})
    with pytest.raises(TypeError, match="Symbol"):
        mx.viz.print_summary(3)


def test_a_cell_of_the_users_own():
    class Own(mx.rnn.BaseRNNCell):
        state_info = [{"shape": (0, 2), "__layout__": "NC"}]
        _gate_names = ("_a", "_b")

        def __call__(self, inputs, states):
            self._counter += 1
            both = sym.FullyConnected(inputs, self.params.get("i2h_weight"), self.params.get("i2h_bias"), num_hidden=4)
            one, other = sym.split(both, num_outputs=2)
            output = self._get_activation(one + other, "relu", name=f"{self._prefix}t{self._counter}_out")
            return self._get_activation(output, sym.tanh), [output]

    cell = Own(prefix="own_")
    outputs, states = cell.unroll(2, sym.var("x"), merge_outputs=True)
    assert (outputs.infer_shape(x=(3, 2, 5))[1], states[0].list_outputs()) == ([(3, 2, 2)], ["own_t1_out_output"])
    weights = {f"own_{group}_{kind}": mx.nd.arange(4) for group in ("i2h", "h2h") for kind in ("weight", "bias")}
    apart = cell.unpack_weights(weights)
    assert apart["own_h2h_b_bias"].asnumpy().tolist() == [2, 3]
    assert cell.pack_weights(apart).keys() == weights.keys()


def test_a_cell_on_the_variables_of_another():
    class Doubled(mx.rnn.GRUCell):
        def __init__(self):
            super().__init__(3, prefix="gru_")
            self._iW = self._iW * 2
            assert [v.name for v in (self._iB, self._hW, self._hB)] == [
                f"gru_{n}" for n in ("i2h_bias", "h2h_weight", "h2h_bias")
            ]

        def __call__(self, inputs, states):
            output, states = super().__call__(inputs, states)
            assert self._num_hidden == 3
            return output, states

    values = {
        "x": mx.nd.ones((1, 2)),
        "h": mx.nd.ones((1, 3)),
        "gru_i2h_weight": mx.nd.array(np.linspace(-1, 1, 18).reshape(9, 2)),
    }
    values |= {"gru_h2h_weight": mx.nd.ones((9, 3)), "gru_i2h_bias": mx.nd.zeros(9), "gru_h2h_bias": mx.nd.zeros(9)}
    output = Doubled()(sym.var("x"), [sym.var("h")])[0].eval(**values)[0]
    values["gru_i2h_weight"] = values["gru_i2h_weight"] * 2
    plain = mx.rnn.GRUCell(3, prefix="gru_")(sym.var("x"), [sym.var("h")])[0].eval(**values)[0]
    np.testing.assert_allclose(output.asnumpy(), plain.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        (lambda: mx.rnn.GRUCell(4, prefix="a_"), "concat7_output"),
        (lambda: mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(4, prefix="a_"), 0.2, 0.3), "concat7_output"),
        (lambda: mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="a_")), "concat7_plus_residual_output"),
        (lambda: mx.rnn.FusedRNNCell(4, prefix="a_"), "a_rnn_output"),
    ],
)
def test_merged_outputs_have_mxnets_names(cell, name):
    with mx.name.NameManager() as names:
        names._counter["concat"] = 7
        outputs, _ = cell().unroll(2, sym.var("data"), layout="TNC", merge_outputs=True)
    assert outputs.list_outputs() == [name]


def test_gates_of_a_fused_cell():
    assert mx.rnn.FusedRNNCell(4, mode="gru")._gate_names == ("_r", "_z", "_o")
    assert mx.rnn.FusedRNNCell(4, bidirectional=True)._directions == ["l", "r"]
