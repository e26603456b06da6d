"""Which GRU: the two formulas that the world calls by that name, and where each comes from.

With x the input of a step and h the state before it, both compute the gates

    r = s(W_ir x + b_ir + W_hr h + b_hr)                 reset
    z = s(W_iz x + b_iz + W_hz h + b_hz)                 update

and blend the state with a candidate n

    h' = (1 - z) * n + z * h

and differ in where the reset gate acts:

    reset="after"    n = a(W_in x + b_in + r * (W_hn h + b_hn))
    reset="before"   n = a(W_in x + b_in + W_hn (r * h) + b_hn)

`reset="before"` is Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder" (arXiv:1406.1078,
section 2.3, equations 5 to 8). `reset="after"` moves the reset after the matrix product, which lets one product serve all
three gates; it is the formula of NVIDIA's cuDNN (cudnnRNNMode_t, CUDNN_GRU) and of torch.nn.GRU. Chung et al. 2014
(arXiv:1412.3555, section 3.2) write the blend the other way round, h' = (1 - z) * h + z * n: the same formula with the rows
of the update gate negated, since 1 - sigmoid(v) = sigmoid(-v); `gates.negate_update` does that.

s is the gate activation (sigmoid) and a the candidate activation (tanh) unless others are given.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F

from ..errors import ArgumentError, ArgumentTypeError
from .arguments import check_number
from .entries import ActivationName

Reset: TypeAlias = Literal["after", "before"]
Activation: TypeAlias = ActivationName | Callable[[torch.Tensor], torch.Tensor]


def _hardsigmoid(x: torch.Tensor) -> torch.Tensor:
    """torch's own has no second derivative, and in float64 a first one with the digits of float32."""
    return F.relu6(x + 3) / 6


ACTIVATIONS: dict[ActivationName, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu, "identity": lambda x: x,
    "hardsigmoid": _hardsigmoid, "hardtanh": F.hardtanh, "softsign": F.softsign, "softplus": F.softplus,
    "elu": F.elu, "gelu": F.gelu, "silu": F.silu,
}  # fmt: skip
"""The activations known by name, each as torch defines it."""

_SAME = (("hardsigmoid", F.hardsigmoid), ("relu", F.relu), ("sigmoid", F.sigmoid), ("tanh", F.tanh))
"""Other functions of torch with these values."""


class Formula(NamedTuple):
    """How a step computes its result and its gradient; hashable, so that the choice of a backend can be cached."""

    reset: Reset = "after"
    gate_activation: Activation = "sigmoid"
    activation: Activation = "tanh"
    gradient_clipping: float | None = None
    """The greatest magnitude of the gradient that a step passes to the state before it; None: no bound."""

    def standard(self) -> bool:
        """Whether the activations are sigmoid and tanh; cuDNN and torch's kernels have no other."""
        return self.gate_activation == "sigmoid" and self.activation == "tanh"

    def named(self) -> bool:
        """Whether the activations are in `ACTIVATIONS`; the native kernels have all of these."""
        return isinstance(self.gate_activation, str) and isinstance(self.activation, str)

    def describe(self) -> str:
        """The formula in a few words, for `repr` and `explain`."""
        words = [f"reset={self.reset!r}"]
        if self.gate_activation != "sigmoid":
            words.append(f"gate_activation={activation_name(self.gate_activation)}")
        if self.activation != "tanh":
            words.append(f"activation={activation_name(self.activation)}")
        if self.gradient_clipping is not None:
            words.append(f"gradient_clipping={self.gradient_clipping}")
        return ", ".join(words)


_STANDARD = Formula()


def make_formula(
    reset: str, gate_activation: Activation | str, activation: Activation | str, gradient_clipping: float | None = None
) -> Formula:
    """A checked Formula.

    Raises:
        ArgumentError: reset is neither "after" nor "before", an activation's name is not known, or gradient_clipping is not
            positive.
        ArgumentTypeError: an activation is neither a name nor callable, or gradient_clipping is not a number.
    """
    if reset == "after" and gate_activation == "sigmoid" and activation == "tanh" and gradient_clipping is None:
        return _STANDARD  # in less time
    if reset not in ("after", "before"):
        raise ArgumentError(f"reset must be 'after' or 'before', got {reset!r}")
    for argument, value in (("gate_activation", gate_activation), ("activation", activation)):
        if isinstance(value, str):
            if value not in ACTIVATIONS:
                raise ArgumentError(f"{argument} must be one of {', '.join(ACTIVATIONS)} or a callable, got {value!r}")
        elif not callable(value):
            raise ArgumentTypeError(f"{argument} must be a name or a callable, got {type(value).__name__}")
    if gradient_clipping is not None:
        words = "a positive number or None"
        gradient_clipping = check_number("gradient_clipping", gradient_clipping, words, least=math.ulp(0.0))
    return Formula(reset, canonical(gate_activation), canonical(activation), gradient_clipping)  # type: ignore[arg-type]


def canonical(activation: Activation | str) -> Activation | str:
    """The name of a function in `ACTIVATIONS`, so that `torch.tanh` runs as fast as "tanh"; other callables are
    returned."""
    if isinstance(activation, str):
        return activation
    return next((name for name, function in (*ACTIVATIONS.items(), *_SAME) if function is activation), activation)


def resolve(activation: Activation) -> Callable[[torch.Tensor], torch.Tensor]:
    """The callable of a name; a callable is returned unchanged."""
    return ACTIVATIONS[activation] if isinstance(activation, str) else activation


def activation_name(activation: Activation) -> str:
    """How an activation is written in a message."""
    return repr(activation) if isinstance(activation, str) else getattr(activation, "__name__", repr(activation))
