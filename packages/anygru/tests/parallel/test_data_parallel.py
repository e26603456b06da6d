"""DataParallel on two processes against the same computation on one."""

import numpy as np
import programs
import pytest
from torch import nn

from anygru import parallel
from anygru.errors import ArgumentError, ArgumentTypeError

MISMATCHES = [
    ("shape", "parameter 'second.weight' is [3, 3] float32 on rank 0 and [4, 3] float32 on rank 1"),
    ("more", "rank 1 has a parameter 'third.weight', [1, 1] float32, that rank 0 does not have"),
    ("dtype", "parameter 'second.bias' is [3] float32 on rank 0 and [3] float64 on rank 1"),
    ("frozen", "parameter 'second.bias' is [3] float32 on rank 0 and [3] float32 (not trained) on rank 1"),
    ("order", "the parameters of rank 1 are in another order than on rank 0, from 'a.weight' on"),
]
CALLS = [
    ("place", ()), ("ragged_gradients", ()), ("state_after_wrapping", ()), ("accumulate", ()), ("average_many", ()),
    ("average_of_some", ()), ("bucket_sizes", (2, 1)), ("bucket_sizes", (3, 3)), ("unused_parameters", ()),
    *(("other_model", (kind,)) for kind, _ in MISMATCHES),
]  # fmt: skip


@pytest.fixture(scope="module")
def on_two():
    """Gives the result of a program on each of two processes."""
    workers = parallel.spawn(programs.run_all, (CALLS,), nprocs=2)
    results = [workers.result(rank) for rank in range(2)]
    return lambda name, *arguments: [result[CALLS.index((name, arguments))] for result in results]


def test_processes_know_their_place_and_reach_each_other(on_two):
    assert on_two("place") == [[0, 2, 0, 2, 3.0], [1, 2, 1, 2, 3.0]]


def test_ragged_gru_gradients_are_those_of_one_process(on_two):
    alone = programs.gradients(programs.Tagger(seed=0), 0, 1)
    for found in on_two("ragged_gradients"):
        assert found.keys() == alone.keys()
        for name, gradient in alone.items():
            np.testing.assert_allclose(found[name], gradient, rtol=1e-12, atol=1e-14, err_msg=name)


def test_rank_0_gives_parameters_and_persistent_buffers(on_two):
    model = programs.Tagger(seed=0)
    for rank, found in enumerate(on_two("state_after_wrapping")):
        assert found["keys"] == list(model.state_dict())
        np.testing.assert_array_equal(found["head"], model.head.bias.detach().numpy())
        assert found["seen"] == 0.0
        assert found["scratch"] == float(rank)


def test_no_sync_accumulates_and_the_next_backward_averages(on_two):
    for rank, (alone, together, by_hand) in enumerate(on_two("accumulate")):
        np.testing.assert_array_equal(alone, np.full((1, 2), rank + 1.0))
        np.testing.assert_array_equal(together, np.full((1, 2), 3.0))
        np.testing.assert_array_equal(by_hand, np.full((1, 2), 1.5))


def test_average_gradients_over_buckets_and_dtypes(on_two):
    for found in on_two("average_many"):
        for index, gradient in enumerate(found):
            np.testing.assert_array_equal(gradient, np.full_like(gradient, 10.0 * index + 0.5))
        assert found[3].dtype == np.float64


def test_a_gradient_on_some_processes_only_is_refused(on_two):
    assert (
        on_two("average_of_some")
        == ["average_gradients: parameter 0, of shape [4], has a gradient on 1 of 2 processes"] * 2
    )


@pytest.mark.needs_torch(2, 12, because="an older torch has no size for the last bucket")
def test_buffer_sizes_reach_the_buckets(on_two):
    megabyte = 2**20
    assert on_two("bucket_sizes", 2, 1)[0] == [megabyte, 2 * megabyte, 2 * megabyte, megabyte]
    assert on_two("bucket_sizes", 3, 3)[0] == [3 * megabyte, 3 * megabyte]


def test_unused_parameters_keep_no_gradient(on_two):
    assert on_two("unused_parameters") == [[True, True]] * 2


@pytest.mark.parametrize(("kind", "words"), MISMATCHES)
def test_another_model_is_refused_by_name_on_every_process(on_two, kind, words):
    for message in on_two("other_model", kind):
        assert message.startswith("DataParallel: the processes have different models: ")
        assert words in message


def test_a_world_of_one_runs_the_module():
    model = nn.Linear(2, 2)
    wrapped = parallel.DataParallel(model)
    assert parallel.world() == parallel.World(0, 1, 0, 1)
    with wrapped.no_sync():
        wrapped(model.weight).sum().backward()
    assert model.weight.grad is not None
    assert list(wrapped.state_dict()) == ["weight", "bias"]
    assert [name for name, _ in wrapped.named_parameters()] == ["module.weight", "module.bias"]
    wrapped.load_state_dict(nn.Linear(2, 2).state_dict())


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"comm_buffer_size": 0}, ArgumentError, "comm_buffer_size must be above 0 MB, got 0"),
        ({"last_comm_buffer_size": -1.5}, ArgumentError, "last_comm_buffer_size must be above 0 MB, got -1.5"),
        ({"comm_buffer_size": "a"}, ArgumentTypeError, "comm_buffer_size must be a number of MB, got str"),
    ],
)
def test_buffer_sizes_are_checked(arguments, error, words):
    with pytest.raises(error, match=words):
        parallel.DataParallel(nn.Linear(1, 1), **arguments)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK must be at least 0 and below WORLD_SIZE = 2, got 2"),
        ({"RANK": "x", "WORLD_SIZE": "2"}, "variable RANK must be a whole number, got 'x'"),
    ],
)
def test_the_variables_are_checked(monkeypatch, variables, words):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ArgumentError, match=words):
        parallel.world()
