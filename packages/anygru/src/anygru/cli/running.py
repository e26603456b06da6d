"""Run a function of a user's script, and an ONNX model in ONNX Runtime."""

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import AnygruError, near
from . import Failure, Stopped, UsageError

if TYPE_CHECKING:
    from torch import Tensor

Run = Callable[[Sequence["Tensor"]], tuple["Tensor", ...]]
"""From the inputs of a model to its outputs."""


def function_of(place: str, name: str) -> Callable[[], Any]:
    """A function of a file or of a module, which is imported: its code runs, its main program does not.

    Raises:
        UsageError: the file is not a Python file, or does not define the function.
    """
    is_file = os.path.exists(place)
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)) if is_file else os.getcwd())
    module = _module_of_file(place) if is_file else importlib.import_module(place)
    function = getattr(module, name, None)
    if not callable(function):
        functions = (each for each, value in vars(module).items() if callable(value))
        raise UsageError(f"{place} has no function {name!r}{near(name, functions)}")
    found: Callable[[], Any] = function
    return found


def _module_of_file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path) if os.path.isfile(path) else None
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def users_code(what: str) -> Iterator[None]:
    """Turn an error of a user's code into one line with its file and line.

    Raises:
        UsageError: the code raised an error, or ended the process.
    """
    try:
        yield
    except (AnygruError, Failure, KeyboardInterrupt, Stopped):
        raise
    except BaseException as error:  # a script may exit
        raise UsageError(f"{what}: {raised(error)}") from error


def raised(error: BaseException) -> str:
    """The last line of an error, after the place in the user's code: "FILE:LINE: NAME: MESSAGE"."""
    words = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {words}"
    packages = (
        os.path.dirname(str(sys.modules[each].__file__)) for each in ("torch", "importlib") if each in sys.modules
    )
    hidden = (str(Path(__file__).parents[2]), *packages, "<frozen", contextlib.__file__)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(hidden)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {words}" if frames else words


class NotSupported(Failure):
    """ONNX Runtime has no kernel for a valid file, such as a GRU in float64."""


def in_onnx_runtime(model: str | bytes, threads: int = 0) -> Run | None:
    """A run of an ONNX file, or of its bytes, in ONNX Runtime; None where that is not installed.

    Args:
        threads: of ONNX Runtime; 0: its default.

    Raises:
        Failure: ONNX Runtime refuses the file.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    import torch

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 4  # failures raise exceptions
    try:
        session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes are not public
        raise _failure(error, "load") from error
    names = [each.name for each in session.get_inputs()]

    def run(inputs: Sequence["Tensor"]) -> tuple["Tensor", ...]:
        feeds = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        try:
            return tuple(torch.from_numpy(found) for found in session.run(None, feeds))
        except Exception as error:
            raise _failure(error, "run") from error

    return run


def _failure(error: Exception, what: str) -> Failure:
    """The error of a command for an error of ONNX Runtime."""
    reason = first_line(error)
    if any(words in str(error) for words in ("NOT_IMPLEMENTED", "does not support", "Type 'tensor(")):
        return NotSupported(f"not verified, because ONNX Runtime cannot run it on a CPU: {reason}")
    return Failure(f"ONNX Runtime cannot {what} the file: {reason}; no file was written")


def as_tuple(results: Any) -> tuple["Tensor", ...]:
    """The tensors in the outputs of a module: one, or the tensors in nested tuples, lists and dicts in their order."""
    import torch
    from torch.utils import _pytree

    return tuple(each for each in _pytree.tree_leaves(results) if isinstance(each, torch.Tensor))


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or the name of its class."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
