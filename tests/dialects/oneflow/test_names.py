"""`names.txt` says what is there: names with a plus can be taken, names with a minus are refused with the torch way."""

import functools
import importlib.resources
import types

import pytest

import grus.dialects.oneflow as flow

TEXT = (importlib.resources.files("grus.dialects.oneflow") / "names.txt").read_text()


def entries():
    module, covered, refused = "", [], []
    for line in TEXT.splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line.startswith("+ "):
            covered += [(module, name) for name in line[2:].split()]
        elif line.startswith("- "):
            name, _, why = line[2:].partition(": ")
            refused.append((module, name, why))
    return covered, refused


COVERED, REFUSED = entries()


def module_of(name):
    return functools.reduce(getattr, name.split(".")[1:], flow)


def test_every_covered_name_is_there():
    missing = [f"{module}.{name}" for module, name in COVERED if not hasattr(module_of(module), name)]
    assert missing == []


@pytest.mark.parametrize(("module", "name", "why"), REFUSED, ids=[f"{m}.{n}" for m, n, _ in REFUSED])
def test_every_other_name_is_refused(module, name, why):
    assert why
    with pytest.raises(AttributeError, match="not covered"):
        getattr(module_of(module), name)


@pytest.mark.parametrize("module", sorted({module for module, _ in COVERED}))
def test_no_public_name_is_left_out(module):
    """A function or class that the dialect defines for users stands in the file."""
    listed = {name for where, name in COVERED if where == module}
    package = module_of(module)
    public = getattr(package, "__all__", None) or [
        name
        for name, value in vars(package).items()
        if not name.startswith("_")
        and isinstance(value, (type, types.FunctionType))
        and value.__module__ == package.__name__
    ]
    assert set(public) - listed == set()
