"""A trained layer one step, or one chunk, at a time, keeping the state between calls."""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import backends
from ..errors import ArgumentError, ArgumentTypeError
from ..facts import torch_private
from ..facts.arguments import check_sequences, is_shape
from ..facts.decays import resets_of
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call
from ..facts.quantization import Stored
from ..facts.torch_private import is_profiled
from ..functional import compute
from ..operator.active_modes import is_recorded, named
from ..operator.execution import describe
from ..operator.frozen_weights import FrozenWeights

if TYPE_CHECKING:
    from ..backends.cpu_prepared import Prepared
    from .frozen_calls import FrozenLayer
    from .gru import GRU


class Stream:
    """The state of B sequences that arrive incrementally, and the layer that reads them.

    `step` and `run` give the layer's outputs for the whole sequence, in inference (no dropout, no gradient).

    Unlike a layer, a stream does not read the parameters at every call: it keeps a copy, packed in the order in which the
    kernel reads it. After any change to the layer's parameters call `refresh()`.

    Args:
        layer: a `GRU` with one direction (a reverse direction would need the future).
        batch_size: B; None: steps are [I] and chunks [T, I], without a batch dimension.

    Raises:
        ArgumentError: the layer is bidirectional or lazy, or batch_size is negative.
        ArgumentTypeError: the layer is not an `anygru.GRU`, or batch_size is not an int.
    """

    def __init__(self, layer: "GRU | FrozenLayer", batch_size: int | None = None) -> None:
        if not hasattr(layer, "stream_weights"):
            came = f"{type(layer).__module__}.{type(layer).__name__}"
            raise ArgumentTypeError(f"layer must be an anygru.GRU or FrozenGRU, got {came}")
        if batch_size is not None and (isinstance(batch_size, bool) or not hasattr(batch_size, "__index__")):
            raise ArgumentTypeError(f"batch_size must be an int or None, got {type(batch_size).__name__}")
        if layer.bidirectional:
            raise ArgumentError("a stream needs a layer with one direction, got bidirectional=True")
        if layer.options.layer.reverse:
            raise ArgumentError("a stream needs a layer that reads forwards, got a layer that reads backwards")
        if layer.input_size == 0:
            raise ArgumentError("the layer has seen no input yet, so its input_size is not known")
        if batch_size is not None and batch_size < 0:
            raise ArgumentError(f"batch_size must be at least 0 or None, got {batch_size}")
        self.layer = layer
        self.batch_size = None if batch_size is None else operator.index(batch_size)
        self.refresh()
        self._state = self._zeros()

    def refresh(self) -> None:
        """Copies the layer's parameters again; the state stays, moved to their device and dtype.

        The present weights of a frozen layer are shared, not copied.
        """
        layer = self.layer
        self._weights = weights = layer.stream_weights()
        like = weights if isinstance(weights, FrozenWeights) else weights[0]
        self._like = torch.empty(0, dtype=like.dtype, device=like.device)
        if hasattr(self, "_state"):
            self._state = self._state.to(self._like)
        self._options = layer.stream_options()
        self._prepare()

    def _prepare(self) -> None:
        """Packs the copied weights for the backend, if it packs any, and finds the function that computes steps in one
        call."""
        self._prepared = prepared = self._pack()
        plain = prepared if self._options.noise is None else None
        self._native = None if plain is None else plain.advance
        self._native_rows = None if plain is None else plain.advance_rows

    @property
    def native(self) -> Callable[[Tensor, Tensor, bool, bool], Tensor | None] | None:
        """The backend's call for steps with a state in place, or None."""
        return self._native

    def _pack(self) -> "Prepared | None":
        if isinstance(self._weights, FrozenWeights):
            return self._weights.prepared
        problem = describe(self._like.new_zeros((1, 1, self.layer.input_size)), self._weights, None, self._options)
        backend = backends.choose(problem, self._options.backend)
        if backend.prepare is None or problem.dtype not in (torch.float32, torch.float64):
            return None
        return backend.prepare(problem, [Stored(weight) for weight in self._weights])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prepared": None, "_native": None, "_native_rows": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._state = self._state.clone()  # copy.copy shares it, and steps change it in place
        self._prepare()

    @property
    def state(self) -> Tensor:
        """A copy of the state [L, B, H] ([L, H] without a batch dimension)."""
        state = self._state.clone()
        return state.squeeze(1) if self.batch_size is None else state

    @state.setter
    def state(self, value: Tensor) -> None:
        expected = tuple(self._state.squeeze(1).shape if self.batch_size is None else self._state.shape)
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"state must be a tensor {list(expected)}, got {type(value).__name__}")
        if value.is_meta and not self._state.is_meta:
            raise ArgumentTypeError(f"state must have values, got a tensor on {value.device}")
        if tuple(value.shape) != expected:
            raise ArgumentError(f"state must be {list(expected)}, got {list(value.shape)}")
        self._state = value.detach().reshape(self._state.shape).to(self._state, copy=True)

    def reset(self, sequences: int | Sequence[int] | Tensor | None = None) -> None:
        """Restarts sequences from a state of zeros.

        Args:
            sequences: None for all; or an index, indices (negative ones count from the end), or a bool mask [B].

        Raises:
            ArgumentError, ArgumentTypeError: an index is out of range, or the mask has the wrong length; the state
                stays.
        """
        if sequences is None:
            self._state = self._zeros()
            return
        index = check_sequences(sequences, self._state[0])
        self._state = self._state.clone()
        self._state[:, index] = 0

    def step(self, x: Tensor, resets: Tensor | None = None, reset_states: Tensor | None = None) -> Tensor:
        """The top layer's output [B, H] ([H]) for one step.

        Args:
            x: [B, I] ([I]), of the weights' dtype and on their device.
            resets: bool, or numbers that are 0 where there is none, [B] ([]): where it is true, a sequence starts again from a
                state of zeros.
            reset_states: [L, B, H] ([L, H]), or [L, 1, H] for all sequences: start from these.

        Raises:
            ArgumentError, ArgumentTypeError: naming the argument; the state stays.
        """
        form = "[I]" if self.batch_size is None else "[B, I]"
        if resets is not None or reset_states is not None:
            self._check("x", x, form)  # before any state changes
            starts = 0.0 if reset_states is None else self._check_starts(reset_states, resets)
            over = self._check_resets(resets, ()).reshape(-1, 1)
            self._state = torch.where(over, starts, self._state)
        output = self._advance_in_place(x, many=False)
        if output is not None:
            return output
        self._check("x", x, form)
        return self._advance(x[None, None])[0, 0] if self.batch_size is None else self._advance(x[None])[0]

    def run(self, chunk: Tensor, resets: Tensor | None = None, reset_states: Tensor | None = None) -> Tensor:
        """The top layer's outputs [T, B, H] ([T, H]) for a chunk of steps.

        Args:
            chunk: [T, B, I] ([T, I]), for any batch_first of the layer; T may be 0. Dtype and device as of `step`.
            resets: bool, or numbers that are 0 where there is none, [T, B] ([T]): where it is true, a sequence starts again from
                a state of zeros before that step.
            reset_states: [L, T, B, H] ([L, T, H]), or [L, 1, H] for all: start from these.

        Raises:
            ArgumentError, ArgumentTypeError: naming the argument; the state stays.
        """
        if resets is None and reset_states is None:
            output = self._advance_in_place(chunk, many=True)
            if output is not None:
                return output
        self._check("chunk", chunk, "[T, I]" if self.batch_size is None else "[T, B, I]")
        if resets is not None:
            resets = self._check_resets(resets, chunk.shape[:1]).reshape(len(chunk), self._state.shape[1])
        if self.batch_size is None:
            if reset_states is not None and reset_states.dim() == 3 and reset_states.shape[1] == len(chunk):
                reset_states = reset_states.unsqueeze(2)
            return self._advance(chunk.unsqueeze(1), resets, reset_states).squeeze(1)
        return self._advance(chunk, resets, reset_states)

    @torch.no_grad()
    def advance_rows(self, x: Tensor, states: Tensor, offset: int, rows: Tensor | None) -> Tensor:
        """One step of any sequences with the caller's states; the stream's own state does not change.

        Args:
            x: [n, I].
            states: [capacity, S]; a row has the layers' states [L * H] from `offset` on, and the step changes them in place.
            rows: the rows of the sequences, distinct, int64 [n]; None: all, n = capacity.

        Returns:
            Tensor: the top layer's output [n, H].
        """
        if self._native_rows is not None:
            output = self._native_rows(x, states, offset, rows)
            if output is not None:
                return output
        layers, _, hidden = self._state.shape
        own = states[:, offset : offset + layers * hidden]
        before = own if rows is None else own.index_select(0, rows)
        h_0 = before.unflatten(1, (layers, hidden)).transpose(0, 1).contiguous()
        outputs, after = compute(x[None], h_0, self._weights, None, self._options)
        assert isinstance(outputs, Tensor)
        values = after.transpose(0, 1).flatten(1)
        if rows is None:
            own.copy_(values)
        else:
            own.index_copy_(0, rows, values)
        return outputs[0]

    def _check_resets(self, resets: Tensor | None, steps: Sequence[int]) -> Tensor:
        """The resets as bool."""
        expected = (*steps, *(() if self.batch_size is None else (self.batch_size,)))
        if resets is None:
            raise ArgumentError("reset_states goes with resets, got it alone")
        if not isinstance(resets, Tensor):
            raise ArgumentTypeError(f"resets must be a tensor {list(expected)}, got {type(resets).__name__}")
        if tuple(resets.shape) != expected:
            raise ArgumentError(f"resets must be {list(expected)}, got {list(resets.shape)}")
        return resets_of(resets)

    def _check_starts(self, states: Tensor, resets: Tensor | None) -> Tensor:
        """The states [L, B, H] or [L, 1, H] that a step's resets go to."""
        shape, like = self._state.shape, self._like
        if isinstance(states, Tensor) and self.batch_size is None and states.dim() == 2:
            states = states.unsqueeze(1)
        one = (shape[0], 1, shape[2])
        if not isinstance(states, Tensor) or not (is_shape(states.shape, shape) or is_shape(states.shape, one)):
            came = list(states.shape) if isinstance(states, Tensor) else type(states).__name__
            raise ArgumentError(f"reset_states must be {list(shape)} or {[shape[0], 1, shape[2]]}, got {came}")
        if states.dtype is not like.dtype or states.device != like.device:
            raise ArgumentTypeError(
                f"reset_states must be {like.dtype} on {like.device} as the weights are, got {states.dtype} on {states.device}"
            )
        return states.detach()

    def _check(self, name: str, value: Tensor, form: str) -> None:
        """Raises if the value is not a tensor of this form (as "[T, B, I]") that the layer can read."""
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"{name} must be a tensor {form}, got {type(value).__name__}")
        last = (self.layer.input_size,) if self.batch_size is None else (self.batch_size, self.layer.input_size)
        if value.dim() != len(form.split(",")) or tuple(value.shape[-len(last) :]) != last:
            sizes = [f"B = {self.batch_size}"] if "B" in form else []
            sizes.append(f"I = {self.layer.input_size}")
            raise ArgumentError(f"{name} must be {form} with {' and '.join(sizes)}, got {list(value.shape)}")
        like = self._like
        if value.dtype is not like.dtype or value.device != like.device or value.layout is not torch.strided:
            raise ArgumentTypeError(
                f"{name} must be {like.dtype} on {like.device} as the weights are, and dense, "
                f"got {value.dtype} on {value.device}, {value.layout}"
            )

    def _advance_in_place(self, x: Tensor, many: bool) -> Tensor | None:
        """Fast path: one call of the backend checks and computes; None if it cannot, or if x does not fit."""
        if is_recorded() or torch.compiler.is_compiling():
            _refuse_graphs()
            return None
        advance = self._native
        if advance is None:
            return None
        if is_profiled():
            advance = partial(named, advance)
        return advance(x, self._state, many, self.batch_size is not None)

    @torch.no_grad()
    def _advance(self, steps: Tensor, resets: Tensor | None = None, reset_states: Tensor | None = None) -> Tensor:
        compiled = torch.compiler.is_compiling()
        if self._prepared is not None and not compiled and steps.numel() and reset_states is None:
            modifiers = NONE
            if resets is not None:
                modifiers = Modifiers(resets.logical_not().to(steps.dtype)[None, ..., None])
            if self._options.noise is not None:
                modifiers = self._options.noise.draw(modifiers, steps, *self._state.shape)
            call = Call(steps, self._state, (), None, modifiers)
            run = self._prepared.run
            output, self._state = named(run, call) if is_profiled() else run(call)
            return output
        weights = self._weights
        if compiled and isinstance(weights, FrozenWeights):
            weights = self.layer.stream_weights()  # its buffers, which a graph can read
        output, self._state = compute(steps, self._state, weights, None, self._options, resets, None, reset_states)
        assert isinstance(output, Tensor)
        return output

    def _zeros(self) -> Tensor:
        batch = 1 if self.batch_size is None else self.batch_size
        return self._like.new_zeros((self.layer.num_layers, batch, self.layer.hidden_size))


def _refuse_graphs() -> None:
    """Raises where a graph is made that would lose the state; does nothing in one of torch.compile, which keeps it."""
    if is_recorded():
        raise ArgumentError("a stream keeps its state outside the graph and cannot be traced; trace the layer instead")
    if torch_private.is_exporting():
        raise ArgumentError(
            "a stream keeps its state outside the graph and cannot be exported; export the layer, which takes and "
            "returns the state (anygru.onnx.export_step does it for ONNX)"
        )
