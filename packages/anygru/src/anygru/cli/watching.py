"""Watch a running script: the modules with a GRU that it calls, their inputs, and whether they are trained.

`python -m anygru.cli.watching FOLDER SCRIPT ARGUMENTS...` runs the script to its end and writes the input of `anygru try` to the
folder: `watched.json`, and for each model its values at the end and examples of its inputs.
"""

import contextlib
import json
import os
import runpy
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

import anygru

REPORT = "watched.json"
LAYERS = (nn.GRU, nn.GRUCell, anygru.GRU, anygru.GRUCell)
MOST_MODELS = 8
"""Limit of watched models, since a script may build new models in a loop."""
_MOST_KINDS = 16
"""Limit of kinds of inputs (shapes and dtypes) per model; an example of each kind is kept."""
_MOST_BYTES = 256 << 20
"""An example is kept if its tensors have no more bytes than this."""

OnCall = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], "contextlib.AbstractContextManager[None]"]


def has_gru(module: nn.Module) -> bool:
    """Whether a module is or holds a GRU of torch or of anygru."""
    return any(isinstance(each, LAYERS) for each in module.modules())


@contextlib.contextmanager
def at_each_call(on_call: OnCall) -> Iterator[None]:
    """Enter the context that `on_call` returns around each outermost call of a module with a GRU, only in this process."""
    original = nn.Module.__call__
    process, inside = os.getpid(), threading.local()

    def call(self: nn.Module, *arguments: Any, **options: Any) -> Any:
        if torch.compiler.is_compiling() or getattr(inside, "yes", False) or os.getpid() != process:
            return original(self, *arguments, **options)
        if not has_gru(self):
            return original(self, *arguments, **options)
        inside.yes = True
        try:
            with on_call(self, arguments, options):
                return original(self, *arguments, **options)
        finally:
            inside.yes = False

    module: Any = nn.Module
    module.__call__ = call
    try:
        yield
    finally:
        module.__call__ = original


def run(script: str, arguments: list[str]) -> None:
    """Run a script in this process as its main program."""
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    try:
        runpy.run_path(os.path.abspath(script), run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


@dataclass(eq=False)
class Kind:
    """Calls of one model with inputs of the same shapes, in the same mode; `file` has an example of the inputs."""

    file: str = ""
    why_not: str = ""
    calls: int = 0
    seconds: float = 0.0
    trained: bool = False


@dataclass(eq=False)
class Model:
    """A module that the script calls, and the kinds of calls."""

    module: nn.Module
    line: str
    form: dict[str, Any]
    """The form of its values at the first call, at which `trial` loads the final ones."""
    kinds: dict[str, Kind] = field(default_factory=dict)

    def report(self, number: int, state: str) -> dict[str, Any]:
        """The parts that the parent process reads."""
        changed = _change(self.form, _form(self.module))
        return {
            "number": number,
            "name": type(self.module).__name__,
            "line": self.line,
            "state": state,
            "calls": sum(kind.calls for kind in self.kinds.values()),
            "seconds": sum(kind.seconds for kind in self.kinds.values()),
            "training": "" if changed else self._longest(True),
            "inference": "" if changed else self._longest(False) or self._longest(True),
            "why_not": changed or next((kind.why_not for kind in self.kinds.values() if kind.why_not), ""),
        }

    def _longest(self, trained: bool) -> str:
        """The example on which most time was spent; empty if there is none."""
        good = [kind for kind in self.kinds.values() if kind.file and kind.trained == trained]
        return max(good, key=lambda kind: kind.seconds).file if good else ""


class Watch:
    """The models that a script has called so far."""

    def __init__(self, folder: str, script: str) -> None:
        self.folder, self.script = folder, os.path.abspath(script)
        self.models: list[Model] = []
        self._before_backward: list[Kind] = []
        """The kinds of calls with gradients since the last backward."""

    def on_call(self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Note a call before it is made."""
        model = next((each for each in self.models if each.module is module), None)
        if model is None:
            if len(self.models) == MOST_MODELS:
                return contextlib.nullcontext()
            model = Model(module, self._line(), _form(module))
            self.models.append(model)
        recorded = torch.is_grad_enabled() and any(each.requires_grad for each in module.parameters())
        key = f"{recorded} {module.training} {_shapes((arguments, options))}"
        kind = model.kinds.get(key)
        if kind is None:
            if len(model.kinds) == _MOST_KINDS:
                return contextlib.nullcontext()
            kind = model.kinds[key] = self._example(arguments, options)
        return self._called(kind, recorded)

    def on_backward(self) -> None:
        """Record the modules called with gradients as trained."""
        for kind in self._before_backward:
            kind.trained = True
        self._before_backward.clear()

    def save(self) -> None:
        """Write the final models of the script, and the report."""
        reports = []
        for number, model in enumerate(self.models):
            state = os.path.join(self.folder, f"state_{number}.pt")
            torch.save(model.module.state_dict(), state)
            reports.append(model.report(number, state))
        Path(self.folder, REPORT).write_text(json.dumps({"models": reports, "keras": "keras" in sys.modules}))

    @contextlib.contextmanager
    def _called(self, kind: Kind, recorded: bool) -> Iterator[None]:
        start = time.perf_counter()
        yield
        kind.seconds += time.perf_counter() - start
        kind.calls += 1
        # After the call: torch's compiler differentiates while it traces.
        if recorded and kind not in self._before_backward:
            self._before_backward.append(kind)

    def _example(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Kind:
        number = sum(len(model.kinds) for model in self.models)
        file = os.path.join(self.folder, f"inputs_{number}.pt")
        try:
            copies = copied((arguments, options))
            torch.save(copies, file)
        except Exception as error:  # the script's own classes may forbid it in any way
            return Kind(why_not=f"its inputs cannot be saved: {error}")
        if os.path.getsize(file) > _MOST_BYTES:
            os.remove(file)
            return Kind(why_not=f"its inputs have more than {_MOST_BYTES >> 20} MB")
        return Kind(file)

    def _line(self) -> str:
        """The line of the script that the present call comes from; only the script's name for a call in another thread."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        name = os.path.basename(self.script)
        return name if frame is None else f"{name}:{frame.f_lineno}"


def _shapes(value: Any) -> Any:
    """The shapes and dtypes of the tensors in a value, and the types of the rest."""
    if isinstance(value, torch.Tensor):
        return "nested" if value.is_nested else (*value.shape, value.dtype, value.device.type)
    if isinstance(value, dict):
        return {str(key): _shapes(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shapes(each) for each in value]
    return type(value).__name__


def _form(module: nn.Module) -> dict[str, Any]:
    """The shape and dtype of each value of a module; None for a value that gets its shape at the first call."""
    return {
        name: None if nn.parameter.is_lazy(value) else (getattr(value, "shape", None), getattr(value, "dtype", None))
        for name, value in module.state_dict().items()
    }


def _change(first: dict[str, Any], last: dict[str, Any]) -> str:
    """Why values of the form `last` cannot be loaded where the module had the form `first`; empty if they can."""
    for name in sorted({*first, *last}):
        if name in first and name in last and (first[name] is None or first[name] == last[name]):
            continue
        return (
            f"the script changes its {name} after the first call, as anygru.freeze() or a change of dtype does; leave that "
            "out of the script, or give a function that builds the model: anygru try FILE.py:NAME"
        )
    return ""


def copied(value: Any) -> Any:
    """A value with its tensors copied: torch.save would write the whole tensor that a slice belongs to."""
    if isinstance(value, torch.Tensor):
        copy = value.detach().clone()
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, PackedSequence):
        parts: Any = [each if each is None else copied(each) for each in value]
        return PackedSequence(*parts)
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(copied(each) for each in value)
    return value


@contextlib.contextmanager
def _at_each_backward(note: Callable[[], None]) -> Iterator[None]:
    autograd: Any = torch.autograd
    originals = {name: getattr(autograd, name) for name in ("backward", "grad")}

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            note()
            return function(*arguments, **options)

        return call

    for name, function in originals.items():
        setattr(autograd, name, noting(function))
    try:
        yield
    finally:
        for name, function in originals.items():
            setattr(autograd, name, function)


def main() -> None:
    """Watch the script that the command line names."""
    folder, script, *arguments = sys.argv[1:]
    watch = Watch(folder, script)
    with at_each_call(watch.on_call), _at_each_backward(watch.on_backward):
        run(script, arguments)
    watch.save()


if __name__ == "__main__":
    main()
