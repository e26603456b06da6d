"""Draw the folders of the core with their imports: `python docs/house.py` writes `docs/images/house.svg`.

A part is a folder or a file directly in the package, an arrow from A to B is an import of B in A (inside functions too, but
not for type checkers). Each part is drawn above the parts that it imports. Arrows implied by other arrows are not drawn.
"""

from functools import cache
from pathlib import Path

from anygru.dialects.suite import imports

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "packages/anygru/src/anygru"
PICTURE = ROOT / "docs/images/house.svg"
GROUND = "errors"
"""Most parts import it; its arrows are not drawn."""
WIDTH, BOX, HIGH, STEP = 720, 104, 30, 72


def arrows(package: Path = CORE) -> set[tuple[str, str]]:
    """The pairs of parts (importing, imported)."""
    found = set()
    for path in package.rglob("*.py"):
        own = path.relative_to(package).parts[0].removesuffix(".py")
        for name in imports(path, package):
            other = name.partition(".")[0]
            if other not in ("", own):
                found.add((own, other))
    return found


def parts(package: Path = CORE) -> set[str]:
    """Folders and files right in the package; the native module and the entry of `python -m` are no such parts."""
    folders = {path.parent.name for path in package.glob("*/*.py")}
    return folders | {path.stem for path in package.glob("*.py")} - {"__main__"}


def floors(pairs: set[tuple[str, str]]) -> dict[str, int]:
    """The floor of each part: right below the lowest part that imports it; a part that none imports, above all of its own."""

    @cache
    def floor(part: str) -> int:
        return 1 + max((floor(other) for own, other in pairs if own == part), default=-1)

    @cache
    def raised(part: str) -> int:
        return min((raised(own) for own, other in pairs if other == part), default=floor(part) + 1) - 1

    return {part: raised(part) for pair in pairs for part in pair}


def needed(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that do not follow from others."""

    @cache
    def below(part: str) -> frozenset[str]:
        direct = {other for own, other in pairs if own == part}
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
        here = sorted(part for part in height if height[part] == level)
        for number, part in enumerate(here):
            place[part] = ((number + 1) * WIDTH / (len(here) + 1), (top - level) * STEP + 30)
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
    for part, (x, y) in sorted(place.items()):
        lines += [
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" height="{HIGH}" rx="5" '
            'fill="#4c78a8" fill-opacity="0.25" stroke="#4c78a8"/>',
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{part}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    PICTURE.write_text(draw(arrows()))


if __name__ == "__main__":
    main()
