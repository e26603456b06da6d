"""A trained model in a file: weights, and as its metadata everything that a forecast of other rows needs."""

import json
import os
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from anygru.errors import CheckpointError
from anygru.extend import UsageError, open_for_replace, open_regular

from .calendar import Calendar
from .model import Network, Shape
from .pipeline import Model
from .problem import QUANTILES
from .tables.clock import Clock
from .tables.parts import Columns
from .tables.table import Table

NAME = "model.safetensors"
_KEY = "anygru_forecast"
_VERSION = 1
_MOST_BYTES = 1 << 30


def save(folder: str, model: Model, table: Table) -> str:
    """Write the model into a folder and return the file's path."""
    import safetensors.torch

    facts = {
        "version": _VERSION,
        "shape": asdict(model.network.shape),
        "calendar": asdict(model.calendar),
        "clock": asdict(table.clock),
        "columns": asdict(table.columns),
        "seasons": model.seasons,
        "logs": model.logs,
        "chosen": model.chosen,
        "factors": {name: factor.tolist() for name, factor in model.factors.items()},
        "steps": model.steps,
    }
    path = os.path.join(folder, NAME)
    with open_for_replace(path) as out:
        out.write(safetensors.torch.save(model.network.state_dict(), {_KEY: json.dumps(facts)}))
    return path


def load(path: str) -> tuple[Model, Columns, Clock]:
    """Read a model from its file or folder, with the parts of the columns and the steps of the table it was trained on.

    Raises:
        UsageError: there is no model, or it is damaged.
    """
    import safetensors.torch

    file = os.path.join(path, NAME) if os.path.isdir(path) else path
    try:
        with open_regular(file) as source:
            data = source.read(_MOST_BYTES)
        weights = safetensors.torch.load(data)
        size = int.from_bytes(data[:8], "little")
        facts = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][_KEY])
        return _made(facts, weights)
    except CheckpointError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"there is no model {file!r}: {error.strerror}") from None
    except Exception as error:  # the file may hold anything
        raise UsageError(
            f"{file!r} holds no model of `anygru forecast`, or a damaged one ({type(error).__name__})"
        ) from None


def _made(facts: dict[str, Any], weights: dict[str, torch.Tensor]) -> tuple[Model, Columns, Clock]:
    if facts["version"] != _VERSION:
        raise ValueError(facts["version"])
    shape = Shape(**_tuples(facts["shape"]))
    if max(shape.channels, shape.horizon, shape.hidden, shape.context, *shape.features, *shape.seasons, 0) > 1 << 20:
        raise ValueError("sizes")
    network = Network(shape, torch.zeros(shape.horizon, shape.channels, len(QUANTILES)))
    network.load_state_dict(weights)
    network.eval()
    calendar = Calendar(**_tuples(facts["calendar"]))
    columns = Columns(**_tuples(facts["columns"]))
    model = Model(
        network,
        calendar,
        tuple(facts["seasons"]),
        tuple(facts["logs"]),
        tuple(facts["chosen"]),
        {name: np.array(factor) for name, factor in facts["factors"].items()},
        facts["steps"],
    )
    return model, columns, Clock(**_tuples(facts["clock"]))


def _tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
