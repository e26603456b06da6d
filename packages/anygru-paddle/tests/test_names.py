"""The errors of refused names."""

import importlib
import sys

import pytest

import anygru_paddle as paddle
from anygru.dialects.finder import DialectFinder
from anygru_paddle import fluid


def test_a_refusal_names_the_torch_way():
    with pytest.raises(NotImplementedError, match=r"paddle\.optimizer\.LBFGS is not covered.*torch\.optim\.LBFGS"):
        paddle.optimizer.LBFGS()


def test_torchs_own_meaning_of_a_paddle_method_is_refused():
    with pytest.raises(AttributeError, match="not covered"):
        _ = paddle.ones([2, 2]).stft


def test_a_name_is_found_at_the_paths_that_paddle_has_it_at():
    """Paddle 2.6.2's own modules; where the dialect defines the name is another matter."""
    from anygru_paddle.nn.functional.common import interpolate
    from anygru_paddle.nn.layer import Linear
    from anygru_paddle.nn.layer.common import Fold
    from anygru_paddle.nn.layer.norm import SyncBatchNorm
    from anygru_paddle.tensor.math import log

    assert (interpolate, Linear, Fold) == (paddle.nn.functional.interpolate, paddle.nn.Linear, paddle.nn.Fold)
    assert log is paddle.log
    assert not isinstance(Linear(1, 1), SyncBatchNorm)
    assert not hasattr(paddle.nn.layer.common, "Frobnicate")
    assert isinstance(paddle.ones([1]), paddle.base.core.eager.Tensor)


@pytest.mark.parametrize(
    "name", ["_C_ops", "base.layer_helper_base.LayerHelperBase", "distributed.fleet.meta_optimizers.DGC"]
)
def test_what_is_only_imported_never_stops_a_program(name):
    found = paddle
    for part in name.split("."):
        found = getattr(found, part)
    with pytest.raises(NotImplementedError, match="not covered"):
        (found.matmul if name == "_C_ops" else found)()


def test_structures_are_flattened_and_packed():
    """As in Paddle 2.6.2 (recorded)."""
    from anygru_paddle.utils import layers_utils

    nest = [1, (2, {"z": 3, "a": [4]})]
    assert layers_utils.flatten(nest) == [1, 2, 4, 3]
    assert layers_utils.pack_sequence_as(nest, list("abcd")) == ["a", ("b", {"z": "d", "a": ["c"]})]
    assert paddle.fluid.layers.utils.map_structure(lambda a, b: a + b, nest, nest) == [2, (4, {"z": 6, "a": [8]})]
    with pytest.raises(ValueError, match="Structure had 4 elements"):
        layers_utils.pack_sequence_as(nest, [1])
    with pytest.raises(TypeError, match="sequence type"):
        layers_utils.assert_same_structure([1], (1,))


@pytest.mark.parametrize("name", ["device.cuda.graphs", "distributed.fleet.layers.mpu.mp_ops", "fluid.data_feed_desc"])
def test_internal_modules_can_be_imported(name, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [DialectFinder(), *sys.meta_path])
    known = set(sys.modules)
    try:
        found = importlib.import_module(f"paddle.{name}")
        with pytest.raises(NotImplementedError, match="not covered"):
            found.Anything()
    finally:
        for each in [each for each in set(sys.modules) - known if each.partition(".")[0] == "paddle"]:
            del sys.modules[each]


def test_a_module_does_not_hide_the_function_of_its_name():
    """`paddle.amp.auto_cast` and `paddle.fluid.layers.loss` are modules of Paddle; their contents are in other modules here."""
    from anygru_paddle.amp.auto_cast import amp_guard, auto_cast

    from anygru_paddle.fluid.layers.loss import cross_entropy, sampled_softmax_with_cross_entropy

    assert auto_cast is paddle.amp.auto_cast
    assert cross_entropy is paddle.fluid.layers.cross_entropy
    for refused in (amp_guard, sampled_softmax_with_cross_entropy):
        with pytest.raises(NotImplementedError, match="not covered"):
            refused()


def test_a_path_that_is_a_refused_name_too_can_be_imported(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [DialectFinder(), *sys.meta_path])
    known = set(sys.modules)
    try:
        found = importlib.import_module("paddle.fluid.layers.rnn")
        assert found.dynamic_decode is paddle.fluid.layers.dynamic_decode
        assert isinstance(found.rnn, type)
        assert not isinstance(1, found.rnn)
    finally:
        for each in [each for each in set(sys.modules) - known if each.partition(".")[0] == "paddle"]:
            del sys.modules[each]


@pytest.mark.parametrize(
    "statement",
    [
        "paddle.enable_static()",
        "paddle.static.data('x', [None, 4], 'float32')",
        "paddle.static.Executor(paddle.CPUPlace())",
        "fluid.data('x', [None, 4])",
        "fluid.layers.data('x', [4])",
        "fluid.Executor(fluid.CPUPlace())",
        "fluid.program_guard(None)",
        "fluid.Program()",
        "fluid.default_main_program().global_block()",
        "fluid.io.load_inference_model('folder', None)",
        "fluid.layers.fc(None, 3)",
        "fluid.layers.dynamic_gru(None, 4)",
        "fluid.layers.DynamicRNN()",
        "fluid.disable_dygraph()",
        "paddle.base.Executor()",
        "paddle.base.framework.program_guard()",
    ],
)
def test_the_first_error_of_a_static_graph_names_the_way(statement: str) -> None:
    with pytest.raises(NotImplementedError, match=r"static graphs do not run here.*paddle\.nn\.Layer.*anygru convert"):
        exec(statement, {"paddle": paddle, "fluid": fluid})
