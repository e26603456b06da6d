"""The GRU of each framework's documentation, step by step in float64 with NumPy.

As `documented.py` it serves `verify` alone, and shares nothing with the backends.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .documented import Gates


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "identity": lambda x: x,
    "hardsigmoid": lambda x: np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "hardtanh": lambda x: np.clip(x, -1.0, 1.0),
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "softplus": _softplus,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "gelu": lambda x: 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0))),
    "silu": lambda x: x * _sigmoid(x),
}


_AT_ONCE = 1 << 20
"""Products that are in memory at the same time."""


class Equations(NamedTuple):
    """The options of a GRU: where r acts, the two functions, whether it reads backwards, and zoneout."""

    reset: str
    gate_activation: str
    activation: str
    reverse: bool = False
    zoneout: float = 0.0


def step(gates: Gates, equations: Equations, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The state [B, H] after input [B, I] from state h [B, H]."""
    gate, candidate = _ACTIVATIONS[equations.gate_activation], _ACTIVATIONS[equations.activation]

    def of_input(place: int) -> np.ndarray:
        return _product(x, gates.input[place], gates.input_bias and gates.input_bias[place])

    def of_state(place: int, state: np.ndarray) -> np.ndarray:
        return _product(state, gates.state[place], gates.state_bias and gates.state_bias[place])

    r = gate(of_input(0) + of_state(0, h))
    argument = of_input(1) + of_state(1, h)
    # 1 - sigmoid(v) as sigmoid(-v), so that negated rows and a swapped blend give the same bits
    opposite = gate(-argument) if equations.gate_activation == "sigmoid" else 1.0 - gate(argument)
    kept, new = (gate(argument), opposite) if gates.keeps else (opposite, gate(argument))
    n = candidate(of_input(2) + (r * of_state(2, h) if equations.reset == "after" else of_state(2, r * h)))
    state, share = np.asarray(new * n + kept * h), equations.zoneout
    return share * h + (1.0 - share) * state if share else state


def _product(values: np.ndarray, matrix: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    # summed by NumPy in an order that does not depend on the matrix's strides, unlike BLAS
    product = np.empty((len(values), len(matrix)))
    rows = max(1, _AT_ONCE // max(1, values.size))
    for begin in range(0, len(matrix), rows):
        part = np.ascontiguousarray(matrix[begin : begin + rows])
        product[:, begin : begin + rows] = (values[:, None, :] * part).sum(-1)
    return product if bias is None else product + bias


def run(
    parts: list[Gates], directions: int, equations: Equations, x: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs [T, B, D*H] and last states [L*D, B, H] of stacked layers."""
    last = []
    for layer in range(len(parts) // directions):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            backwards = direction == 1 or equations.reverse
            state, steps = h[number], []
            for one in x[::-1] if backwards else x:
                state = step(parts[number], equations, one, state)
                steps.append(state)
            outputs.append(np.stack(steps[::-1] if backwards else steps))
            last.append(state)
        x = np.concatenate(outputs, -1)
    return x, np.stack(last)
