"""Draws the results that `run.py` left in `results/`: an SVG beside each JSON file. python benchmarks/pictures.py

A row is a cell of the grid, a dot a peer: how many times as long as anygru it takes, on a logarithmic axis. The pictures have no
background and grey text, so they can be read on white and on black. They are plain text, small and the same on every machine.
"""

import json
import math
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
COLORS = {
    "torch": "#4c78a8",
    "onnxruntime": "#e1812c",
    "openvino": "#54a24b",
    "paddle": "#b279a2",
    "mxnet": "#d64f4f",
    "oneflow": "#9d755d",
    "chainer": "#8a8a8a",
}
GREY = "#7f7f7f"
WIDTH, LEFT, RIGHT, TOP, ROW = 500, 190, 20, 52, 17
LEAST, MOST = 0.5, 64.0

WORK = ("inference", "streaming", "training")
"""What `anygru bench` measures; other programs write other tables."""


def place(ratio: float) -> float:
    """Where a ratio stands on the axis; what lies beyond its end is put at the end."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def label(cell: dict[str, Any]) -> str:
    sizes = "{steps}, {batch}, {input}, {hidden}".format(**cell)
    if cell["lengths"]:
        sizes = "ragged, {batch}, {input}, {hidden}".format(**cell)
    layers = f", {cell['layers']} layers" if cell["layers"] > 1 else ""
    return sizes + layers + (", two directions" if cell["bidirectional"] else "")


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{words}</text>'


def draw(found: dict[str, Any], title: str) -> str:
    """The picture of one JSON file of results."""
    cells = found["cells"]
    peers = [name for name in COLORS if any(name in each["results"] for each in cells)]
    bottom = TOP + ROW * len(cells)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 36}" width="{WIDTH}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="{GREY}">',
        f"<title>{title}: time of each peer over that of anygru</title>",
    ]
    for number, name in enumerate(peers):
        x = 5 + 90 * number
        lines += [f'<circle cx="{x}" cy="28" r="4" fill="{COLORS[name]}"/>', text(x + 8, 32, name)]
    lines.append(text(0, 14, title))
    for tick in (0.5, 1, 2, 4, 8, 16, 32, 64):
        x = place(tick)
        width = 1.5 if tick == 1 else 0.3
        lines.append(f'<path d="M{x:.1f} {TOP - 6}V{bottom}" stroke="{GREY}" stroke-width="{width}"/>')
        lines.append(text(round(x, 1), bottom + 14, f"{tick:g}" if tick < MOST else f"{tick:g}+", "middle"))
    lines.append(text((LEFT + WIDTH - RIGHT) / 2, bottom + 30, "time over that of anygru (1: as fast)", "middle"))
    for number, each in enumerate(cells):
        y = TOP + ROW * (number + 0.5)
        lines.append(text(0, y + 4, label(each["cell"])))
        own = each["results"]["anygru"]["median_ms"]
        for name in peers:
            if each["results"].get(name, {}).get("median_ms"):
                x = place(each["results"][name]["median_ms"] / own)
                lines.append(f'<circle cx="{x:.1f}" cy="{y:g}" r="4" fill="{COLORS[name]}"/>')
    return "\n".join([*lines, "</svg>", ""])


def pictures() -> dict[Path, str]:
    """The pictures of all committed results, by their files."""
    found = {}
    for path in sorted(RESULTS.glob("*/*_[0-9].json")):
        work, _, threads = path.stem.partition("_")
        if work not in WORK:
            continue
        title = f"{work.capitalize()}, {threads} thread{'s' if threads != '1' else ''}"
        found[path.with_suffix(".svg")] = draw(json.loads(path.read_text()), title)
    return found


def main() -> None:
    for path, picture in pictures().items():
        path.write_text(picture)
        print(path.relative_to(RESULTS))


if __name__ == "__main__":
    main()
