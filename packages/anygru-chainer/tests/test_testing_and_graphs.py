"""`chainer.testing` and `chainer.computational_graph`."""

import io
import sys
import unittest

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
from anygru_chainer import testing

RUNS = []


@testing.parameterize(*testing.product({"size": [1, 2], "kind": ["a"]}))
@testing.parameterize({"even": True}, {"even": False})
class TestOfParameters(unittest.TestCase):
    def test_it(self):
        RUNS.append((self.size, self.kind, self.even))


class TestOfChance:
    attempts = 0

    def setUp(self):
        self.attempts += 1

    @testing.condition.retry(3)
    def test_it(self):
        assert self.attempts == 2


def test_every_combination_of_parameters_runs(request):
    """Run by unittest; pytest only collects them, as it may run each in another process."""
    RUNS.clear()
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromModule(sys.modules[__name__]).run(result)
    assert (result.testsRun, result.errors, result.failures) == (4, [], [])
    assert sorted(RUNS) == [(1, "a", False), (1, "a", True), (2, "a", False), (2, "a", True)]
    found = [child.name for child in request.node.getparent(pytest.Module).collect()]
    assert sum(name.startswith("TestOfParameters_param_") for name in found) == 4


def test_a_failure_of_every_attempt_is_a_failure():
    @testing.condition.retry(2)
    def fails(self):
        raise ValueError("always")

    with pytest.raises(AssertionError, match="Fail: 2, Success: 0"):
        fails(None)


def test_names_joined_by_commas_vary_together():
    assert testing.product({"a,b": [(1, 2), (3, 4)], "c": [5]}) == [{"a": 1, "b": 2, "c": 5}, {"a": 3, "b": 4, "c": 5}]


def test_a_graph_is_drawn():
    x = chainer.Variable(np.zeros((2, 3), "f"), name="x")
    y = F.tanh(F.exp(x))
    graph = chainer.computational_graph.build_computational_graph([y])
    assert (len(graph.nodes), len(graph.edges)) == (5, 4)
    text = graph.dump()
    assert text.startswith("digraph graphname{rankdir=TB;")
    assert 'label="x: (2, 3), float32",shape="octagon"' in text
    assert f"{id(y.creator_node)} -> {id(y.node)};" in text
    functions = chainer.computational_graph.build_computational_graph([y], remove_variable=True).dump()
    assert "float32" not in functions
    assert functions.count("->") == 1
    with pytest.raises(ValueError, match="rankdir"):
        chainer.computational_graph.build_computational_graph([y], rankdir="XX")


def test_a_table_of_probabilities_draws_what_chainer_drew():
    sampler = chainer.utils.WalkerAlias([0.1, 0.4, 0.3, 0.2])
    np.random.seed(0)
    np.testing.assert_array_equal(sampler.sample((8,)), RECORDED_DRAWS)


RECORDED_DRAWS = [2, 1, 2, 2, 3, 2, 3, 1]  # chainer.utils.WalkerAlias of Chainer 7.8.1, seed 0


def test_a_function_among_the_parameters_is_no_method():
    @testing.parameterize({"double": lambda x: 2 * x})
    class Case:
        pass

    (variant,) = Case._variants
    assert variant().double(3) == 6


@pytest.mark.parametrize(
    ("requirement", "runs"), [("chainer>=5.0.0", True), ("chainer>=8", False), ("numpy>=1.10", True), ("none", False)]
)
def test_a_test_that_requires_a_release_of_chainer_has_it(requirement, runs):
    @testing.with_requires(requirement)
    def test():
        return True

    if runs:
        assert test()
    else:
        with pytest.raises(unittest.SkipTest, match=f"requires: {requirement}"):
            test()


def test_a_print_hook_shows_the_gradient_of_a_number():
    shown = io.StringIO()
    x = chainer.Variable(np.ones(2, "f"))
    with chainer.function_hooks.PrintHook(file=shown):
        F.sum(x).backward()
    lines = shown.getvalue().splitlines()
    assert lines[0] == lines[9] == "function\tSum"
    # Chainer 7.8.1 prints the gradient of a Variable of zeros, too (read).
    assert lines[lines.index("output gradient") + 6 :] == [
        "- statistics: mean=0.00000000, std=0.00000000",
        "- grad: mean=1.00000000, std=0.00000000",
    ]
