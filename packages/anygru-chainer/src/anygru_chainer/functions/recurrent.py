"""Recurrent layers over whole sequences, as functions of time steps.

Chainer's matrices of a layer are first those on the input, then those on the state. A GRU's are `w0 w1 w2` and `w3 w4 w5`,
each in the order reset, update, candidate, and its reset gate acts after the product with the state. An LSTM's are `w0` to
`w3` and `w4` to `w7` in the order input, forget, candidate, output: so Chainer 7.8.1 computes (`n_step_lstm`, recorded),
though its documentation has the last two the other way round.
"""

from collections.abc import Callable
from typing import Any

from ..utils import argument
from ._kinds import GRU_KIND, LSTM_KIND, RELU_KIND, TANH_KIND, Kind
from ._n_step import Stack, run
from .lstms import _lstm as _lstm  # in Chainer beside `n_step_lstm`, where public programs take it from

__all__ = ["n_step_bigru", "n_step_bilstm", "n_step_birnn", "n_step_gru", "n_step_lstm", "n_step_rnn"]


def _n_step(name: str, kinds: dict[str, Kind], both: bool | None) -> Callable[..., tuple[Any, ...]]:
    """A function over time steps; `both` says whether it runs in both directions, None that the caller does."""
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
