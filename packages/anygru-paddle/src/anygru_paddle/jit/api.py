"""`save` and `load`, and `to_static` and similar decorators, which do not change results: the dialect computes eagerly."""

import copy
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Sequence
from itertools import compress
from types import ModuleType
from typing import Any, TypeVar, overload

import torch

from anygru.errors import AnygruError
from anygru.extend import not_covered
from anygru.extend import paddle_files as files

from ..base.core import expected_place
from ..framework.dtype import as_dtype, torch_dtype
from ..framework.recording import recording
from ..nn.layer.layers import Layer
from ..nn.layer.norm import BatchNorm, _BatchNormBase
from ..static.input import InputSpec
from ..tensor.tensor import Tensor
from . import translated_layer

__all__ = [
    "enable_to_static", "ignore_module", "load", "not_to_static", "save", "set_code_level", "set_verbosity", "to_static",
]  # fmt: skip


class _Seen(InputSpec):
    """The spec of a tensor that was seen, not given: its first axis may have another length the next time."""

    def opened(self) -> InputSpec:
        """With the first axis open."""
        return InputSpec((-1, *self.shape[1:]) if len(self.shape) > 1 else self.shape, self.dtype, self.name)


Called = TypeVar("Called", bound=Callable[..., Any])
_NOTED = "_inputs_of_jit"  # of a layer or function: the specs of its inputs, given or seen
_OPEN_LENGTHS = (5, 48, 64, 80)  # of open axes while a pass is recorded; any numbers above 1 that windows fit in


@overload
def to_static(function: Called) -> Called: ...


@overload
def to_static(
    function: None = None, input_spec: Any = None, build_strategy: Any = None, backend: str | None = None, **kwargs: Any
) -> Callable[[Called], Called]: ...


def to_static(
    function: Any = None, input_spec: Any = None, build_strategy: Any = None, backend: str | None = None, **kwargs: Any
) -> Any:
    """The same function or layer, which records its inputs for `save`; without an argument, a decorator.

    Args:
        function: the function that Paddle would turn into a static graph.
        input_spec: the inputs for `save`; default: the inputs of the last call.
        build_strategy, backend: how Paddle would compile; ignored.
        kwargs: `full_graph` and `property`, taken and not used.
    """
    if function is None:
        return lambda decorated: to_static(decorated, input_spec)
    if isinstance(function, Layer):
        function.register_forward_pre_hook(lambda layer, inputs: _note(layer, inputs, input_spec))
        function.__dict__[_NOTED] = input_spec
        return function

    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> Any:
        of_layer = bool(args) and isinstance(args[0], Layer)
        _note(args[0] if of_layer else noting, args[1:] if of_layer else args, input_spec)
        return function(*args, **kwargs)

    noting.__dict__[_NOTED] = input_spec
    return noting


def _note(target: Any, inputs: Sequence[Any], given: Any) -> None:
    """Record the input specs of a layer or function: as given, or from this call."""
    if given is None and not recording.is_on and all(isinstance(each, Tensor) for each in inputs):
        given = [_Seen.from_tensor(each) for each in inputs]
    if given is not None:
        target.__dict__[_NOTED] = given


def save(layer: Any, path: str, input_spec: Sequence[Any] | None = None, **configs: Any) -> None:
    """Write a layer's forward pass as a program, `PATH.pdmodel`, and its weights, `PATH.pdiparams`; both of anygru's own form.

    Args:
        layer: a layer, or a function of tensors.
        path: the beginning of the names of the files.
        input_spec: an `InputSpec` or a tensor like it for each input; lengths that are None or -1 may be any, and the first one
            of a tensor where the layer allows it. Unless given, the inputs are the inputs that `to_static` was given or has
            seen.
        configs: options of Paddle; refused.

    Raises:
        TypeError: unless it is a layer or function.
        ValueError: without any inputs, for a path that names no file, or for a length that cannot be open.
        NotCoveredError: for a forward pass that cannot be recorded because it reads values or draws random numbers.
    """
    if not isinstance(layer, Layer) and not inspect.isroutine(layer):
        raise TypeError(
            f"The input of paddle.jit.save should be 'Layer' or 'Function', but received input type is {type(layer)}."
        )
    if os.path.basename(path) == "":
        raise ValueError(
            "The input path MUST be format of dirname/file_prefix [dirname\\file_prefix in Windows system], but received "
            "file_prefix is empty string."
        )
    if configs:
        raise not_covered(
            f"paddle.jit.save({next(iter(configs))}=...)", "a layer with a forward that gives these results"
        )
    given = input_spec or layer.__dict__.get(_NOTED) or getattr(getattr(layer, "forward", None), _NOTED, None)
    if given is None:
        raise ValueError(
            "No valid transformed program for function: forward. Please specific `input_spec` in `@paddle.jit.to_static` or feed "
            "input tensor to call the decorated function at once."
        )
    specs = [
        copy.copy(each) if isinstance(each, InputSpec) else _Seen.from_tensor(_need_tensor(each)) for each in given
    ]
    _name_inputs(layer.forward if isinstance(layer, Layer) else layer, specs)
    weights = _weights(layer) if isinstance(layer, Layer) else {}
    opened = [each.opened() if isinstance(each, _Seen) else each for each in specs]
    try:
        programs, used = _programs(layer, weights, opened)
    except ValueError:  # a length that the pass fixes
        if opened == specs:
            raise
        (programs, used), opened = _programs(layer, weights, specs), specs
    translated_layer.write(path, programs, used, opened)
    if isinstance(layer, Layer) and weights:
        names = {tensor.name: name for name, tensor in layer.state_dict().items()}
        facts = {
            name: {
                "structured_name": names[name],
                "stop_gradient": each.stop_gradient,
                "trainable": not each.stop_gradient,
            }
            for name, each in weights.items()
            if name in names
        }
        files.save(facts, path + translated_layer.INFER_PARAMS_SUFFIX + ".info")


def _name_inputs(forward: Any, specs: list[InputSpec]) -> None:
    """Name inputs without a name after the arguments of the forward pass."""
    arguments = [name for name in inspect.signature(forward).parameters if name != "self"]
    for spec, name in zip(specs, arguments, strict=False):
        spec.name = spec.name or name


def _need_tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise not_covered(f"paddle.jit.save(input_spec=[{value!r}])", "a function of tensors alone")
    return value


def _weights(layer: Layer) -> dict[str, Any]:
    """Parameters and buffers with elements, sorted by their names as Paddle sorts them, each once.

    A recurrent layer has a buffer without elements, the state of dropout, which no program of Paddle's holds (recorded, 2.6.2).
    """
    tensors = (*layer.parameters(), *layer.buffers())
    found = {id(each): each for each in tensors if each is not None and torch.Tensor.numel(each)}
    return dict(sorted((each.name, each) for each in found.values()))


def _programs(layer: Any, weights: dict[str, Any], specs: list[InputSpec]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The programs of a layer in evaluation and in training, and the weights that they take.

    For training there may be the reason why there is no program.
    """
    from .recording import record, used  # torch's exporter takes a second to import

    examples = [_example(each) for each in specs]
    open_axes = [{axis for axis, length in enumerate(each.shape) if length < 0} for each in specs]
    layers: list[Any] = layer.sublayers(include_self=True) if isinstance(layer, Layer) else []
    modes = [each.training for each in layers]
    programs: dict[str, Any] = {}
    try:
        for mode in ("eval", "train"):
            for each, training in zip(layers, modes, strict=True):
                each.training = mode == "train" and (training or not _keeps_evaluation(each))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the layer gives its warnings when it is called
                    tensors = list(weights.values())
                    programs[mode] = record(layer, layers, tensors, examples, open_axes, mode == "train")
            except Exception as error:  # any error of a program's own code when tensors have no values
                if mode == "eval":
                    raise _unrecorded(error) from error
                programs[mode] = str(error).partition("\n")[0]
    finally:
        for each, training in zip(layers, modes, strict=True):
            each.training = training
    recorded = [used(each, len(weights)) for each in programs.values() if not isinstance(each, str)]
    reads = [any(each) for each in zip(*recorded, strict=True)]
    if not all(reads):  # Paddle 2.6.2's files have no weights that the program does not read (recorded)
        return _programs(layer, dict(compress(weights.items(), reads)), specs)
    return programs, weights


def _keeps_evaluation(layer: Layer) -> bool:
    """Whether train() of the loaded layer leaves this layer in evaluation: only the newer BatchNorm (recorded, 2.6.2)."""
    return isinstance(layer, _BatchNormBase) and not isinstance(layer, BatchNorm)


def _unrecorded(error: Exception) -> Exception:
    if isinstance(error, AnygruError) or str(error).startswith("paddle.jit.save"):
        return error
    reason = str(error).partition("\n")[0]
    return not_covered(
        f"paddle.jit.save of a forward pass that needs values of tensors or is not expressible as a program ({reason})",
        "paddle.save of layer.state_dict()",
    )


def _example(spec: InputSpec) -> torch.Tensor:
    lengths = [_OPEN_LENGTHS[min(axis, 3)] if each < 0 else each for axis, each in enumerate(spec.shape)]
    return torch.zeros(lengths, dtype=torch_dtype(as_dtype(spec.dtype)), device=expected_place().device)


def load(path: str, **configs: Any) -> translated_layer.TranslatedLayer:
    """The layer in the files that `save` wrote, in evaluation.

    Only load files from people whom you trust: torch.export reads them.

    Raises:
        ValueError: if there are no such files.
        NotCoveredError: for a program that Paddle itself wrote.
    """
    if configs:
        raise not_covered(
            f"paddle.jit.load({next(iter(configs))}=...)", "the names that paddle.jit.save gives its files"
        )
    return translated_layer.read(os.fspath(path))


def not_to_static(func: Called | None = None) -> Any:
    """The function itself."""
    return not_to_static if func is None else func


def ignore_module(modules: Sequence[ModuleType]) -> None:
    """Nothing: no function is compiled."""


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Nothing: no function is compiled.

    Raises:
        AssertionError: unless the argument is a bool.
    """
    if not isinstance(enable_to_static_bool, bool):
        raise AssertionError(
            "When enable_to_static is True, it means that dynamic to static is enabled; it must be a bool, got "
            f"{type(enable_to_static_bool).__name__}"
        )


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Nothing: no code is generated."""


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Nothing: no code is generated."""
