"""Tests for every dialect, also of other projects: its list of names is right, and its imports keep to the floors and to the
names that anygru offers for extensions.

    # tests/test_suite.py of a dialect
    from pathlib import Path
    from anygru.dialects.suite import DialectSuite

    class TestDialect(DialectSuite):
        dialect = "mxnet"
        floors = Path(__file__).with_name("floors.txt")

The tests are plain assertions, so that any runner that supports pytest's naming can run them.
"""

import ast
import fnmatch
import importlib
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import anygru

from .. import extend
from .finder import actual_name, roots
from .names import Names, names
from .stand_ins import NotCoveredError

FLOORS = ("words", "operators", "arrays", "training", "layers", "files", "face")
"""The floors of a dialect, lowest first; `docs/dialects.md` describes their contents."""

PUBLIC_MODULES = ("checkpoints", "dialects", "errors", "functional", "layers", "onnx", "parallel")
"""Modules of anygru with public names that a dialect may import, in addition to `anygru` and `anygru.extend`."""


@dataclass(frozen=True)
class SizeArgument:
    """A name of a dialect that takes several sizes (or dimensions), for `DialectSuite.sizes`.

    Attributes:
        function: called with the sizes; returns a tensor or an array with a `shape`.
        sizes: its arguments.
        shape: the shape that the original returns.
        separate: whether the original takes the sizes as separate arguments, `f(2, 3)`; or the error with which it refuses
            them. False also stands for a second size that has another meaning.
        lists: whether the original takes a list and a tuple of NumPy's numbers, or its error.
        arrays: whether the original takes a NumPy array.
        keyword: the name under which the original takes them, `f(shape=(2, 3))`.
        options: keyword arguments to repeat each call with, such as a dtype.
    """

    function: Callable[..., Any]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    separate: bool | type[Exception] = False
    lists: bool | type[Exception] = True
    arrays: bool = False
    keyword: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def spellings(self) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], Any]]:
        """The positional and keyword arguments of each call, and its result: a shape, or the class of an error."""
        sequences: list[tuple[Any, bool | type[Exception]]] = [
            (self.sizes, True),
            (tuple(map(np.int64, self.sizes)), self.lists),
            (list(self.sizes), self.lists),
            (np.array(self.sizes), self.arrays),
        ]
        for options in ({}, dict(self.options)) if self.options else ({},):
            if self.separate:
                yield self.sizes, options, self.shape if self.separate is True else self.separate
            for sequence, taken in sequences:
                if taken:
                    result = self.shape if taken is True else taken
                    yield (sequence,), options, result
                    if self.keyword is not None:
                        yield (), {self.keyword: sequence, **options}, result


class DialectSuite:
    """The tests of one dialect, for pytest to collect in a subclass.

    Attributes:
        dialect: the import name of the original, as in the entry point.
        floors: the file that puts each file of the dialect on a floor: lines "floor: pattern pattern ..." in the order of
            `FLOORS`; None if the dialect has no floors.
        sizes: the names that take sizes, and their results.
    """

    dialect: ClassVar[str]
    floors: ClassVar[Path | None] = None
    sizes: ClassVar[Mapping[str, SizeArgument]] = {}

    def test_every_covered_name_is_there(self) -> None:
        for section, covered in self.listed().covered.items():
            offered = owner(section)
            missing = [name for name in covered if not hasattr(offered, name) or is_stand_in(getattr(offered, name))]
            assert missing == [], f"names.txt says that [{section}] covers {missing}"
            twice = {name for name in covered if covered.count(name) > 1}
            assert twice == set(), f"[{section}] lists {twice} twice"

    def test_every_refused_name_says_what_to_use_instead(self) -> None:
        for section, refused in self.listed().refused.items():
            offered = owner(section)
            for name, refusal in refused.items():
                full = f"{section}.{name}"
                assert refusal.instead, f"{full} does not say what to use instead"
                assert name not in self.listed().covered.get(section, ()), f"{full} is listed as covered and as refused"
                error = error_of(offered, name, is_module=refusal.is_module)
                assert isinstance(error, NotCoveredError), f"{full} is refused, but {error!r}"
                assert "; use " in str(error), f"{full}: {error}"

    def test_no_public_name_is_left_out(self) -> None:
        """A function or class that a module for users defines is in the list."""
        for section, covered in self.listed().covered.items():
            offered = owner(section)
            if not isinstance(offered, types.ModuleType):
                continue
            public = getattr(offered, "__all__", None) or [
                name
                for name, value in vars(offered).items()
                if not name.startswith("_")
                and isinstance(value, (type, types.FunctionType))
                and value.__module__ == offered.__name__
            ]
            assert set(public) <= set(covered), f"[{section}] lacks {sorted(set(public) - set(covered))}"

    def test_it_imports_no_more_than_the_contract(self) -> None:
        for path in self.files():
            found = [name for name in imports_of_anygru(path) if not is_allowed(name)]
            assert found == [], f"{path.relative_to(self.root())} imports {found}; see anygru.extend"

    def test_its_files_keep_their_floors(self) -> None:
        if self.floors is None:
            return
        lines = (line.partition(":") for line in self.floors.read_text().splitlines() if line)
        plan = {floor: patterns.split() for floor, _, patterns in lines}
        assert tuple(plan) == FLOORS
        modules = {module_name(path, self.root()): path.relative_to(self.root()).as_posix() for path in self.files()}
        upwards = [
            f"{file} imports {modules[other]}"
            for module, file in modules.items()
            for other in imports(self.root() / file, self.root()) & modules.keys() - {module}
            if floor_of(modules[other], plan) > floor_of(file, plan)
        ]
        assert upwards == []

    def test_sizes_may_be_separate_or_a_sequence(self) -> None:
        """`f(2, 3)`, `f((2, 3))`, `f([2, 3])` and `f(shape=(2, 3))` make the same shape, with and without options, or are
        refused as the original refuses them."""
        wrong = []
        for name, argument in self.sizes.items():
            for given, options, expected in argument.spellings():
                try:
                    found: Any = tuple(argument.function(*given, **options).shape)
                except Exception as error:
                    found = error
                if found != expected and not (isinstance(expected, type) and isinstance(found, expected)):
                    wrong.append(f"{name}{given} {options}: {found!r}, expected {expected}")
        assert wrong == [], "\n".join(wrong)

    def listed(self) -> Names:
        return names(self.dialect)

    def root(self) -> Path:
        file = importlib.import_module(roots()[self.dialect]).__file__
        assert file is not None
        return Path(file).parent

    def files(self) -> list[Path]:
        return sorted(self.root().rglob("*.py"))


def owner(section: str) -> Any:
    """The module or class of a section of `names.txt`, by attribute access from the dialect's package."""
    first, *path = section.split(".")
    found: Any = importlib.import_module(actual_name(first))
    for part in path:
        found = getattr(found, part)
    return found


def is_stand_in(value: Any) -> bool:
    return "_anygru_name" in dir(value)


def error_of(offered: Any, name: str, *, is_module: bool) -> BaseException | None:
    """The error of using a refused name: access on an instance for a member of a class, otherwise a call of it or of a
    name in it."""
    try:
        if isinstance(offered, type):
            getattr(offered.__new__(offered), name)  # type: ignore[call-overload]
        elif is_module:
            assert isinstance(getattr(offered, name), types.ModuleType), f"{name} is listed as a module"
            getattr(offered, name).Anything()
        else:
            getattr(offered, name)()
    except NotCoveredError as error:
        return error
    return None


def floor_of(file: str, plan: dict[str, list[str]]) -> int:
    """The floor of a file of a dialect, by the most specific matching pattern."""
    fitting = [
        (pattern == file, len(pattern), floor)
        for floor, patterns in plan.items()
        for pattern in patterns
        if fnmatch.fnmatch(file, pattern)
    ]
    assert fitting, f"{file} is on no floor"
    return FLOORS.index(max(fitting)[2])


def nodes_of(path: Path) -> Iterator[ast.AST]:
    """The nodes of a file's syntax tree, without the bodies of `if TYPE_CHECKING`."""
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        yield node
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        nodes += node.orelse if isinstance(node, ast.If) and for_types else ast.iter_child_nodes(node)


def imports(path: Path, root: Path) -> set[str]:
    """The modules below the package `root` that a file imports (also inside functions), as dotted names below it.

    A package is its `__init__.py`, and only where it is named itself: `from . import x` names x if x is a module.
    """
    package = path.relative_to(root).with_suffix("").parts[:-1]
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[2] for alias in node.names if alias.name.partition(".")[0] == root.name}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else (node.module or "").split(".")
            if not node.level:
                if base.pop(0) != root.name:
                    continue
            elif node.module:
                base += node.module.split(".")
            for alias in node.names:
                inner = [*base, alias.name]
                found.add(".".join(inner if is_module(root, inner) else base))
    return found


def is_module(root: Path, parts: list[str]) -> bool:
    path = root.joinpath(*parts)
    return any(file.is_file() for file in (path.with_suffix(".py"), path.with_suffix(".pyi"), path / "__init__.py"))


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of_anygru(path: Path) -> set[str]:
    """The full names that a file imports from anygru, such as "anygru.extend.Budget"."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] == "anygru"}
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "anygru":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_allowed(name: str) -> bool:
    """Whether the contract has a name: `anygru`, its public names and modules, or a name of `anygru.extend`."""
    _, *inside = name.split(".")
    match inside:
        case []:
            return True
        case [one]:
            return one in (*anygru.__all__, *PUBLIC_MODULES, "backends", "extend")
        case ["extend", one]:
            return one in extend.__all__
        case [module, one]:
            return module in PUBLIC_MODULES and not one.startswith("_")
    return False
