"""Compare NStepGRU on a ragged batch under anygru's Chainer dialect and under Chainer.

    python benchmarks/chainer_nstep_gru.py --chainer PYTHON [--rounds 5] [--inputs variables] [--json FILE]

32 sequences of up to 100 steps, 256 features, 256 hidden units, float32, one thread; forward, and forward and backward. The
same script runs under `anygru run` and in an interpreter with Chainer 7.8, the last version. The two processes take turns; each
reports the median of its repetitions, and the medians over the rounds are compared. Times are measured only if the results
agree.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

WORKLOAD = """
import json
import sys
import time

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

repetitions = int(sys.argv[1])
rng = np.random.RandomState(0)
gru = L.NStepGRU(1, 256, 256, 0.0)
for _, param in sorted(gru.namedparams()):
    param.array[...] = rng.uniform(-0.06, 0.06, param.shape)
lengths = rng.randint(1, 101, 32)
lengths[0] = 100
xs = [rng.randn(n, 256).astype(np.float32) for n in lengths]
if sys.argv[2] == "variables":
    xs = [chainer.Variable(x) for x in xs]


def forward():
    hy, ys = gru(None, xs)
    return F.sum(hy) + F.sum(F.concat(ys, axis=0))


def both():
    gru.cleargrads()
    forward().backward()


def median_time(function):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


both()
result = {"loss": float(forward().array), "w5": float(np.abs(gru[0].w5.grad).sum())}
result["forward"] = median_time(forward)
result["forward_backward"] = median_time(both)
result["versions"] = {"chainer": chainer.__version__, "numpy": np.__version__, "python": sys.version.split()[0]}
print(json.dumps(result))
"""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def run(command: list[str], script: str, repetitions: int, inputs: str) -> dict:
    """Run the workload in this process."""
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run(
        [*command, script, str(repetitions), inputs], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def check(ours: dict, theirs: dict) -> None:
    """Exit unless both results agree."""
    for key in ("loss", "w5"):
        if abs(ours[key] - theirs[key]) > 1e-4 * abs(theirs[key]):
            sys.exit(f"the results differ, so no times are given: {key} is {ours[key]}, under Chainer {theirs[key]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chainer", required=True, help="Python interpreter that has Chainer")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument(
        "--repetitions", type=int, default=5, help="repetitions in a process of Chainer (anygru: 4 times as many)"
    )
    parser.add_argument(
        "--inputs",
        choices=("arrays", "variables"),
        default="arrays",
        help="sequences as arrays (data), or as Variables with gradients",
    )
    parser.add_argument("--json", help="file for the results")
    args = parser.parse_args()
    ours: list[dict] = []
    theirs: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "workload.py")
        with open(script, "w") as file:
            file.write(WORKLOAD)
        for _ in range(args.rounds):
            ours.append(run([sys.executable, "-m", "anygru", "run"], script, 4 * args.repetitions, args.inputs))
            theirs.append(run([args.chainer], script, args.repetitions, args.inputs))
            check(ours[-1], theirs[-1])
    summary: dict = {
        "inputs": args.inputs,
        "versions": {"anygru run": ours[0]["versions"], "chainer": theirs[0]["versions"]},
    }
    for key in ("forward", "forward_backward"):
        anygru_time = statistics.median(result[key] for result in ours)
        chainer_time = statistics.median(result[key] for result in theirs)
        summary[key] = {
            "anygru_ms": anygru_time * 1e3,
            "chainer_ms": chainer_time * 1e3,
            "ratio": chainer_time / anygru_time,
        }
        print(
            f"{key:17} anygru {anygru_time * 1e3:8.1f} ms   Chainer {chainer_time * 1e3:8.1f} ms"
            f"   {chainer_time / anygru_time:6.1f}x"
        )
    if args.json:
        with open(args.json, "w") as file:
            json.dump(summary, file, indent=1)


if __name__ == "__main__":
    main()
