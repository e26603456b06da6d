"""Measure models of forecasting libraries that contain a GRU, with the library's code unchanged and under `anygru.accelerate()`.

    python benchmarks/libraries.py [LIBRARY ...] [--turns 5] [--threads 1] [--write]

Each library trains its own model on synthetic data and predicts with it. The two variants take turns in one process, and
every turn starts from the same seed. Times are medians of processor time, which other processes hardly change. The difference is
the greatest one between the two predictions, as a share of the greatest absolute prediction. `--write` stores
`results/libraries.json` and renews the table in docs/libraries.md; `--table` only renews the table. `.ci/downstream` lists the
requirements of each library.
"""

import argparse
import importlib.metadata
import json
import logging
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Fit = Callable[[], Any]
Predict = Callable[[Any], np.ndarray]
RESULTS = Path(__file__).with_name("results") / "libraries.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "libraries.md"
BEGIN, END = "<!-- the table of benchmarks/libraries.py -->\n\n", "\n<!-- end -->"
QUIET = {
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
}
"""Arguments of a Lightning trainer."""


def series(steps: int, number: int = 0) -> np.ndarray:
    """Return float32 [steps]: a seasonal series with a trend and noise."""
    t = np.arange(steps)
    noise = np.random.default_rng(number).normal(0, 0.3, steps)
    return (10 + 3 * np.sin(2 * np.pi * t / 24 + number) + 0.01 * t + noise).astype(np.float32)


def darts(hidden: int, rounds: int) -> tuple[Fit, Predict]:
    from darts import TimeSeries
    from darts.models import RNNModel

    history = TimeSeries.from_values(series(400))

    def fit() -> RNNModel:
        model = RNNModel(
            input_chunk_length=72,
            training_length=96,
            model="GRU",
            hidden_dim=hidden,
            n_rnn_layers=2,
            n_epochs=rounds,
            random_state=0,
            pl_trainer_kwargs=QUIET,
        )
        return model.fit(history)

    return fit, lambda model: model.predict(24, verbose=False).values()


def neuralforecast(hidden: int, rounds: int) -> tuple[Fit, Predict]:
    import pandas as pd
    from neuralforecast import NeuralForecast
    from neuralforecast.models import GRU

    frames = [pd.DataFrame({"unique_id": i, "ds": np.arange(400), "y": series(400, i)}) for i in range(8)]
    history = pd.concat(frames)

    def fit() -> NeuralForecast:
        model = GRU(
            h=24,
            input_size=96,
            encoder_n_layers=2,
            encoder_hidden_size=hidden,
            max_steps=4 * rounds,
            random_seed=0,
            **QUIET,
        )
        forecaster = NeuralForecast(models=[model], freq=1)
        forecaster.fit(history)
        return forecaster

    return fit, lambda forecaster: forecaster.predict()["GRU"].to_numpy()


def sktime(hidden: int, rounds: int) -> tuple[Fit, Predict]:
    from sktime.classification.deep_learning.gru import GRUClassifier

    x = np.stack([series(100, i)[None] * (1 + i % 2) for i in range(64)])  # [64, 1 channel, 100 steps]
    y = np.arange(64) % 2

    def fit() -> GRUClassifier:
        model = GRUClassifier(
            hidden_dim=hidden, n_layers=2, batch_first=True, num_epochs=rounds, batch_size=16, random_state=0
        )
        return model.fit(x, y)

    return fit, lambda model: model.predict_proba(x)


def pytorch_forecasting(hidden: int, rounds: int) -> tuple[Fit, Predict]:
    import lightning
    import pandas as pd
    from pytorch_forecasting import RecurrentNetwork, TimeSeriesDataSet

    frames = [pd.DataFrame({"group": str(i), "time": np.arange(200), "y": series(200, i)}) for i in range(8)]
    data = TimeSeriesDataSet(
        pd.concat(frames, ignore_index=True),
        time_idx="time",
        target="y",
        group_ids=["group"],
        max_encoder_length=72,
        max_prediction_length=24,
        time_varying_unknown_reals=["y"],
    )

    def fit() -> RecurrentNetwork:
        lightning.seed_everything(0, verbose=False)
        model = RecurrentNetwork.from_dataset(data, cell_type="GRU", hidden_size=hidden, rnn_layers=2, dropout=0.0)
        trainer = lightning.Trainer(max_epochs=1, limit_train_batches=5 * rounds, **QUIET)
        trainer.fit(model, data.to_dataloader(train=True, batch_size=32))
        return model

    def predict(model: RecurrentNetwork) -> np.ndarray:
        loader = data.to_dataloader(train=False, batch_size=128)
        return model.predict(loader, trainer_kwargs=dict(QUIET)).numpy()  # which it changes

    return fit, predict


LIBRARIES = {each.__name__: each for each in (darts, neuralforecast, sktime, pytorch_forecasting)}
"""By the name of the package: a function (hidden units, rounds of training) -> (fit, predict)."""


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return the greatest difference as a share of the greatest absolute value."""
    return float(np.abs(one - other).max() / np.abs(one).max())


def measure(library: str, hidden: int = 128, rounds: int = 3, turns: int = 5) -> dict[str, Any]:
    """Time training and prediction of a library's model, unchanged and accelerated, in turns.

    Returns:
        Version, seconds {"unchanged": ..., "accelerated": ...} of "fit" and "predict", and the difference of the predictions.
    """
    import anygru

    fit, predict = LIBRARIES[library](hidden, rounds)
    fit()  # imports and caches
    times: dict[str, dict[str, list[float]]] = {
        each: {"unchanged": [], "accelerated": []} for each in ("fit", "predict")
    }
    predictions = {}
    for _ in range(turns):
        for variant in ("unchanged", "accelerated"):
            if variant == "accelerated":
                anygru.accelerate()
            start = time.process_time()
            model = fit()
            middle = time.process_time()
            predictions[variant] = np.asarray(predict(model))
            times["fit"][variant].append(middle - start)
            times["predict"][variant].append(time.process_time() - middle)
            if variant == "accelerated":
                anygru.restore()
    medians = {
        work: {variant: round(statistics.median(each), 4) for variant, each in found.items()}
        for work, found in times.items()
    }
    package = library.replace("_", "-")
    return {
        "version": importlib.metadata.version(package),
        **medians,
        "difference": difference(predictions["unchanged"], predictions["accelerated"]),
    }


def table(results: dict[str, Any]) -> str:
    """Return the results as a Markdown table, with the machine below."""
    lines = ["| library | training | prediction | greatest difference |", "|---|---:|---:|---:|"]
    for library, found in results["libraries"].items():
        ratios = (f"{found[work]['unchanged'] / found[work]['accelerated']:.2f}" for work in ("fit", "predict"))
        name = f"{library.replace('_', '-')} {found['version']}"
        lines.append(f"| {name} | {' | '.join(ratios)} | {found['difference']:.0e} |")
    machine = results["machine"]
    lines += [
        "",
        f"{machine['cpu']} ({machine['instruction set']}), {results['threads']} thread, torch {machine['torch']}, "
        f"Python {machine['python']}; medians of processor time over {results['turns']} turns.",
    ]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page with the table of the stored results."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(json.loads(RESULTS.read_text())) + END + rest.split(END, 1)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=f"one of {', '.join(LIBRARIES)} (default: all)")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="store the results and renew the table")
    parser.add_argument("--table", action="store_true", help="renew the table from the stored results")
    args = parser.parse_args()
    if not args.table:
        import torch
        from side_by_side.report import machine

        warnings.filterwarnings("ignore")
        for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
            logging.getLogger(name).setLevel(logging.ERROR)
        torch.set_num_threads(args.threads)
        found = {}
        for library in args.libraries or LIBRARIES:
            found[library] = measure(library, turns=args.turns)
            print(library, json.dumps(found[library]), flush=True)
        results = {"machine": machine(), "threads": args.threads, "turns": args.turns, "libraries": found}
        print(table(results))
        if args.write:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if args.table or args.write:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
