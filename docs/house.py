"""Draws the house: the folders of the core as rooms, imports as arrows. python docs/house.py writes the picture and prints
the counts.

A room is a folder or a file right in the package, an arrow from A to B an import of B in A (inside functions too; imports for
types alone are left out). A room is drawn above all that it imports. Arrows that follow from others are not drawn.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import torch

import anygru
from anygru.backends import cpu_calls
from anygru.dialects.suite import imports

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "packages/anygru/src/anygru"
PICTURE = ROOT / "docs/images/house.svg"
ARGUMENTS = ROOT / "tests/data/arguments.json"
DIALECTS = ("chainer", "mxnet", "oneflow", "paddle")
GROUND = "errors"
"""Most rooms import it; its arrows are counted and not drawn."""
WIDTH, BOX, HIGH, STEP = 720, 104, 30, 72


def arrows(package: Path = CORE) -> set[tuple[str, str]]:
    """The pairs of rooms (importing, imported)."""
    found = set()
    for path in package.rglob("*.py"):
        own = path.relative_to(package).parts[0].removesuffix(".py")
        for name in imports(path, package):
            other = name.partition(".")[0]
            if other not in ("", own):
                found.add((own, other))
    return found


def rooms(package: Path = CORE) -> set[str]:
    """Folders and files right in the package; the native module and the entry of `python -m` are no rooms."""
    folders = {path.parent.name for path in package.glob("*/*.py")}
    return folders | {path.stem for path in package.glob("*.py")} - {"__main__"}


def functions(package: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path.relative_to(package).as_posix(), node


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many arguments a caller can give by name or place; `self` and `cls` are left out."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in given)


def with_many_arguments(package: Path = CORE, most: int = 8) -> list[str]:
    return [f"{file}:{each.name}" for file, each in functions(package) if arguments(each) > most]


def named(node: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions with the names that users of a dialect know: `Class.method`, or the name of the operator that it registers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = [each for each in child.decorator_list if isinstance(each, ast.Call)]
            registered = [ast.literal_eval(each.args[0]) for each in calls if ast.unparse(each.func) == "operator"]
            yield (registered or [owner + child.name])[0], child
            yield from named(child, f"{owner}{child.name}.")
        else:
            yield from named(child, f"{child.name}." if isinstance(child, ast.ClassDef) else owner)


def long_functions(dialect: str, most: int = 8) -> Iterator[tuple[str, list[str]]]:
    """Functions of a dialect with more arguments than `most`, and the arguments' names."""
    for path in sorted((ROOT / f"packages/anygru-{dialect}/src").rglob("*.py")):
        for name, function in named(ast.parse(path.read_text())):
            if arguments(function) > most:
                given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
                yield name, [each.arg for each in given if each.arg not in ("self", "cls")]


def print_long(dialect: str) -> None:
    print(*(name for name, _ in long_functions(dialect)), sep="\n")


def not_asked(dialect: str) -> list[str]:
    """The long functions whose arguments are not those of a public function of the original, in its order.

    The record is `tests/data/arguments.json`. Functions with a private name count, whatever they take, and so do those of
    releases that the record does not cover.
    """
    recorded = json.loads(ARGUMENTS.read_text())[dialect]

    def asked(name: str, ours: list[str]) -> bool:
        public = not name.startswith("_")
        return public and any([each for each in theirs if each in ours] == ours for theirs in recorded.get(name, ()))

    return [name for name, ours in long_functions(dialect) if not asked(name, ours)]


FOR_TOOLS = re.compile("# (noqa|type:|fmt:)")
COMPUTING = ("backends", "errors.py", "facts", "functional.py", "layers", "operator", "patching")


def classes(package: Path = CORE, within: tuple[str, ...] = ()) -> list[str]:
    """The classes of a package, or of some of its rooms without the parts for GPUs and Keras."""
    return [
        f"{path.relative_to(package).as_posix()}:{node.name}"
        for path in sorted(package.rglob("*.py"))
        if not within
        or (path.relative_to(package).parts[0] in within and not path.stem.startswith(("triton", "cudnn", "keras")))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]


def comments(dialect: str) -> float:
    """Comments per 1,000 lines of a dialect's source; those that speak to tools are no comments."""
    lines = found = 0
    for path in (ROOT / f"packages/anygru-{dialect}/src").rglob("*.py"):
        text = path.read_text()
        lines += text.count("\n")
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found += sum(each.type == tokenize.COMMENT and not FOR_TOOLS.match(each.string) for each in tokens)
    return 1000 * found / lines


def twins(package: Path = CORE) -> list[str]:
    """Names of classes that two files define. Private ones may recur."""
    names = Counter(each.rpartition(":")[2] for each in classes(package))
    return sorted(name for name, count in names.items() if count > 1 and not name.startswith("_"))


def frames_to(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame of a function of the core and those that called it, until the caller is neither the core nor torch."""
    folders = {str(CORE): True, str(Path(torch.__file__).parent): False}
    while frame is not None:
        found = [own for folder, own in folders.items() if frame.f_code.co_filename.startswith(folder)]
        if not found:
            return
        if found[0]:
            yield frame
        frame = frame.f_back


def classes_of(value: object) -> Iterator[str]:
    """The names of the core's classes that a value has, or that it holds if it is a tuple."""
    if type(value).__module__.partition(".")[0] == "anygru":
        yield type(value).__name__
    if isinstance(value, tuple):
        for each in value:
            yield from classes_of(each)


def words(call: Callable[[], object]) -> list[str]:
    """Words that a reader learns between a layer and the kernel on the CPU that its call reaches.

    These are the names of the functions that wait for the kernel, and of the classes of their variables. A name counts once:
    `run` of a backend promises what `run` before it does. Functions that returned before the kernel began are not on the way.
    """
    native, found = cpu_calls.native, set[str]()

    class Kernels:
        def __getattr__(self, name: str) -> object:
            found.clear()  # the last one computes; those before it made objects for it
            frames = list(frames_to(sys._getframe(1)))
            for frame in frames[:-1]:
                code = frame.f_code
                found.update(getattr(code, "co_qualname", code.co_name).split("."))  # since Python 3.11 with its class
            for frame in frames:
                found.update(name for value in frame.f_locals.values() for name in classes_of(value))
            return getattr(native, name)

    with patch.object(cpu_calls, "native", Kernels()):
        call()
    return sorted(found - {"GRU"})


def words_of_paths() -> dict[str, list[str]]:
    """The words of a plain call, and of one with lengths and resets; both while training."""
    layer, input = anygru.GRU(4, 8), torch.randn(3, 2, 4)
    lengths, resets = torch.tensor([3, 2]), torch.zeros(3, 2, dtype=torch.bool)
    return {
        "fast path": words(lambda: layer(input)),
        "general path": words(lambda: layer(input, lengths=lengths, resets=resets)),
    }


def floors(pairs: set[tuple[str, str]]) -> dict[str, int]:
    """The floor of each room: right below the lowest room that imports it; a room that none imports, above all of its own."""

    @cache
    def floor(room: str) -> int:
        return 1 + max((floor(other) for own, other in pairs if own == room), default=-1)

    @cache
    def raised(room: str) -> int:
        return min((raised(own) for own, other in pairs if other == room), default=floor(room) + 1) - 1

    return {room: raised(room) for pair in pairs for room in pair}


def needed(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that do not follow from others."""

    @cache
    def below(room: str) -> frozenset[str]:
        direct = {other for own, other in pairs if own == room}
        return frozenset(direct.union(*(below(other) for other in direct)))

    return {
        (own, other)
        for own, other in pairs
        if not any(other in below(between) for first, between in pairs if first == own and between != other)
    }


def draw(pairs: set[tuple[str, str]]) -> str:
    """The picture, without a background and in grey, so that it can be read on white and on black."""
    drawn = {pair for pair in pairs if not {GROUND, "_native", "__main__", "extend"} & set(pair)}
    height = floors(drawn)
    top = max(height.values())
    place = {}
    for level in range(top + 1):
        here = sorted(room for room in height if height[room] == level)
        for number, room in enumerate(here):
            place[room] = ((number + 1) * WIDTH / (len(here) + 1), (top - level) * STEP + 30)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {(top + 1) * STEP}" width="{WIDTH}" role="img" '
        'font-family="sans-serif" font-size="13" fill="#7f7f7f">',
        "<title>The folders of the core; each imports only folders below it</title>",
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
    ]
    for own, other in sorted(needed(drawn)):
        (x, y), (to_x, to_y) = place[own], place[other]
        lines.append(
            f'<path d="M{x:.0f},{y + HIGH / 2:.0f} C{x:.0f},{y + STEP / 2:.0f} {to_x:.0f},{to_y - STEP / 2:.0f} '
            f'{to_x:.0f},{to_y - HIGH / 2:.0f}" fill="none" stroke="#7f7f7f" marker-end="url(#head)"/>'
        )
    for room, (x, y) in sorted(place.items()):
        lines += [
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" height="{HIGH}" rx="5" '
            'fill="#4c78a8" fill-opacity="0.25" stroke="#4c78a8"/>',
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{room}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def counts() -> dict[str, int]:
    """The counts that `tests/test_house.py` bounds, of the core and, the last, of the dialects."""
    files = [path for path in CORE.glob("*.py") if path.stem not in ("__init__", "__main__")]
    many = with_many_arguments()
    kernels = [each for each in many if each.startswith("backends/triton")]
    return {
        "modules right in the package": len(files),
        "rooms": len(rooms()),
        "arrows": len(arrows()),
        "class names that two files define": len(twins()),
        "functions of more than 8 arguments": len(many) - len(kernels),
        "kernels in Triton of more than 8 arguments": len(kernels),
        "classes that compute": len(classes(within=COMPUTING)),
        "functions of more than 8 arguments that no original asks for": sum(len(not_asked(each)) for each in DIALECTS),
        **{f"comments per 1,000 lines, {each}": round(comments(each)) for each in DIALECTS},
        **{f"words to the kernel, {path}": len(found) for path, found in words_of_paths().items()},
    }


def main() -> None:
    PICTURE.write_text(draw(arrows()))
    for name, count in counts().items():
        print(f"{count:4} {name}")


if __name__ == "__main__":
    main()
