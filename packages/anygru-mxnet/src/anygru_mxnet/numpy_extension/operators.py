"""MXNet's operators under the names of `mx.npx`."""

from collections.abc import Callable
from typing import Any

from ..ndarray.register import FUNCTIONS
from ..state import state

# Names of `mx.npx`, and the names of their operators.
OPERATORS_OF = {
    "activation": "Activation", "arange_like": "_contrib_arange_like", "batch_dot": "batch_dot", "batch_norm": "BatchNorm",
    "broadcast_like": "broadcast_like", "convolution": "Convolution", "ctc_loss": "CTCLoss", "deconvolution": "Deconvolution",
    "dropout": "Dropout", "embedding": "Embedding", "erf": "erf", "erfinv": "erfinv", "fully_connected": "FullyConnected",
    "gamma": "gamma", "gammaln": "gammaln", "gather_nd": "gather_nd", "group_norm": "GroupNorm", "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU", "log_softmax": "log_softmax", "masked_softmax": "softmax", "one_hot": "one_hot",
    "pick": "pick", "pooling": "Pooling", "relu": "relu", "reshape_like": "reshape_like", "rnn": "RNN",
    "sequence_last": "SequenceLast", "sequence_mask": "SequenceMask", "sequence_reverse": "SequenceReverse",
    "shape_array": "shape_array", "sigmoid": "sigmoid", "slice": "slice", "smooth_l1": "smooth_l1", "softmax": "softmax",
    "stop_gradient": "BlockGrad", "topk": "topk",
}  # fmt: skip


def _function(name: str, operator: str) -> Callable[..., Any]:
    compute = FUNCTIONS[operator]

    def function(*args: Any, **kwargs: Any) -> Any:
        before = state.numpy
        state.numpy = True
        try:
            return compute(*args, **kwargs)
        finally:
            state.numpy = before

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operator {operator} on arrays of `mx.np`."
    return function


globals().update({name: _function(name, operator) for name, operator in OPERATORS_OF.items()})


__all__ = list(OPERATORS_OF)
