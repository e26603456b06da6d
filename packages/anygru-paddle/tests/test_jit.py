"""`paddle.jit.save` and `load`: the loaded layer against the layer that was saved, at sizes that were not seen."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from helpers import mostly_slow

import anygru_paddle as paddle
from anygru_paddle import nn
from anygru_paddle.nn import functional as F
from anygru_paddle.static import InputSpec


class Recurrent(nn.Layer):
    def __init__(self, kind, **options):
        super().__init__()
        self.embedding = nn.Embedding(10, 6)
        self.rnn = kind(6, 5, **options)
        self.head = nn.Linear(5 * self.rnn.num_directions, 2)

    def forward(self, words):
        output, last = self.rnn(self.embedding(words))
        return self.head(output[:, -1]), output.mean(axis=1), last


class Convolutional(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2, 2), nn.AdaptiveAvgPool2D(2)
        )
        self.head = nn.Linear(16, 5)

    def forward(self, images):
        return F.softmax(self.head(paddle.flatten(self.features(images), 1)))


class Shapes(nn.Layer):
    """Reads lengths, indexes, and makes tensors of the lengths that it read."""

    def forward(self, x):
        batch, steps, wide = x.shape
        scores = F.softmax(paddle.matmul(x, x.transpose([0, 2, 1])) / wide**0.5 + x.shape[0], axis=-1)
        scores = paddle.where(scores > 0.1, scores, paddle.zeros_like(scores))
        longer = paddle.concat([x, paddle.ones([batch, 1, wide])], axis=1)
        turned = longer.transpose([0, 2, 1]).reshape([batch * wide, -1]).unsqueeze(1)
        backwards = x[:, ::-1] * paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
        return (
            scores,
            turned,
            backwards,
            x[:, : steps - 1],
            paddle.argmax(x, axis=-1),
            x.expand([2, *x.shape]),
            x.size * x,
        )


class Cell(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 6)

    def forward(self, x):
        state = paddle.zeros([x.shape[0], 6])
        for step in range(x.shape[1]):
            _, state = self.cell(x[:, step], state)
        return state


def _flat(value):
    return [value] if isinstance(value, torch.Tensor) else [leaf for each in value for leaf in _flat(each)]


def _same(found, expected):
    for ours, theirs in zip(_flat(found), _flat(expected), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


LAYERS = {
    "gru": (lambda: Recurrent(nn.GRU, direction="bidirect", num_layers=2), [None, None], "int64"),
    "lstm": (lambda: Recurrent(nn.LSTM), [None, None], "int64"),
    "images of any size": (Convolutional, [None, 3, None, None], "float32"),
    "shapes": (Shapes, [None, 6, 4], "float32"),
    "cell": (Cell, [None, 5, 4], "float32"),
    "simple rnn": (lambda: Recurrent(nn.SimpleRNN), [None, 12], "int64"),
    "transformer": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1), [None, None, 8], "float32"),
}


@pytest.mark.parametrize("case", mostly_slow(LAYERS, 3))
def test_a_loaded_layer_computes_what_the_layer_did(case, tmp_path):
    make, shape, dtype = LAYERS[case]
    layer = make()
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "net"), [InputSpec(shape, dtype, "x")])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    assert not loaded.training
    for batch, other in ((1, 9), (7, 12)):
        lengths = [batch if axis == 0 and each is None else each or other for axis, each in enumerate(shape)]
        x = paddle.randint(0, 9, lengths) if dtype == "int64" else paddle.randn(lengths)
        found = loaded(x)
        _same(found, layer(x))
        assert all(each.stop_gradient for each in _flat(found))  # in evaluation, as Paddle 2.6.2 (recorded)


def test_train_of_a_layer_saved_in_evaluation(tmp_path):
    """Paddle 2.6.2 (recorded): the newer BatchNorm stays in evaluation, the older one and dropout train."""
    layer = nn.Sequential(nn.BatchNorm1D(3), nn.BatchNorm(3), nn.Dropout(0.5))
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "net"), [InputSpec([None, 3])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    loaded.train()
    found = loaded(paddle.arange(120.0).reshape([40, 3]))
    newer, older = (getattr(loaded, own) for name, own in loaded._persistable_var_name_dict.items() if "w_1" in name)
    assert float(newer.abs().sum()) == 0
    assert float(older.min()) > 5
    assert 0 < (found.numpy() == 0).sum() < 120


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_a_loaded_recurrent_layer_has_the_layers_gradients(kind, tmp_path):
    layer = kind(3, 4, num_layers=2, direction="bidirectional")
    paddle.jit.save(layer, str(tmp_path / "net"), [InputSpec([None, None, 3])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    assert list(loaded.state_dict()) == [f"param_{number}" for number in range(16)]  # recorded, 2.6.2
    x = paddle.randn([2, 5, 3])
    for net in (layer, loaded):
        net.train()
        (net(x)[0] ** 2).sum().backward()
    expected = {each.name: each.grad.numpy() for each in layer.parameters()}
    for name, own in loaded._persistable_var_name_dict.items():
        if name in expected:
            np.testing.assert_allclose(getattr(loaded, own).grad.numpy(), expected.pop(name), rtol=1e-4, atol=1e-6)
    assert not expected


@pytest.mark.filterwarnings("ignore:When training, we now always track")
def test_a_loaded_layer_trains_as_the_layer_does(tmp_path):
    layer = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1D(6), nn.Tanh(), nn.Linear(6, 1))
    paddle.jit.save(layer, str(tmp_path / "net"), [InputSpec([None, 4])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    assert list(loaded.state_dict()) == [f"param_{number}" for number in range(8)]  # recorded, 2.6.2
    losses = []
    for net in (layer, loaded):
        net.train()
        paddle.seed(3)
        optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
        losses.append([])
        for _ in range(5):
            x = paddle.randn([8, 4])
            loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses[-1].append(float(loss))
        net.eval()
        losses[-1].append(float(net(x).sum()))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert losses[0][-2] < losses[0][0]


def test_dropout_acts_in_training_only(tmp_path):
    paddle.jit.save(nn.Dropout(0.5), str(tmp_path / "net"), [InputSpec([None, 1000])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    x = paddle.ones([3, 1000])
    assert (loaded(x) == x).all()
    loaded.train()
    first, second = loaded(x).numpy(), loaded(x).numpy()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert 0.4 < (first == 0).mean() < 0.6
    assert (first != second).any()


def test_another_process_needs_no_class(tmp_path):
    net = Cell()
    x = paddle.randn([3, 5, 4])
    paddle.jit.save(net, str(tmp_path / "net"), [InputSpec([None, 5, 4])])
    code = (
        "import sys, numpy, anygru_paddle as paddle; loaded = paddle.jit.load(sys.argv[1])\n"
        "numpy.save(sys.argv[1], loaded(paddle.to_tensor(numpy.load(sys.argv[2]))).numpy())"
    )
    np.save(tmp_path / "x.npy", x.numpy())
    subprocess.run([sys.executable, "-c", code, tmp_path / "net", tmp_path / "x.npy"], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "net.npy"), net(x).numpy(), rtol=1e-5, atol=1e-6)


def test_to_static_remembers_the_inputs(tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 2)

        @paddle.jit.to_static
        def forward(self, x):
            return self.linear(x)

    net, other = Net(), paddle.jit.to_static(nn.Linear(4, 2), input_spec=[InputSpec([None, 4])])
    with pytest.raises(ValueError, match="No valid transformed program"):
        paddle.jit.save(net, str(tmp_path / "net"))
    net(paddle.ones([16, 4]))
    function = paddle.jit.to_static(lambda x: paddle.tanh(x))
    function(paddle.ones([3, 6]))
    for each, lengths in ((net, [1, 4]), (other, [5, 4]), (function, [2, 6])):
        paddle.jit.save(each, str(tmp_path / "net"))
        x = paddle.randn(lengths)
        _same(paddle.jit.load(str(tmp_path / "net"))(x), each(x))


class Branches(nn.Layer):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


class ReadsValues(nn.Layer):
    def forward(self, x):
        return paddle.to_tensor(x.numpy() * 2)


class Draws(nn.Layer):
    def forward(self, x):
        return x + paddle.randn([4])


@pytest.mark.parametrize("kind", [Branches, ReadsValues, Draws])
def test_what_no_program_can_hold_is_refused(kind, tmp_path):
    with pytest.raises(NotImplementedError, match=r"paddle\.jit\.save.*state_dict"):
        paddle.jit.save(kind(), str(tmp_path / "net"), [InputSpec([3, 4])])
    assert not list(tmp_path.iterdir())


def test_a_length_that_the_layer_fixes_cannot_be_open(tmp_path):
    with pytest.raises(ValueError, match="axis 1 of input 0 is None"):
        paddle.jit.save(Cell(), str(tmp_path / "net"), [InputSpec([2, None, 4])])


def test_gradients_of_a_layers_own_are_not_saved(tmp_path):
    class Frozen(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 2)

        def forward(self, x):
            with paddle.no_grad():
                return self.linear(x)

    net, x = Frozen(), paddle.ones([2, 4])
    paddle.jit.save(net, str(tmp_path / "net"), [x])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    _same(loaded(x), net(x))
    loaded.train()
    with pytest.raises(NotImplementedError, match="no_grad"):
        loaded(x)


def test_inputs_that_do_not_fit_and_files_of_paddles_own(tmp_path):
    paddle.jit.save(nn.Linear(4, 2), str(tmp_path / "net"), [InputSpec([None, 4])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    for wrong in ([], [paddle.ones([2, 5])], [paddle.ones([2, 4], "float64")], [paddle.ones([2, 4])] * 2):
        with pytest.raises(ValueError, match="the saved layer takes"):
            loaded(*wrong)
    (tmp_path / "other.pdmodel").write_bytes(b"\x0a\x02\x10\x01")
    with pytest.raises(NotImplementedError, match="no program that anygru wrote"):
        paddle.jit.load(str(tmp_path / "other"))
    torch.save({"a": torch.ones(2)}, tmp_path / "other.pdmodel")  # an archive, of torch's
    with pytest.raises(NotImplementedError, match="no program that anygru wrote"):
        paddle.jit.load(str(tmp_path / "other"))
    with zipfile.ZipFile(tmp_path / "other.pdmodel", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("anygru.json", " " * (17 << 20))
    with pytest.raises(ValueError, match="or damaged"):
        paddle.jit.load(str(tmp_path / "other"))
    with pytest.raises(ValueError, match="not exists"):
        paddle.jit.load(str(tmp_path / "nothing"))
    with zipfile.ZipFile(tmp_path / "net.pdmodel") as archive:
        assert b"anygru's own file" in archive.read("anygru.json")


def test_a_predictor_runs_the_program_that_save_wrote(tmp_path):
    """The calls and names of Paddle 2.6.2 (recorded)."""
    paddle.seed(3)
    layer = nn.Sequential(nn.Embedding(7, 3), nn.GRU(3, 4))
    layer.eval()
    path = str(tmp_path / "net")
    paddle.jit.save(layer, path, input_spec=[InputSpec([None, 5], "int64", name="words")])
    config = paddle.inference.Config(f"{path}.pdmodel", f"{path}.pdiparams")
    config.disable_glog_info()
    config.enable_memory_optim()
    predictor = paddle.inference.create_predictor(config)
    assert predictor.get_input_names() == ["words"]
    words = np.arange(10).reshape(2, 5) % 7
    handle = predictor.get_input_handle("words")
    with pytest.raises(RuntimeError, match="has no values"):
        predictor.run()
    handle.reshape([2, 5])
    handle.copy_from_cpu(words)
    assert predictor.run() is True
    names = predictor.get_output_names()
    assert names[0] == "save_infer_model/scale_0.tmp_0"
    expected, state = layer(paddle.to_tensor(words))
    for name, value in zip(names, (expected, state), strict=True):
        output = predictor.get_output_handle(name)
        assert output.shape() == value.shape
        np.testing.assert_allclose(output.copy_to_cpu(), value.numpy(), rtol=1e-6, atol=1e-7)
    assert [type(each) for each in predictor.run([paddle.to_tensor(words)])] == [paddle.Tensor] * 2
    with pytest.raises(RuntimeError, match="y is not found"):
        predictor.get_input_handle("y")
    with pytest.raises(TypeError, match="numpy ndarray"):
        handle.copy_from_cpu([[1, 2]])
    with pytest.raises(RuntimeError, match="Cannot open file"):
        paddle.inference.create_predictor(paddle.inference.Config(str(tmp_path / "none")))
    with pytest.raises(NotImplementedError, match="enable_tensorrt_engine"):
        config.enable_tensorrt_engine(workspace_size=1)


def test_save_names_inputs_and_parameters(tmp_path):
    """As in Paddle 2.6.2 (recorded): the argument's name, and the last name of each parameter in the layer."""
    layer = nn.GRU(3, 4)
    paddle.jit.save(layer, str(tmp_path / "net"), input_spec=[InputSpec([None, 5, 3])])
    facts = paddle.load(str(tmp_path / "net.pdiparams.info"))
    names = {each["structured_name"] for each in facts.values()}
    assert names == {f"0.cell.{part}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    assert set(facts) == {each.name for each in layer.parameters()}
    loaded = paddle.jit.load(str(tmp_path / "net"))
    assert loaded._input_spec()[0].name == "inputs"


class _PartlyUsed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.unused, self.fc, self.trained = nn.Linear(2, 2), nn.Linear(3, 2), nn.Linear(2, 2)
        self.register_buffer("idle", paddle.zeros([1]))
        self.register_buffer("scale", paddle.ones([2]))

    def forward(self, x):
        y = self.fc(x) * self.scale
        return self.trained(y) if self.training else y


def test_a_loaded_layer_has_the_weights_that_its_programs_read(tmp_path):
    """Paddle 2.6.2 (recorded) also drops the weights that only training reads; the .info file describes all weights."""
    layer = _PartlyUsed()
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "net"), [InputSpec([None, 3])])
    loaded, x = paddle.jit.load(str(tmp_path / "net")), paddle.ones([4, 3])
    assert sorted(loaded.state_dict()) == ["buffer_0", *(f"param_{place}" for place in range(4))]
    _same(loaded(x), layer(x))
    layer.train()
    loaded.train()
    _same(loaded(x), layer(x))
    assert len(paddle.load(str(tmp_path / "net.pdiparams.info"))) == 8
