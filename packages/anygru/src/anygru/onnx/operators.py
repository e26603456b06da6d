"""The core's operator in ONNX's words: one standard `GRU` node for each layer.

ONNX defines the operator in https://onnx.ai/onnx/operators/onnx__GRU.html: gates stacked in the order z, r, h, `W [D, 3H, I]`,
`R [D, 3H, H]`, `B [D, 6H]`, output `[T, D, B, H]`; `linear_before_reset=1` is the formula that anygru calls reset="after".
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from ..errors import AnygruError, ArgumentError, how_to_install
from ..facts.modifiers import Modifiers

OPSET = 18
"""The version of ONNX's operators that is written, which torch's exporter writes, too."""

Value: TypeAlias = Any
"""A value of the graph that onnxscript builds; it has no class that both of its builders share."""
Operators: TypeAlias = Any
"""onnxscript's functions for ONNX's operators."""

# ONNX's name of each activation, with alpha and beta where it has them; torch's hardsigmoid is clip(x / 6 + 1 / 2, 0, 1).
ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "sigmoid": ("Sigmoid", None, None),
    "tanh": ("Tanh", None, None),
    "relu": ("Relu", None, None),
    "softsign": ("Softsign", None, None),
    "softplus": ("Softplus", None, None),
    "identity": ("Affine", 1.0, 0.0),
    "hardsigmoid": ("HardSigmoid", 1.0 / 6.0, 0.5),
    "elu": ("Elu", 1.0, None),
}


class ExtraMissingError(AnygruError, ImportError):
    """A command or function needs a package that an extra of anygru installs."""


def onnxscript_operators() -> Operators:
    """onnxscript's functions for the operators of `OPSET`.

    Raises:
        ExtraMissingError: onnxscript is not installed.
    """
    try:
        from onnxscript import opset18
    except ImportError as error:
        raise ExtraMissingError(f"exporting to ONNX needs onnxscript: {how_to_install('onnx')} ({error})") from error
    return opset18


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The table for `torch.onnx.export(..., dynamo=True, custom_translation_table=anygru.onnx.translations())`.

    It translates the layers of anygru. For torch.nn.GRU and GRUCell use `anygru.onnx.export`: torch's own export takes them
    apart, step by step, before any translation is asked.

    Raises:
        ExtraMissingError: onnxscript is not installed.
    """
    onnxscript_operators()
    return {torch.ops.anygru.gru.default: _gru, torch.ops.anygru.frozen_gru.default: _frozen_gru}


def check_activation(argument: str, activation: object) -> str:
    """The activation's name, if ONNX has it.

    Raises:
        ArgumentError: ONNX's GRU has no such activation, or it is a function.
    """
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        name = activation if isinstance(activation, str) else getattr(activation, "__name__", repr(activation))
        raise ArgumentError(f"ONNX's GRU has no activation for {argument}={name!r}; it has {', '.join(ACTIVATIONS)}")
    return activation


def _gru(input: Value, h_0: Value, weights: Sequence[Value], sizes: Value, *rest: Any) -> tuple[Value, Value, Value]:
    """`anygru::gru`: output, h_n, and an unused value instead of those that backward needs."""
    output, h_n = _call(input, h_0, weights, sizes, *rest)
    return output, h_n, onnxscript_operators().Identity(h_n)


def _frozen_gru(
    input: Value, h_0: Value, values: Sequence[Value], scales: Sequence[Value], sizes: Value, *rest: Any
) -> tuple[Value, Value]:
    """`anygru::frozen_gru`: output and h_n, from weights in float32.

    ONNX Runtime prepares constant weights once, and dequantizes the output of a DequantizeLinear at each call.
    """
    op = onnxscript_operators()
    remaining = iter(scales)
    weights = []
    for value in values:
        wide = op.Cast(value, to=1)
        if value.dtype.name == "INT8":
            wide = op.Mul(wide, op.Unsqueeze(next(remaining), op.Constant(value_ints=[1])))
        weights.append(wide)
    for weight, value in zip(weights, values, strict=True):
        weight.shape = value.shape
    return _call(input, h_0, weights, sizes, *rest)


def _call(input: Value, h_0: Value, weights: Sequence[Value], sizes: Value, *rest: Any) -> tuple[Value, Value]:
    op = onnxscript_operators()
    modifiers, facts = Modifiers(*rest[:4]), rest[4:]
    if modifiers.decay is not None:
        raise ArgumentError("ONNX's GRU has no resets and no decay of the state: export the layer without them")
    if modifiers.names or facts[3]:
        raise ArgumentError("ONNX's GRU has no layer norm, no zoneout and no recurrent dropout")
    if sizes is not None and len(input.shape) == 2:
        raise ArgumentError(
            "ONNX's GRU takes no PackedSequence and no list of sequences: give the layer a padded tensor with lengths"
        )
    lengths = None if sizes is None else op.Cast(sizes, to=6)  # ONNX's sequence_lens are int32
    return _layers(input, h_0, weights, lengths, *facts)


def _layers(
    input: Value,
    h_0: Value,
    weights: Sequence[Value],
    lengths: Value,
    bidirectional: bool = False,
    bias: bool = True,
    reverse: bool = False,
    norm: bool = False,
    reset: str = "after",
    gate_activation: str = "sigmoid",
    activation: str = "tanh",
    *unused: object,
) -> tuple[Value, Value]:
    op = onnxscript_operators()
    directions = 2 if bidirectional else 1
    groups = _grouped(weights, directions, 4 if bias else 2)
    hidden = int(weights[1].shape[-1])
    names = [check_activation("gate_activation", gate_activation), check_activation("activation", activation)]
    attributes = {
        "hidden_size": hidden,
        "direction": "bidirectional" if bidirectional else "reverse" if reverse else "forward",
        "linear_before_reset": int(reset == "after"),
        **_activation_attributes(names * directions),
    }
    final = []
    for number, group in enumerate(groups):
        state = h_0
        if len(groups) > 1:
            bounds = (
                op.Constant(value_ints=[number * directions]),
                op.Constant(value_ints=[(number + 1) * directions]),
            )
            state = op.Slice(h_0, *bounds)
        output, h_n = op.GRU(input, *_operands(op, group), lengths, state, **attributes)
        input = (
            op.Squeeze(output, op.Constant(value_ints=[1])) if directions == 1 else _side_by_side(op, output, hidden)
        )
        final.append(h_n)
    return input, final[0] if len(final) == 1 else op.Concat(*final, axis=0)


def _grouped(weights: Sequence[Value], directions: int, parts: int) -> list[list[Sequence[Value]]]:
    """The flat list of weights by layer and direction."""
    groups = [weights[start : start + parts] for start in range(0, len(weights), parts)]
    return [groups[start : start + directions] for start in range(0, len(groups), directions)]


def _activation_attributes(names: Sequence[str]) -> dict[str, Any]:
    """ONNX's attributes; alpha and beta are listed for those activations only that have them."""
    if set(names[::2]) == {"sigmoid"} and set(names[1::2]) == {"tanh"}:
        return {}
    rows = [ACTIVATIONS[name] for name in names]
    attributes: dict[str, Any] = {"activations": [row[0] for row in rows]}
    for index, attribute in ((1, "activation_alpha"), (2, "activation_beta")):
        values = [row[index] for row in rows if row[index] is not None]
        if values:
            attributes[attribute] = values
    return attributes


def _operands(op: Operators, group: Sequence[Sequence[Value]]) -> tuple[Value, Value, Value]:
    """W, R and B of one layer from the core's weights of each direction; B is None without biases."""
    first = op.Constant(value_ints=[0])

    def stacked(part: int) -> list[Value]:
        return [_update_first(op, direction[part]) for direction in group]

    def joined(values: list[Value]) -> Value:
        rows = [op.Unsqueeze(value, first) for value in values]
        return rows[0] if len(rows) == 1 else op.Concat(*rows, axis=0)

    if len(group[0]) == 2:
        return joined(stacked(0)), joined(stacked(1)), None
    biases = [op.Concat(own, recurrent, axis=0) for own, recurrent in zip(stacked(2), stacked(3), strict=True)]
    return joined(stacked(0)), joined(stacked(1)), joined(biases)


def _update_first(op: Operators, weight: Value) -> Value:
    """Rows in the order r, z, n as rows in the order z, r, n. (Slices and not Split, which the optimizer does not fold.)"""
    hidden = int(weight.shape[0]) // 3
    bounds = [op.Constant(value_ints=[gate * hidden]) for gate in range(4)]
    reset, update, candidate = (op.Slice(weight, bounds[gate], bounds[gate + 1]) for gate in range(3))
    return op.Concat(update, reset, candidate, axis=0)


def _side_by_side(op: Operators, output: Value, hidden: int) -> Value:
    """[T, D, B, H] as [T, B, D*H]."""
    return op.Reshape(op.Transpose(output, perm=[0, 2, 1, 3]), op.Constant(value_ints=[0, 0, 2 * hidden]))
