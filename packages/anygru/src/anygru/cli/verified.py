"""Compare a model file with its model before it replaces the target; used by every command that writes models."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from . import Failure
from .running import NotSupported, Run, as_tuple, first_line

if TYPE_CHECKING:
    from torch import Tensor, nn

NOT_VERIFIED = "not verified, because onnxruntime is not installed"

BOUNDS = {"float64": 1e-8, "float32": 1e-4, "bfloat16": 0.1, "float16": 2e-2}
"""How far numbers up to 1 may be apart, by the dtype that they were computed in; in proportion for larger ones. Runtimes add
in another order than torch, which moves results by a few roundings in each layer."""
_ROUNDED = 0.1
"""The same where a frozen layer has rounded weights: a value that is rounded to the other side moves a result by a step."""


def judge(module: "nn.Module", inputs: Iterable[Sequence["Tensor"]], opened: Callable[[], Run | None], by: str) -> str:
    """Return a line for the report on a written file: the verdict of `compare`, or why nothing can run the file.

    Args:
        module, inputs, by: as for `compare`.
        opened: returns a function that runs the file; None: the runtime is not installed.

    Raises:
        Failure: as `compare` does.
    """
    try:
        run = opened()
        return NOT_VERIFIED if run is None else compare(module, inputs, run, by)
    except NotSupported as error:
        return str(error)


def compare(module: "nn.Module", inputs: Iterable[Sequence["Tensor"]], run: Run, by: str) -> str:
    """Run a written file and its model on the same inputs.

    Args:
        module: the model, in evaluation mode.
        inputs: each example's tensors.
        run: runs the file.
        by: the name of the runtime.

    Returns:
        A line for the report: the greatest difference, and the bound.

    Raises:
        Failure: a result is further from the model's than the bound or has another shape, the model's own results are
            infinite or NaN, or the model gives other results in a second run.
    """
    import torch

    worst, bound, examples = 0.0, 0.0, 0
    for each in inputs:
        examples += 1
        with torch.no_grad():
            expected, again = as_tuple(module(*each)), as_tuple(module(*each))
            found = _found(run, each, by)
        _check_repeated(expected, again)
        if not any(one.numel() for one in expected):
            raise Failure(
                "the model gives no number for the example input, so that nothing can be compared; no file was written"
            )
        if len(found) != len(expected):
            raise Failure(f"{by} gives {len(found)} results, and the model {len(expected)}; no file was written")
        for place, (one, two) in enumerate(zip(expected, found, strict=True)):
            apart, allowed = _difference(one, two, _bound(module, one), f"result {place}", by)
            worst, bound = max(worst, apart), max(bound, allowed)
    sizes = f"the same {examples} inputs" if examples > 1 else "the same input"
    return f"verified: {by} and the model, run on {sizes}, give results at most {worst:.2g} apart (bound {bound:.2g})"


def _found(run: Run, inputs: Sequence["Tensor"], by: str) -> tuple["Tensor", ...]:
    try:
        return run(inputs)
    except Failure:
        raise
    except Exception as error:  # runtimes define their own error classes
        raise Failure(f"{by} cannot run the file: {first_line(error)}; no file was written") from error


def _check_repeated(expected: Sequence["Tensor"], again: Sequence["Tensor"]) -> None:
    import torch

    if not all(torch.equal(one.nan_to_num(), two.nan_to_num()) for one, two in zip(expected, again, strict=True)):
        raise Failure(
            "the model gives other results when it is run again on the same input (does it draw random numbers, such as "
            "dropout with training=True?), so that no file can be compared with it; no file was written"
        )


def _difference(one: "Tensor", two: "Tensor", bound: float, what: str, by: str) -> tuple[float, float]:
    """How far two results are apart, and how far they may be."""
    import torch

    if one.shape != two.shape:
        raise Failure(
            f"{what}: {by} gives the shape {list(two.shape)}, the model {list(one.shape)}; no file was written"
        )
    if not one.dtype.is_floating_point:
        if two.dtype.is_floating_point or not torch.equal(one.long(), two.long()):
            raise Failure(f"{what}: {by} and the model give other whole numbers; no file was written")
        return 0.0, bound
    expected, found = one.double(), two.double()
    finite = expected.isfinite()
    if bool(expected.isnan().any()) or (one.numel() and not bool(finite.any())):
        raise Failure(
            f"{what}: the model's own numbers are infinite or NaN for the example input, so that nothing can be compared; "
            "no file was written (the function of --script can return an input for which they are finite)"
        )
    if not one.numel():
        return 0.0, bound
    masked = torch.equal(expected[~finite], found[~finite])  # such as the -inf of a mask
    expected, found = expected[finite], found[finite]
    apart = (
        float(torch.nan_to_num((expected - found).abs(), nan=torch.inf, posinf=torch.inf).max())
        if masked
        else torch.inf
    )
    allowed = bound * max(1.0, float(expected.abs().max()))
    if not apart <= allowed:
        raise Failure(
            f"{what}: {by} and the model are {apart:.3g} apart, and at most {allowed:.2g} is allowed; no file was written"
        )
    return apart, allowed


def _bound(module: "nn.Module", result: "Tensor") -> float:
    import torch

    if not result.dtype.is_floating_point:
        return 0.0
    formats = [getattr(part, "weights", None) for part in module.modules()]  # a frozen layer names its format
    if any(isinstance(each, str) and each in ("int8", "bfloat16", "bfloat16_rows") for each in formats):
        return _ROUNDED
    dtypes = {result.dtype, *(each.dtype for each in module.parameters() if each.is_floating_point())}
    return max(
        BOUNDS.get(str(dtype).removeprefix("torch."), BOUNDS["float32"]) for dtype in dtypes - {torch.float64} or dtypes
    )
