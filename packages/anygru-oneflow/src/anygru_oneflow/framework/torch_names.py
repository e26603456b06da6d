"""The names that OneFlow and torch share: `names.txt` lists them; a name that no file here defines is torch's."""

from collections import ChainMap
from types import ModuleType
from typing import Any

from anygru.extend import names


def torch_names(section: str, *homes: ModuleType) -> dict[str, Any]:
    """The covered names of a section that torch has.

    Args:
        section: OneFlow's module, such as "oneflow.nn.init".
        homes: torch's modules, in the order in which they are asked.
    """
    return {
        name: next(getattr(home, name) for home in homes if hasattr(home, name))
        for name in names("oneflow").covered[section]
        if any(hasattr(home, name) for home in homes)
    }


def share(module: ModuleType, *homes: dict[str, Any]) -> None:
    """Give a module its covered names that it does not define: each from the first of the homes that has it.

    Raises:
        KeyError: no home has a covered name.
    """
    have = ChainMap(*homes)
    for name in names("oneflow").covered[f"oneflow.{module.__name__.rpartition('.')[2]}"]:
        if name not in vars(module):
            setattr(module, name, have[name])
