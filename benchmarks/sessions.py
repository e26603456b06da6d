"""Compare steps of many sessions of one model: a `SessionPool`, and states gathered and scattered by hand.

    python benchmarks/sessions.py --threads 1

There are 10,000 sessions of GRU(64, 128) and a Linear layer; each call steps 500 random sessions. Each variant runs in its own
process. The processes take turns; times are medians. The last lines step a single session.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

SESSIONS, READY, INPUT, HIDDEN = 10_000, 500, 64, 128

Step = Callable[[np.ndarray, torch.Tensor], torch.Tensor]


class Model(torch.nn.Module):
    """The model of all variants."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.gru = torch.nn.GRU(INPUT, HIDDEN)
        self.head = torch.nn.Linear(HIDDEN, 1)

    def forward(self, x: torch.Tensor, h_0: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        output, h_n = self.gru(x, h_0)
        return self.head(output), h_n


def pooled(weights: str) -> Step:
    import anygru

    model = Model().eval()
    if weights != "float32":
        anygru.freeze(model, weights=weights)
    pool = anygru.SessionPool(model, SESSIONS, torch.randn(5, 2, INPUT), batch_first=False)
    sessions = [pool.open() for _ in range(SESSIONS)]
    return lambda chosen, x: pool.step([sessions[place] for place in chosen], x)


def by_hand() -> Step:
    model, states = Model().eval(), torch.zeros(SESSIONS, HIDDEN)

    def step(chosen: np.ndarray, x: torch.Tensor) -> torch.Tensor:
        rows = torch.from_numpy(chosen)
        with torch.no_grad():
            output, h_n = model(x.unsqueeze(0), states.index_select(0, rows).unsqueeze(0))
        states.index_copy_(0, rows, h_n[0])
        return output[0]

    return step


def onnx_runtime() -> Step:
    import onnxruntime

    import anygru.onnx

    model, example = Model().eval(), (torch.randn(1, READY, INPUT), torch.zeros(1, READY, HIDDEN))
    with tempfile.TemporaryDirectory() as folder:
        anygru.onnx.export(model, example, f"{folder}/model.onnx")
        file = Path(folder, "model.onnx").read_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(file, options)
    names = [each.name for each in session.get_inputs()]
    states = np.zeros((SESSIONS, HIDDEN), np.float32)

    def step(chosen: np.ndarray, x: torch.Tensor) -> torch.Tensor:
        output, h_n = session.run(None, dict(zip(names, (x.numpy()[None], states[chosen][None]), strict=True)))
        states[chosen] = h_n[0]
        return torch.from_numpy(output[0])

    return step


def one_session() -> Callable[[], object]:
    import anygru

    torch.manual_seed(0)
    pool = anygru.SessionPool(anygru.GRU(INPUT, HIDDEN), 100)
    session, x = pool.open(), torch.randn(INPUT)
    return lambda: session.step(x)


def one_stream() -> Callable[[], object]:
    import anygru

    torch.manual_seed(0)
    stream, x = anygru.GRU(INPUT, HIDDEN).stream(), torch.randn(INPUT)
    return lambda: stream.step(x)


MANY: dict[str, Callable[[], Step]] = {
    "SessionPool": lambda: pooled("float32"),
    "SessionPool, bfloat16": lambda: pooled("bfloat16"),
    "SessionPool, int8": lambda: pooled("int8"),
    "torch by hand": by_hand,
    "ONNX Runtime by hand": onnx_runtime,
}
SINGLE: dict[str, Callable[[], Callable[[], object]]] = {"Session.step": one_session, "Stream.step": one_stream}


def calls(name: str) -> Callable[[], object]:
    """Return a call of the variant `name`; each call steps other random sessions, the same for all variants."""
    if name in SINGLE:
        return SINGLE[name]()
    step, random = MANY[name](), np.random.default_rng(0)
    turns = [random.choice(SESSIONS, READY, replace=False) for _ in range(64)]
    x = torch.from_numpy(random.standard_normal((READY, INPUT)).astype(np.float32))
    made = iter(range(1 << 60))
    return lambda: step(turns[next(made) % len(turns)], x)


def work(name: str, threads: int) -> None:
    """Print a checksum of three calls, then the median seconds of a call for each line of standard input."""
    torch.set_num_threads(threads)
    call = calls(name)
    check = [float(torch.as_tensor(call()).sum()) for _ in range(3)]
    print(json.dumps(check), flush=True)
    for line in sys.stdin:
        end, times = time.perf_counter() + float(line), []
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(statistics.median(times), flush=True)


def compare(names: list[str], threads: int, rounds: int, seconds: float) -> dict[str, float]:
    """Return the median seconds of a call by name.

    Raises:
        ValueError: the results of a variant differ from the first.
    """
    command = [sys.executable, __file__, "--threads", str(threads), "--work"]
    processes = {
        name: subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in names
    }
    times: dict[str, list[float]] = {name: [] for name in names}
    try:
        checks = {name: json.loads(process.stdout.readline()) for name, process in processes.items()}  # type: ignore[union-attr]
        for name, check in checks.items():
            if not np.allclose(check, checks[names[0]], rtol=0, atol=READY * 1e-3):
                raise ValueError(f"{name} computes {check}, {names[0]} computes {checks[names[0]]}")
        for _ in range(rounds):
            for name, process in processes.items():
                process.stdin.write(f"{seconds}\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                times[name].append(float(process.stdout.readline()))  # type: ignore[union-attr]
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a turn")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.threads)
        return
    for names in (list(MANY), list(SINGLE)):
        times = compare(names, options.threads, options.rounds, options.seconds)
        for name, seconds in times.items():
            print(f"{name:24} {1e6 * seconds:10.1f} µs {seconds / times[names[0]]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
