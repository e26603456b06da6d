"""A trained layer one step, or one chunk, at a time, keeping the state between calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from . import backends
from .errors import ArgumentError, ArgumentTypeError
from .functional import Options, gru, make_problem

if TYPE_CHECKING:
    from .layers import GRU


class Stream:
    """The state of B sequences that arrive bit by bit, and the layer that reads them.

    `step` and `run` give what the layer would give for the whole sequence, in inference (no dropout, no gradient).

    Unlike a layer, a stream does not read the parameters at every call: it keeps a copy, packed in the order in which the
    kernel reads it. After any change to the layer's parameters call `refresh()`.

    Arguments:
        layer: a `GRU` with one direction (the other would have to know the future).
        batch_size: B; None: steps are [I] and chunks [T, I], without a batch dimension.

    Raises:
        ArgumentError: the layer is bidirectional or lazy, or batch_size is negative.
    """

    def __init__(self, layer: GRU, batch_size: int | None = None) -> None:
        if layer.bidirectional:
            raise ArgumentError("a stream needs a layer with one direction, got bidirectional=True")
        if layer.input_size == 0:
            raise ArgumentError("the layer has seen no input yet, so its input_size is not known")
        if batch_size is not None and batch_size < 0:
            raise ArgumentError(f"batch_size must be at least 0 or None, got {batch_size}")
        self.layer = layer
        self.batch_size = batch_size
        self.refresh()
        self._state = self._zeros()

    def refresh(self) -> None:
        """Takes the layer's present parameters; the state stays, on their device and in their dtype."""
        layer = self.layer
        self._weights = [weight.detach().clone() for weight in layer.flat_weights]
        if hasattr(self, "_state"):
            self._state = self._state.to(self._weights[0])
        options = Options(layer.formula, False, layer.bias, 0.0, layer.backend)
        one = self._weights[0].new_zeros((1, 1, layer.input_size))
        problem = make_problem(one, one, self._weights, None, layer.num_layers, options)
        backend = backends.choose(problem, layer.backend)
        packs = hasattr(backend, "Prepared") and problem.dtype in (torch.float32, torch.float64)
        self._prepared = backend.Prepared(problem, self._weights) if packs else None

    @property
    def state(self) -> Tensor:
        """A copy of the state [L, B, H] ([L, H] without a batch dimension)."""
        state = self._state.clone()
        return state.squeeze(1) if self.batch_size is None else state

    @state.setter
    def state(self, value: Tensor) -> None:
        expected = tuple(self._state.squeeze(1).shape if self.batch_size is None else self._state.shape)
        if tuple(value.shape) != expected:
            raise ArgumentError(f"state must be {list(expected)}, got {list(value.shape)}")
        self._state = value.detach().reshape(self._state.shape).to(self._state, copy=True)

    def reset(self, sequences: int | Sequence[int] | Tensor | None = None) -> None:
        """Starts sequences anew, from a state of zeros.

        Arguments:
            sequences: None for all; or an index, indices, or a bool mask [B].
        """
        if sequences is None:
            self._state = self._zeros()
            return
        index = torch.as_tensor(sequences, device=self._state.device)
        if index.dtype is torch.bool and index.shape != (self._state.shape[1],):
            raise ArgumentError(f"sequences as a mask must be [B] = [{self._state.shape[1]}], got {list(index.shape)}")
        self._state = self._state.clone()
        self._state[:, index] = 0

    def step(self, x: Tensor) -> Tensor:
        """The top layer's output [B, H] ([H]) for one step x [B, I] ([I])."""
        output = self._advance_in_place(x, many=False)
        if output is not None:
            return output
        expected = 1 if self.batch_size is None else 2
        if x.dim() != expected:
            raise ArgumentError(f"x must be {'[I]' if expected == 1 else '[B, I]'}, got {list(x.shape)}")
        return self._advance(x.view(1, -1, x.shape[-1])).view(*x.shape[:-1], -1)

    def run(self, chunk: Tensor) -> Tensor:
        """The top layer's outputs [T, B, H] for a chunk [T, B, I], or [T, H] for [T, I]; T may be 0.

        Always steps first, whatever the layer's batch_first.
        """
        output = self._advance_in_place(chunk, many=True)
        if output is not None:
            return output
        expected = 2 if self.batch_size is None else 3
        if chunk.dim() != expected:
            raise ArgumentError(f"chunk must be {'[T, I]' if expected == 2 else '[T, B, I]'}, got {list(chunk.shape)}")
        return self._advance(chunk.unsqueeze(1)).squeeze(1) if expected == 2 else self._advance(chunk)

    def _advance_in_place(self, x: Tensor, many: bool) -> Tensor | None:
        """All of a step in one call of the backend, if it can; None if not, or if something is wrong with x."""
        if self._prepared is None:
            return None
        return self._prepared.advance(x, self._state, many, self.batch_size is not None)

    @torch.no_grad()
    def _advance(self, steps: Tensor) -> Tensor:
        layer, weight = self.layer, self._weights[0]
        if steps.dtype is not weight.dtype or steps.device != weight.device:
            raise ArgumentTypeError(
                f"the input must be {weight.dtype} on {weight.device} as the weights are, "
                f"got {steps.dtype} on {steps.device}"
            )
        fits = steps.shape[2] == layer.input_size and steps.shape[1] == self._state.shape[1]
        if self._prepared is not None and fits and steps.numel():
            output, self._state = self._prepared.run(steps, self._state)
            return output
        output, self._state = gru(
            steps,
            self._state,
            self._weights,
            bias=layer.bias,
            reset=layer.reset,
            gate_activation=layer.gate_activation,
            activation=layer.activation,
            backend=layer.backend,
        )
        return output

    def _zeros(self) -> Tensor:
        batch = 1 if self.batch_size is None else self.batch_size
        return self._weights[0].new_zeros((self.layer.num_layers, batch, self.layer.hidden_size))
