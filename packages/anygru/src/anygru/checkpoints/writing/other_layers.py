"""Layers other than GRUs, recognised by the names and shapes of their tensors: linear, convolution, normalisation.

The frameworks differ in two ways, both known from files that the real ones wrote and read (docs/checkpoints.md):
Paddle keeps the weight of a `Linear` as [in, out] where all others have [out, in], and some parts have other names.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ...errors import CheckpointError
from ..stored import StoredTensor

_IN_OUT = {"paddle"}
"""The formats of frameworks that keep the weight of a linear layer as [in, out]."""

_ROLES = ("weight", "bias", "scale", "shift", "mean", "variance", "count")
_TORCH = ("weight", "bias", "weight", "bias", "running_mean", "running_var", "num_batches_tracked")
_CHAINER = ("W", "b", "gamma", "beta", "avg_mean", "avg_var", "N")
_NAMES: dict[str, tuple[str, ...]] = {
    "torch": _TORCH, "safetensors": _TORCH, "torch_json": _TORCH, "rtneural": _TORCH, "oneflow": _TORCH,
    "paddle": ("weight", "bias", "weight", "bias", "_mean", "_variance", ""),
    "mxnet": ("weight", "bias", "gamma", "beta", "running_mean", "running_var", ""), "chainer": _CHAINER,
    "hdf5": _CHAINER,
}  # fmt: skip
"""The names of a layer's parts by format, in the order of `_ROLES`; "" for a part that it lacks."""
_ROLE_OF = {
    name: role for names in reversed(_NAMES.values()) for role, name in reversed([*zip(_ROLES, names, strict=True)])
}
"""The role of each name in any framework."""
_ENDINGS = sorted(filter(None, _ROLE_OF), key=len, reverse=True)
"""The names, the longest first, since "running_mean" ends in "_mean"."""
_SEPARATORS = "./:_"


@dataclass
class LayerPlan:
    """The result of converting tensors outside of GRUs.

    Attributes:
        transposed: the tensors to transpose, with the reason.
        undecided: two-dimensional tensors that may be the weight of a linear layer, and are kept unchanged.
        renamed: names of parts that the target's framework writes differently, new by old.
        unknown: names of parts that the target's framework does not have: torch counts batches, others do not.
        certain: those of `renamed` that are written so in any case: a path of Chainer with another framework's word at its end,
            which a conversion with the target's names left in another format.
        further: names under which the target's framework keeps a tensor once more: Paddle those of a layer's cells.
        again: second names of tensors, by their names in other frameworks.
    """

    transposed: dict[str, str] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    certain: set[str] = field(default_factory=set)
    further: dict[str, str] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)


def plan_layers(
    tensors: Mapping[str, StoredTensor],
    source: str,
    target: str,
    transpose: Collection[str] = (),
    no_transpose: Collection[str] = (),
) -> LayerPlan:
    """Find the tensors that the target's framework expects transposed, or under another name.

    Args:
        tensors: the tensors outside of GRUs, by name.
        source, target: names of formats.
        transpose: names, or patterns with * and ?, of tensors to transpose in any case.
        no_transpose: of tensors to keep unchanged.

    Raises:
        CheckpointError: a name or pattern fits no tensor of two dimensions.
    """
    flat = [name for name, tensor in tensors.items() if len(tensor.shape) == 2]
    for pattern in (*transpose, *no_transpose):
        if not any(fnmatchcase(name, pattern) for name in flat):
            raise CheckpointError(f"transpose: no tensor of two dimensions is called {pattern!r}")
    plan, layers = LayerPlan(), _layers(tensors)
    differ = (source in _IN_OUT) != (target in _IN_OUT)
    linear = {parts["weight"]: parts["bias"] for parts in layers if differ and _is_linear(tensors, parts, source)}
    for name in flat:
        if any(fnmatchcase(name, pattern) for pattern in no_transpose):
            continue
        if any(fnmatchcase(name, pattern) for pattern in transpose):
            plan.transposed[name] = "as asked for"
        elif name in linear:
            plan.transposed[name] = f"a linear layer, by its bias {linear[name]}"
        elif differ and "emb" not in name.lower() and not _RECURRENT.search(name):
            plan.undecided.append(name)
    if target in _NAMES and source != target:
        _plan_names(plan, tensors, layers, target, from_mxnet=source == "mxnet")
    if differ:
        _plan_second_names(plan, tensors, to_paddle=target in _IN_OUT)
    return plan


def _plan_names(
    plan: LayerPlan,
    tensors: Mapping[str, StoredTensor],
    layers: Sequence[Mapping[str, str]],
    target: str,
    from_mxnet: bool,
) -> None:
    """Add the target framework's names, and names that it lacks, to the plan."""
    for parts in layers:
        plan.renamed |= _other_names(parts, target)
        plan.unknown += [name for role, name in parts.items() if not _NAMES[target][_ROLES.index(role)]]
    if from_mxnet:
        for name in tensors:
            new = _without_mxnets_words(plan.renamed.get(name, name))
            if new != name:
                plan.renamed[name] = new
    if _NAMES[target] is _CHAINER:
        plan.certain = {old for old, new in plan.renamed.items() if "/" in new and new.rpartition("/")[2] in _CHAINER}


def _plan_second_names(plan: LayerPlan, tensors: Mapping[str, StoredTensor], to_paddle: bool) -> None:
    """Add Paddle's second names of tensors to the plan."""
    names = {name: _cell_name(name, tensors) for name in tensors}
    same = {name: cell for name, cell in names.items() if cell is not None}
    if to_paddle:
        plan.further = {name: cell for name, cell in same.items() if cell not in tensors}
    else:
        pairs = ((name, cell) for name, cell in same.items() if cell in tensors)
        plan.again = {cell: name for name, cell in pairs if tensors[cell].same_bits(tensors[name])}


_GLUON = tuple(
    re.compile(rf"(?P<home>(?:.*[^._:/])?)[._:/]*{place}(?P<of>[ih])2h_(?P<part>weight|bias)", re.DOTALL)
    for place in (r"(?P<side>[lr])(?P<layer>\d{1,3})_", r"_unfused\.(?P<layer>\d{1,3})\.(?:(?P<side>[lr])_cell\.)?")
)
"""The tensors of MXNet's LSTM and RNN, by the names of parameters and of `save_parameters`. Their rows are in torch's
order: `LSTMCell._gate_names` of MXNet 1.9.1 is _i, _f, _c, _o."""


def _without_mxnets_words(name: str) -> str:
    """The name of a tensor without the kind in front that `export` writes, and as torch names the tensors of an LSTM."""
    plain = name.removeprefix("arg:").removeprefix("aux:")
    matches = (pattern.fullmatch(plain) for pattern in _GLUON if len(plain) <= _LONGEST)
    match = next(filter(None, matches), None)
    if match is None:
        return plain
    end = f"{match['part']}_{match['of']}h_l{match['layer']}{'_reverse' if match['side'] == 'r' else ''}"
    return f"{match['home']}.{end}" if match["home"] else end


_RECURRENT = re.compile(r"(?:^|[./:_])weight_(?:ih|hh|hr)(?:_l\d{1,3}(?:_reverse)?)?$")
"""The matrices of an LSTM, GRU or plain RNN, which all frameworks keep as [out, in]."""
_STACKED = re.compile(
    r"(?P<home>|.*[./:])(?P<part>(?:weight|bias)_(?:ih|hh))_l(?P<layer>\d{1,3})(?P<reverse>(?:_reverse)?)", re.DOTALL
)


def _cell_name(name: str, tensors: Mapping[str, StoredTensor]) -> str | None:
    """The second name of a tensor in Paddle's `LSTM` or `SimpleRNN`, from its cell; None for other tensors."""
    match = _STACKED.fullmatch(name[-_LONGEST:]) if len(name) <= _LONGEST else None
    if match is None:
        return None
    both = bool(match["reverse"]) or f"{name}_reverse" in tensors
    cell = ("cell_bw" if match["reverse"] else "cell_fw") if both else "cell"
    return f"{match['home']}{match['layer']}.{cell}.{match['part']}"


_LONGEST = 1000
"""Limit of the length of a stacked layer's name."""


def _layers(tensors: Mapping[str, StoredTensor]) -> list[dict[str, str]]:
    """Group tensors to layers by the prefix of the names of parts: {role: name} for each.

    Names of every framework are recognized in every file, since a conversion keeps them by default.
    """
    layers: dict[str, dict[str, str]] = defaultdict(dict)
    for name in tensors:
        ending = _ending(name)
        if ending:
            layers[name.removesuffix(ending)][_ROLE_OF[ending]] = name
    return [_rename_normalisation(tensors, parts) for parts in layers.values()]


def _ending(name: str) -> str:
    """The name of a part that a tensor's name ends in, after a separator; "" if there is none."""
    for ending in _ENDINGS:
        before = name.removesuffix(ending)
        if before != name and (not before or before[-1] in _SEPARATORS):
            return ending
    return ""


def _rename_normalisation(tensors: Mapping[str, StoredTensor], parts: dict[str, str]) -> dict[str, str]:
    """Call the weight and bias of a normalisation its scale and shift: they have one dimension."""
    weight = parts.get("weight")
    if weight is not None and len(tensors[weight].shape) == 1 and parts.keys() & {"bias", "mean"}:
        return {{"weight": "scale", "bias": "shift"}.get(role, role): name for role, name in parts.items()}
    return parts


def _is_linear(tensors: Mapping[str, StoredTensor], parts: Mapping[str, str], source: str) -> bool:
    if not parts.keys() >= {"weight", "bias"}:
        return False
    weight, bias = tensors[parts["weight"]].shape, tensors[parts["bias"]].shape
    return len(weight) == 2 and bias == (weight[1 if source in _IN_OUT else 0],)


def _other_names(parts: Mapping[str, str], target: str) -> dict[str, str]:
    """The names of a layer's parts that the target's framework writes differently."""
    renamed = {}
    for role, name in parts.items():
        old, new = _ending(name), _NAMES[target][_ROLES.index(role)]
        if old != new and new:
            renamed[name] = name.removesuffix(old) + new
    return renamed
