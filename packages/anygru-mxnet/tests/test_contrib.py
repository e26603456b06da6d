"""MXNet's contrib modules: cells, samplers, words. Loops in hybridized blocks, scopes of attributes, saved blocks."""

import json
from collections import Counter

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru.dialects import NotCoveredError
from anygru_mxnet import autograd, gluon, nd
from anygru_mxnet.contrib import text
from anygru_mxnet.gluon import contrib, nn, rnn


class Loop(gluon.HybridBlock):
    """A cell in a loop over the first axis."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = rnn.GRUCell(3)

    def hybrid_forward(self, F, x, state):
        return F.contrib.foreach(self.cell, x, [state])


def test_a_hybridized_block_with_a_loop_gives_what_it_gives_as_python():
    block = Loop()
    block.initialize(mx.init.Uniform(0.5))
    x, state = nd.random.uniform(shape=(4, 2, 5)), nd.zeros((2, 3))
    plain, _ = block(x, state)
    block.hybridize()
    for _ in range(2):
        hybrid, (last,) = block(x, state)
        np.testing.assert_array_equal(hybrid.asnumpy(), plain.asnumpy())
        np.testing.assert_array_equal(last.asnumpy(), plain.asnumpy()[-1])


def test_the_unknown_token_of_a_vocabulary_has_the_vector_of_the_embeddings(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 0.1 0.2\n<unk> 9 9\n")
    chosen = text.embedding.CustomEmbedding(str(path), vocabulary=text.vocab.Vocabulary(unknown_token="a"))
    np.testing.assert_allclose(chosen.idx_to_vec.asnumpy(), [[9, 9]])
    assert text.utils.count_tokens_from_str("AISB", "IS", "ES", to_lower=True) == Counter(["a", "b"])


def test_vocabularies_count_by_frequency_and_name():
    counter = text.utils.count_tokens_from_str(" Life is great ! \n life is good . \n", to_lower=True)
    assert counter == Counter({"life": 2, "is": 2, "great": 1, "!": 1, "good": 1, ".": 1})
    vocabulary = text.vocab.Vocabulary(counter, most_freq_count=3, reserved_tokens=["<pad>"])
    assert vocabulary.idx_to_token == ["<unk>", "<pad>", "is", "life", "!"]
    assert vocabulary.to_indices(["life", "nothing"]) == [3, 0]
    assert vocabulary.to_tokens(2) == "is"
    with pytest.raises(ValueError, match="invalid"):
        vocabulary.to_tokens([1, 5])


def test_vectors_of_words_from_a_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 0.1 0.2\nb 0.3 0.4\n<unk> 9 9\n")
    vectors = text.embedding.CustomEmbedding(str(path))
    assert vectors.idx_to_token == ["<unk>", "a", "b"]
    np.testing.assert_allclose(vectors.get_vecs_by_tokens(["b", "A", "c"]).asnumpy(), [[0.3, 0.4], [9, 9], [9, 9]])
    np.testing.assert_allclose(vectors.get_vecs_by_tokens("A", lower_case_backup=True).asnumpy(), [0.1, 0.2])
    vectors.update_token_vectors("a", nd.array([[5, 6]]))
    chosen = text.embedding.CompositeEmbedding(text.vocab.Vocabulary(Counter(["a"])), [vectors, vectors])
    np.testing.assert_allclose(chosen.idx_to_vec.asnumpy(), [[9, 9, 9, 9], [5, 6, 5, 6]])
    with pytest.raises(AssertionError, match=r"of shape \(1, 2\)"):
        vectors.update_token_vectors(["a"], nd.array([[5, 6], [7, 8]]))
    with pytest.raises(ValueError, match="unknown"):
        vectors.update_token_vectors("z", nd.array([[5, 6]]))


def test_variational_dropout_has_one_mask_for_all_steps():
    cell = contrib.rnn.VariationalDropoutCell(rnn.RNNCell(8, activation="relu"), drop_outputs=0.5)
    cell.initialize(mx.init.One())
    with autograd.record():
        outputs, _ = cell.unroll(3, nd.ones((1, 3, 4)), merge_outputs=True)
    kept = outputs.asnumpy()[0] != 0
    assert (kept == kept[0]).all()
    outputs, _ = cell.unroll(3, nd.ones((1, 3, 4)), merge_outputs=True)
    assert (outputs.asnumpy() != 0).all()


def test_a_projected_lstm_has_a_smaller_output():
    cell = contrib.rnn.LSTMPCell(4, 2, input_size=3)
    cell.initialize()
    output, (shown, memory) = cell(nd.ones((2, 3)), cell.begin_state(2))
    assert output.shape == shown.shape == (2, 2)
    assert memory.shape == (2, 4)


def test_interval_sampler():
    assert list(contrib.data.IntervalSampler(7, 3)) == [0, 3, 6, 1, 4, 2, 5]
    assert list(contrib.data.IntervalSampler(7, 3, rollover=False)) == [0, 3, 6]
    assert len(contrib.data.IntervalSampler(7, 3, rollover=False)) == 7  # MXNet 1.9.1, recorded


def test_attributes_of_a_scope():
    with mx.AttrScope(ctx_group="a", __foo__="x"):
        weight = mx.sym.var("w", lr_mult=2)
    assert weight.list_attr()["__ctx_group__"] == weight.attr("ctx_group") == "a"
    assert weight.attr("lr_mult") == "2"
    with pytest.raises(ValueError, match="need to be string"):
        mx.AttrScope(ctx_group=1)


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_saved_block_is_loaded_into_another(tmp_path, hybrid):
    def make():
        net = nn.HybridSequential()
        net.add(nn.Dense(3, in_units=2), nn.Dense(2, in_units=3))
        return net

    net, again = make(), make()
    net.initialize()
    if hybrid:
        net.hybridize()
    expected = net(nd.ones((1, 2))).asnumpy()
    net.save(str(tmp_path / "net"))
    again.load(str(tmp_path / "net"))
    np.testing.assert_array_equal(again(nd.ones((1, 2))).asnumpy(), expected)
    with pytest.raises(mx.MXNetError, match=r"other-model.json"):
        again.load(str(tmp_path / "other"))


def test_operators_of_a_graph_can_be_watched():
    layer = nn.Dense(2, in_units=3, activation="relu", prefix="d_")
    layer.initialize()
    layer.hybridize()
    seen = []
    layer.register_op_hook(lambda name, operator, array: seen.append((name, operator, array.shape)))
    layer(nd.ones((1, 3)))
    assert seen == [(b"d_fwd_output", b"FullyConnected", (1, 2)), (b"d_relu_fwd_output", b"Activation", (1, 2))]


def test_top_k_of_one_axis_leaves_the_global_sum():
    """As recorded from MXNet 1.9.1, which compares the order of the scores with the labels."""
    metric = mx.metric.TopKAccuracy(2)
    metric.update([nd.array([0, 1, 2, 3])], [nd.array([0.1, 0.2, 0.3, 0.4])])
    assert metric.get() == ("top_k_accuracy_2", 1.0)
    assert metric.get_global() == ("top_k_accuracy_2", 0.0)


def test_metrics_from_texts():
    assert mx.metric.create('["TopKAccuracy", {"top_k": 3}]').name == "top_k_accuracy_3"
    composite = mx.metric.create('{"metric": "CompositeEvalMetric", "metrics": [{"metric": "Accuracy"}]}')
    assert composite.get()[0] == ["accuracy"]


def test_a_download_is_the_local_file(tmp_path):
    (tmp_path / "x.txt").write_text("here")
    assert gluon.utils.download("http://example.com/x.txt", str(tmp_path)) == str(tmp_path / "x.txt")
    with pytest.raises(NotCoveredError, match="put the file at"):
        gluon.utils.download("http://example.com/y.txt", str(tmp_path))


def test_the_profiler_counts_operators_and_tasks(tmp_path):
    profiler, path = mx.profiler, tmp_path / "record.json"
    with pytest.raises(mx.MXNetError, match="profile_everything"):
        profiler.set_config(profile_everything=True)
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(path))
    domain = profiler.Domain("steps")
    profiler.set_state("run")
    with mx.autograd.pause():
        mx.nd.dot(mx.nd.ones((4, 4)), mx.nd.ones((4, 4)))
    for task in (domain.new_task("task"), domain.new_frame("frame"), profiler.Event("event")):
        task.start()
        task.stop()
    domain.new_marker("mark").mark()
    profiler.pause()
    mx.nd.ones(3).exp()
    counter = domain.new_counter("counter", 3)
    counter += 2
    profiler.set_state("stop")
    found = json.loads(profiler.dumps(format="json"))["Time"]
    assert sorted(found) == ["event", "operator", "steps", "steps,frame", "steps,instant_marker"]
    assert found["steps"]["task"]["Count"] == 1
    counts = {name: row["Count"] for name, row in found["operator"].items()}
    assert counts["aten::full"] == 2
    assert not any("exp" in name for name in counts)
    profiler.dump()
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["name"] for event in events} >= {"task", "frame", "event", "mark", "aten::full"}
    assert "Total Count" in profiler.dumps(reset=True)
    assert "Total Count" not in profiler.dumps()


@pytest.mark.parametrize(
    ("options", "weights", "state"),
    [
        ({}, [[0.967854, 2.321459], [3, 4], [4.686247, 5.917556]], [0.37875, 0, 4]),
        (
            {"clip_gradient": 0.3, "eps": 0.1, "learning_rate": 0.2},
            [[0.930593, 2.41644], [3, 4], [4.613415, 5.770982]],
            [0.13875, 0, 0.225],
        ),
    ],
)
def test_adagrad_with_a_rate_for_each_row(options, weights, state):
    """Numbers recorded from MXNet 1.9.1."""
    rule = mx.optimizer.create("groupadagrad", **{"learning_rate": 0.1, "rescale_grad": 0.5, **options})
    assert isinstance(rule, mx.optimizer.contrib.GroupAdaGrad)
    update, weight = mx.optimizer.get_updater(rule), nd.array([[1, 2], [3, 4], [5, 6]])
    for step in range(3):
        update(0, nd.array([[0.1, -1], [0, 0], [3, step]]), weight)
    np.testing.assert_allclose(weight.asnumpy(), weights, rtol=1e-5)
    np.testing.assert_allclose(update.states[0].asnumpy()[:, 0], state, rtol=1e-6)
    with pytest.raises(AssertionError, match="two axes"):
        rule.create_state(0, nd.ones(3))
    with pytest.raises(AssertionError, match="Weight decay"):
        mx.optimizer.get_updater(mx.optimizer.create("groupadagrad", wd=0.1))(0, weight, weight)
