"""Global tensors on two processes against the same computation on one."""

from typing import Any

import global_programs
import numpy as np
import pytest
import torch

from anygru import functional, parallel

pytestmark = pytest.mark.needs_torch(2, 13, because="older layouts of distributed tensors differ")


@pytest.fixture(scope="module")
def on_two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = str(tmp_path_factory.mktemp("checkpoint") / "saved")
    workers = parallel.spawn(global_programs.run_all, (folder,), nprocs=2)
    return [workers.result(rank) for rank in range(2)]


@pytest.mark.parametrize("name", global_programs.LAYOUTS)
def test_a_global_gru_is_the_gru_of_one_process(on_two: list[dict[str, Any]], name: str) -> None:
    options = global_programs.LAYOUTS[name][2]
    arguments, weights = global_programs.problem(options.get("batch_first", False))
    leaves = [torch.tensor(values, requires_grad=True) for values in [*arguments, *weights]]
    output, h_n = functional.gru(leaves[0], leaves[1], leaves[2:], bidirectional=True, **options)
    expected = global_programs.outcome(output, h_n, leaves)
    for found in on_two:
        for got, wanted in zip(found[name]["results"], expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-11)


def test_no_process_holds_a_split_matrix(on_two: list[dict[str, Any]]) -> None:
    assert [found["rows"]["rows"] for found in on_two] == [5, 4]
    assert [found["batch"]["rows"] for found in on_two] == [9, 9]


@pytest.mark.parametrize(("name", "layout"), [("rows", "S(0)"), ("batch", "R"), ("replicated", "R")])
def test_gradients_have_the_layouts_of_their_parameters(on_two: list[dict[str, Any]], name: str, layout: str) -> None:
    assert all(found[name]["layouts"] == {(layout,)} for found in on_two)


def test_pieces_make_a_whole(on_two: list[dict[str, Any]]) -> None:
    first = np.arange(4.0).reshape(2, 2)
    second = first + 10
    wholes = {
        "R": first,
        "S(0)": np.concatenate([first, second]),
        "S(1)": np.concatenate([first, second], 1),
        "P(sum)": first + second,
    }
    for rank, found in enumerate(on_two):
        tensor = found["tensor"]
        for before, whole in wholes.items():
            np.testing.assert_array_equal(tensor[before], whole)
            for after in wholes:
                np.testing.assert_array_equal(tensor[f"{before} {after}"], whole, err_msg=f"{before} {after}")
        np.testing.assert_array_equal(tensor["untouched"], [first, second][rank])
        assert tensor["uneven"] == ((3, 1), (2 - rank, 1))
        assert "3 rows over 2 processes must be divided as [2, 1], got [1, 2]" in tensor["refused"]


@pytest.mark.parametrize("rows", [False, True], ids=["batch", "rows"])
def test_oneflows_layer_trains_the_same(on_two: list[dict[str, Any]], rows: bool) -> None:
    alone = global_programs.oneflow_training(rows)
    for found in on_two:
        for got, wanted in zip(found["training"][rows], alone, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_gradients_count_each_process(on_two: list[dict[str, Any]]) -> None:
    doubled = np.array([[2.0, 4.0], [6.0, 8.0]])
    for rank, found in enumerate(on_two):
        tensors = found["oneflow"]
        np.testing.assert_array_equal(tensors["into a sum"], doubled)
        np.testing.assert_array_equal(tensors["into local ones"], 2 * doubled)  # both processes use the values
        np.testing.assert_array_equal(tensors["from a local one"], [[3, 3], [0, 0]][rank])  # the first one's count
        np.testing.assert_array_equal(tensors["one piece of two"], [[0, 1], [0, 1]])


def test_oneflows_layouts(on_two: list[dict[str, Any]]) -> None:
    for rank, found in enumerate(on_two):
        tensors = found["oneflow"]
        assert tensors["row"] == [[0.0, 0.0], [3.0, 4.0]][rank]
        assert tensors["number"] == (10.0, [1.0, 2.0])
        assert tensors["uneven view"] == ["(oneflow.sbp.split(dim=0),)", "(oneflow.sbp.split(dim=1),)"]
        assert tensors["view that has none"] == "(oneflow.sbp.broadcast,)"
        # Each process normalizes by its own part, as OneFlow 0.9.0 does.
        assert tensors["normalized"][0] == tensors["through relu6"][0] == "(oneflow.sbp.split(dim=0),)"
        np.testing.assert_allclose(tensors["normalized"][1], [[-1], [1]], rtol=1e-4)
        assert tensors["running mean"] == pytest.approx(0.19 * [1, 7][rank])
        assert tensors["through relu6"][1] == 2
        assert tensors["elsewhere"] == ([(2, 2), (0, 0)][rank], [[1.0, 1.0]])


def test_one_process_loads_for_all(on_two: list[dict[str, Any]]) -> None:
    for found in on_two:
        assert found["files"]["placement"] == "[0]"
        np.testing.assert_allclose(*found["files"]["weights"], rtol=1e-6)


def test_a_pipeline_over_disjoint_processes_trains_as_one_process_does(on_two: list[dict[str, Any]]) -> None:
    weights, losses = global_programs.pipeline_on_one()
    for rank, found in enumerate(on_two):
        np.testing.assert_allclose(found["pipeline"]["weight"], weights[rank], rtol=1e-12)
    np.testing.assert_allclose(on_two[1]["pipeline"]["losses"], losses, rtol=1e-12)
    assert on_two[0]["pipeline"]["losses"] == [0.0] * 3, "process 0 holds nothing of the loss"


def test_what_requires_a_gradient_moves_to_more_processes(on_two: list[dict[str, Any]]) -> None:
    assert [found["pipeline"]["spread"] for found in on_two] == [[1.0, 2.0], [1.0, 2.0]]
    assert [found["pipeline"]["gradient"] for found in on_two] == [[0.0, 0.0], [3.0, 3.0]]


def test_collectives_take_stacked_tensors(on_two: list[dict[str, Any]]) -> None:
    for rank, found in enumerate(on_two):
        assert found["pipeline"]["gathered"] == [[0.0, 0.0], [1.0, 1.0]]
        assert found["pipeline"]["scattered"] == [2.0 * rank + 1] * 2


def test_windows_of_each_layout() -> None:
    """Average pooling and `unfold`, for which torch has no rule over processes."""
    workers = parallel.spawn(global_programs.windows_in_processes, nprocs=2)
    assert [workers.result(rank) for rank in range(2)] == [[], []]


def test_a_split_batch_trains_as_one_process_does() -> None:
    """One collective in each backward pass, of all gradients; numbers of labels travel over the processes' own lines."""
    workers = parallel.spawn(global_programs.data_parallel, nprocs=2)
    for rank, found in enumerate(workers.result(rank) for rank in range(2)):
        for alone, shared in found["losses"]:
            assert shared == pytest.approx(alone, rel=1e-5)
        assert max(found["weights"]) < 1e-5
        parameters = 7 * 4 + 18 * (4 + 6 + 2) + 7 * (6 + 1)
        assert found["messages"] == [[parameters], [parameters], [parameters] * 2, [parameters]]
        assert found["between"] < 1e-6
        assert found["frozen"] == ([4.0, 0.0], None, [2.0, 2.0])
        assert found["hooked"] == [[[1.0, 1.0], [1.0, 1.0]]]
        assert "before an operator takes the tensor" in found["late"]
        assert found["changed"] == [[84.0, 156.0], [228.0, 300.0]]
        assert found["twice"] == [8.0, 24.0]
        by_both = {"hooked": [8.0, 24.0], "added": [16.0, 48.0]}
        assert found["used"] == {"given": ([8.0, 24.0], None), "also whole": [10.0, 28.0], **by_both}
        whole = [[1.0, 2.0, 11.0, 12.0], [3.0, 4.0, 13.0, 14.0]]
        gradient = [[2 * value for value in row[2 * rank : 2 * rank + 2]] for row in whole]
        assert found["promised"][True] == (1, (2, 4), whole, gradient)
        assert found["promised"][False] == (0, (2, 4), whole, gradient)
