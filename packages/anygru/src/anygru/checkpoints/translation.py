"""From a GRU's tensors in a file to the core's weights, and back into another framework's tensors.

Rows are moved, stacked and negated by `anygru.gates`; this is exact.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from ..errors import ArgumentError, CheckpointError
from ..facts import gates, quantization
from ..facts.entries import SCALE
from ..facts.formula import make_formula
from .finding import FoundGRU, Sources
from .layout import PARTS, CheckpointLayout, join_name
from .reading.content import EntryMark
from .stored import StoredTensor

if TYPE_CHECKING:
    from ..layers.gru import GRU, FrozenGRU, FrozenGRUCell, GRUCell

    AnyLayer: TypeAlias = GRU | GRUCell | FrozenGRU | FrozenGRUCell

Core = dict[str, Tensor]
"""One layer and direction's core weights by part; both biases or none."""


def core_weights(gru: FoundGRU, tensors: Mapping[str, StoredTensor]) -> list[Core]:
    """Give the core weights of each layer and direction; stacked (r, z, n), blending (1 - z) n + z h.

    If the file has only one of the two biases, the other one is zeros.
    """
    return [_decode(gru, source, tensors) for source in gru.sources]


def make_layer(gru: FoundGRU, tensors: Mapping[str, StoredTensor]) -> "AnyLayer":
    """Make a layer of the core with the GRU's weights, copied; a frozen one of a frozen GRU."""
    from ..layers.gru import GRU, GRUCell
    from .reverse import ReverseGRU

    check_computable(gru)
    if gru.frozen:
        return _make_frozen(gru, tensors)
    options: dict[str, Any] = {
        "bias": gru.bias,
        "dtype": getattr(torch, gru.dtype),
        "zoneout": gru.zoneout,
        **gru.formula,
    }
    layer: GRU | GRUCell
    if gru.cell:
        layer = GRUCell(gru.input_size, gru.hidden_size, **options)
    else:
        options |= {"bidirectional": gru.bidirectional, "batch_first": gru.batch_first}
        layer = (ReverseGRU if gru.reverse else GRU)(gru.input_size, gru.hidden_size, gru.num_layers, **options)
    state: dict[str, Tensor] = {}
    for number, core in enumerate(core_weights(gru, tensors)):
        suffix = f"_l{number // gru.directions}" + ("_reverse" if number % gru.directions else "")
        state |= {part + ("" if gru.cell else suffix): tensor for part, tensor in core.items()}
    layer.load_state_dict({**state, **dict(layer.named_buffers())})  # a buffer determines the formula
    return layer


def check_computable(gru: FoundGRU) -> None:
    """Raise an error for a GRU with a formula that the core or a frozen layer lacks."""
    try:
        make_formula(gru.formula["reset"], gru.formula["gate_activation"], gru.formula["activation"])
        problem = gru.problem
        if gru.frozen and (gru.reverse or gru.zoneout):
            problem = (
                problem or f"a frozen layer cannot {'read backwards' if gru.reverse else 'keep a share by zoneout'}"
            )
        if gru.reverse and gru.zoneout:
            problem = problem or "a layer that reads backwards has no zoneout"
    except ArgumentError as error:
        problem = str(error)
    if problem:
        raise CheckpointError(f"{gru.path or 'the GRU'}: {problem}; `tensors` has its weights unchanged")


def _make_frozen(gru: FoundGRU, tensors: Mapping[str, StoredTensor]) -> "FrozenGRU | FrozenGRUCell":
    from ..layers.gru import FrozenGRU, FrozenGRUCell

    options: dict[str, Any] = {"bias": gru.bias, "weights": gru.frozen, **gru.formula}
    layer: FrozenGRU | FrozenGRUCell
    if gru.cell:
        layer = FrozenGRUCell(gru.input_size, gru.hidden_size, **options)
    else:
        sizes = (gru.input_size, gru.hidden_size, gru.num_layers)
        layer = FrozenGRU(*sizes, bidirectional=gru.bidirectional, **options)
    stored = [in_format(gru, name, tensors) for source in gru.sources for names in source.values() for name in names]
    layer.replace_weights(stored)
    return layer


def freeze_tensors(tensors: Mapping[str, StoredTensor], weights: quantization.WeightFormat) -> dict[str, StoredTensor]:
    """The tensors of a layout that is freezable as a frozen layer has them."""
    found: dict[str, StoredTensor] = {}
    for name, stored in tensors.items():
        if stored.values.ndim != 2:
            found[name] = StoredTensor.of_tensor(stored.tensor().float())
            continue
        values, scale = quantization.quantize(stored.tensor().float(), weights)
        found[name] = StoredTensor.of_tensor(values)
        if scale is not None:
            found[name + SCALE] = StoredTensor.of_tensor(scale)
    return found


def framework_tensors(core: list[Core], gru: FoundGRU, layout: CheckpointLayout, path: str) -> dict[str, StoredTensor]:
    """Give a GRU's tensors under the names and in the form of another layout.

    Args:
        core: its core weights.
        gru: its facts.
        layout: how to write it; must have the same reset, and hold cells for a cell.
        path: the layer's name there.
    """
    named: dict[str, StoredTensor] = {}
    further: dict[str, StoredTensor] = {}
    for number, weights in enumerate(core):
        place = number // gru.directions, number % gru.directions, gru.directions
        for part, tensors in _encode(_with_biases(weights) if layout.always_biased else weights, layout).items():
            stored = [StoredTensor.of_tensor(tensor) for tensor in tensors]
            for name, tensor in zip(layout.names(part, *place), stored, strict=True):
                named[join_name(path, name, layout.separators[0])] = tensor
            for name in layout.alias_names(part, *place):
                further[join_name(path, name, layout.separators[0])] = stored[0]
    return named | further


def mark_of(module: object, name: str) -> EntryMark | None:
    """Return the formula of a layer of the core if its tensors' names do not determine it; None where they do.

    Raises:
        CheckpointError: an activation is a function, which has no name to store.
    """
    from ..layers.gru import GRU, FrozenGRU, FrozenGRUCell, GRUCell
    from .reverse import ReverseGRU

    if not isinstance(module, GRU | GRUCell | FrozenGRU | FrozenGRUCell):
        return None
    formula = {"reset": module.reset, "gate_activation": module.gate_activation, "activation": module.activation}
    for argument, value in formula.items():
        if not isinstance(value, str):
            raise CheckpointError(f"{name or 'the GRU'}: {argument} is a function, which no checkpoint can hold")
    usual = {"reset": "after", "gate_activation": "sigmoid", "activation": "tanh"}
    if getattr(module, "zoneout", 0.0):
        formula["zoneout"] = repr(float(module.zoneout))
    reverse = isinstance(module, ReverseGRU)
    if formula == usual and not reverse:
        return None
    return EntryMark({key: str(value) for key, value in formula.items()}, reverse)


def in_format(gru: FoundGRU, name: str, tensors: Mapping[str, StoredTensor]) -> quantization.Stored:
    """A tensor of a GRU, which may be frozen, with its scale.

    Raises:
        CheckpointError: numbers that no frozen layer has, such as a scale of zero.
    """
    scale = tensors[name + SCALE].tensor() if gru.frozen and tensors[name].dtype == "int8" else None
    stored = quantization.Stored(tensors[name].tensor(), scale)
    for ending, reason in quantization.check(stored):
        raise CheckpointError(f"{name}{ending}: {reason}")
    return stored


def _decode(gru: FoundGRU, source: Sources, tensors: Mapping[str, StoredTensor]) -> Core:
    parts = {part: [tensors[name].tensor() for name in names] for part, names in source.items()}
    if gru.frozen:
        parts = {
            part: [quantization.dequantize(in_format(gru, name, tensors)) for name in names]
            for part, names in source.items()
        }
    if gru.layout.concatenated:
        core = _decode_concatenated(parts, gru.input_size)
    elif gru.layout.columns:
        core = {part: gates.reorder(values, gru.layout.order) for part, values in _from_columns(parts).items()}
    else:
        core = {
            part: gates.stack(values) if len(values) == 3 else gates.reorder(values[0], gru.layout.order)
            for part, values in parts.items()
        }
    if gru.layout.blend != "(1-z)n+zh":
        core = {part: gates.negate_update(values) for part, values in core.items()}
    if gru.bias:
        present = core.get("bias_ih", core.get("bias_hh"))
        assert present is not None  # gru.bias is True
        core = {part: core[part] if part in core else torch.zeros_like(present) for part in PARTS}
    return core


def _decode_concatenated(parts: dict[str, list[Tensor]], input_size: int) -> Core:
    weight_ih, weight_hh = gates.from_concatenated(parts["weight_ih"][0], parts["weight_hh"][0], input_size)
    core = {"weight_ih": weight_ih, "weight_hh": weight_hh}
    if "bias_ih" in parts:
        core["bias_ih"] = gates.bias_from_concatenated(parts["bias_ih"][0], parts["bias_hh"][0])
    return core


def _from_columns(parts: dict[str, list[Tensor]]) -> Core:
    """Rows from matrices [I, 3H] and [H, 3H], and from one bias [3H] or both [2, 3H]."""
    core = {part: parts[part][0].t() for part in ("weight_ih", "weight_hh")}
    if "bias_ih" in parts:
        core |= dict(zip(("bias_ih", "bias_hh"), torch.atleast_2d(parts["bias_ih"][0]), strict=False))
    return core


def _to_columns(core: Core, layout: CheckpointLayout) -> Core:
    """The inverse of `_from_columns`."""
    columns = {part: core[part].t().contiguous() for part in ("weight_ih", "weight_hh")}
    if "bias_ih" in core:
        both = layout.reset == "after"
        columns["bias_ih"] = (
            torch.stack((core["bias_ih"], core["bias_hh"])) if both else one_bias(core["bias_ih"], core["bias_hh"])
        )
    return columns


def _with_biases(core: Core) -> Core:
    """Zeros for the biases that are missing: they change nothing."""
    zeros = core["weight_hh"].new_zeros(len(core["weight_hh"]))
    return {"bias_ih": zeros, "bias_hh": zeros, **core}


def _encode(core: Core, layout: CheckpointLayout) -> dict[str, list[Tensor]]:
    if layout.blend != "(1-z)n+zh":
        core = {part: gates.negate_update(values) for part, values in core.items()}
    if layout.concatenated:
        return _encode_concatenated(core)
    if layout.columns:
        rows = {part: gates.reorder(values, gates.ORDER, layout.order) for part, values in core.items()}
        return {part: [values] for part, values in _to_columns(rows, layout).items()}
    return {
        part: list(gates.split(values))
        if len(getattr(layout, part)) == 3
        else [gates.reorder(values, gates.ORDER, layout.order)]
        for part, values in core.items()
    }


def _encode_concatenated(core: Core) -> dict[str, list[Tensor]]:
    gate_weight, candidate_weight = gates.to_concatenated(core["weight_ih"], core["weight_hh"])
    parts = {"weight_ih": [gate_weight.contiguous()], "weight_hh": [candidate_weight.contiguous()]}
    if "bias_ih" in core:
        bias = one_bias(core["bias_ih"], core["bias_hh"])
        split = len(bias) // 3 * 2
        parts |= {"bias_ih": [bias[:split]], "bias_hh": [bias[split:]]}
    return parts


def one_bias(bias_ih: Tensor, bias_hh: Tensor) -> Tensor:
    """Add two biases for a layout with one; where one of them is zeros the other is kept bit for bit."""
    if not bias_hh.any():
        return bias_ih
    if not bias_ih.any():
        return bias_hh
    return gates.fuse_biases(bias_ih, bias_hh)
