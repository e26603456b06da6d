"""`names.txt` says what is there: names with a plus can be taken, names with a minus are refused with a reason."""

import importlib
import importlib.resources

import pytest

TEXT = (importlib.resources.files("anygru.dialects.chainer") / "names.txt").read_text()


def module_of(name: str):
    inside = f"chainer.{name}" if name in ("chainermn", "chainerx") else name
    return importlib.import_module(f"anygru.dialects.{inside}")


def entries():
    module, covered, refused = "", {}, []
    for line in TEXT.splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line.startswith("+ "):
            covered.setdefault(module, set()).update(line[2:].split())
        elif line.startswith("- "):
            name, _, why = line[2:].partition(": ")
            refused.append((module, name, why))
    return covered, refused


COVERED, REFUSED = entries()


@pytest.mark.parametrize("module", COVERED)
def test_the_file_lists_exactly_what_a_module_offers(module):
    offered = module_of(module)
    assert COVERED[module] == set(offered.__all__)
    assert [name for name in COVERED[module] if not hasattr(offered, name)] == []


@pytest.mark.parametrize(("module", "name", "why"), REFUSED, ids=[f"{m}.{n}" for m, n, _ in REFUSED])
def test_every_other_name_is_refused(module, name, why):
    assert why
    with pytest.raises(AttributeError, match=f"{name} is not covered"):
        getattr(module_of(module), name)
    with pytest.raises(ImportError, match=f"{name} is not covered"):
        exec(f"from {module_of(module).__name__} import {name}")
