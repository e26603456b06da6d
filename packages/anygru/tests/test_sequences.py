"""A ragged batch equals each of its sequences alone: in any form, in any order, with gradients."""

import pytest
import torch
from helpers import Case, all_close, close
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_sequence

from anygru.facts import torch_private
from anygru.functional import gru

CASE = Case(I=3, H=4, L=2, bidirectional=True)
WEIGHTS = CASE.weights()
relaxed = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def run(input, h_0=None, **options):
    return gru(input, h_0, WEIGHTS, bidirectional=True, **options)


def batch(lengths: list[int]) -> tuple[list[torch.Tensor], torch.Tensor]:
    generator = torch.Generator().manual_seed(sum(lengths))
    sequences = [torch.randn(length, 3, generator=generator, dtype=torch.float64) for length in lengths]
    return sequences, torch.randn(4, len(lengths), 4, generator=generator, dtype=torch.float64)


def alone(sequences, h_0):
    results = [run(sequence, h_0[:, b]) for b, sequence in enumerate(sequences)]
    return [output for output, _ in results], torch.stack([h_n for _, h_n in results], 1)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=7))
@relaxed
def test_list(lengths: list[int]) -> None:
    sequences, h_0 = batch(lengths)
    outputs, h_n = run(sequences, h_0)
    expected, expected_h = alone(sequences, h_0)
    assert isinstance(outputs, list)
    all_close(outputs, expected)
    close(h_n, expected_h)


@given(st.lists(st.integers(0, 6), min_size=0, max_size=6), st.integers(0, 3), st.booleans())
@relaxed
def test_padded_with_lengths(lengths: list[int], extra: int, batch_first: bool) -> None:
    sequences, h_0 = batch(lengths)
    steps = max(lengths, default=0) + extra
    padded = torch.full((steps, len(lengths), 3), float("nan"), dtype=torch.float64)  # padding is never read
    for b, sequence in enumerate(sequences):
        padded[: len(sequence), b] = sequence
    padded = padded.transpose(0, 1) if batch_first else padded
    output, h_n = run(padded, h_0, lengths=lengths, batch_first=batch_first)
    assert output.shape == (*padded.shape[:2], 8)
    output = output.transpose(0, 1) if batch_first else output
    if lengths:
        expected, expected_h = alone(sequences, h_0)
        for b, single in enumerate(expected):
            close(output[: len(single), b], single)
            assert not output[len(single) :, b].any()
        close(h_n, expected_h)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.booleans())
@relaxed
def test_packed_sorted_or_not(lengths: list[int], is_sorted: bool) -> None:
    sequences, h_0 = batch(sorted(lengths, reverse=True) if is_sorted else lengths)
    packed = pack_sequence(sequences, enforce_sorted=is_sorted)
    output, h_n = run(packed, h_0)
    assert isinstance(output, PackedSequence)
    assert output.batch_sizes is packed.batch_sizes
    expected, expected_h = alone(sequences, h_0)
    close(output.data, pack_sequence(expected, enforce_sorted=is_sorted).data)
    close(h_n, expected_h)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
@relaxed
def test_nested_jagged(lengths: list[int]) -> None:
    sequences, h_0 = batch(lengths)
    nested = torch.nested.nested_tensor(sequences, layout=torch.jagged)
    output, h_n = run(nested, h_0)
    assert output.is_nested
    assert output.offsets() is nested.offsets()  # so that it can be added to, or compared with, its input
    expected, expected_h = alone(sequences, h_0)
    all_close(output.unbind(), expected)
    close(h_n, expected_h)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_strided_and_tuple_keep_their_form() -> None:
    sequences, h_0 = batch([2, 4])
    expected, _ = alone(sequences, h_0)
    output, _ = run(torch.nested.nested_tensor(sequences), h_0)
    assert output.layout is torch.strided
    close(output.unbind()[1], expected[1])
    output, _ = run(tuple(sequences), h_0)
    assert isinstance(output, tuple)


def test_order_does_not_matter() -> None:
    sequences, h_0 = batch([3, 0, 5, 1, 5])
    outputs, h_n = run(sequences, h_0)
    order = [4, 1, 0, 3, 2]
    shuffled, shuffled_h = run([sequences[b] for b in order], h_0[:, order])
    for position, b in enumerate(order):
        close(shuffled[position], outputs[b])
    close(shuffled_h, h_n[:, order])


@pytest.mark.parametrize("form", ["list", "padded", "packed", "nested"])
def test_gradients_of_every_form_equal_those_of_each_alone(form: str) -> None:
    if form == "nested" and not torch_private.at_least(2, 6):
        pytest.skip("torch 2.4 cannot differentiate unbinding a nested tensor")
    lengths = [3, 5, 1, 5]
    sequences, h_0 = batch(lengths)
    found = []
    for together in (True, False):
        leaves = [sequence.clone().requires_grad_() for sequence in sequences]
        state = h_0.clone().requires_grad_()
        if not together:
            outputs, h_n = alone(leaves, state)
        elif form == "list":
            outputs, h_n = run(leaves, state)
        elif form == "padded":
            padded, h_n = run(pad_sequence(leaves), state, lengths=torch.tensor(lengths))
            outputs = [padded[:length, b] for b, length in enumerate(lengths)]
        elif form == "packed":
            packed, h_n = run(pack_sequence(leaves, enforce_sorted=False), state)
            outputs = torch.nn.utils.rnn.unpack_sequence(packed)
        else:
            nested, h_n = run(torch.nested.as_nested_tensor(leaves, layout=torch.jagged), state)
            outputs = nested.unbind()
        loss = sum((output * (b + 1)).sin().sum() for b, output in enumerate(outputs)) + h_n.square().sum()
        found.append(torch.autograd.grad(loss, [*leaves, state, *WEIGHTS]))
    all_close(*found)


def test_no_step_is_computed_for_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    from anygru.backends import reference

    rows = []
    step = reference._step_after
    monkeypatch.setattr(reference, "_step_after", lambda *args: rows.append(len(args[1])) or step(*args))
    sequences, _ = batch([3, 0, 5, 1])
    gru(sequences, None, WEIGHTS, bidirectional=True, backend="reference")
    assert sum(rows) == 4 * (3 + 5 + 1)  # two layers, two directions


PACKED = torch.zeros(6, 3, dtype=torch.float64)


@pytest.mark.parametrize(
    ("data", "batch_sizes", "order", "words"),
    [
        (PACKED, [1, 5], None, r"batch_sizes must be at least 0 and never increase, got \[1, 5\]"),
        (PACKED, [7, -1], None, r"batch_sizes must be at least 0 and never increase, got \[7, -1\]"),
        (PACKED, [2, 1], None, "batch_sizes must add up to the 6 rows of its data, got 3"),
        (PACKED, [4, 4], None, "batch_sizes must add up to the 6 rows of its data, got 8"),
        (PACKED, [2**40] * 2, None, "batch_sizes must add up to the 6 rows of its data, got 2199023255552"),
        (PACKED, [1] * 9, None, "add up to the 6 rows of its data, got 9"),
        (PACKED, [*range(6)], None, r"never increase, got \[0, 1, 2, 3, 4, 5\]"),
        (PACKED[0], [3], None, r"data must be \[N, I\], got \[3\]"),
        (PACKED, [3, 3], [0, 1], r"sorted_indices must hold each of the 3 sequences once, got \[0, 1\]"),
        (PACKED, [3, 3], [0, 1, 1], r"sorted_indices must hold each of the 3 sequences once, got \[0, 1, 1\]"),
    ],
)
@pytest.mark.parametrize("backend", [None, "reference"])
def test_a_packed_sequence_that_does_not_hold_together_is_refused(data, batch_sizes, order, words, backend) -> None:
    order = None if order is None else torch.tensor(order)
    with pytest.raises(ValueError, match=words):
        run(PackedSequence(data, torch.tensor(batch_sizes), order, order), backend=backend)


def test_batch_sizes_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match=r"batch_sizes must be int64 \[T\], got torch.int32 \[2\]"):
        run(PackedSequence(PACKED, torch.tensor([3, 3], dtype=torch.int32)))


@pytest.mark.parametrize("lengths", ["abc", [None, None], {1, 2}, [2**70, 1]])
def test_lengths_that_are_no_integers_are_refused(lengths) -> None:
    with pytest.raises(TypeError, match=rf"lengths must be integers \[B\], got {type(lengths).__name__} "):
        run(torch.zeros(3, 2, 3, dtype=torch.float64), lengths=lengths)
