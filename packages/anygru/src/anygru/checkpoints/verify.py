"""Comparing a converted checkpoint with its source: both GRUs run on the same input, other tensors bit by bit."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..errors import CheckpointError
from ..facts.quantization import dequantize
from .checkpoint import Checkpoint, load_checkpoint
from .conversion import Conversion, Verdict
from .finding import FoundGRU
from .stored import StoredTensor
from .translation import as_stored, core_weights

_STEPS, _BATCH = 4, 2
"""Steps and sequences of the random input."""
_ROUNDING = 1e-5
"""How far outputs may differ where biases had to be added: a few roundings of float32 in states below 1."""
_NO_LIMIT = 1 << 62
"""The result was written here, from a source that kept to its own limit."""


def verify(
    source: Checkpoint, result_path: str | os.PathLike[str], report: Conversion, target: str | os.PathLike[str]
) -> list[Verdict]:
    """Read a conversion's result back and compare it.

    Args:
        source: what was converted.
        result_path: the result, before it takes its place.
        report: what the conversion did.
        target: the place, for errors.

    Raises:
        CheckpointError: a tensor or a GRU's results are not what they were.
    """
    two_sided = [path for gru, path, _ in report.converted if gru.bidirectional]
    result = load_checkpoint(result_path, report.target, bidirectional=two_sided, limit=_NO_LIMIT)
    _compare_kept(source, result, report, os.fspath(target))
    verdicts = []
    for gru, path, _ in report.converted:
        # activations that the target could not hold are set by hand: here from the source
        twin = replace(result.find(path), gate_activation=gru.gate_activation, activation=gru.activation)
        got = run(twin, result.stored)
        weights = report.frozen.get(gru.path)
        same, difference = _compare(run(gru, source.stored, weights), got)
        if not same and not difference <= _ROUNDING:
            raise CheckpointError(
                f"{os.fspath(target)}: {path or 'the GRU'}: its results differ from the source's by {difference:.3g}"
            )
        if weights is not None:  # rounded as asked for: how far that led
            same, difference = _compare(run(gru, source.stored), got)
        verdicts.append(Verdict(path, same, difference))
    return verdicts


def _compare(expected: Sequence[torch.Tensor], got: Sequence[torch.Tensor]) -> tuple[bool, float]:
    """Whether the bits are the same, and the largest difference."""
    same = all(_same_bits(a, b) for a, b in zip(expected, got, strict=True))
    return same, 0.0 if same else max(_difference(a, b) for a, b in zip(expected, got, strict=True))


def _same_bits(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Compare bits, since a NaN is equal to no number, not even to itself."""
    whole = torch.int64 if one.dtype == torch.float64 else torch.int32
    return one.shape == two.shape and torch.equal(one.contiguous().view(whole), two.contiguous().view(whole))


def _difference(one: torch.Tensor, two: torch.Tensor) -> float:
    """Return the largest difference; infinite where only one is NaN, or where infinities differ."""
    alike = (one == two) | (one.isnan() & two.isnan())
    apart = (one - two).abs().masked_fill(alike, 0.0)
    return float(apart.nan_to_num(nan=math.inf, posinf=math.inf).max())


def run(
    gru: FoundGRU, tensors: Mapping[str, StoredTensor], frozen: str | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Run a GRU of a file on random input that depends on its sizes alone; at least float32 is computed.

    Args:
        frozen: a format to round the weights to before.
    """
    from ..functional import gru as compute
    from ..functional import gru_cell

    dtype = torch.float64 if gru.dtype == "float64" else torch.float32
    random = torch.Generator().manual_seed(gru.input_size * 1000 + gru.hidden_size)
    formula: dict[str, Any] = {"reset": gru.reset, "gate_activation": gru.gate_activation, "activation": gru.activation}
    cores = core_weights(gru, tensors)
    if frozen is not None:
        cores = [{part: dequantize(one) for part, one in core.items()} for core in as_stored(cores, frozen)]
    weights = [tensor.to(dtype) for core in cores for tensor in core.values()]
    with torch.no_grad():
        if gru.cell:
            x = torch.randn(_BATCH, gru.input_size, generator=random, dtype=dtype)
            h = torch.randn(_BATCH, gru.hidden_size, generator=random, dtype=dtype)
            h = gru_cell(x, h, *weights, backend="reference", **formula)
            return h, gru_cell(x, h, *weights, backend="reference", **formula)
        x = torch.randn(_STEPS, _BATCH, gru.input_size, generator=random, dtype=dtype)
        h = torch.randn(gru.num_layers * gru.directions, _BATCH, gru.hidden_size, generator=random, dtype=dtype)
        return compute(x, h, weights, bidirectional=gru.bidirectional, bias=gru.bias, backend="reference", **formula)


def _compare_kept(source: Checkpoint, result: Checkpoint, report: Conversion, target: str) -> None:
    widened = {line.split(":")[0] for line in report.approximated}
    for name in (*report.kept, *report.transposed):
        new = report.renamed.get(name, name)
        if name in widened:
            continue
        expected = source.stored[name]
        if name in report.transposed:
            expected = StoredTensor(expected.values.T, expected.dtype)
        if new not in result.stored or not expected.same_bits(result.stored[new]):
            raise CheckpointError(f"{target}: {new}: the tensor is not what it was in the source")
