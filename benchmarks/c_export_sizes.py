"""Renew the table of docs/deploy.md: flash and memory of C files on a Cortex-M4F, for several sizes and formats.

python benchmarks/c_export_sizes.py [--write]     (needs arm-none-eabi-gcc; --write renews the table in the page)
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import torch

import anygru

PAGE = Path(__file__).resolve().parent.parent / "docs" / "deploy.md"
BEGIN, END = "<!-- sizes -->\n", "<!-- end of sizes -->\n"
SIZES = [(1, 8), (1, 16), (1, 32), (40, 32), (1, 64), (40, 64), (64, 128)]
TARGET = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
PROGRAM = """
#include "net.h"
void step(net_state *state, const float *input, float *output);
void step(net_state *state, const float *input, float *output) { net_step(state, input, output); }
"""


def sizes(inputs: int, hidden: int, weights: str) -> tuple[int, int, int, int]:
    """Return the bytes of constants, code, state, and stack of a step."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = torch.nn.Sequential(anygru.GRU(inputs, hidden), torch.nn.Linear(hidden, 1))
        source = anygru.export_c(model, folder / "net.h", weights=weights, check=False).source
        (folder / "net.c").write_text(PROGRAM)
        command = ["arm-none-eabi-gcc", *TARGET, "-Os", "-fstack-usage", "-c", "net.c"]
        subprocess.run(command, cwd=folder, check=True)
        listed = subprocess.run(
            ["arm-none-eabi-size", "-A", "net.o"], cwd=folder, capture_output=True, text=True, check=True
        )
        code = sum(int(size) for size in re.findall(r"^\.text\S*\s+(\d+)", listed.stdout, re.MULTILINE))
        # An upper bound: the stack of all functions of a step together.
        stack = sum(int(line.split("\t")[1]) for line in (folder / "net.su").read_text().splitlines())
        return source.constants, code, source.state, stack


def table() -> str:
    """Return the table in Markdown."""
    lines = [
        "| GRU + Linear(1) | weights | constants | code | state | stack, at most |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for inputs, hidden in SIZES:
        for weights in ("float32", "bfloat16", "int8"):
            row = " | ".join(f"{size:,}" for size in sizes(inputs, hidden, weights))
            lines.append(f"| {inputs} to {hidden} | {weights} | {row} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="renew the table in docs/deploy.md")
    args = parser.parse_args()
    text = table()
    if not args.write:
        print(text, end="")
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
