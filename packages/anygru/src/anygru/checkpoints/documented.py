"""How each framework documents its GRU: which tensors it has, and which rows are which gate; `equations.py` computes with them.

This is a second description of every layout, for `verify` alone. It shares no code with `layout`, `finding`, `translation` and
`facts.gates`, which perform conversions, so that a mistake in one of them is not repeated here. Names and rows are
written out from the frameworks' documentation and sources:

    torch.nn.GRU, GRUCell       weight_ih_l[k] "(W_ir|W_iz|W_in)", and below it the equations; OneFlow's and Paddle's are the same
    paddle.fluid.dygraph.rnn    GRUCell: the sources of Paddle 1.8, both values of use_cudnn_impl
    mxnet.gluon.rnn.GRU         the equations of `mxnet.gluon.rnn.GRU`; the cells' `_gate_names` are _r, _z, _o
    chainer.links.NStepGRU      `functions.n_step_gru`: w0 to w2 and b0 to b2 belong to the input, w3 to w5 to the state
    chainer.links.GRU           `links.StatefulGRU`: h' = (1 - z) h + z h_bar
    keras.layers.GRU            `GRUCell.call`: kernel[:, :units] is z, then r, then the candidate
    RTNeural                    `gru.tpp`: `setWVals` splits z, r, c; ct = tanh(Wc x + b0 + r (Uc h + b1)), h' = (1 - z) c + z h
    ONNX GRU                    the operator's text: W[zrh], R[zrh]
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..facts.entries import SCALE
from .stored import StoredTensor

Get = Callable[[str], np.ndarray | None]
"""Gives the tensor of that name behind the layer's own name, None if there is none."""


class Gates(NamedTuple):
    """One layer and direction: the matrices of the input and the state for r, z and the candidate.

    Attributes:
        input, state: matrices [H, I] and [H, H], in the file's own dtype: where it can, they are its mapped memory.
        input_bias, state_bias: [H], or None for none.
        keeps: whether z is the part of the old state (the candidate's otherwise).
    """

    input: tuple[np.ndarray, np.ndarray, np.ndarray]
    state: tuple[np.ndarray, np.ndarray, np.ndarray]
    input_bias: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    state_bias: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    keeps: bool = True


Reader = Callable[[Get, int, int, int], Gates | None]
"""Gives the gates of a layer and a direction (0 forward, 1 backward) for a number of directions, None if a tensor is missing."""


def find_gates(
    tensors: Mapping[str, StoredTensor], path: str, layers: int, directions: int, cell: bool
) -> list[Gates] | None:
    """Take a GRU of a file apart by whichever framework's description has all its tensors.

    Args:
        tensors: of the file, by name.
        path: the layer's own name.
        layers, directions: how many it has.
        cell: whether it is a cell of one step.

    Returns:
        The gates of each layer and direction, forward first; None where no description fits.
    """
    arrays: dict[str, np.ndarray] = {}

    def value(name: str) -> np.ndarray | None:
        if name in tensors and name not in arrays:
            wide, scale = tensors[name].widened(), tensors.get(name + SCALE)
            if scale is not None:  # an int8 weight is the product in float32
                wide = wide.astype(np.float32) * scale.values[:, None]
            arrays[name] = wide
        return arrays.get(name)

    return _split_gates(value, path, layers, directions, cell)


def _split_gates(value: Get, path: str, layers: int, directions: int, cell: bool) -> list[Gates] | None:
    for reader in _CELLS if cell else _LAYERS:
        for separator in "./_:" if path else ("",):
            prefix = f"{path}{separator}"
            found = [
                reader(lambda name, prefix=prefix: value(prefix + name), layer, direction, directions)  # type: ignore[misc]
                for layer in range(layers)
                for direction in range(directions)
            ]
            if all(found):
                return [gates for gates in found if gates is not None]
    return None


# -- the frameworks ---------------------------------------------------------------------------------------------


def _rows(array: np.ndarray | None, order: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The three parts of stacked rows, as r, z and the candidate n."""
    if array is None:
        return None
    size = len(array) // 3
    parts = {gate: array[place * size : (place + 1) * size] for place, gate in enumerate(order)}
    return parts["r"], parts["z"], parts["n"]


def _stacked(names: tuple[str, str, str, str], order: str, get: Get) -> Gates | None:
    weight_ih, weight_hh, bias_ih, bias_hh = (_rows(get(name), order) for name in names)
    return None if weight_ih is None or weight_hh is None else Gates(weight_ih, weight_hh, bias_ih, bias_hh)


def _torch(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
    end = f"_l{layer}" + ("_reverse" if direction else "")
    return _stacked((f"weight_ih{end}", f"weight_hh{end}", f"bias_ih{end}", f"bias_hh{end}"), "rzn", get)


def _torch_cell(get: Get, *place: int) -> Gates | None:
    return _stacked(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), "rzn", get)


def _fluid_cell(get: Get, *place: int) -> Gates | None:
    return _stacked(("_weight_ih", "_weight_hh", "_bias_ih", "_bias_hh"), "rzn", get)


def _fluid_basic_cell(get: Get, *place: int) -> Gates | None:
    """Matrices for the concatenation [x, h]: of r and z side by side, and of the candidate."""
    both, candidate = get("_gate_weight"), get("_candidate_weight")
    if both is None or candidate is None:
        return None
    size = candidate.shape[1]
    features = len(candidate) - size
    r, z = both[:, :size].T, both[:, size:].T
    n = candidate.T
    gate_bias, candidate_bias = get("_gate_bias"), get("_candidate_bias")
    bias = None if gate_bias is None or candidate_bias is None else (gate_bias[:size], gate_bias[size:], candidate_bias)
    return Gates(
        (r[:, :features], z[:, :features], n[:, :features]),
        (r[:, features:], z[:, features:], n[:, features:]),
        bias,
        None,
    )


def _gluon(prefixes: tuple[str, ...]) -> Reader:
    def read(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
        for form in prefixes:
            if "{side}" not in form and directions == 2:
                continue
            before = form.format(layer=layer, side="lr"[direction])
            names = (f"{before}i2h_weight", f"{before}h2h_weight", f"{before}i2h_bias", f"{before}h2h_bias")
            if (gates := _stacked(names, "rzn", get)) is not None:
                return gates
        return None

    return read


def _gluon_unpacked(form: str) -> Reader:
    """A tensor for each gate, as `unpack_weights` gives them."""

    def read(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
        before = form.format(layer=layer, side="lr"[direction])
        return _single([[f"{before}{side}_{gate}_{part}" for gate in "rzo"] for side, part in _SIDES], get)

    return read


_SIDES = (("i2h", "weight"), ("h2h", "weight"), ("i2h", "bias"), ("h2h", "bias"))


def _single(names: list[list[str]], get: Get, keeps: bool = True) -> Gates | None:
    """Gates in separate tensors: names of r, z and n for both weights and both biases."""
    parts = []
    for group in names:
        found = [array for array in map(get, group) if array is not None]
        parts.append((found[0], found[1], found[2]) if len(found) == 3 else None)
    weight_ih, weight_hh, bias_ih, bias_hh = parts
    return None if weight_ih is None or weight_hh is None else Gates(weight_ih, weight_hh, bias_ih, bias_hh, keeps)


def _nstep(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
    return _nstep_cell(lambda name: get(f"{layer * directions + direction}/{name}"))


def _nstep_cell(get: Get, *place: int) -> Gates | None:
    groups = [
        [f"{letter}{number}" for number in numbers] for letter, numbers in zip("wwbb", ("012", "345") * 2, strict=True)
    ]
    return _single(groups, get)


def _stateful(get: Get, *place: int) -> Gates | None:
    groups = [[f"{letter}_r/{part}", f"{letter}_z/{part}", f"{letter}/{part}"] for part in "Wb" for letter in "WU"]
    return _single(groups, get, keeps=False)


def _keras(kernel: str, recurrent: str, bias: str, sides: tuple[str, str] = ("", "")) -> Reader:
    def read(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
        if (directions == 2) != bool(sides[0]):
            return None
        columns = [get(sides[direction] + name) for name in (kernel, recurrent)]
        weights = [_rows(None if matrix is None else matrix.T, "zrn") for matrix in columns]
        biases = get(sides[direction] + bias)
        if weights[0] is None or weights[1] is None:
            return None
        if biases is None:
            return Gates(weights[0], weights[1], None, None)
        if biases.ndim == 1:
            return Gates(weights[0], weights[1], _rows(biases, "zrn"), None)
        return Gates(weights[0], weights[1], _rows(biases[0], "zrn"), _rows(biases[1], "zrn"))

    return read


def _rtneural(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
    """A layer of RTNeural for each of the GRU's; `GRULayer::setWVals` of its sources splits the columns as Keras does."""
    reader = _keras(f"kernel_l{layer}", f"recurrent_kernel_l{layer}", f"bias_l{layer}")
    return reader(get, layer, direction, directions)


def _onnx(get: Get, layer: int, direction: int, directions: int) -> Gates | None:
    end = f"_l{layer}" + ("_reverse" if direction else "")
    return _stacked((f"W{end}", f"R{end}", f"Wb{end}", f"Rb{end}"), "zrn", get)


_KERAS_SIDES = ("forward_layer/cell/vars/", "backward_layer/cell/vars/")
_LAYERS: tuple[Reader, ...] = (
    _torch,
    _gluon(("_unfused.{layer}.{side}_cell.", "{side}{layer}_", "_unfused.{layer}.")),
    _gluon_unpacked("{side}{layer}_"),
    _nstep,
    _keras("0", "1", "2", _KERAS_SIDES),
    _keras("cell/vars/0", "cell/vars/1", "cell/vars/2"),
    _keras("kernel", "recurrent_kernel", "bias"),
    _keras("kernel:0", "recurrent_kernel:0", "bias:0"),
    _rtneural,
    _onnx,
)
_CELLS: tuple[Reader, ...] = (
    _torch_cell,
    _fluid_cell,
    _fluid_basic_cell,
    _gluon(("",)),
    _gluon_unpacked(""),
    _nstep_cell,
    _stateful,
    _keras("vars/0", "vars/1", "vars/2"),
)


_NAMES = ("reset", "update", "candidate")


def places(
    tensors: Mapping[str, StoredTensor], path: str, layers: int, directions: int, cell: bool
) -> list[dict[str, str]] | None:
    """Return the position of each gate's values, by layer and direction: {"input reset": "gru.weight_ih_l0, rows 0 to 3"}.

    The description is evaluated on empty arrays, which take no memory: the position of a value is its address.
    """
    arrays: dict[str, np.ndarray] = {}

    def unfilled(name: str) -> np.ndarray | None:
        if name in tensors and name not in arrays:
            arrays[name] = np.empty(tensors[name].shape, np.uint8)
        return arrays.get(name)

    found = _split_gates(unfilled, path, layers, directions, cell)
    return None if found is None else [dict(_described(gates, arrays)) for gates in found]


def _described(gates: Gates, arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    groups = {
        "input": gates.input,
        "state": gates.state,
        "input bias": gates.input_bias,
        "state bias": gates.state_bias,
    }
    for kind, group in groups.items():
        for gate, part in zip(_NAMES, group or (), strict=False):
            name = next(name for name, array in arrays.items() if np.may_share_memory(array, part))
            swapped = ", the other part of the blend" if gate == "update" and not gates.keeps else ""
            yield f"{kind} {gate}", _place(part, name, arrays[name]) + swapped


def _place(part: np.ndarray, name: str, whole: np.ndarray) -> str:
    """Where a view begins and ends in a whole array of bytes."""
    offset = part.ctypes.data - whole.ctypes.data
    length = sum((size - 1) * stride for size, stride in zip(part.shape, part.strides, strict=True))
    begin, end = np.unravel_index(offset, whole.shape), np.unravel_index(offset + length, whole.shape)
    words = [name]
    for kind, first, last, size in zip(("rows", "columns"), begin, end, whole.shape, strict=False):
        if int(first) or int(last) != size - 1:
            words.append(f"{kind} {first} to {last}")
    if part.ndim == 2 and part.shape[1] > 1 and part.strides[1] != 1:
        words.append("transposed")
    return ", ".join(words)
