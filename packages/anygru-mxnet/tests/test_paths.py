"""Every covered class and function is found where MXNet 1.9.1 defines it, which is the path that pickles and imports name."""

import importlib
import sys
from pathlib import Path

import pytest

from anygru.dialects.finder import DialectFinder

# Lines "module that defines them, public module: names"; "a=b" is an `a` that is public as `b`. Walked in MXNet 1.9.1.
HOMES = Path(__file__).with_name("data").joinpath("homes.txt").read_text(encoding="utf-8").splitlines()


def classes():
    """The classes in the modules of the dialect, each with the name of its module."""
    modules = [(name, module) for name, module in sys.modules.items() if name.partition(".")[0] == "anygru_mxnet"]
    return [(value, name) for name, module in modules for value in vars(module).values() if isinstance(value, type)]


@pytest.fixture
def original_names(monkeypatch):
    before = {value: value.__module__ for value, _ in classes()}
    monkeypatch.setattr(sys, "meta_path", [DialectFinder(), *sys.meta_path])
    yield
    for name in list(sys.modules):
        if name.partition(".")[0] == "mxnet":
            del sys.modules[name]
    for value, name in classes():  # the import gave classes MXNet's module names, under which pickle finds nothing now
        if value.__module__ == name.removeprefix("anygru_"):
            value.__module__ = before.get(value, name)


def test_covered_names_are_found_where_mxnet_defines_them(original_names):
    wrong = []
    for line in HOMES:
        modules, _, names = line.partition(": ")
        home, public = map(importlib.import_module, modules.split())
        for name in names.split():
            defined, _, known = name.partition("=")
            if getattr(home, defined, None) is not getattr(public, known or defined):
                wrong.append(f"{home.__name__}.{defined}")
    assert wrong == []
    assert sum(len(line.split()) - 2 for line in HOMES) > 190


def test_a_module_with_paths_below_it_keeps_its_own_names(original_names):
    from mxnet.io.io import NDArrayIter
    from mxnet.optimizer.optimizer import SGD, Optimizer

    import anygru_mxnet as mx

    assert SGD is mx.optimizer.SGD
    assert Optimizer is mx.optimizer.Optimizer
    assert NDArrayIter is mx.io.NDArrayIter
    with pytest.raises(ImportError, match="mxnet.optimizer.optimizer.Nothing is not covered"):
        from mxnet.optimizer.optimizer import Nothing  # noqa: F401
    with pytest.raises(ImportError):
        importlib.import_module("mxnet.io.nothing")
