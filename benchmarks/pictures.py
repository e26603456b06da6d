"""Draw the results of `run.py` in `results/` as an SVG file for each JSON file, and renew the tables of README.md:

    python benchmarks/pictures.py

A row of a picture is a cell of the grid. A dot is the time of a peer divided by anygru's, on a logarithmic axis. The pictures
have no background and grey text, so they can be read on white and on black. The files are small and the same on every machine.
"""

import argparse
import json
import math
import re
import statistics
from collections.abc import Sequence
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


README = Path(__file__).with_name("README.md")
NO_COMMIT = "not recorded"
"""In a result that was stored before the programs wrote the commit."""
GOOD, NEAR, TORCH = 1.25, 0.95, 1.4
"""The aims of a cell: a ratio to the fastest peer, or a share of the limit; a ratio to torch."""
HALF = [
    ("inference", "anygru_frozen_bfloat16", "openvino_default", 1.25),
    ("inference", "anygru_int8", "openvino_default", 1.5),
    ("inference", "anygru_bfloat16", "torch_bfloat16", 1.1),
    ("inference", "anygru_bfloat16", "openvino_default", 1.1),
    ("inference", "anygru_autocast", "torch_autocast", 1.1),
    ("inference", "anygru_autocast", "openvino_default", 1.1),
    ("training", "anygru_bfloat16", "torch_bfloat16", 1.1),
    ("training", "anygru_autocast", "torch_autocast", 1.1),
]
"""Work, implementation, rival, and the aim in cells of at least 16 sequences."""


def table(heading: str, rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown; the heading has its bars between columns."""
    lines = [f"| {heading} |", "|" + " --- |" * (heading.count("|") + 1)]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows]) + "\n"


def medians(entry: dict[str, Any]) -> dict[str, float]:
    """Return the milliseconds of each implementation that was timed on a cell."""
    return {name: result["median_ms"] for name, result in entry["results"].items() if result.get("median_ms")}


def machines() -> str:
    """Which result comes from which machine, day, commit and version."""
    found: dict[tuple[str, ...], list[str]] = {}
    versions: dict[tuple[str, ...], dict[str, str]] = {}
    for path in sorted(RESULTS.glob("*/*_[0-9].json")):
        stored = json.loads(path.read_text())
        if not isinstance(stored, dict) or "machine" not in stored:
            continue
        facts = stored["machine"]
        cpu = f"{facts['cpu']}, {facts['instruction set']}"
        key = (f"`results/{path.parent.name}`", cpu, facts["date"], facts.get("commit", NO_COMMIT))
        found.setdefault(key, []).append(path.stem.rpartition("_")[0])
        for entry in stored["cells"]:
            for name, result in entry["results"].items():
                if result.get("median_ms") and result["version"] and "_" not in name:
                    versions.setdefault(key, {})[name] = result["version"]
    rows = [
        (
            *key,
            ", ".join(dict.fromkeys(works)),
            ", ".join(f"{name} {version}" for name, version in sorted(versions[key].items())),
        )
        for key, works in found.items()
    ]
    return table("folder | CPU, kernels | day | commit | results | versions", rows)


def summary() -> str:
    """Geometric means, least ratios, and the cells that meet their aims."""
    rows = []
    for machine in ("amd_zen4", "intel_cascade_lake"):
        for work in WORK:
            for threads in (1, 2):
                torch, fastest, met, number = [], [], 0, 0
                for each in json.loads((RESULTS / machine / f"{work}_{threads}.json").read_text())["cells"]:
                    times = medians(each)
                    own = times.pop("anygru")
                    torch.append(times["torch"] / own)
                    fastest.append(min(times.values()) / own)
                    met += fastest[-1] >= GOOD or bool(each["limit_ms"] and each["limit_ms"] / own >= NEAR)
                    number += 1
                near = sum(ratio >= TORCH for ratio in torch)
                means = [f"{statistics.geometric_mean(found):.2f} ({min(found):.2f})" for found in (torch, fastest)]
                rows.append((machine, work, threads, means[0], f"{near} of {number}", means[1], f"{met} of {number}"))
    good = f"cells at {GOOD:g}, or at {NEAR:.0%} of the limit"
    return table(f"machine | work | threads | torch | cells at {TORCH:g} | the fastest peer | {good}", rows)


def halves() -> str:
    """The ratios of modules in half precision and frozen layers, cell by cell."""
    rows = []
    for machine in sorted({path.parent.name for path in RESULTS.glob("*/half_*.json")}):
        for work, ours, theirs, least in HALF:
            stored = json.loads((RESULTS / machine / f"half_{work}_1.json").read_text())["cells"]
            large = [medians(each) for each in stored if each["cell"]["batch"] >= 16]
            ratios = [f"{each[theirs] / each[ours]:.2f}" for each in large if ours in each and theirs in each]
            if ratios:
                rows.append((machine, work, f"`{ours}`", f"`{theirs}`", f"{least:g}", ", ".join(ratios)))
    return table("machine | work | anygru | against | at least | times as fast", rows)


def programs() -> str:
    """Whole programs under `anygru run` beside the framework."""
    rows: list[tuple[object, ...]] = []
    scaling = json.loads((RESULTS / "scaling.json").read_text())
    rows.append(("`scaling.json`", "two processes against one, one thread each", "", f"{scaling['factor']:.2f}"))
    for path in sorted(RESULTS.glob("chainer_*.json")):
        stored = json.loads(path.read_text())
        for work in ("forward", "forward_backward"):
            words = f"NStepGRU, {stored['inputs']} as input, {work.replace('_', ' and ')}"
            rows.append((f"`{path.name}`", words, 1, f"{stored[work]['ratio']:.2f}"))
    for path in [*sorted(RESULTS.glob("mxnet_*.json")), *sorted(RESULTS.glob("paddle_*.json"))]:
        stored = json.loads(path.read_text())
        ours, theirs = (statistics.median(side["seconds"]) for side in stored["sides"].values())
        words = f"language model, training; commit {stored['commit'][:8]}"
        rows.append((f"`{path.name}`", words, stored["threads"] or "all", f"{theirs / ours:.2f}"))
    return table("result | program | threads | times as fast", rows)


TABLES = {"machines": machines, "summary": summary, "halves": halves, "programs": programs}


def page() -> str:
    """Return `README.md` with its tables renewed from the stored results."""

    def renewed(found: re.Match[str]) -> str:
        return f"{found[1]}\n\n{TABLES[found[2]]()}\n<!-- end -->"

    return re.sub(r"(<!-- table: (\w+) -->)\n.*?<!-- end -->", renewed, README.read_text(), flags=re.DOTALL)


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    for path, content in {**pictures(), README: page()}.items():
        path.write_text(content)
        print(path.name)


if __name__ == "__main__":
    main()
