"""Extensions that change a hyperparameter, against recorded answers of Chainer 7.8.1."""

import types

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.links as L
from anygru_chainer.training import extensions


@pytest.mark.parametrize(
    ("shift", "rates"),  # Chainer 7.8.1 gives these numbers
    [
        (("MultistepShift", "lr", 0.5, [1, 1, 3], 0.8), [0.8, 0.4, 0.2, 0.1, 0.1]),
        (("MultistepShift", "lr", 0.5, [0, 3], 0.8), [0.8, 0.4, 0.4, 0.2, 0.2]),
        (("WarmupShift", "lr", None, 2, 0.5), [1.0, 0.75, 0.5, 0.5, 0.5]),
        (("WarmupShift", "lr", 0.1, 0, 0.5), [0.1, 0.1, 0.1, 0.1, 0.1]),
        (("StepShift", "lr", 2.0, 1, 1, 0.5), [1.0, 0.5, 0.5, 0.5, 0.5]),
        (("StepShift", "lr", 2.0, 1, None, 0), [1.0, 0.0, 0.0, 0.0, 0.0]),
        (("PolynomialShift", "lr", 1.0, 5, None, 0), [1.0, 0.8, 0.6, 0.4, 0.2]),
        (("PolynomialShift", "lr", 1.0, 5, None, -2.0), [1.0, 0.8, 0.6, 0.4, 0.2]),
        (("LinearShift", "lr", (1.0, 0.0), (4, 2)), [1.0, 1.0, 1.0, 1.0, 1.0]),
        (("StepShift", "lr", -0.5, 2, 1.0), [1.0, 1.0, -0.5, -0.5, 0.25]),
    ],
)
def test_a_shift_goes_as_far_as_chainers(shift, rates):
    optimizer = chainer.optimizers.SGD(1.0).setup(L.Linear(1, 1))
    trainer = types.SimpleNamespace(updater=types.SimpleNamespace(get_optimizer=lambda name: optimizer))
    extension = getattr(extensions, shift[0])(*shift[1:])
    extension.initialize(trainer)
    found = [optimizer.lr]
    for _ in rates[1:]:
        extension(trainer)
        found.append(optimizer.lr)
    np.testing.assert_allclose(found, rates, rtol=1e-6)
    kept = chainer.serializers.DictionarySerializer()
    extension.serialize(kept)
    last = {"MultistepShift": {"_current_step"}, "WarmupShift": set()}.get(shift[0], {"_last_value"})
    assert set(kept.target) == {"_t"} | last  # a snapshot of Chainer's is resumed here, and the other way round


def test_a_shift_that_keeps_no_value_begins_again_in_the_next_training():
    """As in Chainer 7.8.1 (recorded); a LinearShift also makes an attribute that is not there yet."""
    optimizer = chainer.optimizers.SGD(1.0).setup(L.Linear(1, 1))
    trainer = types.SimpleNamespace(updater=types.SimpleNamespace(get_optimizer=lambda name: optimizer))
    for extension in (extensions.WarmupShift("lr", 0.1, 2, 1.0), extensions.MultistepShift("lr", 0.5, [1], 0.1)):
        extension.initialize(trainer)
        extension(trainer)
        extension.initialize(trainer)
        assert optimizer.lr == 0.1
    extensions.LinearShift("threshold", (1.0, 2.0), (0, 2)).initialize(trainer)
    assert optimizer.threshold == 1.0
