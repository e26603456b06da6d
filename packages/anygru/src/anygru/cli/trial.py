"""The process of `anygru try` that measures one variant of a model: `python -m anygru.cli.trial`, one JSON object per line.

It reads {"target" or "onnx", "variant", "train", "threads", "output"}, builds the model and answers with a report; then it times
calls for each {"seconds"}.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import torch

import anygru

VARIANTS = ("as it is", "accelerated", "frozen float32", "frozen bfloat16", "frozen int8")


class TargetError(Exception):
    """The target gives no model and inputs; the message says why."""


def load(target: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """The module and its example inputs, from "file.py:name" or "package.module:name".

    Raises:
        TargetError: there is no such callable, or it returns something else.
    """
    place, _, name = target.rpartition(":")
    if place.endswith(".py"):
        sys.path.insert(0, str(Path(place).resolve().parent))
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        if spec is None or spec.loader is None:
            raise TargetError(f"{place} cannot be imported")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(place)
    build = getattr(module, name, None)
    if not callable(build):
        raise TargetError(f"{place} has no callable {name!r}")
    torch.manual_seed(0)
    made = build()
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module)):
        raise TargetError(f"{target} must return (module, example inputs), got {type(made).__name__}")
    model, inputs = made
    if isinstance(inputs, dict):
        return model, (), inputs
    return model, inputs if isinstance(inputs, tuple) else (inputs,), {}


class _OnnxGRUs(torch.nn.Module):
    """The GRU nodes of an ONNX model, each on an input of its own: [100, 1, input_size]."""

    def __init__(self, path: str) -> None:
        super().__init__()
        found = list(anygru.onnx.load(path).values())
        if not found:
            raise TargetError(f"{path} has no GRU node")
        for layer in found:
            layer.batch_first = False
        self.sizes = [layer.input_size for layer in found]
        self.layers = torch.nn.ModuleList(found)

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return [layer(x)[0] for layer, x in zip(self.layers, inputs, strict=True)]


def load_onnx(path: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """The GRU nodes of a model as one module, and random inputs."""
    model = _OnnxGRUs(path)
    torch.manual_seed(0)
    return model, tuple(torch.randn(100, 1, size) for size in model.sizes), {}


def in_onnx_runtime(model: torch.nn.Module, inputs: tuple[Any, ...], threads: int) -> Callable[[], Any]:
    """A call of the same nodes in ONNX Runtime.

    Raises:
        TargetError: ONNX Runtime is not installed.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise TargetError("ONNX Runtime is not installed: pip install onnxruntime") from None
    with tempfile.TemporaryDirectory(prefix="anygru-") as folder:
        path = os.path.join(folder, "grus.onnx")
        anygru.onnx.export(model, inputs, path)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    feed = {given.name: x.numpy() for given, x in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: [torch.from_numpy(output) for output in session.run(None, feed)]


def prepare(model: torch.nn.Module, variant: str, train: bool) -> str:
    """Change the model into a variant; returns the words of the report."""
    model.train(train)
    if variant == "accelerated" and not isinstance(model, _OnnxGRUs):
        return str(anygru.accelerate(model))
    if variant.startswith("frozen"):
        weights = cast("anygru.quantization.WeightFormat", variant.partition(" ")[2])
        return str(anygru.freeze(model, weights))
    return ""


def tensors(value: Any) -> list[torch.Tensor]:
    """The floating point tensors in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value.detach().double().flatten()] if value.is_floating_point() and not value.is_nested else []
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return tensors(value.data)
    return [tensor for part in _parts(value) for tensor in tensors(part)]


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else getattr(value, "__dict__", {}).values()


def make_call(
    model: torch.nn.Module, arguments: tuple[Any, ...], options: dict[str, Any], train: bool
) -> Callable[[], Any]:
    """A call of the model without gradients; to train, forward and backward of the sum of what it returns."""

    def infer() -> Any:
        with torch.no_grad():
            return model(*arguments, **options)

    def step() -> Any:
        model.zero_grad(set_to_none=True)
        result = model(*arguments, **options)
        sum((tensor.sum() for tensor in _with_gradients(result)), torch.zeros(())).backward()
        return result

    return step if train else infer


def _with_gradients(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    return [tensor for part in _parts(value) for tensor in _with_gradients(part)]


def peak_bytes() -> int:
    """The most memory that this process has held; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def times(call: Callable[[], Any], seconds: float) -> list[float]:
    found: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 3:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a model's own prints go to standard error
    request = json.loads(sys.stdin.readline())
    torch.set_num_threads(request["threads"])
    try:
        onnx, variant = request["onnx"], request["variant"]
        model, arguments, options = load_onnx(onnx) if onnx else load(request["target"])
        report = prepare(model, variant, request["train"])
        call = make_call(model, arguments, options, request["train"])
        if onnx and variant == "as it is":
            call = in_onnx_runtime(model, arguments, request["threads"])
        torch.manual_seed(1)
        flat = tensors(call())
        output = torch.cat(flat) if flat else torch.zeros(0)
        torch.manual_seed(1)
        again = torch.cat(tensors(call())) if flat else output
        torch.save(output, request["output"])
        answer = {"report": report, "repeatable": torch.equal(output, again), "bytes": peak_bytes()}
    except Exception as error:
        where = "" if isinstance(error, TargetError | anygru.AnygruError) else traceback.format_exc(limit=-1).strip()
        answer = {"error": f"{error}" if not where else where.splitlines()[-1]}
    print(json.dumps(answer), file=answers, flush=True)
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin:
            print(json.dumps({"times": times(call, json.loads(line)["seconds"])}), file=answers, flush=True)


if __name__ == "__main__":
    main()
