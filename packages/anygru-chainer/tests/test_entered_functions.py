"""The number of functions that a line of a program enters: the cost of unused hooks, graphs and checks."""

import collections
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import anygru
import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L

HERE, CORE = (str(Path(module.__file__).parent) for module in (chainer, anygru))


def entered(line, below=(HERE,)):
    """The Python functions in files below some folders that a line enters, with how often."""
    counts = collections.Counter()

    def see(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(below):
            counts[frame.f_code.co_filename, frame.f_code.co_name] += 1

    line()  # the first call initializes, and does not count
    before = sys.getprofile()
    sys.setprofile(see)
    try:
        line()
    finally:
        sys.setprofile(before)
    return counts


def make(link, *arguments):
    np.random.seed(0)
    return link(*arguments), [np.random.randn(length, 3).astype(np.float32) for length in (3, 2)]


@pytest.mark.parametrize(
    ("link", "states", "most", "in_all"), [(L.NStepGRU, 1, 22, 65), (L.NStepBiGRU, 1, 22, 80), (L.NStepLSTM, 2, 25, 80)]
)
def test_a_call_over_sequences_enters_few_functions(link, states, most, in_all):
    layer, xs = make(link, 1, 3, 4, 0.0)
    counts = entered(lambda: layer(*[None] * states, xs))
    assert len(counts) <= most, counts
    assert counts.total() <= in_all, counts


@pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")
def test_a_call_over_sequences_enters_few_functions_in_all():
    """Of this package (18) and of the core (54, of which 3 refuse DTensors, and one asks whether memory comes from the pool)."""
    layer, xs = make(L.NStepGRU, 1, 3, 4, 0.0)
    counts = entered(lambda: layer(None, xs), below=(HERE, CORE))
    assert len(counts) <= 72, counts
    assert counts.total() <= 140, counts


@pytest.mark.parametrize(("link", "most"), [(L.StatefulGRU, 32), (L.LSTM, 32)])
def test_a_step_enters_few_functions(link, most):
    cell, (x, _) = make(link, 3, 4)
    cell(x)
    counts = entered(lambda: cell(x))
    assert len(counts) <= most, counts


def test_hooks_are_looked_for_and_cost_nothing_more():
    def line():
        return F.relu(np.ones(2, np.float32))

    without = entered(line).total()
    with chainer.function_hooks.TimerHook():
        assert entered(line).total() > without
    assert entered(line).total() == without


def test_a_gradient_does_not_pass_through_torch_s_checks(monkeypatch):
    """They import sympy at the first call, which takes a second of each process."""
    monkeypatch.setattr(torch.autograd, "grad", None)
    x = chainer.Variable(np.array([0.5, 2], "f"))
    (gx,) = chainer.grad([F.exp(x)], [x], enable_double_backprop=True)
    F.sum(gx).backward()
    np.testing.assert_allclose(x.grad, np.exp(x.array), rtol=1e-6)
