"""Compare keras.layers.GRU on Keras's torch backend, unchanged and under `anygru.accelerate()`.

Each variant runs in its own process; the processes take turns. Times are medians of all turns, ratios are ratios of medians.

    python benchmarks/keras_gru.py [--threads 1] [--turns 5] [--json FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

CELLS = [(100, 1, 64, 64), (100, 32, 256, 256)]  # steps, batch, input size, hidden size
WORK = ("inference", "training")


def worker(runner: str, threads: int) -> None:
    """Answer each line of input, a cell and a kind of work, with seconds a call."""
    os.environ["KERAS_BACKEND"] = "torch"
    import torch

    torch.set_num_threads(threads)
    import keras

    import anygru

    if runner == "anygru":
        anygru.accelerate()
    for line in sys.stdin:
        (steps, batch, features, hidden), work = json.loads(line)
        keras.utils.set_random_seed(0)
        layer, x = keras.layers.GRU(hidden, return_sequences=True), torch.rand(batch, steps, features)
        layer(x)

        def call(layer=layer, x=x, work=work):
            if work == "inference":
                with torch.no_grad():
                    return layer(x)
            return layer(x).sum().backward()

        call()
        started, times = time.perf_counter(), []
        while time.perf_counter() - started < 1.0 or len(times) < 3:
            before = time.perf_counter()
            call()
            times.append(time.perf_counter() - before)
        print(json.dumps(statistics.median(times)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", help="write the figures there")
    parser.add_argument("--worker", choices=("keras", "anygru"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker, args.threads)
    command = [sys.executable, __file__, "--threads", str(args.threads), "--worker"]
    runners = {
        name: subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("keras", "anygru")
    }
    rows = []
    for cell in CELLS:
        for work in WORK:
            times = {name: [] for name in runners}
            for _ in range(args.turns):
                for name, process in runners.items():
                    process.stdin.write(json.dumps([cell, work]) + "\n")
                    process.stdin.flush()
                    times[name].append(json.loads(process.stdout.readline()))
            keras_time, ours = (statistics.median(times[name]) for name in ("keras", "anygru"))
            rows.append({"cell": cell, "work": work, "keras_ms": keras_time * 1e3, "anygru_ms": ours * 1e3})
            print(
                f"{cell!s:22} {work:9} Keras {keras_time * 1e3:9.2f} ms   anygru {ours * 1e3:8.2f} ms   {keras_time / ours:6.1f}"
            )
    for process in runners.values():
        process.stdin.close()
        process.wait()
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"threads": args.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
