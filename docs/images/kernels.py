"""Draws kernels.png, the picture of docs/kernels.md: python docs/images/kernels.py"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

RESET, UPDATE, CANDIDATE = "#4c78a8", "#f58518", "#54a24b"
GATES = (RESET, UPDATE, CANDIDATE)
HELD = "#bab0ac"


def box(axes: Axes, x: float, y: float, width: float, height: float, color: str, alpha: float = 1.0) -> None:
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, alpha=alpha, edgecolor="#7f7f7f", linewidth=0.5))


def packing(axes: Axes) -> None:
    axes.set_title("packing: weight_hh [3H, H] becomes panels")
    for gate, (name, color) in enumerate(zip("rzn", GATES, strict=True)):
        top = 11 - 4 * gate
        axes.text(-0.6, top - 1.8, name, ha="right", fontsize=12)
        for block in range(2):
            for chain in range(12):
                alpha = (1.0 if block == 0 else 0.45) * (1.0 if chain % 4 == 0 else 0.6)
                box(axes, chain * 0.35, top - 1.9 * (block + 1), 0.35, 1.9, color, alpha)
    axes.text(0, -1.4, "columns k = 0, 1, 2, ...; full colour: chain a", fontsize=9)
    axes.annotate("", (6.6, 5), (4.8, 5), arrowprops={"arrowstyle": "->", "color": "#7f7f7f"})
    for block in range(2):
        top = 10.2 - 5.4 * block
        axes.text(7, top + 0.3, f"block {block}", fontsize=9)
        for row, label in enumerate(("k = 0", "k = 4", "k = 8", "k = 1")):
            gap = 0.4 if row == 3 else 0.0
            for gate, color in enumerate(GATES):
                alpha = (1.0 if block == 0 else 0.45) * (0.6 if row == 3 else 1.0)
                box(axes, 7 + 1.3 * gate, top - 0.9 * (row + 1) - gap, 1.3, 0.9, color, alpha)
            axes.text(11.2, top - 0.9 * row - 0.65 - gap, label + (" ..." if row >= 2 else ""), fontsize=9)
    axes.set_xlim(-1.5, 13.5)
    axes.set_ylim(-2, 11.5)


def tile(axes: Axes) -> None:
    axes.set_title("a tile: M rows x one panel, sums in registers")
    axes.text(0, 9.3, "h: 8 rows, one k at a time", fontsize=9)
    axes.text(6, 11.2, "3 vectors of weights for this k", fontsize=9)
    for gate, color in enumerate(GATES):
        box(axes, 6 + 1.8 * gate, 10, 1.8, 0.9, color)
    for row in range(8):
        y = 8 - row * 1.1
        box(axes, 0, y, 4, 1.0, HELD)
        box(axes, 1.2, y, 0.5, 1.0, "#e45756")
        for gate, color in enumerate(GATES):
            box(axes, 6 + 1.8 * gate, y, 1.8, 1.0, color, 0.7)
    axes.text(6, -0.6, "24 sums, added to in place", fontsize=9)
    axes.set_xlim(-0.5, 12)
    axes.set_ylim(-1.5, 12)


def threads(axes: Axes) -> None:
    axes.set_title("two threads, hidden units split")
    axes.text(0.2, 9.6, "barrier after each step: h is exchanged", fontsize=9)
    for step in range(4):
        for thread, color in enumerate(("#72b7b2", "#b279a2")):
            box(axes, 3 * step, 5.6 - 4.6 * thread, 2.4, 3.4, color)
            arrow = "\N{RIGHTWARDS ARROW}" if step % 2 == 0 else "\N{LEFTWARDS ARROW}"
            axes.text(3 * step + 0.2, 7 - 4.6 * thread, f"step {step}\n{arrow} blocks", fontsize=8, color="black")
        axes.plot([3 * step + 2.7] * 2, [0.4, 9.4], color="#7f7f7f", linewidth=2)
    axes.text(-0.2, -0.6, "each thread keeps its slice of the weights in its own cache", fontsize=9)
    axes.set_xlim(-0.5, 12.5)
    axes.set_ylim(-1.5, 11)


def main() -> None:
    # No background and grey text, to be read on white and on black.
    plt.rcParams.update(
        {"text.color": "#7f7f7f", "axes.titlecolor": "#7f7f7f", "axes.titlesize": 10, "savefig.transparent": True}
    )
    figure, axes = plt.subplot_mosaic([["packing", "packing"], ["tile", "threads"]], figsize=(8.5, 8))
    for name, draw in (("packing", packing), ("tile", tile), ("threads", threads)):
        draw(axes[name])
        axes[name].axis("off")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
