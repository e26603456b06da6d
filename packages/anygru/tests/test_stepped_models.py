"""Models as careless people write them: the steps agree with the forward of the model, or the error names the reason."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations

import anygru
from anygru.c_export.checking import CheckError
from anygru.errors import ArgumentError


class Own(nn.Module):
    """A GRU over a function of the input and the other modules, and a head."""

    def __init__(
        self, before: Callable[..., Tensor], *parts: nn.Module, after: Callable[..., Any] | None = None
    ) -> None:
        super().__init__()
        self.before, self.after = before, after
        self.parts = nn.ModuleList(parts)
        self.gru, self.head = nn.GRU(6, 8, batch_first=True), nn.Linear(8, 3)
        self.level: Tensor
        self.register_buffer("level", torch.zeros(6))

    def forward(self, x: Tensor) -> Any:
        found = self.gru(self.before(self, x, *self.parts))[0]
        return self.head(found) if self.after is None else self.after(self, found, x)


def convolved(_: Own, x: Tensor, conv: nn.Module) -> Tensor:
    return conv(F.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)


def applied(_: Own, x: Tensor, part: nn.Module) -> Tensor:
    return part(x)


def unchanged(_: Own, x: Tensor) -> Tensor:
    return x


def own_weights() -> Own:
    model = Own(unchanged)
    nn.utils.weight_norm(model.gru, "weight_hh_l0")
    return model


TAKEN: dict[str, Callable[[], Any]] = {
    "weight norm": lambda: Own(applied, parametrizations.weight_norm(nn.Linear(6, 6))),
    "spectral norm of a convolution": lambda: Own(convolved, parametrizations.spectral_norm(nn.Conv1d(6, 6, 3))),
    "the former weight norm": own_weights,
    "compiled": lambda: torch.compile(Own(unchanged), backend="eager"),
    "changes its input": lambda: Own(lambda _, x: x.mul_(2)),
    "truth values": lambda: Own(unchanged, after=lambda own, y, x: own.head(y) > 0),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("kind", TAKEN)
def test_steps_of_the_model_as_it_is(kind: str) -> None:
    torch.manual_seed(0)
    model = TAKEN[kind]().eval()
    x = torch.randn(1, 50, 6)
    with torch.no_grad():
        expected = model(x.clone())
    stepper = anygru.stepper(model, torch.randn(2, 5, 6))
    found = torch.stack([stepper.step(step) for step in x.clone().unbind(1)], 1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(model(x.clone()), expected, rtol=0, atol=0)  # its numbers stay


def test_a_model_with_masked_outputs_is_stepped() -> None:
    model = Own(unchanged, after=lambda own, y, x: own.head(y).masked_fill(x[..., :3] > 0, -torch.inf))
    pool = anygru.SessionPool(model.eval(), 2)
    assert pool.open().step(torch.ones(6)).equal(torch.full((3,), -torch.inf))


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("kind", ["changes its input", "truth values", "the former weight norm"])
def test_a_file_of_the_model_as_it_is(kind: str, tmp_path: Any) -> None:
    torch.manual_seed(0)
    anygru.export_c(TAKEN[kind]().eval(), tmp_path / "a.h", example=torch.randn(2, 5, 6))


def test_a_file_is_compared_with_more_steps_than_the_stepper(tmp_path: Any) -> None:
    """A lag that the steps of `anygru.stepper` do not reach."""
    model = Own(unchanged, after=lambda own, y, x: own.head(y) + F.pad(x, (0, 0, 700, 0))[:, : x.shape[1], :3])
    with pytest.raises(CheckError, match="in step 700 .* remembers hundreds of steps"):
        anygru.export_c(model.eval(), tmp_path / "a.h")


def lagging(own: Own, y: Tensor, x: Tensor) -> Tensor:
    """A small output with a fault, beside a large one without."""
    return torch.cat((own.head(y) - F.pad(y[..., :3], (0, 0, 3, 0))[:, : y.shape[1]], 1e6 * x), -1)


def masked(own: Own, y: Tensor, x: Tensor) -> Tensor:
    """An output with infinities, as masked logits have, and with a fault: it reads the future."""
    return (own.head(y) + own.head(y).flip(1)).masked_fill(x[..., :3] > 0, -torch.inf)


def kept(own: Own, x: Tensor) -> Tensor:
    own.level.mul_(0.9).add_(x.mean((0, 1)))
    return x + own.level


REFUSED: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "dropout in every mode": (lambda: Own(lambda _, x: F.dropout(x, 0.5)), "other outputs for the same input.*dropout"),
    "kept from call to call": (lambda: Own(kept), "keeps something from call to call"),
    "called twice": (lambda: Own(lambda own, x: own.gru(x)[0][..., :6]), r"gru \(GRU\) is called 2 times for a step"),
    "a small fault beside a large output": (lambda: Own(unchanged, after=lagging), "cannot be stepped"),
    "a fault beside infinities": (lambda: Own(unchanged, after=masked), "cannot be stepped"),
    "no number": (
        lambda: Own(unchanged, after=lambda own, y, x: own.head(y) * torch.nan),
        "own outputs for the example are infinite or NaN",
    ),
    "a pool along time": (
        lambda: Own(lambda _, x: F.max_pool1d(F.pad(x.transpose(1, 2), (2, 0)), 3, 1).transpose(1, 2)),
        r"gru \(GRU\) takes another input .* keeps a state are GRUs",
    ),
    "a dict": (lambda: Own(unchanged, after=lambda own, y, x: {"y": y}), "^the model must return a tensor.*got dict"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_steps_would_not_give_is_refused(kind: str) -> None:
    torch.manual_seed(0)
    make, words = REFUSED[kind]
    with pytest.raises(ArgumentError, match=words):
        anygru.stepper(make(), torch.randn(2, 5, 6))


def test_a_loop_of_cells_names_the_way_out() -> None:
    with pytest.raises(ArgumentError, match="put a GRU with the weights of the cell '0'"):
        anygru.stepper(nn.Sequential(nn.GRUCell(6, 8)))


@pytest.mark.parametrize(
    "before", [lambda _, x: x - x.mean(0), lambda _, x: torch.softmax(x, 0)], ids=["mean", "softmax"]
)
def test_sessions_that_change_each_other_are_refused(before: Callable[..., Tensor]) -> None:
    with pytest.raises(ArgumentError, match="the sequences of a batch change each other"):
        anygru.SessionPool(Own(before), 4)


def test_a_model_for_one_sequence_has_no_sessions() -> None:
    model = Own(lambda _, x: x.reshape(1, -1, 6))
    with pytest.raises(ArgumentError, match="takes one sequence"):
        anygru.SessionPool(model, 4, torch.randn(1, 5, 6))
