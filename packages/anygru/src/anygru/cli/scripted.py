"""`anygru convert model.npz --script model.py:build out.onnx`: a model that a script defines, with a checkpoint's weights.

The script is imported, so its code runs; its main program does not. The function returns a torch module or a dialect's
model, alone or with a tuple of example inputs.
"""

import argparse
from typing import Any

import numpy
import torch
from torch import nn

from .. import dialects
from ..checkpoints import Checkpoint
from ..checkpoints.gate import Gate
from ..checkpoints.output.atomic import replacing
from ..onnx.exporting import as_module, export
from . import UsageError, existing, verified
from .running import function_of, in_onnx_runtime, users_code
from .terminal import STANDARD_INPUT

_SEED = 0


def convert(args: argparse.Namespace) -> list[str]:
    """Write the ONNX file, and return the lines of a report.

    Raises:
        UsageError: an argument or the function's result cannot be used.
        Failure: the file and the model give different results; the old file stays.
    """
    if args.source == STANDARD_INPUT or not str(args.target).lower().endswith(".onnx"):
        raise UsageError(
            "--script makes an ONNX file of a checkpoint's file: anygru convert FROM --script FILE:NAME TO.onnx"
        )
    model, inputs = _build(args.script)
    if args.inputs:
        inputs = tuple(_example(each) for each in args.inputs)
    if inputs is None:
        raise UsageError("which inputs? Return (model, (input, ...)) from the function, or name shapes: --input 4,10,3")
    _load(model, args.source, args.sandbox)
    try:
        module, tensors = as_module(model, inputs)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
    module.eval()
    tensors = tuple(torch.from_numpy(each) if isinstance(each, numpy.ndarray) else each for each in tensors)
    shapes = ", ".join(str(list(getattr(each, "shape", ()))) for each in tensors)
    with users_code(f"{args.script}: the model cannot be run on inputs of the shapes {shapes}"), torch.no_grad():
        module(*tensors)
    program = export(module, tensors)
    with replacing(args.target) as path:
        program.save(path)
        verdict = verified.judge(module, [tensors], lambda: in_onnx_runtime(str(path)), "ONNX Runtime")
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return [f"{type(model).__name__} with {parameters:,} parameters, in inference", verdict]


def _build(script: str) -> tuple[Any, tuple[Any, ...] | None]:
    """The model and the inputs that a script's function returns."""
    path, colon, name = script.rpartition(":")
    if not colon or not name.isidentifier():
        raise UsageError(f"--script must be FILE:NAME, a file and a function in it, got {script}")
    dialects.install()  # which the script may import
    with users_code(f"--script {script}"):
        built = function_of(existing(path), name)()
    if not isinstance(built, tuple):
        return built, None
    if len(built) != 2:
        raise UsageError(f"{script} must return a model, or a model and a tuple of inputs, got {len(built)} values")
    model, inputs = built
    return model, inputs if isinstance(inputs, tuple) else (inputs,)


def _example(text: str) -> Any:
    """An array of a shape like `4,10,3` (float32, normally distributed) or `4,10:int64` (zeros)."""
    shape, _, dtype = text.partition(":")
    try:
        sizes, kind = [int(size) for size in shape.split(",")], numpy.dtype(dtype or "float32")
        if min(sizes) < 0 or kind.kind not in "biuf":
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError(f"--input must be SHAPE or SHAPE:DTYPE, such as 4,10,3 or 4,10:int64, got {text!r}") from None
    if kind.kind != "f":
        return numpy.zeros(sizes, kind)
    return numpy.random.RandomState(_SEED).standard_normal(sizes).astype(kind)


def _load(model: Any, source: str, sandbox: bool) -> None:
    try:
        if isinstance(model, nn.Module):
            model.load_state_dict(Checkpoint.behind(Gate(existing(source), sandbox=sandbox)).tensors)
            return
        if hasattr(model, "__load_checkpoint__"):
            model.__load_checkpoint__(source, sandbox)
            return
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise UsageError(f"{source} does not fit the {type(model).__name__} of the script: {reason}") from error
    raise UsageError(f"the function must return a torch.nn.Module or a chainer.Chain, got {type(model).__name__}")
