"""torch.export: a program has one node for a layer, and `run_decompositions` leaves torch's operators only."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import mostly_slow
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

import anygru

pytestmark = [
    pytest.mark.needs_torch(2, 13, because="decompositions of torch.export differ from version to version"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # torch's, of a name that it uses itself
    pytest.mark.filterwarnings("ignore:# The axis name"),
]
X, LENGTHS = torch.linspace(-1, 1, 45).view(5, 3, 3), torch.tensor([5, 1, 3])
STEPS, BATCH = Dim("steps"), Dim("batch")


class Model(nn.Module):
    """A layer, called in its own way."""

    def __init__(self, layer: nn.Module, call: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, *given: Tensor) -> Any:
        return self.layer(*given) if self.call is None else self.call(self.layer, *given)


def with_lengths(layer: Any, x: Tensor, lengths: Tensor) -> Any:
    return layer(x, lengths=lengths)


CASES: dict[str, tuple[Model, tuple[Tensor, ...], Any]] = {
    "two directions": (Model(anygru.GRU(3, 4, 2, bidirectional=True)), (X,), None),
    "any sizes": (Model(anygru.GRU(3, 4, 2, bidirectional=True)), (X,), ({0: STEPS, 1: BATCH},)),
    "batch first": (Model(anygru.GRU(3, 4, reset="before", batch_first=True)), (X,), ({0: BATCH},)),
    "a state": (Model(anygru.GRU(3, 4, bias=False)), (X, X.new_ones(1, 3, 4)), ({0: STEPS}, {})),
    "lengths": (Model(anygru.GRU(3, 4, 2, bidirectional=True), with_lengths), (X, LENGTHS), None),
    "lengths, any sizes": (
        Model(anygru.GRU(3, 4, bidirectional=True, norm="layer"), with_lengths),
        (X, LENGTHS),
        ({0: STEPS, 1: BATCH}, {0: BATCH}),
    ),
    "resets": (
        Model(anygru.GRU(3, 4, 2), lambda layer, x, resets: layer(x, resets=resets)),
        (X, X[..., 0] > 0.3),
        ({0: STEPS}, {0: STEPS}),
    ),
    "decay": (
        Model(anygru.GRU(3, 4, bidirectional=True), lambda layer, x, decay: layer(x, decay=decay)),
        (X, torch.linspace(0, 1, 120).view(2, 5, 3, 4)),
        None,
    ),
    "groups, zoneout": (Model(anygru.GRU(3, 4, groups=2, zoneout=0.3)), (X,), ({0: STEPS},)),
    "activations": (Model(anygru.GRU(3, 4, activation="relu", gate_activation="hardsigmoid")), (X,), None),
    "cell": (Model(anygru.GRUCell(3, 4)), (X[0], X.new_ones(3, 4)), ({0: BATCH}, {0: BATCH})),
    "frozen": (Model(anygru.GRU(3, 4, 2, bidirectional=True).freeze()), (X,), ({0: STEPS},)),
    "frozen int8": (Model(anygru.GRU(3, 4, reset="before").freeze("int8")), (X,), ({0: STEPS},)),
    "frozen bfloat16": (Model(anygru.GRU(3, 4).freeze("bfloat16"), with_lengths), (X, LENGTHS), None),
    "frozen cell": (Model(anygru.GRUCell(3, 4).freeze("int8")), (X[0],), None),
}


def tensors(found: Any) -> list[Tensor]:
    return torch.utils._pytree.tree_leaves(found)


def same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(tensors(found), tensors(expected), rtol=1e-5, atol=1e-6)


def operators(program: ExportedProgram) -> set[str]:
    return {str(node.target).split(".")[0] for node in program.graph.nodes if node.op == "call_function"}


def program_of(name: str, strict: bool = False) -> tuple[nn.Module, tuple[Tensor, ...], ExportedProgram]:
    model, given, shapes = CASES[name]
    model.eval()
    dynamic = None if shapes is None else {"given": shapes}
    return model, given, export(model, given, dynamic_shapes=dynamic, strict=strict)


@pytest.mark.parametrize("name", mostly_slow(CASES, 5))
def test_a_node_is_taken_apart(name: str) -> None:
    model, given, program = program_of(name)
    assert "anygru" in operators(program)
    same(program.module()(*given), model(*given))
    decomposed = program.run_decompositions()
    symbolic = any(0 in sizes and sizes[0] is STEPS for sizes in CASES[name][2] or () if sizes)
    kept = operators(decomposed) - {"aten", "<built-in function getitem>", "<built-in function mul>"}
    assert kept == ({"scan"} if symbolic else set())
    same(decomposed.module()(*given), model(*given))
    if symbolic and len(given) == 1:
        longer = torch.cat((X, X.flip(0)))
        same(decomposed.module()(longer), model(longer))


def test_a_program_trains_where_anygru_is() -> None:
    model, given, program = program_of("any sizes")
    again = program.module()
    for each in (model, again):
        each(*given)[0].square().sum().backward()
    for (name, one), (other, two) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == other
        torch.testing.assert_close(one.grad, two.grad)


def test_a_strict_export_and_a_compiled_program_compute_the_same() -> None:
    model, given, program = program_of("two directions", strict=True)
    same(program.run_decompositions().module()(*given), model(*given))
    same(torch.compile(program.module(), backend="aot_eager")(*given), model(*given))


def test_packed_rows_are_not_taken_apart() -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = anygru.GRU(3, 4)

        def forward(self, data: Tensor, sizes: Tensor) -> Tensor:
            packed = nn.utils.rnn.PackedSequence(data, sizes, torch.arange(3), torch.arange(3))
            return self.layer(packed)[1]

    program = export(Packed(), (X.flatten(0, 1)[:6], torch.tensor([3, 2, 1])))
    with pytest.raises(anygru.BackendError, match="cannot be decomposed .* padded tensor and lengths"):
        program.run_decompositions()


WITHOUT_ANYGRU = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "anygru":
            raise ImportError("anygru is not here")

sys.meta_path.insert(0, Refused())
import torch
compiled = torch._inductor.aoti_load_package(sys.argv[1])
for given, expected in torch.load(sys.argv[2]):
    torch.testing.assert_close(compiled(*given), expected, rtol=1e-5, atol=1e-5)
print("the same")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lengths", "frozen int8"])
def test_aot_inductor_runs_without_anygru(name: str, tmp_path: Path) -> None:
    """The second with any number of steps."""
    with torch.no_grad():
        model, given, program = program_of(name)
        batches = [given] if len(given) > 1 else [given, (torch.cat((X, X.flip(0))),)]
        torch.save([(batch, tensors(model(*batch))) for batch in batches], tmp_path / "batches.pt")
        package = str(tmp_path / "model.pt2")
        torch._inductor.aoti_compile_and_package(program.run_decompositions(), package_path=package)
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_ANYGRU, package, str(tmp_path / "batches.pt")]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.stdout == "the same\n", found.stderr
