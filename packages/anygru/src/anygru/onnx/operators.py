"""The core's operator in ONNX's words: one standard `GRU` node for each layer.

ONNX defines the operator in https://onnx.ai/onnx/operators/onnx__GRU.html: gates stacked in the order z, r, h, `W [D, 3H, I]`,
`R [D, 3H, H]`, `B [D, 6H]`, output `[T, D, B, H]`; `linear_before_reset=1` is the formula that anygru calls reset="after".
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from ..errors import ArgumentError, ExtraMissingError, how_to_install
from ..operator import tracing

OPSET = 18
"""The version of ONNX's operators, as written by torch's exporter."""

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


def translations(*, sequence_lens: bool = True) -> dict[Callable[..., Any], Callable[..., Any]]:
    """The table for `torch.onnx.export(..., dynamo=True, custom_translation_table=anygru.onnx.translations())`.

    It translates the layers of anygru. For torch.nn.GRU and GRUCell use `anygru.onnx.export`: torch's own export decomposes
    them into single steps before any translation is used.

    Args:
        sequence_lens: see `anygru.onnx.export`.

    Raises:
        ExtraMissingError: onnxscript is not installed.
    """
    onnxscript_operators()
    ways = (_gru, _frozen_gru) if sequence_lens else (_masked_gru, _masked_frozen_gru)
    gru, frozen_gru = torch.ops.anygru.gru, torch.ops.anygru.frozen_gru
    # torch before 2.7 does not tell an export from a compilation, and traces the node of the compiler.
    nodes = (gru.exported, frozen_gru.exported, frozen_gru.default, gru.default)
    return dict(zip(nodes, (*ways, ways[1], _with_unused(ways[0])), strict=True))


def check_activation(argument: str, activation: object) -> str:
    """The activation's name, if ONNX has it.

    Raises:
        ArgumentError: ONNX's GRU has no such activation, or it is a function.
    """
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        name = activation if isinstance(activation, str) else getattr(activation, "__name__", repr(activation))
        raise ArgumentError(f"ONNX's GRU has no activation for {argument}={name!r}; it has {', '.join(ACTIVATIONS)}")
    return activation


def _gru(input: Value, h_0: Value, weights: Sequence[Value], sizes: Value, *rest: Any) -> tuple[Value, Value]:
    """`anygru::gru.exported`: output and h_n."""
    return _call(_whole_layer, input, h_0, weights, sizes, rest)


def _masked_gru(input: Value, h_0: Value, weights: Sequence[Value], sizes: Value, *rest: Any) -> tuple[Value, Value]:
    """The same without `sequence_lens`."""
    return _call(_masked_layer, input, h_0, weights, sizes, rest)


def _with_unused(way: Callable[..., tuple[Value, Value]]) -> Callable[..., tuple[Value, ...]]:
    """`anygru::gru`: the same, with placeholders for the values of the backward pass."""

    @functools.wraps(way)
    def compute(*call: Value) -> tuple[Value, ...]:
        output, h_n = way(*call)
        unused = onnxscript_operators().Identity(h_n)
        return output, h_n, unused, unused

    return compute


def _frozen_gru(
    input: Value, h_0: Value, values: Sequence[Value], scales: Sequence[Value], sizes: Value, *rest: Any
) -> tuple[Value, Value]:
    """`anygru::frozen_gru`: output and h_n, from weights in float32."""
    return _call(_whole_layer, input, h_0, _widened(values, scales), sizes, rest)


def _masked_frozen_gru(
    input: Value, h_0: Value, values: Sequence[Value], scales: Sequence[Value], sizes: Value, *rest: Any
) -> tuple[Value, Value]:
    """The same without `sequence_lens`."""
    return _call(_masked_layer, input, h_0, _widened(values, scales), sizes, rest)


def _widened(values: Sequence[Value], scales: Sequence[Value]) -> list[Value]:
    """Stored weights in float32.

    ONNX Runtime prepares constant weights once, and dequantizes the output of a DequantizeLinear at each call.
    """
    op = onnxscript_operators()
    remaining = iter(scales)
    weights = []
    for value in values:
        wide = op.Cast(value, to=1)
        if value.dtype.name == "INT8":
            wide = op.Mul(wide, op.Unsqueeze(next(remaining), op.Constant(value_ints=[-1])))
        weights.append(wide)
    for weight, value in zip(weights, values, strict=True):
        weight.shape = value.shape
    return weights


AWAY = "a layer with backend='reference' is exported step by step, for one number of steps"
"""The alternative for a layer that ONNX's operator cannot represent."""


def _call(
    layer: Callable[..., tuple[Value, Value]],
    input: Value,
    h_0: Value,
    weights: Sequence[Value],
    sizes: Value,
    rest: Sequence[Any],
) -> tuple[Value, Value]:
    """All layers, each by `layer(input, state, group, lengths, attributes, reverse)`, which gives [T, B, D*H] and [D, B, H]."""
    op = onnxscript_operators()
    modifiers, flat = tracing.read_rest(rest)
    layout, formula, _ = tracing.read_facts(flat)
    if modifiers.decay is not None:
        raise ArgumentError(f"ONNX's GRU has no resets and no decay of the state: {AWAY}")
    if layout.norm or modifiers.names():
        raise ArgumentError(f"ONNX's GRU has no layer norm, no zoneout and no recurrent dropout: {AWAY}")
    if sizes is not None and len(input.shape) == 2:
        raise ArgumentError(
            "ONNX's GRU takes no PackedSequence and no list of sequences: give the layer a padded tensor with lengths"
        )
    directions = layout.directions()
    layers = _by_layer(weights, directions, layout.per_direction())
    names = [check_activation(name, getattr(formula, name)) for name in ("gate_activation", "activation")]
    attributes = {"hidden_size": int(weights[1].shape[-1]), "linear_before_reset": int(formula.reset == "after")}
    final = []
    if layout.groups > 1:
        layer = _of_groups(layer, layout.groups, layout.splits_input)
    for number, own in enumerate(layers):
        state = h_0 if len(layers) == 1 else _part(op, h_0, number * directions, (number + 1) * directions)
        input, h_n = layer(input, state, own, sizes, (attributes, names), layout.reverse)
        final.append(h_n)
    return input, final[0] if len(final) == 1 else op.Concat(*final, axis=0)


_Facts: TypeAlias = tuple[dict[str, Any], list[str]]
"""Attributes of all GRU nodes, and the names of the two activations."""


def _of_groups(layer: Callable[..., tuple[Value, Value]], groups: int, splits_input: bool) -> Callable[..., Any]:
    """`layer` with groups, as one layer for each group."""

    def compute(
        input: Value, h_0: Value, own: Sequence[Sequence[Value]], sizes: Value, facts: _Facts, reverse: bool
    ) -> tuple[Value, Value]:
        op = onnxscript_operators()
        units, directions = facts[0]["hidden_size"], len(own)
        outputs, final = [], []
        for group in range(groups):
            weights = [[_of_group(op, weight, group) for weight in direction] for direction in own]
            part = input
            if splits_input:
                width = int(own[0][0].shape[-1])
                part = _part(op, input, group * width, (group + 1) * width, 2)
            state = _part(op, h_0, group * units, (group + 1) * units, 2)
            output, h_n = layer(part, state, weights, sizes, facts, reverse)
            shape = op.Constant(value_ints=[0, 0, directions, units])
            outputs.append(op.Reshape(output, shape) if directions > 1 else output)
            final.append(h_n)
        output = op.Concat(*outputs, axis=3 if directions > 1 else 2)
        if directions > 1:
            output = op.Reshape(output, op.Constant(value_ints=[0, 0, directions * groups * units]))
        return output, op.Concat(*final, axis=2)

    return compute


def _of_group(op: Operators, weight: Value, group: int) -> Value:
    """The part of a weight [G, ...] that is one group's."""
    part = op.Squeeze(_part(op, weight, group, group + 1), op.Constant(value_ints=[0]))
    part.shape = type(weight.shape)(list(weight.shape)[1:])
    return part


def _whole_layer(
    input: Value, h_0: Value, group: Sequence[Sequence[Value]], sizes: Value, facts: _Facts, reverse: bool
) -> tuple[Value, Value]:
    """One `GRU` node with `sequence_lens` in int32."""
    op = onnxscript_operators()
    attributes, names = facts
    directions = len(group)
    direction = "bidirectional" if directions == 2 else "reverse" if reverse else "forward"
    lengths = None if sizes is None else op.Cast(sizes, to=6)
    own = {**attributes, **_activation_attributes(names * directions), "direction": direction}
    output, h_n = op.GRU(input, *_operands(op, group), lengths, h_0, **own)
    if directions == 2:
        return _side_by_side(op, output, attributes["hidden_size"]), h_n
    return op.Squeeze(output, op.Constant(value_ints=[1])), h_n


def _masked_layer(
    input: Value, h_0: Value, group: Sequence[Sequence[Value]], sizes: Value, facts: _Facts, reverse: bool
) -> tuple[Value, Value]:
    """One forward `GRU` node per direction, which computes all steps, and masks.

    The reverse direction reads each sequence turned around. The state after a sequence's last step is taken from the outputs.
    """
    if sizes is None:
        return _whole_layer(input, h_0, group, None, facts, reverse)
    op = onnxscript_operators()
    lengths = op.Cast(sizes, to=7)
    first, second, last = (op.Constant(value_ints=[axis]) for axis in (0, 1, 2))
    steps = op.Range(op.Constant(value_int=0), op.Squeeze(op.Shape(input, start=0, end=1)), op.Constant(value_int=1))
    counts = op.Unsqueeze(op.Less(op.Unsqueeze(steps, second), op.Unsqueeze(lengths, first)), last)  # [T, B, 1]
    outputs, final = [], []
    for direction, weights in enumerate(group):
        turned = reverse or direction == 1

        def turn(value: Value, turned: bool = turned) -> Value:
            return op.ReverseSequence(value, lengths, batch_axis=1, time_axis=0) if turned else value

        state = h_0 if len(group) == 1 else _part(op, h_0, direction, direction + 1)
        output, _ = _whole_layer(turn(input), state, [weights], None, facts, False)
        states = op.Concat(state, output, axis=0)  # [1 + T, B, H], so that a sequence of no steps keeps its first state
        places = op.Expand(op.Unsqueeze(lengths, op.Constant(value_ints=[0, 2])), op.Shape(state))
        final.append(op.GatherElements(states, places, axis=0))
        outputs.append(op.Where(counts, turn(output), op.Constant(value_float=0.0)))
    if len(group) == 1:
        return outputs[0], final[0]
    return op.Concat(*outputs, axis=2), op.Concat(*final, axis=0)


def _part(op: Operators, value: Value, start: int, end: int, axis: int = 0) -> Value:
    bounds = (op.Constant(value_ints=[bound]) for bound in (start, end, axis))
    return op.Slice(value, *bounds)


def _by_layer(weights: Sequence[Value], directions: int, parts: int) -> list[list[Sequence[Value]]]:
    """The flat list of weights by layer and direction."""
    each = [weights[start : start + parts] for start in range(0, len(weights), parts)]
    return [each[start : start + directions] for start in range(0, len(each), directions)]


def _activation_attributes(names: Sequence[str]) -> dict[str, Any]:
    """ONNX's attributes; alpha and beta are listed only for activations that have them."""
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
