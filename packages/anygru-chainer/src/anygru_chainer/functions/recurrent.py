"""Steps of LSTMs, also over trees, and recurrent layers over whole sequences.

Chainer's matrices of a layer are first on the input, then on the state. A GRU's are `w0 w1 w2` and `w3 w4 w5`,
each in the order reset, update, candidate, and its reset gate acts after the product with the state. An LSTM's are `w0` to
`w3` and `w4` to `w7` in the order input, forget, candidate, output: so Chainer 7.8.1 computes (`n_step_lstm`, recorded),
though its documentation has the last two the other way round.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..types import VariableLike
from ..utils import argument, type_check
from ..variable import Variable
from ._cells import Entering, Found, Step, of_link
from ._n_step import GRU_KIND, LSTM_KIND, RELU_KIND, TANH_KIND, Kind, Stack, run
from ._rows import Tensor, Type, expect, function
from .arrays import reshape
from .joining import stack
from .products import linear

__all__ = [
    "lstm", "n_step_bigru", "n_step_bilstm", "n_step_birnn", "n_step_gru", "n_step_lstm", "n_step_rnn", "slstm",
    "tree_lstm",
]  # fmt: skip


if TYPE_CHECKING:
    from anygru.extend import native
else:
    try:
        from anygru.extend import native

        native.lstm  # noqa: B018
    except (ImportError, AttributeError):  # installed without a compiler, or built before there was this kernel
        native = None


def _extract_gates(x: Any) -> list[Any]:
    """The gates in Chainer's layout, unit by unit: a, i, f, o of unit 0, of unit 1, ...

    Of a tensor, an array or a Variable: public programs use it.
    """
    apart = x.reshape((len(x), x.shape[1] // 4, 4, *x.shape[2:]))
    return [apart[:, :, gate] for gate in range(4)]


def _units(c: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
    """The cells and outputs after c [B, N, ...]; cells beyond the rows of the sums stay."""
    a, i, f, o = _extract_gates(sums)
    cells = torch.addcmul(a.tanh() * i.sigmoid(), f.sigmoid(), c[: len(sums)])
    kept = cells if len(sums) == len(c) else torch.cat((cells, c[len(sums) :]))
    return kept, o.sigmoid() * cells.tanh()


class LSTM(Step):
    """The node of an LSTM's gates: it maps the cells c and the units' inputs x to the new cells and h."""

    label = "LSTM"

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        c, x = arrays
        if c.ndim != 2 or x.ndim != 2 or c.dtype.kind != "f":
            return False
        return c.dtype == x.dtype and len(x) <= len(c) and x.shape[1] == 4 * c.shape[1]

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("c", "x"))
        c, x = in_types
        expect(c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, x.ndim >= 2, c.ndim == x.ndim)
        expect(x.shape[0] <= c.shape[0], x.shape[1] == 4 * c.shape[1])
        expect(*[x.shape[axis] == c.shape[axis] for axis in range(2, type_check.eval(c.ndim))])

    def sums(self, inputs: Sequence[Tensor]) -> Tensor:
        """The inputs of the units [B, 4N, ...]."""
        return inputs[1]

    def arithmetic(self, inputs: Sequence[Tensor], entering: Entering) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return _units(inputs[0], entering(self.sums(inputs))), ()

    def fast_arithmetic(
        self, inputs: Sequence[Tensor], entering: Entering
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        c, sums = inputs[0], entering(self.sums(inputs))
        plain = c.is_cpu and c.is_contiguous() and sums.is_contiguous() and c.dtype in (torch.float32, torch.float64)
        if native is None or not plain or sums.ndim != 2 or sums.numel() != 4 * c.numel():
            return _units(c, sums), ()
        cells, h = torch.empty_like(c), torch.empty_like(c)
        native.lstm(c.itemsize, c.numel(), *map(_place, (c, sums, cells, h)))
        return (cells, h), (cells,)

    def gradients(self, inputs: Sequence[Tensor], gys: Sequence[Any], wanted: Sequence[bool]) -> Found:
        (sums,), (cells,), c = self._summed, self._saved, inputs[0]
        g_sums, g_c = torch.empty_like(sums), torch.empty_like(c)
        gys = [
            None if gy is None else gy.contiguous() for gy in gys
        ]  # references, so that the memory exists during the call
        of_cells, of_h = [None if gy is None else _place(gy) for gy in gys]
        places = (_place(c), _place(sums), _place(cells), of_cells, of_h, _place(g_sums), _place(g_c))
        native.lstm_gradients(c.itemsize, c.numel(), *places)
        return [g_c, g_sums]


def _place(tensor: Tensor) -> tuple[int, int]:
    """A tensor as an argument of the native module."""
    return tensor.data_ptr(), tensor.nbytes


class LSTMStep(LSTM):
    """The node of an LSTM's step. Its inputs are c, x, W and b of the link `upward`, and h and W of the link `lateral`.

    h and `lateral` are missing in a first step. The outputs are the cells and the outputs of the link.
    """

    label = "LSTM step"

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        c, x, w, b = arrays[:4]
        rows, dtype = x.shape[0], x.dtype
        if dtype.kind != "f" or not dtype == b.dtype == c.dtype:
            return False
        if c.shape != (rows, len(w) / 4) or x.shape != (rows, w.shape[1]):
            return False
        return len(arrays) == 4 or (
            arrays[4].dtype == arrays[5].dtype and arrays[4].shape == (rows, arrays[5].shape[1])
        )

    def check_type_forward(self, in_types: Any) -> None:
        c, x, w, b = in_types[:4]
        type_check._argname((c, x, w, b), ("c", "x", "W", "b"))
        expect(x.dtype.kind == "f", x.dtype == b.dtype, x.ndim == 2, x.shape[1] == w.shape[1])
        expect(c.dtype == x.dtype, c.ndim == 2, c.shape[0] == x.shape[0], 4 * c.shape[1] == w.shape[0])
        if len(in_types) > 4:
            h, u = in_types[4:]
            expect(h.dtype == u.dtype, h.ndim == 2, h.shape[1] == u.shape[1], h.shape[0] == x.shape[0])

    def sums(self, inputs: Sequence[Tensor]) -> Tensor:
        sums = torch.nn.functional.linear(*inputs[1:4])
        return sums.addmm_(inputs[4], inputs[5].t()) if len(inputs) > 4 else sums

    def gradients(self, inputs: Sequence[Tensor], gys: Sequence[Any], wanted: Sequence[bool]) -> Found:
        g_c, g_sums = super().gradients(inputs, gys, wanted)
        assert isinstance(g_sums, Tensor)
        _, x, w = inputs[:3]
        grads: Found = [g_c, g_sums.mm(w) if wanted[1] else None, *of_link(g_sums, x)]
        if len(inputs) > 4:
            grads += [g_sums.mm(inputs[5]) if wanted[4] else None, (g_sums.t(), inputs[4])]
        return grads


def lstm_step(c: VariableLike, x: VariableLike, upward: list[Any], lateral: list[Any]) -> tuple[Variable, ...]:
    """The cells and outputs [B, N] after x [B, I] from c; `lateral` is h [B, N] and its matrix, or empty at the start."""
    return LSTMStep().apply((c, x, *upward, *lateral))


def lstm(c_prev: VariableLike, x: VariableLike) -> tuple[Variable, Variable]:
    """One step of an LSTM: the cells [B, N, ...] and the outputs after `c_prev` [B, N, ...].

    Args:
        x: the inputs of the units [B', 4N, ...]: for each unit candidate, input gate, forget gate and output gate. If
        B' is less than B, the cells of the last rows do not change.

    Raises:
        InvalidType: sizes or dtypes do not fit.
    """
    c, h = LSTM().apply((c_prev, x))
    return c, h


def _lstm(
    x: VariableLike, h: VariableLike, c: VariableLike, w: Sequence[VariableLike], b: Sequence[VariableLike]
) -> tuple[Variable, Variable]:
    """The outputs and cells after one step of a layer with an n-step LSTM's matrices and biases; public programs use it."""

    def side_by_side(parts: Sequence[VariableLike]) -> Variable:
        # From input, forget, candidate, output to candidate, input, forget, output, as `lstm` has them.
        stacked = stack([parts[gate] for gate in (2, 0, 1, 3)], axis=1)
        return reshape(stacked, (-1, *stacked.shape[2:]))

    upward = linear(x, side_by_side(w[:4]), side_by_side(b[:4]))
    c, h = lstm(c, upward + linear(h, side_by_side(w[4:]), side_by_side(b[4:])))
    return h, c


def _cells_and_gates(node: object, c1: Type, c2: Type, x1: Type, x2: Type) -> None:
    expect(c1.dtype.kind == "f", c2.dtype == c1.dtype, x1.dtype == c1.dtype, x2.dtype == c1.dtype)
    expect(c1.ndim >= 2, c1.shape == c2.shape, x1.ndim == c1.ndim, x1.shape == x2.shape)
    expect(x1.shape[0] == c1.shape[0], x1.shape[1] == 4 * c1.shape[1])
    expect(*[x1.shape[axis] == c1.shape[axis] for axis in range(2, type_check.eval(c1.ndim))])


@function("SLSTM", _cells_and_gates)
def slstm(c_prev1: Tensor, c_prev2: Tensor, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """The cells and outputs of a node of a binary tree, from the cells [B, N] of its children and their inputs [B, 4N]."""
    (a1, i1, f1, o1), (a2, i2, f2, o2) = _extract_gates(x1), _extract_gates(x2)
    c = a1.tanh() * i1.sigmoid() + a2.tanh() * i2.sigmoid() + f1.sigmoid() * c_prev1 + f2.sigmoid() * c_prev2
    return c, (o1 + o2).sigmoid() * c.tanh()


def _children(node: object, *inputs: Type) -> None:
    *cells, x = inputs
    type_check.expect(len(cells) >= 1)
    for c in cells:
        expect(c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, x.ndim == c.ndim, x.shape[0] == c.shape[0])
        expect(x.shape[1] == (3 + len(cells)) * c.shape[1])


@function("TreeLSTM", _children)
def tree_lstm(*inputs: Tensor) -> tuple[Tensor, Tensor]:
    """The cells and outputs of a node of a tree: called as `tree_lstm(c1, ..., cK, x)`.

    x is [B, (3 + K) N, ...]: candidates, input gates, output gates and the K forget gates of all units (Tai et al., 2015).
    """
    *cells, x = inputs
    a, i, o, *forget = x.chunk(3 + len(cells), 1)
    c = a.tanh() * i.sigmoid() + sum(f.sigmoid() * old for f, old in zip(forget, cells, strict=True))
    return c, o.sigmoid() * c.tanh()


def _n_step(name: str, kinds: dict[str, Kind], both: bool | None) -> Callable[..., tuple[Any, ...]]:
    """A function over time steps; `both`: whether it runs in both directions; None: the caller passes `use_bi_direction`."""
    n_states = next(iter(kinds.values())).n_states

    def call(n_layers: int, dropout_ratio: float, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        names = ["hx", "cx"][:n_states] + ["ws", "bs", "xs"] + (["use_bi_direction"] if both is None else [])
        given = dict(zip(names, args, strict=False)) | {key: kwargs.pop(key) for key in names if key in kwargs}
        if len(given) < len(names):
            raise TypeError(f"{name} needs the arguments n_layers, dropout_ratio, {', '.join(names)}")
        activation = kwargs.pop("activation", args[len(names)] if len(args) > len(names) else "tanh")
        argument.check_unexpected_kwargs(
            kwargs,
            train="train argument is not supported anymore. Use chainer.using_config",
            use_cudnn="use_cudnn argument is not supported anymore. Use chainer.using_config",
        )
        argument.assert_kwargs_empty(kwargs)
        if len(kinds) > 1 and activation not in kinds:
            raise ValueError(f'Invalid activation: "{activation}". Please select from [{",".join(kinds)}]')
        states, xs = [given[key] for key in names[:n_states]], given["xs"]
        bidirectional = bool(given.get("use_bi_direction", both))
        kind = kinds[activation] if len(kinds) > 1 else next(iter(kinds.values()))
        stack = Stack(kind, n_layers, dropout_ratio, bidirectional, time_major=True)
        return run(stack, states, given["ws"], given["bs"], xs)

    directions, states_named = " in both directions" if both else "", " and ".join(("hx", "cx")[:n_states])
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""Stacked {next(iter(kinds.values())).name} layers over time steps{directions}.

    Called as `{name}(n_layers, dropout_ratio, {", ".join(["hx", "cx"][:n_states])}, ws, bs, xs)`.

    Args:
        n_layers: S, number of layers.
        dropout_ratio: probability of dropping what goes from one layer to the next, when `config.train`.
        {states_named}: initial states [S, B, N]; in both directions [2S, B, N], forward and backward in turn.
        ws: for each layer and direction its matrices, first those on the input, then those on the state.
        bs: for each layer and direction its biases [N].
        xs: time steps [B_t, I], B_t not increasing.

    Returns:
        The states after each sequence's last step, in the shape of {states_named}, and ys, the last layer's states at
        each step [B_t, N] (in both directions [B_t, 2N]).

    Raises:
        InvalidType: sizes or dtypes do not fit. ValueError: a keyword of an earlier release.
    """
    return call


_RNNS = {"tanh": TANH_KIND, "relu": RELU_KIND}
n_step_gru = _n_step("n_step_gru", {"gru": GRU_KIND}, False)
n_step_bigru = _n_step("n_step_bigru", {"gru": GRU_KIND}, True)
n_step_gru_base = _n_step("n_step_gru_base", {"gru": GRU_KIND}, None)
n_step_lstm = _n_step("n_step_lstm", {"lstm": LSTM_KIND}, False)
n_step_bilstm = _n_step("n_step_bilstm", {"lstm": LSTM_KIND}, True)
n_step_lstm_base = _n_step("n_step_lstm_base", {"lstm": LSTM_KIND}, None)
n_step_rnn = _n_step("n_step_rnn", _RNNS, False)
n_step_birnn = _n_step("n_step_birnn", _RNNS, True)
n_step_rnn_base = _n_step("n_step_rnn_base", _RNNS, None)
