"""The options of `anygru train` with defaults and limits."""

import argparse
import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from anygru.extend import UsageError


def _option(
    default: Any,
    kind: type,
    help: str,
    *,
    least: float = 0,
    most: float = math.inf,
    choices: tuple[str, ...] = (),
    metavar: str | None = None,
) -> Any:
    """Return a field of `Options` with the facts for the command line."""
    facts = {"kind": kind, "help": help, "least": least, "most": most, "choices": choices, "metavar": metavar}
    return field(default=default, metadata=facts)


@dataclass(frozen=True)
class Options:
    """The options of one run; `None` means the default that the help line describes."""

    layers: int = _option(1, int, "stacked GRU layers", least=1, most=64)
    hidden: int = _option(384, int, "hidden size of the GRU", least=1, most=1 << 16)
    embedding: int = _option(128, int, "embedding size of a byte", least=1, most=1 << 16)
    dropout: float = _option(0.1, float, "dropout of the outputs that the head reads", least=0, most=0.99)
    layer_dropout: float = _option(0.0, float, "dropout between stacked GRU layers", least=0, most=0.99)
    tie: bool = _option(False, bool, "share the weights of embedding and head; --embedding must equal --hidden")
    layer: str = _option("anygru", str, "which GRU computes", choices=("anygru", "torch"))
    backend: str | None = _option(None, str, "backend of the anygru layer (default: the fastest that fits)")
    device: str = _option("cpu", str, "where to compute: cpu, cuda, cuda:1, ...")
    dtype: str = _option(
        "float32",
        str,
        "bfloat16: mixed precision (torch.autocast), weights stay float32",
        choices=("float32", "bfloat16"),
    )
    init_from: str | None = _option(
        None, str, "start from the weights of this run or model (fine-tuning)", metavar="MODEL"
    )
    batch: int = _option(16, int, "lanes: documents that are read side by side", least=1, most=1 << 20)
    bptt: int = _option(128, int, "length of backpropagation through time, in steps", least=1, most=1 << 20)
    accumulate: int = _option(1, int, "windows per step; their gradients are summed", least=1, most=1 << 20)
    lr: float = _option(4e-3, float, "peak learning rate", least=0, most=1e3)
    warmup: int | None = _option(None, int, "steps of rising learning rate (default: 5 %%, at most 100)", least=0)
    weight_decay: float = _option(0.01, float, "weight decay of AdamW, on matrices", least=0, most=1e3)
    clip: float = _option(1.0, float, "limit of the gradient's norm", least=1e-12)
    steps: int | None = _option(None, int, "training steps (default: as many as fit into --seconds)", least=1)
    seconds: float = _option(150.0, float, "target duration; a few steps are timed to set --steps", least=0.1)
    epochs: float | None = _option(
        None, float, "length of the run in passes over the text, instead of --steps", least=1e-3
    )
    patience: int | None = _option(
        None, int, "stop after N validations without improvement (default: never)", least=1, most=1 << 20
    )
    val_fraction: float | None = _option(
        None, float, "share of the text to hold out (default: 0.06, at most 64 KiB)", least=1e-6, most=0.5, metavar="X"
    )
    every: int | None = _option(
        None, int, "steps between two checkpoints with validation (default: a twelfth of --steps)", least=1
    )
    keep: int = _option(
        1, int, "checkpoints to keep; an older one is used if the newest is damaged", least=1, most=1000
    )
    seed: int = _option(0, int, "of weights, order of documents and dropout", least=0, most=(1 << 63) - 1)
    threads: int | None = _option(None, int, "threads per process (default: all cores, shared out)", least=1, most=4096)
    nproc: int = _option(1, int, "processes that share the lanes", least=1, most=4096)


# A resumed run may be given other values for these. They change its length, its checkpoints or its rounding, and
# not the model or its data.
FREE_ON_RESUME = frozenset({"steps", "every", "keep", "threads", "nproc", "backend", "patience", "device"})
# The other options define or train a model; --evaluate reads a trained one.
USED_IN_EVALUATION = frozenset({"val_fraction", "layer", "backend", "device", "dtype", "threads"})
METAVARS = {int: "N", float: "X", str: "NAME"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an argument for each option; options that are not given stay out of the namespace."""
    for each in fields(Options):
        facts = each.metadata
        if facts["kind"] is bool:
            parser.add_argument(flag(each.name), action="store_true", default=argparse.SUPPRESS, help=facts["help"])
            continue
        help_line = facts["help"] if each.default is None else f"{facts['help']} (default: {each.default})"
        parser.add_argument(
            flag(each.name),
            type=facts["kind"],
            choices=facts["choices"] or None,
            metavar=None if facts["choices"] else facts["metavar"] or METAVARS[facts["kind"]],
            default=argparse.SUPPRESS,
            help=help_line,
        )


def given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given, by name."""
    return {each.name: getattr(args, each.name) for each in fields(Options) if hasattr(args, each.name)}


def check(options: Options) -> Options:
    """Return the options, if every one is within its limits.

    Raises:
        UsageError: naming the option, its limits and the value that came.
    """
    for each in fields(Options):
        value, facts = getattr(options, each.name), each.metadata
        if value is None and each.default is None:
            continue
        if facts["kind"] is bool:
            continue
        if facts["kind"] is not str and not math.isfinite(value):
            raise UsageError(f"{flag(each.name)} must be a finite number, got {value}")
        if facts["kind"] is not str and not facts["least"] <= value <= facts["most"]:
            raise UsageError(f"{flag(each.name)} must be {_limits(facts)}, got {value}")
    if options.nproc > options.batch:
        raise UsageError(f"--nproc {options.nproc} is more than --batch {options.batch}; a process needs a lane")
    if options.tie and options.embedding != options.hidden:
        raise UsageError(f"--tie needs --embedding {options.hidden}, the --hidden, got {options.embedding}")
    if options.layer_dropout and options.layers == 1:
        raise UsageError("--layer-dropout acts between layers; it needs --layers 2 or more")
    if options.layer_dropout and options.layer == "torch":
        raise UsageError("--layer-dropout belongs to --layer anygru, got --layer torch")
    if options.layer == "torch" and options.backend is not None:
        raise UsageError(f"--backend {options.backend} belongs to --layer anygru, got --layer torch")
    return options


def from_json(stored: Mapping[str, Any]) -> Options:
    """Parse the options of a checkpoint; ValueError if `to_json` does not write such."""
    known = {each.name: each.metadata["kind"] for each in fields(Options)}
    if unknown := sorted(set(stored) - set(known)):  # a missing option is newer than the file and has its default
        raise ValueError(f"options {unknown} are unknown")
    for name, value in stored.items():
        if value is not None and not (type(value) is known[name] or (known[name] is float and type(value) is int)):
            raise ValueError(f"option {name} has the value {value!r}")
        if value is None and getattr(Options, name) is not None:
            raise ValueError(f"option {name} has no value")
    try:
        return check(Options(**stored))
    except UsageError as error:
        raise ValueError(str(error)) from None


to_json = dataclasses.asdict


def differences(given: Mapping[str, Any], stored: Options) -> list[str]:
    """Return the given options that differ from a stored run's, as "--hidden 64 (was 128)"."""
    return [
        f"{flag(name)} {value} (was {getattr(stored, name)})"
        for name, value in given.items()
        if name not in FREE_ON_RESUME and value != getattr(stored, name)
    ]


def flag(name: str) -> str:
    """Return the option of the command line that sets a field."""
    return "--" + name.replace("_", "-")


def _limits(facts: Mapping[str, Any]) -> str:
    written = {
        limit: f"{facts[limit]:g}" if facts["kind"] is float else str(facts[limit]) for limit in ("least", "most")
    }
    if facts["most"] == math.inf:
        return f"at least {written['least']}"
    return f"from {written['least']} to {written['most']}"
