"""Mutations that atheris chooses: it keeps every mutation that reaches new lines of a reader.

    pip install atheris
    python packages/anygru/tests/checkpoints/covered_fuzzing.py FORMAT|all [-max_total_time=60] [OPTION_OF_LIBFUZZER ...]

The first finding ends the program and stays in `fuzz-findings`; `fuzzing.py --again FILE` reads it again.
"""

import gc
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FunctionType

import atheris
from fuzzing import MEMORY, SECONDS, SEEDS, attempt, read

FORMATS = sorted(SEEDS.keys() - {"native"})


def instrument() -> None:
    """Count the lines of the readers' functions; atheris's own hook of imports misses an editable install."""
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and (each.__module__ or "").startswith(
            ("anygru.checkpoints", "anygru_mxnet.symbol")
        ):
            atheris.instrument_func(each)


def main() -> None:
    """Fuzz until a finding, or for the time of libFuzzer's options; never returns."""
    format = sys.argv[1] if len(sys.argv) > 1 else ""
    if format == "all":
        sys.exit(max(subprocess.call([sys.executable, __file__, each, *sys.argv[2:]]) for each in FORMATS))
    if format not in FORMATS:
        sys.exit(f"FORMAT must be all or one of {', '.join(FORMATS)}, got {format!r}")
    place = Path(tempfile.mkdtemp())  # libFuzzer ends the process itself
    (place / "corpus").mkdir()
    for number, data in enumerate(SEEDS[format](place)):
        (place / "corpus" / str(number)).write_bytes(data)
        read(format, place / f"good-{format}", data)  # imports its modules
    instrument()
    Path("fuzz-findings").mkdir(exist_ok=True)

    def once(data: bytes) -> None:
        what = attempt(format, place, data)
        assert what is None, what

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    limits = [
        f"-rss_limit_mb={(used + 2 * MEMORY) >> 20}",
        f"-timeout={SECONDS}",
    ]  # libFuzzer keeps its corpus there, too
    options = [*limits, f"-artifact_prefix=fuzz-findings/{format}-", *sys.argv[2:], str(place / "corpus")]
    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
