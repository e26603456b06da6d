"""`names.txt` of a dialect says what is there: names with a plus can be taken, names with a minus are refused with a reason."""

import importlib
import importlib.resources
import types

import pytest

DIALECTS = ("oneflow", "mxnet", "paddle")
COMPLETE = ("oneflow", "mxnet")  # whose files also list whatever the dialect defines for users


def entries(dialect):
    module, covered, refused = "", [], []
    for line in (importlib.resources.files(f"anygru.dialects.{dialect}") / "names.txt").read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line.startswith("+ "):
            covered += [(module, name) for name in line[2:].split()]
        elif line.startswith("- "):
            name, _, why = line[2:].partition(": ")
            refused.append((module, name, why))
    return covered, refused


ENTRIES = {dialect: entries(dialect) for dialect in DIALECTS}
MODULES = sorted({module for covered, refused in ENTRIES.values() for module, *_ in covered + refused})


def module_of(name):
    dialect, *path = name.split(".")
    found = importlib.import_module(f"anygru.dialects.{dialect}")
    for part in path:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_covered_name_is_there(module):
    offered = module_of(module)
    covered, _ = ENTRIES[module.partition(".")[0]]
    assert [name for where, name in covered if where == module and not hasattr(offered, name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_every_other_name_is_refused_with_a_reason(module):
    offered = module_of(module)
    _, refused = ENTRIES[module.partition(".")[0]]
    for where, name, why in refused:
        if where == module:
            assert why, name
            with pytest.raises(AttributeError, match="not covered"):
                getattr(offered, name)


@pytest.mark.parametrize("module", sorted({module for dialect in COMPLETE for module, _ in ENTRIES[dialect][0]}))
def test_no_public_name_is_left_out(module):
    """A function or class that the dialect defines for users stands in the file."""
    offered = module_of(module)
    covered, _ = ENTRIES[module.partition(".")[0]]
    listed = {name for where, name in covered if where == module}
    public = getattr(offered, "__all__", None) or [
        name
        for name, value in vars(offered).items()
        if not name.startswith("_")
        and isinstance(value, (type, types.FunctionType))
        and value.__module__ == offered.__name__
    ]
    assert set(public) - listed == set()
