"""Without each private name of torch that anygru uses, and without all of them, results are the same."""

import ast
import subprocess
import sys
import warnings
from pathlib import Path
from types import FrameType

import pytest
import torch
from helpers import mostly_slow

import anygru
from anygru.facts import torch_private

SOURCE = Path(torch_private.__file__)
NAMES = sorted(
    node.args[0].value
    for node in ast.walk(ast.parse(SOURCE.read_text()))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_find"
    if node.args[0].value.startswith("_C.")
)
PROGRAM = """
import sys
import torch

hidden = set(sys.argv[1].split())


class Without:
    def __init__(self, real, path):
        self.__dict__.update(real=real, path=path)

    def __getattr__(self, name):
        full = f"{self.path}.{name}"
        if full in hidden:
            raise AttributeError(name)
        value = getattr(self.real, name)
        return Without(value, full) if any(each.startswith(full + ".") for each in hidden) else value


real, torch._C = torch._C, Without(torch._C, "_C")
from anygru.facts import torch_private

torch._C = real
lacking = set(sys.argv[2].split())
assert set(torch_private.MISSING) == hidden | lacking, torch_private.MISSING
import anygru

torch.manual_seed(0)
theirs = torch.nn.GRU(3, 4, 2, bidirectional=True)
ours = anygru.GRU(3, 4, 2, bidirectional=True)
ours.load_state_dict(theirs.state_dict())
x = torch.randn(5, 2, 3, requires_grad=True)


def results(layer):
    layer.zero_grad()
    output, h_n = layer(x)
    (gradient,) = torch.autograd.grad(output.square().sum(), x)
    layer(x)[0].sum().backward()
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        plain = layer(x)[0]
    return output, h_n, gradient, plain, *(weight.grad for weight in layer.parameters())


expected = results(theirs)
for found in (results(ours), results(anygru.accelerate(theirs) and theirs)):
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other)
cell, steps = anygru.GRUCell(3, 4), torch.randn(6, 2, 3)
h = torch.zeros(2, 4)
for step in steps:
    h = cell(step, h)
h.sum().backward()
reference = anygru.GRUCell(3, 4, backend="reference")
reference.load_state_dict(cell.state_dict())
h = torch.zeros(2, 4)
for step in steps:
    h = reference(step, h)
h.sum().backward()
for one, other in zip(cell.parameters(), reference.parameters()):
    torch.testing.assert_close(one.grad, other.grad)
gradient = torch.func.grad(lambda x: ours(x)[0].sum())(x.detach())
torch.testing.assert_close(gradient, torch.autograd.grad(ours(x)[0].sum(), x)[0])
print("the same")
"""


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize("names", mostly_slow([" ".join(NAMES), *NAMES]), ids=["all", *NAMES])
def test_a_missing_name_costs_no_result(names):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, names, " ".join(torch_private.MISSING)], capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("the same\n", 0), done.stderr[-2000:]


def test_no_other_file_uses_private_names_of_torch():
    """Except for the compiler's names, which are checked only where they are used."""
    found = [
        f"{path.name}:{number}"
        for path in SOURCE.parents[1].rglob("*.py")
        if path != SOURCE and path.name not in ("compiling.py", "rerouting.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "torch._C" in line or "._current_level" in line
    ]
    assert found == []


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("2.3.1", False),
        ("2.4.0", True),
        ("2.13.0+cpu", True),
        ("2.13rc1", True),
        ("2.14.1+cu130", True),
        ("2.15a0", False),
        ("3.0.0a0", False),
        ("built here", False),
    ],
)
def test_an_unknown_torch_is_told_once(version, known, monkeypatch):
    monkeypatch.setattr("torch.__version__", version)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch_private._check_version()
    assert len(told) == (not known)
    assert known or f"torch 2.4 to 2.14, this is {version}" in str(told[0].message)


@pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")
@pytest.mark.parametrize("kind", [anygru.GRU, anygru.GRUCell])
def test_a_training_step_is_not_looked_through_for_transforms(kind: type[torch.nn.Module]) -> None:
    """torch looks at every argument of a node in Python, though the step has already found no transform."""
    layer, seen = kind(3, 4), []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    x = torch.randn(2, 3) if kind is anygru.GRUCell else torch.randn(1, 2, 3)
    layer(x)
    sys.setprofile(note)
    try:
        layer(x)
    finally:
        sys.setprofile(None)
    assert "forward" in seen
    assert "unwrap_dead_wrappers" not in seen


@pytest.mark.parametrize("is_there", [True, False])
def test_gradients_are_those_of_torch(is_there, monkeypatch):
    if not is_there:
        monkeypatch.setattr(torch_private, "_run_backward", None)
    x, unused = (torch.randn(3, requires_grad=True) for _ in range(2))
    y, grad = x.exp(), torch.randn(3, requires_grad=True)
    found = torch_private.gradients([y], [x, unused], [grad], True, True)
    expected = torch.autograd.grad([y], [x, unused], [grad], create_graph=True, allow_unused=True)
    torch.testing.assert_close(found[0], expected[0])
    assert found[1] is expected[1] is None
    torch.testing.assert_close(torch_private.gradients([found[0]], [x, grad], [torch.ones(3)]), (y * grad, y))
    with pytest.raises(RuntimeError, match="shape"):
        torch_private.gradients([x.exp()], [x], [torch.ones(2)])


@pytest.mark.parametrize("is_there", [True, False])
def test_a_backward_pass_is_that_of_torch(is_there, monkeypatch):
    if not is_there:
        monkeypatch.setattr(torch_private, "_run_backward", None)
    x, grad = torch.randn(3, requires_grad=True), torch.randn(3)
    y = x.exp()
    torch_private.backward([y], [grad], True)
    torch_private.backward([y, x], [grad, grad])
    torch.testing.assert_close(x.grad, 2 * y.detach() * grad + grad)
    with pytest.raises(RuntimeError, match="second time"):
        torch_private.backward([y], [grad])
