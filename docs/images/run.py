"""Draws run.svg: a script for MXNet's Gluon and what `anygru run` prints. python docs/images/run.py"""

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """\
import mxnet as mx
from mxnet import autograd, gluon

mx.random.seed(7)
layer = gluon.rnn.GRU(32, layout="NTC")
layer.initialize(mx.init.Xavier())
trainer = gluon.Trainer(layer.collect_params(), "adam")
data = mx.nd.random.uniform(shape=(8, 20, 4))
for epoch in range(3):
    with autograd.record():
        loss = ((layer(data) - 0.5) ** 2).mean()
    loss.backward()
    trainer.step(batch_size=1)
    print(epoch, loss)
layer.save_parameters("gru.params")
"""
LINE = 17
BLUE, GREY = "#4c78a8", "#7f7f7f"


def printed() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train_2019.py").write_text(SCRIPT)
        command = [sys.executable, "-m", "anygru", "run", "train_2019.py"]
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True
        )
        files = sorted(path.name for path in Path(folder).iterdir())
    return ["$ anygru run train_2019.py", *done.stdout.splitlines(), "$ ls", "  ".join(files)]


def block() -> str:
    """Return the script and its output as text for docs/run.md."""
    return f"```text\n# train_2019.py, for MXNet 1.x\n{SCRIPT}\n" + "\n".join(printed()) + "\n```\n"


def column(lines: list[str], x: int, color: str) -> list[str]:
    return [
        f'<text x="{x}" y="{30 + LINE * number}" fill="{color}" xml:space="preserve">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
    ]


def picture() -> str:
    script, output = ["# train_2019.py, for MXNet 1.x", *SCRIPT.splitlines()], printed()
    height = 30 + LINE * max(len(script), len(output))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 {height}" width="780" role="img" '
            'font-family="monospace" font-size="12">',
            "<title>A script for MXNet runs on PyTorch, unmodified</title>",
            f'<rect x="1" y="1" width="456" height="{height - 2}" rx="6" fill="none" stroke="{GREY}"/>',
            f'<rect x="465" y="1" width="314" height="{height - 2}" rx="6" fill="none" stroke="{BLUE}"/>',
            *column(script, 12, GREY),
            *column(output, 476, BLUE),
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    Path(__file__).with_name("run.svg").write_text(picture())
