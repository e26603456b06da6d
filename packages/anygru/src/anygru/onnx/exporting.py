"""Writing models: torch's exporter with anygru's translations, and every GRU layer as one node of the graph."""

import ast
import contextlib
import itertools
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ..checkpoints.output.atomic import replacing
from ..errors import AnygruError, ArgumentError, ArgumentTypeError, BackendError
from ..functional import gru, gru_cell
from ..layers import gru as layers
from ..layers.frozen import Frozen
from ..layers.machine import Machine
from ..layers.shared import evaluating
from ..layers.stepper import start_of
from ..operator.frozen_weights import FrozenWeights
from ..patching import rerouting
from .operators import OPSET, check_activation, onnxscript_operators, translations
from .packing import PaddedBatch, padded
from .stepping import ModelStep


def export(
    model: Any,
    args: tuple[Any, ...] | Tensor,
    path: str | os.PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    sequence_lens: bool = True,
    **options: Any,
) -> torch.onnx.ONNXProgram:
    """Export a model in which every GRU layer becomes one ONNX `GRU` node a layer, with the right formula.

    The layers may be anygru's or torch's. A layer that takes `lengths` gets them as the node's `sequence_lens`. Parametrized
    weights are exported as computed. The model is exported in the mode it is in; call `model.eval()` for deployment.
    `pack_padded_sequence` before a layer also gives `sequence_lens`.

    Args:
        model: any module that torch.onnx.export(dynamo=True) takes, or a model of a dialect with `__to_torch__`, such as a
            Chain of Chainer.
        args: example inputs, or the only one, a tensor; sizes named in `dynamic_shapes` stay open.
        path: where to write the file; None writes nothing.
        kwargs: example keyword inputs.
        dynamic_shapes, input_names, output_names: as of torch.onnx.export.
        sequence_lens: whether `lengths` become the node's `sequence_lens`. False: the node computes all steps, and masks,
            ReverseSequence and GatherElements around it do the rest; OpenVINO up to 2026.4 computes only this form rightly.
        options: further options of torch.onnx.export.

    Returns:
        torch.onnx.ONNXProgram: the exported program.

    Raises:
        ArgumentTypeError: `args` is neither a tensor nor a tuple or list.
        ArgumentError: no valid file has the `opset_version`; torch has closed an axis of `dynamic_shapes`; or ONNX's GRU
            cannot represent a layer: a callable activation, a PackedSequence from outside, resets, decay, layer norm, zoneout.
        BackendError: torch is older than 2.6; its exporter does not accept translations.
        CheckpointError: the path is a device or another thing that is not a regular file.
        ExtraMissingError: onnx or onnxscript is not installed.
    """
    if torch.__version__ < "2.6":
        raise BackendError(f"anygru.onnx.export needs torch 2.6 or later, this is {torch.__version__}")
    if not isinstance(args, Tensor | tuple | list):
        raise ArgumentTypeError(
            f"args must be a tensor or a tuple of the arguments of a call, got {type(args).__name__}"
        )
    model, args = as_module(model, (args,) if isinstance(args, Tensor) else tuple(args))
    table = translations(sequence_lens=sequence_lens) | options.pop("custom_translation_table", {})
    options = {"opset_version": OPSET, "verbose": False, **options}
    _check_layers(model)
    with _layers_as_nodes(model), _without_torchvision(), warnings.catch_warnings():
        # torch warns about inputs that share a dimension, and about a deprecated name that it uses itself.
        warnings.filterwarnings("ignore", "# The axis name")
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
        try:
            program = torch.onnx.export(
                model,
                args,
                kwargs=dict(kwargs or {}),
                dynamo=True,
                dynamic_shapes=dynamic_shapes,
                input_names=input_names,
                output_names=output_names,
                custom_translation_table=table,
                **options,
            )
        except Exception as error:
            own = _own_cause(error)
            if own is None:
                raise
            raise own from None
    assert program is not None  # it is None for torch's older exporter only
    _fold(program)
    _name_nodes(program)
    _check_version(program, options["opset_version"])
    _check_open_axes(program, dynamic_shapes)
    if path is not None:
        with replacing(path) as written:  # large weights are in a second file
            program.save(written)
    return program


def as_module(model: Any, args: tuple[Any, ...]) -> tuple[nn.Module, tuple[Any, ...]]:
    """A module with the model's computation, and its example inputs.

    Raises:
        ArgumentTypeError: the model is neither a module nor one of a dialect that becomes one.
    """
    if isinstance(model, nn.Module):
        return model, args
    if not hasattr(model, "__to_torch__"):
        raise ArgumentTypeError(f"model must be a torch.nn.Module or a chainer.Chain, got {type(model).__name__}")
    module, tensors = model.__to_torch__(args)
    return module, tensors


def _own_cause(error: BaseException | None) -> AnygruError | None:
    """The error of anygru inside an error of torch's exporter."""
    while error is not None and not isinstance(error, AnygruError):
        error = error.__cause__ or error.__context__
    return error


def export_step(
    layer: nn.Module,
    path: str | os.PathLike[str] | None = None,
    *,
    example: Tensor | None = None,
    batch_first: bool | None = None,
    time_axis: int | None = None,
    rest: Tensor | float | None = None,
) -> torch.onnx.ONNXProgram:
    """Export a stream: one step of a layer or of a whole model, with the state as an input and an output.

    A layer of anygru takes `input` [B, I] and `state` [L, B, H] and returns `output` [B, H] and `new_state` [L, B, H]; B is open.
    Any other model takes `input` [1, ...], a step without the axis of time, and `state` [1, S], and returns `output` [1, ...] and
    `new_state` [1, S]. Dropout is off. Feed zeros as the first state and each `new_state` as the next `state`.

    Args:
        layer: an anygru.GRU or FrozenGRU of one direction; or a model that `anygru.stepper` takes.
        path: where to write the file; None writes nothing.
        example, batch_first, time_axis: of a model, as for `anygru.stepper`.
        rest: a constant input, one number or a step: `state` is then the difference from the state that such an input leads to,
            so that a stream with zeros as its first state starts at rest.

    Raises:
        ArgumentError: the layer is bidirectional, so it has no single steps; the model cannot be stepped; or its state does
            not come to rest within 16,384 steps.
        ArgumentTypeError: `layer` is not a module.
    """
    if not isinstance(layer, layers.GRU | layers.FrozenGRU):
        machine = Machine(layer, example, batch_first, time_axis)
        frame = machine.longer.narrow(machine.batch, 0, 1).select(machine.time, 0)
        step = ModelStep(machine)
        return export(
            (step if rest is None else _FromRest(step, start_of(machine, rest)[0])).eval(),
            (frame, machine.zeros(1)),
            path,
            input_names=["input", "state"],
            output_names=["output", "new_state"],
        )
    if layer.bidirectional or layer.options.layer.reverse:
        raise ArgumentError("layer must have one direction: the reverse direction has no steps to run one at a time")
    weights = layer.stream_weights()
    like = weights if isinstance(weights, FrozenWeights) else weights[0]
    input = torch.zeros(2, layer.input_size, dtype=like.dtype, device=like.device)
    state = input.new_zeros(layer.num_layers, 2, layer.hidden_size)
    batch = torch.export.Dim("batch")
    one: nn.Module = _Step(layer)
    if rest is not None:
        start = start_of(Machine(layer), rest)[0]
        one = _FromRest(one, start.view(layer.num_layers, 1, layer.hidden_size))
    with evaluating(layer):
        return export(
            one.eval(),
            (input, state),
            path,
            dynamic_shapes={"input": {0: batch}, "state": {1: batch}},
            input_names=["input", "state"],
            output_names=["output", "new_state"],
        )


class _FromRest(nn.Module):
    """A step whose state is the difference from a start."""

    start: Tensor

    def __init__(self, step: nn.Module, start: Tensor) -> None:
        super().__init__()
        self.step = step
        self.register_buffer("start", start)

    def forward(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        output, new_state = self.step(input, state + self.start)
        return output, new_state - self.start


class _Step(nn.Module):
    """One step of a layer."""

    def __init__(self, layer: layers.GRU | layers.FrozenGRU) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        steps = input.unsqueeze(1) if self.layer.batch_first else input.unsqueeze(0)
        turned = self.layer.batch_first_states
        output, new_state = self.layer(steps, state.transpose(0, 1) if turned else state)
        new_state = new_state.transpose(0, 1) if turned else new_state
        return output.squeeze(1 if self.layer.batch_first else 0), new_state


def _check_layers(model: nn.Module) -> None:
    """Check for options that a translation cannot see: a callable activation is traced as plain operations."""
    for name, module in model.named_modules():
        if isinstance(module, layers.GRU | layers.GRUCell | Frozen):
            try:
                check_activation("gate_activation", module.gate_activation)
                check_activation("activation", module.activation)
            except ArgumentError as error:
                raise ArgumentError(f"{name or 'the model'}: {error}") from None


@contextlib.contextmanager
def _without_torchvision() -> Iterator[None]:
    """Suppress torch's messages about translations that need torchvision, which GRUs do not use."""

    def is_news(record: logging.LogRecord) -> bool:
        return "torchvision is not installed" not in str(record.msg)

    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    logger.addFilter(is_news)
    try:
        yield
    finally:
        logger.removeFilter(is_news)


@contextlib.contextmanager
def _layers_as_nodes(model: nn.Module) -> Iterator[None]:
    """While this lasts, the GRUs of the model compute through anygru's operator, which the exporter keeps as one node.

    Packed sequences are exported as padded batches, also for anygru's layers. Other models and threads are not affected.
    """
    own = [each for each in model.modules() if type(each).forward in (layers.GRU.forward, layers.FrozenGRU.forward)]
    of_torch: dict[nn.Module, Callable[..., Any]] = {}
    for kind, forward in ((nn.GRU, _forward), (nn.GRUCell, _cell_forward)):
        of_torch |= dict.fromkeys((each for each in model.modules() if isinstance(each, kind)), forward)
    for layer in own:
        layer.__dict__["forward"] = _unpacking(type(layer).forward).__get__(layer)
    try:
        with rerouting.computing_as(of_torch), padded():
            yield
    finally:
        for layer in own:
            del layer.__dict__["forward"]


def _unpacking(forward: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The method of a layer of anygru, for a packed sequence the padded call."""

    def unpacked(self: layers.GRU | layers.FrozenGRU, input: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if not isinstance(input, PaddedBatch):
            return forward(self, input, *args, **kwargs)
        steps = input.steps.transpose(0, 1) if self.batch_first else input.steps
        output, *rest = forward(self, steps, *args, lengths=input.lengths, **kwargs)
        steps = output.transpose(0, 1) if self.batch_first else output
        return PaddedBatch.of(steps, input.lengths, 0.0), *rest

    return unpacked


def _forward(self: nn.GRU, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
    options: dict[str, Any] = {
        "bidirectional": self.bidirectional,
        "bias": self.bias,
        "dropout": self.dropout,
        "training": self.training,
    }
    weights = [getattr(self, name) for name in self._flat_weights_names]  # as computed, where one is parametrized
    if isinstance(input, PaddedBatch):
        output, h_n = gru(input.steps, hx, weights, lengths=input.lengths, **options)
        return PaddedBatch.of(output, input.lengths, 0.0), h_n
    if isinstance(input, PackedSequence):
        raise ArgumentError(
            "ONNX's GRU takes no PackedSequence: pack the batch with pack_padded_sequence inside the model, or give the layer "
            "a padded tensor, or use anygru.GRU with lengths"
        )
    return gru(input, hx, weights, batch_first=self.batch_first, **options)


def _cell_forward(self: nn.GRUCell, input: Tensor, hx: Tensor | None = None) -> Tensor:
    return gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


def _fold(program: torch.onnx.ONNXProgram) -> None:
    """Compute the reordering of the weights now: a file then holds W, R and B as a runtime reads them."""
    onnxscript_operators()
    from onnxscript import optimizer

    optimizer.fold_constants(program.model, input_size_limit=1 << 40, output_size_limit=1 << 40)
    optimizer.remove_unused_nodes(program.model)


def _check_version(program: torch.onnx.ONNXProgram, version: int) -> None:
    """Refuse a file if its version of ONNX's operators is not the requested version, or if this version does not allow
    it.

    Versions below `OPSET` are converted by onnx, which leaves some operators in their newer form.
    """
    import onnx

    way_out = f"leave opset_version out, or give {OPSET} or a later one"
    if program.model.opset_imports.get("") != version:
        raise ArgumentError(f"opset_version: the model cannot be written with version {version}; {way_out}")
    if version < OPSET:
        try:
            onnx.checker.check_model(program.model_proto, full_check=True)
        except Exception as error:  # the checker and its inference of shapes raise their own errors
            reason = str(error).strip().splitlines()[0]
            raise ArgumentError(
                f"opset_version: no valid model with version {version} ({reason}); {way_out}"
            ) from error


def _check_open_axes(program: torch.onnx.ONNXProgram, dynamic_shapes: Any) -> None:
    """Refuse a program in which fewer axes of inputs are open than `dynamic_shapes` names.

    torch 2.13 closes the time axis of an LSTM without an error in the second export of a process.
    """
    named = sum(isinstance(each, str) or hasattr(each, "__name__") for each in _leaves(dynamic_shapes))
    open_axes = sum(not isinstance(size, int) for value in program.model.graph.inputs for size in value.shape or ())
    if open_axes < named:
        raise ArgumentError(
            f"dynamic_shapes names {named} axes, and torch's export left {open_axes} of them open. A loop over the steps and a "
            "list of lengths close an axis: call a GRU with the whole sequence, and give lengths as a tensor. An LSTM "
            "in a second export does so as well: export in a new process. Or leave these axes out"
        )


def _leaves(value: Any) -> Iterator[Any]:
    """The values in nested dicts, lists and tuples."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if parts is None:
        yield value
    else:
        for part in parts:
            yield from _leaves(part)


def _name_nodes(program: torch.onnx.ONNXProgram) -> None:
    """Name each GRU node after the module that it comes from, layers above the first with their number."""
    taken: set[str] = set()
    for node in program.model.graph:
        if node.op_type != "GRU":
            continue
        scopes = ast.literal_eval(node.metadata_props.get("pkg.torch.onnx.name_scopes", "[]"))
        path = scopes[-2] if len(scopes) > 1 else ""
        names = (path or "gru" if not number else f"{path or 'gru'}_{number}" for number in itertools.count())
        node.name = next(name for name in names if name not in taken)
        taken.add(node.name)
