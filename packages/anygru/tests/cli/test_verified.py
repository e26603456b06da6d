"""A model file that differs from its model does not take its place, and the command fails."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from anygru.cli import Failure, main, verified
from anygru.cli.trial import tensors

Outputs = tuple[Tensor, ...]


def identity() -> torch.nn.Module:
    return torch.nn.Identity()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (lambda x: (x[0] + 0.5,), "0.5 apart"),
        (lambda x: (x[0] * float("nan"),), "inf apart"),
        (lambda x: (x[0] / 0,), "inf apart"),
        (lambda x: (x[0][:1],), "the shape"),
        (lambda x: (x[0], x[0]), "2 results"),
        (lambda x: (_ for _ in ()).throw(RuntimeError("no kernel\nof that name")), "cannot run the file: no kernel;"),
    ],
    ids=["far", "NaN", "infinite", "shape", "number", "error"],
)
def test_another_result_fails(found: Callable[[list[Tensor]], Outputs], words: str) -> None:
    with pytest.raises(Failure, match=words):
        verified.compare(identity(), [[torch.ones(3)]], found, "the file")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_model_without_finite_results_is_not_verified(value: float) -> None:
    with pytest.raises(Failure, match="infinite or NaN"):
        verified.compare(identity(), [[torch.full((2,), value)]], tuple, "the file")


def test_every_example_and_every_result_is_compared() -> None:
    class Pair(torch.nn.Module):
        def forward(self, x: Tensor) -> Outputs:
            return x, x + 1

    def wrong_for_large(x: list[Tensor]) -> Outputs:
        return x[0], x[0] + (2 if len(x[0]) > 2 else 1)

    small, large = [torch.zeros(2)], [torch.zeros(3)]
    assert "at most 0 apart" in verified.compare(Pair(), [small], wrong_for_large, "the file")
    with pytest.raises(Failure, match="result 1: .* 1 apart"):
        verified.compare(Pair(), [small, large], wrong_for_large, "the file")


def test_the_bound_follows_the_dtype_and_the_size_of_the_numbers() -> None:
    for dtype, bound in verified.BOUNDS.items():
        one = torch.ones(1, dtype=getattr(torch, dtype))
        near = lambda x, by=bound / 2: (x[0].double() + by,)  # noqa: E731
        assert "verified" in verified.compare(identity(), [[one]], near, "the file")
        far = lambda x, by=bound * 2: (x[0].double() + by,)  # noqa: E731
        with pytest.raises(Failure, match="apart"):
            verified.compare(identity(), [[one]], far, "the file")
    assert "verified" in verified.compare(identity(), [[torch.full((1,), 1e4)]], lambda x: (x[0] + 0.5,), "the file")
    with pytest.raises(Failure, match="other whole numbers"):
        verified.compare(identity(), [[torch.ones(1, dtype=torch.int64)]], lambda x: (x[0] + 1,), "the file")


RANDOM = """
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(3, 4)
    def forward(self, x):
        return {result}
def build():
    return M(), torch.ones(5, 2, 3)
"""


@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("torch.nn.functional.dropout(self.gru(x)[0], 0.5)", "other results when it is run again"),
        ("torch.sqrt(self.gru(x)[0] - 5)", "infinite or NaN"),
    ],
)
def test_a_script_that_cannot_be_compared_leaves_the_old_file(
    result: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    (tmp_path / "m.py").write_text(RANDOM.format(result=result))
    torch.save({f"gru.{name}": value for name, value in torch.nn.GRU(3, 4).state_dict().items()}, tmp_path / "w.pt")
    target = tmp_path / "old.onnx"
    target.write_text("the old file")
    assert main(["convert", str(tmp_path / "w.pt"), str(target), "--script", f"{tmp_path / 'm.py'}:build"]) == 1
    assert words in capsys.readouterr().err
    assert target.read_text() == "the old file"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["m.py", "old.onnx", "w.pt"]


def test_masks_whole_numbers_and_nested_results_are_compared() -> None:
    class Nested(torch.nn.Module):
        def forward(self, x: Tensor) -> dict[str, object]:
            return {"y": [x.masked_fill(x > 1, -torch.inf), None], "n": (x > 0).sum()}

    def same(x: list[Tensor]) -> Outputs:
        return x[0].masked_fill(x[0] > 1, -torch.inf), (x[0] > 0).sum()

    x = torch.tensor([0.5, 2.0, -1.0])
    assert "at most 0 apart" in verified.compare(Nested(), [[x]], same, "the file")
    with pytest.raises(Failure, match="inf apart"):
        verified.compare(Nested(), [[x]], lambda x: (x[0], same(x)[1]), "the file")
    with pytest.raises(Failure, match="whole numbers"):
        verified.compare(Nested(), [[x]], lambda x: (same(x)[0], same(x)[1] + 1), "the file")


@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
def test_what_onnx_runtime_has_no_kernel_for_is_written_and_not_called_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    text = RANDOM.format(result="self.gru(x)[0]").replace(
        "M(), torch.ones(5, 2, 3)", "M().double(), torch.ones(5, 2, 3).double()"
    )
    (tmp_path / "m.py").write_text(text)
    torch.save(
        {f"gru.{name}": value.double() for name, value in torch.nn.GRU(3, 4).state_dict().items()}, tmp_path / "w.pt"
    )
    assert (
        main(["convert", str(tmp_path / "w.pt"), str(tmp_path / "m.onnx"), "--script", f"{tmp_path / 'm.py'}:build"])
        == 0
    )
    out = capsys.readouterr().out
    assert "not verified, because ONNX Runtime cannot run it" in out
    assert "verified:" not in out
    assert (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize("result", [None, (), torch.zeros(0)], ids=["None", "nothing", "empty"])
def test_nothing_is_not_verified(result: object) -> None:
    class Nothing(torch.nn.Module):
        def forward(self, x: Tensor) -> object:
            return result

    found = (result,) if isinstance(result, Tensor) else ()
    with pytest.raises(Failure, match="gives no number"):
        verified.compare(Nothing(), [[torch.ones(1)]], lambda x: found, "the file")


def test_a_number_is_no_truth_value() -> None:
    with pytest.raises(Failure, match="whole numbers"):
        verified.compare(identity(), [[torch.tensor([True])]], lambda x: (torch.tensor([0.5]),), "the file")


def test_the_numbers_of_any_result_are_compared():
    """A tagger returns whole numbers, and a service lists: without them every variant would look exact."""
    nested = torch.nested.nested_tensor([torch.tensor([5.0]), torch.tensor([6.0, 7.0])], layout=torch.jagged)
    result = {
        "tags": torch.tensor([[1, 2]]),
        "more": [3, (4.0, "word")],
        "nested": nested,
        "rest": torch.tensor([8j, True]),
    }
    assert torch.cat(tensors(result)).tolist() == [1, 2, 3, 4, 5, 6, 7, 0, 8, 1, 0]
