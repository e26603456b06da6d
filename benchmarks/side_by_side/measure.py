"""Run implementations in separate processes that take turns, so that changes of the machine's speed affect all of them."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
GPU_WORKER = Path(__file__).with_name("gpu_worker.py")
HALF_WORKER = Path(__file__).with_name("half_worker.py")
TOLERANCE = 2e-4
TOLERANCE_ROUNDED = 0.1
"""For implementations that round weights or inputs to 8 or 16 bits."""
HALF_MODULES = ("bfloat16", "float16", "autocast", "autocast_float16")
"""A module in half precision, and a module in float32 under autocast (to bfloat16)."""
OURS_ROUNDED = (*(f"anygru_{name}" for name in HALF_MODULES), "anygru_frozen_bfloat16", "anygru_int8")
"""anygru's module in half precision, under autocast, and frozen."""
PEERS_ROUNDED = (*(f"torch_{name}" for name in HALF_MODULES), "torch_int8", "openvino_default")
ROUNDED = ("bfloat16", "bfloat16_rows", "int8", *OURS_ROUNDED, *PEERS_ROUNDED)
OF_HALF_WORKER = (*OURS_ROUNDED, *PEERS_ROUNDED, "anygru_high", "jax")
"""The implementations in `half_worker.py`."""


@dataclass(frozen=True)
class Cell:
    """The sizes of one comparison; steps T, batch B, input size I, hidden size H.

    With lengths, T is the longest. With stream, T is 1, and each call is the next step of one stream.
    """

    steps: int
    batch: int
    input: int
    hidden: int
    layers: int = 1
    bidirectional: bool = False
    train: bool = False
    lengths: tuple[int, ...] | None = None
    stream: bool = False
    frozen: str = ""
    """The weight format of anygru's frozen layer; "": not frozen."""
    device: str = "cpu"
    dtype: str = "float32"
    reset: str = "after"
    """`dtype` and `reset` are for GPUs."""

    @property
    def rows(self) -> int:
        return sum(self.lengths) if self.lengths else self.steps * self.batch

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def weights(self) -> int:
        """Elements of all weight matrices."""
        hidden, directions = self.hidden, self.directions
        inner = (self.layers - 1) * (directions * hidden + hidden)
        return 3 * hidden * directions * (self.input + hidden + inner)

    @property
    def recurrent(self) -> int:
        """Elements of the recurrent matrices."""
        return 3 * self.hidden * self.hidden * self.directions * self.layers

    @property
    def flops(self) -> float:
        """Multiplications and additions of the matrix products; backward costs two forward passes."""
        return 2.0 * self.rows * self.weights * (3 if self.train else 1)

    def describe(self) -> str:
        extra = f" L={self.layers}" if self.layers > 1 else ""
        extra += " bidirectional" if self.bidirectional else ""
        extra += " ragged" if self.lengths else ""
        extra += " stream" if self.stream else ""
        extra += f" frozen {self.frozen}" if self.frozen else ""
        extra += f" {self.device} {self.dtype} reset={self.reset}" if self.device != "cpu" else ""
        return f"T={self.steps} B={self.batch} I={self.input} H={self.hidden}{extra}"


@dataclass
class Timing:
    """The times of one implementation on a cell in seconds per call, or the error that prevented them."""

    version: str = ""
    times: list[float] = field(default_factory=list)
    error: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a share of the median."""
        if len(self.times) < 4:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4)
        return (high - low) / 2 / self.median


class Runner:
    """A worker process."""

    def __init__(self, name: str, python: str, threads: int, worker: Path = WORKER) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, str(worker), name, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, request: dict) -> dict:
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"the process ended with status {self._process.wait()}"}

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def compare(
    cell: Cell, peers: dict[str, str], threads: int, rounds: int = 5, seconds: float = 0.2
) -> tuple[dict[str, Timing], dict[str, float]]:
    """Time every implementation on a cell, and measure the machine's limits for it.

    Args:
        peers: implementation -> Python interpreter; the outputs must match the first one.
        rounds, seconds: every implementation takes `rounds` turns of about `seconds`.

    Returns:
        A Timing for each peer, and {"gflops": speed of a large matrix product, "gbytes": speed of reading as many bytes as a
        layer reads at each step, divided among the threads}.
    """
    runners = [Runner(name, python, threads, _worker(name, cell)) for name, python in peers.items()]
    try:
        results, expected = {}, None
        rounded = cell.dtype != "float32" or cell.frozen in ROUNDED or any(name in ROUNDED for name in peers)
        tolerance = TOLERANCE_ROUNDED if rounded else TOLERANCE
        for runner in runners:
            answer = runner.ask({"cell": asdict(cell)})
            timing = results[runner.name] = Timing(answer.get("version", ""), error=answer.get("error"))
            if timing.error is None and expected is None:
                expected = answer["output"]
            elif timing.error is None and not cell.lengths and _differs(answer["output"], expected, tolerance):
                timing.error = "its output differs"
        running = [runner for runner in runners if results[runner.name].error is None]
        for runner in running:
            runner.ask({"seconds": seconds / 4})  # warms up
        for _ in range(rounds):
            for runner in running:
                results[runner.name].times += runner.ask({"seconds": seconds})["times"]
        size = 4 * (cell.weights if cell.steps == 1 else cell.recurrent) // cell.layers
        asked = [runner for runner in running if runner.name == "anygru" and cell.device == "cpu"]
        limits = asked[0].ask({"limit": size, "threads": threads}) if asked else {}
        return results, limits
    finally:
        for runner in runners:
            runner.close()


def _worker(name: str, cell: Cell) -> Path:
    if cell.device != "cpu":
        return GPU_WORKER
    return HALF_WORKER if name in OF_HALF_WORKER else WORKER


def _differs(output: Sequence[float], expected: Sequence[float] | None, tolerance: float) -> bool:
    return expected is None or any(abs(a - b) > tolerance for a, b in zip(output, expected, strict=True))


def installed(names: Sequence[str], find: Callable[[str], object | None]) -> dict[str, str]:
    """Return the implementations in `names` that this interpreter has: name -> its path."""
    needs: dict[str, tuple[str, ...]] = {"onnxruntime": ("onnxruntime", "onnx")}
    ours = ("reference", "torch_without_cudnn", "anygru_high", *PEERS_ROUNDED, *OURS_ROUNDED)
    needs |= dict.fromkeys(ours, ("torch",))
    needs |= dict.fromkeys(("openvino", "openvino_default"), ("openvino", "onnx"))
    return {name: sys.executable for name in names if all(find(module) for module in needs.get(name, (name,)))}
