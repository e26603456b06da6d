"""Rows of weights: stacked rows are separated, permuted rows are restored, and every identity holds in the formula."""

import itertools

import pytest
import torch
from helpers import Case, close

from anygru import gates
from anygru.errors import ArgumentError
from anygru.functional import gru_cell

CASE = Case(T=1, B=3, I=4, H=5)


def test_split_and_stack_are_inverse() -> None:
    weight = torch.arange(18.0).reshape(6, 3)
    reset, update, candidate = gates.split(weight)
    assert reset.data_ptr() == weight.data_ptr()
    assert [part[0, 0].item() for part in (reset, update, candidate)] == [0, 6, 12]
    assert torch.equal(gates.stack((reset, update, candidate)), weight)


@pytest.mark.parametrize("source", ["".join(order) for order in itertools.permutations("rzn")])
def test_reorder_there_and_back(source: str) -> None:
    weight = torch.arange(12.0).reshape(6, 2)
    there = gates.reorder(weight, source)
    assert torch.equal(gates.split(there)["rzn".index("r")], weight[2 * source.index("r") :][:2])
    assert torch.equal(gates.reorder(there, "rzn", source), weight)


def test_negated_update_blends_the_other_way() -> None:
    x, h = CASE.input()[0], CASE.h_0()[0]
    weights = CASE.weights()
    w_ih, w_hh, b_ih, b_hh = weights
    r, z, n = (x @ a.t() + b for a, b in zip(gates.split(w_ih), gates.split(b_ih), strict=True))
    hr, hz, hn = (h @ a.t() + b for a, b in zip(gates.split(w_hh), gates.split(b_hh), strict=True))
    r, z = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
    expected = (1 - z) * h + z * torch.tanh(n + r * hn)
    close(gru_cell(x, h, *map(gates.negate_update, weights)), expected)


@pytest.mark.parametrize("order", ["rz", "zr"])
def test_concatenated_weights(order: str) -> None:
    x, h = CASE.input()[0], CASE.h_0()[0]
    generator = torch.Generator().manual_seed(0)
    gate_weight = torch.randn(9, 10, generator=generator, dtype=torch.float64, requires_grad=True)
    candidate_weight = torch.randn(9, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    gate_bias = torch.randn(10, generator=generator, dtype=torch.float64)
    candidate_bias = torch.randn(5, generator=generator, dtype=torch.float64)
    first, second = torch.sigmoid(torch.cat((x, h), 1) @ gate_weight + gate_bias).chunk(2, 1)
    r, z = (first, second) if order == "rz" else (second, first)
    n = torch.tanh(torch.cat((x, r * h), 1) @ candidate_weight + candidate_bias)
    expected = (1 - z) * n + z * h
    w_ih, w_hh = gates.from_concatenated(gate_weight, candidate_weight, 4, order)
    bias = gates.bias_from_concatenated(gate_bias, candidate_bias, order)
    close(gru_cell(x, h, w_ih, w_hh, bias, torch.zeros_like(bias), reset="before"), expected)
    close(gru_cell(x, h, w_ih, w_hh, gates.fuse_biases(bias / 4, bias * 3 / 4), bias * 0, reset="before"), expected)
    back = gates.to_concatenated(w_ih, w_hh, order)
    assert torch.equal(back[0], gate_weight)
    assert torch.equal(back[1], candidate_weight)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gates.reorder(torch.zeros(6), "rrn"), "source must name each of r, z and n once, got 'rrn'"),
        (lambda: gates.reorder(torch.zeros(6), "rzn", "rz"), "target must name"),
        (lambda: gates.split(torch.zeros(5, 2)), r"weight must have 3\*H rows, got \[5, 2\]"),
        (
            lambda: gates.stack((torch.zeros(2), torch.zeros(3), torch.zeros(2))),
            "parts must be three tensors of one shape",
        ),
        (lambda: gates.from_concatenated(torch.zeros(9, 10), torch.zeros(9, 5), 3), "with I = 3"),
        (lambda: gates.from_concatenated(torch.zeros(9, 10), torch.zeros(9, 5), 4, "zz"), "order must be 'rz' or 'zr'"),
    ],
)
def test_bad_rows(call, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call()
