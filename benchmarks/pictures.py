"""Draw the results of `run.py` in `results/` as an SVG file for each JSON file: python benchmarks/pictures.py

A row is a cell of the grid. A dot is the time of a peer divided by anygru's, on a logarithmic axis. The pictures have no
background and grey text, so they can be read on white and on black. The files are small and the same on every machine.
"""

import json
import math
import statistics
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
"""The works that `run.py` measures."""


def place(ratio: float) -> float:
    """Return the position of a ratio on the axis, clipped to its ends."""
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
    """Draw the picture of one JSON file."""
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


OVERVIEW = [
    ("a stream's step, 64 units", "streaming_1", (1, 1, 64, 64)),
    ("100 steps, 64 units", "inference_1", (100, 1, 64, 64)),
    ("100 steps, 256 units", "inference_1", (100, 1, 128, 256)),
    ("batch of 32, 256 units", "inference_1", (100, 32, 256, 256)),
    ("training, 100 steps, 64 units", "training_1", (100, 1, 64, 64)),
    ("training, batch of 16, 128 units", "training_1", (100, 16, 128, 128)),
    ("training, 64 unequal lengths", "training_1", (99, 64, 128, 128)),
]
"""The rows of the README's chart: words, file of results, (steps, batch, input, hidden) of a plain layer."""


def overview(machine: str) -> str:
    """Draw a bar per row of `OVERVIEW`: the time of torch divided by anygru's."""
    ratios = []
    for _, work, sizes in OVERVIEW:
        for each in json.loads((RESULTS / machine / f"{work}.json").read_text())["cells"]:
            cell, results = each["cell"], each["results"]
            plain = cell["layers"] == 1 and not cell["bidirectional"]
            if plain and tuple(cell[name] for name in ("steps", "batch", "input", "hidden")) == sizes:
                ratios.append(results["torch"]["median_ms"] / results["anygru"]["median_ms"])
    height = 34 + 26 * len(ratios)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" width="640" role="img" '
        f'font-family="sans-serif" font-size="14" fill="{GREY}">',
        "<title>How many times as fast as torch.nn.GRU anygru is</title>",
        text(0, 16, "anygru is this many times as fast as torch.nn.GRU (one thread of an AMD Zen 4 server)"),
    ]
    for number, ((words, _, _), ratio) in enumerate(zip(OVERVIEW, ratios, strict=True)):
        y = 34 + 26 * number
        lines += [
            text(220, y + 14, words, "end"),
            f'<rect x="228" y="{y}" width="{18 * ratio:.0f}" height="18" rx="2" fill="#4c78a8"/>',
            text(round(234 + 18 * ratio), y + 14, f"{ratio:.1f}"),
        ]
    return "\n".join([*lines, "</svg>", ""])


def bound(machine: str) -> str:
    """Return the README's sentence about the fastest peer of inference on one thread."""
    cells = json.loads((RESULTS / machine / "inference_1.json").read_text())["cells"]
    medians = [{name: result.get("median_ms") for name, result in each["results"].items()} for each in cells]
    ratios = [each["onnxruntime"] / each["anygru"] for each in medians if each.get("onnxruntime")]
    slower = sum(ratio < 1 for ratio in ratios)
    return (
        f"Against ONNX Runtime, the fastest peer in inference: {statistics.geometric_mean(ratios):.1f} times as fast on that "
        f"machine, and slower in {slower} of {len(ratios)} cases."
    )


def pictures() -> dict[Path, str]:
    """Return the pictures of all committed results: path -> SVG."""
    found = {RESULTS.parents[1] / "docs/images/speed.svg": overview("amd_zen4")}
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
        print(path.name)


if __name__ == "__main__":
    main()
