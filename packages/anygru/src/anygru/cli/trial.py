"""The process of `anygru try` that measures one variant of a model: `python -m anygru.cli.trial`, one JSON object per line.

It reads {"target", "onnx" or "script", "variant", "train", "threads", "output"}, builds the model and answers with a report; then
it times calls for each {"seconds"}. A script builds its model itself: it runs until it first calls it, and goes no further.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch

import anygru

from . import UsageError, watching
from .running import function_of, in_onnx_runtime, raised
from .variants import distance


class TargetError(Exception):
    """The target does not give a model and inputs; the message has the reason."""


def load(target: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """The module and its example inputs, from "file.py:name" or "package.module:name".

    Raises:
        UsageError: there is no such function.
        TargetError: it returns another value.
    """
    place, _, name = target.rpartition(":")
    build = function_of(place, name)
    torch.manual_seed(0)
    made = build()
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module)):
        raise TargetError(f"{target} must return (module, example inputs), got {_kind(made)}")
    model, inputs = made
    if isinstance(inputs, dict):
        return model, (), inputs
    return model, inputs if isinstance(inputs, tuple) else (inputs,), {}


def _kind(value: Any) -> str:
    """The type of a value in an error: of a tuple the types in it, of a tensor its shape."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_kind, value))})"
    if isinstance(value, torch.Tensor):
        return f"Tensor{list(value.shape)}"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


class _OnnxGRUs(torch.nn.Module):
    """The GRU nodes of an ONNX model, each with a separate input: [100, 1, input_size]."""

    def __init__(self, path: str) -> None:
        super().__init__()
        found = list(anygru.onnx.load(path, sandbox=True).values())
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


def call_of_onnx_runtime(model: torch.nn.Module, inputs: tuple[Any, ...], threads: int) -> Callable[[], Any]:
    """A call of the same nodes in ONNX Runtime.

    Raises:
        TargetError: ONNX Runtime is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="anygru-") as folder:
        path = os.path.join(folder, "grus.onnx")
        anygru.onnx.export(model, inputs, path)
        run = in_onnx_runtime(path, threads)
    if run is None:
        raise TargetError("ONNX Runtime is not installed: pip install onnxruntime")
    return lambda: list(run(inputs))


class _Holder(torch.nn.Module):
    """A place in which a model that is itself a GRU can be exchanged."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *arguments: Any, **options: Any) -> Any:
        return self.model(*arguments, **options)


def prepare(model: torch.nn.Module, variant: str, train: bool) -> tuple[torch.nn.Module, str]:
    """The model changed into a variant, and the words of the report.

    Raises:
        TargetError: nothing in it can be accelerated or frozen.
    """
    model.train(train)
    if variant == "accelerated" and not isinstance(model, _OnnxGRUs):
        accelerated = anygru.accelerate(model)
        if not accelerated.changed:
            raise _nothing("accelerated", accelerated.unchanged)
        return model, str(accelerated)
    if not variant.startswith("frozen"):
        return model, ""
    weights = cast("anygru.quantization.WeightFormat", variant.partition(" ")[2])
    holder = _Holder(model)
    report = anygru.freeze(holder, weights)
    if not report.changed:
        raise _nothing("frozen", report.unchanged)
    return holder, str(report)


def _nothing(done: str, unchanged: dict[str, str]) -> TargetError:
    reasons = "; ".join(dict.fromkeys(unchanged.values())) or "it has no GRU"
    return TargetError(f"nothing can be {done}: {reasons}")


def tensors(value: Any) -> list[torch.Tensor]:
    """The numbers in a result, in order: of tensors of any dtype, and Python's own."""
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            return [tensor for part in value.unbind() for tensor in tensors(part)]
        plain = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        return [plain.detach().double().flatten()]
    if isinstance(value, int | float):
        return [torch.tensor([float(value)], dtype=torch.float64)]
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
    """A call of the model without gradients; to train, forward and backward of the sum of its outputs."""

    def infer() -> Any:
        with torch.no_grad():
            return model(*arguments, **options)

    def step() -> Any:
        with torch.enable_grad():  # a script may call its model without
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
    """The peak memory of this process; 0 if the system does not report it."""
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


class Trial:
    """The request of the parent process."""

    def __init__(self) -> None:
        self.answers = os.fdopen(os.dup(1), "w")
        self.requests = os.fdopen(os.dup(0))
        os.dup2(2, 1)  # a model's own prints go to standard error, ...
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # ... and a script that reads its input finds nothing
        self.request = json.loads(self.requests.readline())
        self.call = ""

    def answer(self, words: dict[str, Any]) -> None:
        """Write one line for the parent."""
        print(json.dumps(words), file=self.answers, flush=True)

    def run(self) -> None:
        """Answer requests until there are no more."""
        request = self.request
        torch.set_num_threads(request["threads"])
        try:
            if script := request.get("script"):
                with watching.at_each_call(self._on_call()):
                    watching.run(script[0], script[1:])
                raise TargetError("the script did not call it when it was run again")
            onnx = request["onnx"]
            self._measure(*(load_onnx(onnx) if onnx else load(request["target"])))
        except BaseException as error:  # a script may exit
            self._fail(error)

    def _on_call(self) -> watching.OnCall:
        """A context that measures the script's model at its first call, with the recorded values and inputs."""
        earlier: list[torch.nn.Module] = []

        def on_call(module: torch.nn.Module, arguments: Any, options: Any) -> contextlib.AbstractContextManager[None]:
            if not any(each is module for each in earlier):
                earlier.append(module)
                if len(earlier) == self.request["number"] + 1:
                    self._measure_in_script(module)
            return contextlib.nullcontext()

        return on_call

    def _measure_in_script(self, module: torch.nn.Module) -> None:
        """Measure the script's model and end the process, so that the script goes no further."""
        torch.set_num_threads(self.request["threads"])
        try:
            module.load_state_dict(torch.load(self.request["state"], weights_only=True))
            # The file is our own, of this run; the script's classes may be in it.
            self._measure(module, *torch.load(self.request["inputs"], weights_only=False))
        except BaseException as error:
            self._fail(error)
        os._exit(0)

    def _fail(self, error: BaseException) -> None:
        own = isinstance(error, TargetError | UsageError | anygru.AnygruError)
        self.answer({"error": f"{error}" if own else f"{raised(error)}{self.call}"})

    def _measure(self, model: torch.nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        request = self.request
        kind = type(model)
        model, report = prepare(model, request["variant"], request["train"])
        call = make_call(model, arguments, options, request["train"])
        self.call = f" (called with {_kind((*arguments, *options.values()))})"
        if request.get("onnx") and request["variant"] == "as it is":
            call = call_of_onnx_runtime(model, arguments, request["threads"])
        torch.manual_seed(1)
        flat = tensors(call())
        output = torch.cat(flat) if flat else torch.zeros(0)
        torch.manual_seed(1)
        again = torch.cat(tensors(call())) if flat else output
        torch.save(output, request["output"])
        self.answer(
            {
                "report": report,
                "repeatable": again.shape == output.shape and not bool(distance(again, output).any()),
                "bytes": peak_bytes(),
                "is_layer": issubclass(kind, watching.LAYERS),
            }
        )
        with contextlib.suppress(BrokenPipeError):
            for line in self.requests:
                self.answer({"times": times(call, json.loads(line)["seconds"])})


if __name__ == "__main__":
    Trial().run()
