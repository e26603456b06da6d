"""`names.txt` of a dialect is true: covered names are there, refused ones are stand-ins that say what to use instead."""

import importlib
import types

import pytest

from anygru.dialects import NAMES, NotCoveredError
from anygru.dialects._hook.names import names

SECTIONS = sorted({section for dialect in NAMES for section in (*names(dialect).covered, *names(dialect).refused)})


def list_of(section):
    return names(section.partition(".")[0].replace("chainermn", "chainer").replace("chainerx", "chainer"))


def owner(section):
    """The module or class of a section, by attribute access from the dialect's package."""
    first, *path = section.split(".")
    inside = f"chainer.{first}" if first in ("chainermn", "chainerx") else first
    found = importlib.import_module(f"anygru.dialects.{inside}")
    for part in path:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("section", SECTIONS)
def test_every_covered_name_is_there(section):
    offered = owner(section)
    covered = list_of(section).covered.get(section, ())
    missing = [name for name in covered if not hasattr(offered, name) or "_anygru_name" in dir(getattr(offered, name))]
    assert missing == []
    assert sorted(covered) == sorted(set(covered)), "a name is listed twice"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_refused_name_says_what_to_use_instead(section):
    offered = owner(section)
    for name, refusal in list_of(section).refused.get(section, {}).items():
        assert refusal.instead, name
        assert name not in list_of(section).covered.get(section, ()), f"{name} is listed as covered and as refused"
        if isinstance(offered, type):
            with pytest.raises(NotCoveredError, match=r"is not covered by anygru's \w+ dialect.*; use "):
                getattr(offered.__new__(offered), name)
            continue
        found = getattr(offered, name)
        if refusal.is_module:
            assert isinstance(found, types.ModuleType)
            found = found.Anything
        with pytest.raises(NotCoveredError, match=r"is not covered by anygru's \w+ dialect.*; use "):
            found()


@pytest.mark.parametrize("section", SECTIONS)
def test_no_public_name_is_left_out(section):
    """A function or class that the dialect defines for users stands in the file, if its module is one that users import from."""
    offered = owner(section)
    if section not in list_of(section).covered:
        return
    public = getattr(offered, "__all__", None) or [
        name
        for name, value in vars(offered).items()
        if not name.startswith("_")
        and isinstance(value, (type, types.FunctionType))
        and value.__module__ == offered.__name__
    ]
    if isinstance(offered, types.ModuleType):
        assert set(public) - set(list_of(section).covered.get(section, ())) == set()
