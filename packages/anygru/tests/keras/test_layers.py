"""keras.layers.GRU and GRUCell compute the results and gradients of Keras's own loop under `anygru.accelerate()`."""

import itertools
import subprocess
import sys

import keras
import numpy as np
import pytest
import torch
from helpers import needs_new_keras

import anygru
from anygru.patching import keras as keras_layers

STEPS, FEATURES = 7, 5
MASK = np.array([[1, 1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 0]], bool)
INPUT = np.random.default_rng(0).standard_normal((3, STEPS, FEATURES)).astype("float32")


def results(layer, **call):
    """Outputs, states, and the gradients of the weights."""
    found = layer(INPUT, **call)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    loss = sum((value * torch.linspace(-1, 1, value.numel()).view_as(value)).sum() for value in found)
    return [value.detach() for value in found] + list(
        torch.autograd.grad(loss, [v.value for v in layer.trainable_variables])
    )


def assert_same_as_keras(layer, monkeypatch, **call):
    """`use_cudnn=False` sends the layer to Keras's generic loop, the reference."""
    expected = results(layer, **call)
    calls = []
    gru = keras_layers.gru
    monkeypatch.setattr(keras_layers, "gru", lambda *a, **k: calls.append(a) or gru(*a, **k))
    with anygru.accelerate():
        found = results(layer, **call)
    assert calls, "the call did not come through anygru"
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


OPTIONS = [
    dict(zip(("reset_after", "go_backwards", "return_sequences", "zero_output_for_mask"), values, strict=True))
    for values in itertools.product((True, False), repeat=4)
]


@pytest.mark.parametrize("mask", [None, MASK, MASK[:, ::-1].copy()], ids=["no mask", "mask", "mirrored mask"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "".join("TF"[not value] for value in options.values()))
def test_options_and_masks(options, mask, monkeypatch):
    layer = keras.layers.GRU(4, return_state=True, use_cudnn=False, bias_initializer="random_normal", **options)
    assert_same_as_keras(layer, monkeypatch, mask=mask)


@pytest.mark.parametrize("reset_after", [True, False])
def test_a_stateful_layer_trains(reset_after):
    """Keras writes the new state over the old one before the backward pass. Truth: Keras's loop with the state given."""

    def gradients(layer, outputs):
        loss = (outputs * torch.linspace(-1, 1, outputs.numel()).view_as(outputs)).sum()
        return torch.autograd.grad(loss, [v.value for v in layer.trainable_variables])

    options = {"reset_after": reset_after, "return_sequences": True, "bias_initializer": "random_normal"}
    layer = keras.layers.GRU(4, stateful=True, **options)
    with anygru.accelerate():
        layer(INPUT)  # leaves a state
        found = gradients(layer, layer(INPUT))
    truth = keras.layers.GRU(4, return_state=True, use_cudnn=False, **options)
    truth.build(INPUT.shape)
    for one, other in zip(truth.trainable_variables, layer.trainable_variables, strict=True):
        one.assign(other.value)
    state = truth(INPUT)[1].detach()
    for one, other in zip(found, gradients(truth, truth(INPUT, initial_state=state)[0]), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_weights_are_never_stale():
    layer = keras.layers.GRU(4, return_sequences=True, use_cudnn=False)
    layer(INPUT)
    changes = [
        lambda value: None,
        lambda value: value.mul_(2),
        lambda value: value.data.add_(0.25),
        lambda value: torch.from_numpy(value.detach().numpy())[0].fill_(0.5),
    ]
    for change in changes:
        with torch.no_grad():
            change(layer.cell.recurrent_kernel.value)
            expected = layer(INPUT)
            with anygru.accelerate():
                for _ in range(2):
                    torch.testing.assert_close(layer(INPUT), expected, rtol=1e-4, atol=1e-5)


def test_second_derivatives():
    layer = keras.layers.GRU(3, use_cudnn=False, bias_initializer="random_normal")
    x = torch.from_numpy(INPUT).requires_grad_()
    layer(x)
    weights = [variable.value for variable in layer.trainable_variables]

    def second():
        (first,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), weights)

    expected = second()
    with anygru.accelerate():
        torch.testing.assert_close(second(), expected, rtol=1e-3, atol=1e-5)


HARD_TANH = pytest.param("hard_tanh", marks=needs_new_keras)


@pytest.mark.parametrize("activation", ["relu", "hard_sigmoid", HARD_TANH, "gelu", "elu", "softsign", "linear"])
def test_activations(activation, monkeypatch):
    layer = keras.layers.GRU(
        4, activation=activation, recurrent_activation="hard_sigmoid", use_cudnn=False, use_bias=False
    )
    assert_same_as_keras(layer, monkeypatch)


def test_bidirectional_stateful_and_initial_state(monkeypatch):
    layer = keras.layers.Bidirectional(keras.layers.GRU(4, return_sequences=True, use_cudnn=False))
    assert_same_as_keras(layer, monkeypatch, mask=MASK)
    state = np.random.default_rng(1).standard_normal((3, 4)).astype("float32")
    assert_same_as_keras(keras.layers.GRU(4, use_cudnn=False), monkeypatch, initial_state=state)
    layer = keras.layers.GRU(4, stateful=True, use_cudnn=False)
    expected = [layer(INPUT), layer(INPUT)]
    layer.reset_states()
    with anygru.accelerate():
        found = [layer(INPUT), layer(INPUT)]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_cells_in_an_rnn_layer():
    layer = keras.layers.RNN([keras.layers.GRUCell(4), keras.layers.GRUCell(6, reset_after=False)])
    expected = results(layer)
    with anygru.accelerate():
        found = results(layer)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_dropout_draws_the_same_masks():
    def trained():
        keras.utils.set_random_seed(1)
        layer = keras.layers.GRU(4, dropout=0.5, seed=3, use_cudnn=False, kernel_initializer="ones")
        return layer(INPUT, training=True)

    expected = trained()
    with anygru.accelerate():
        torch.testing.assert_close(trained(), expected, rtol=1e-4, atol=1e-6)


def test_recurrent_dropout_stays_with_keras_and_the_report_says_so(monkeypatch):
    layer = keras.layers.GRU(4, recurrent_dropout=0.5)
    layer(INPUT)
    assert "recurrent_dropout" in keras_layers.why_not(layer.cell, torch.zeros(1, 2, 3), True)
    monkeypatch.setattr(keras_layers, "gru", None)  # a call would fail
    with anygru.accelerate() as report:
        layer(INPUT, training=True)
        assert "keras.layers.GRU" in str(report)
        assert "recurrent_dropout" in str(report)


def test_training_a_model_gives_the_same_losses():
    def losses():
        keras.utils.set_random_seed(2)
        model = keras.Sequential(
            [
                keras.layers.Masking(0.0),
                keras.layers.GRU(6, return_sequences=True),
                keras.layers.GRU(4),
                keras.layers.Dense(1),
            ]
        )
        model.compile("adam", "mse")
        target = np.random.default_rng(2).standard_normal((3, 1)).astype("float32")
        return [float(loss) for loss in model.fit(INPUT, target, epochs=3, verbose=0).history["loss"]]

    expected = losses()
    with anygru.accelerate():
        assert losses() == pytest.approx(expected, rel=1e-4)


def test_the_end_of_the_block_gives_keras_back_its_methods():
    before = keras.layers.GRU.inner_loop, keras.layers.GRUCell.call
    with anygru.accelerate(), anygru.accelerate():
        assert keras.layers.GRU.inner_loop is not before[0]
    assert (keras.layers.GRU.inner_loop, keras.layers.GRUCell.call) == before


def test_a_keras_model_is_told_the_way():
    model = keras.Sequential([keras.layers.GRU(3)])
    with pytest.raises(TypeError, match=r"Keras Sequential: call anygru.accelerate\(\) without a model"):
        anygru.accelerate(model)

    class OnJax:
        __module__ = "keras.src.models.model"

    with pytest.raises(TypeError, match="on JAX or TensorFlow, where Keras stays as it is"):
        anygru.accelerate(OnJax())


def test_keras_may_be_imported_later(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import anygru\n"
        "anygru.accelerate()\n"
        "import keras\n"
        "from anygru.patching import keras as keras_layers\n"
        "assert keras_layers.is_rerouted()\n"
        "anygru.restore()\n"
        "assert not keras_layers.is_rerouted()\n"
    )
    subprocess.run([sys.executable, str(program)], check=True, timeout=600)
