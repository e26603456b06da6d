"""Decoding with helpers that choose the next input. Source: the documentation of `fluid.layers` in Paddle 1.8."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ...nn.decode import BeamSearchDecoder as BeamSearchDecoder
from ...nn.decode import Decoder as Decoder
from ...nn.decode import dynamic_decode as dynamic_decode
from ...nn.layer.sequence import Nested, map_structure
from ...tensor.operation import as_torch, plain, wrap
from ...tensor.random import uniform
from ...tensor.tensor import Tensor

__all__ = [
    "BasicDecoder", "BeamSearchDecoder", "DecodeHelper", "Decoder", "GreedyEmbeddingHelper", "SampleEmbeddingHelper",
    "TrainingHelper", "dynamic_decode",
]  # fmt: skip

Next = tuple[Tensor, Nested, Nested]  # which sequences are finished, and the next inputs and states


class DecodeHelper:
    """The helper that a `BasicDecoder` asks for the first inputs, for tokens, and for the next inputs."""

    def initialize(self) -> tuple[Nested, Tensor]:
        """The first inputs, and which sequences are finished."""
        raise NotImplementedError

    def sample(self, time: Tensor, outputs: Tensor, states: Nested) -> Tensor:
        """The likeliest tokens [B], from scores [B, tokens]."""
        return wrap(plain(outputs).argmax(-1))

    def next_inputs(self, time: Tensor, outputs: Tensor, states: Nested, sample_ids: Tensor) -> Next:
        """Which sequences are finished after this step, and the next inputs and states."""
        raise NotImplementedError


class TrainingHelper(DecodeHelper):
    """Feeds given inputs.

    Args:
        inputs: [B, T, ...], or [T, B, ...] if `time_major`; a nest of such tensors.
        sequence_length: steps of each sequence [B].
        time_major: whether time is the first axis.
    """

    def __init__(self, inputs: Nested, sequence_length: Tensor, time_major: bool = False) -> None:
        self.inputs, self.sequence_length, self.time_major = inputs, sequence_length, time_major
        self._axis = 0 if time_major else 1

    def _step(self, number: int) -> Nested:
        """The inputs of a step; zeros after the last."""

        def of(each: torch.Tensor) -> Tensor:
            given = plain(each)
            last = given.shape[self._axis] - 1
            return wrap(
                given.select(self._axis, number) if number <= last else torch.zeros_like(given.select(self._axis, 0))
            )

        return map_structure(of, self.inputs)

    def initialize(self) -> tuple[Nested, Tensor]:
        """The first step; sequences without steps are finished."""
        return self._step(0), wrap(plain(self.sequence_length) == 0)

    def next_inputs(self, time: Tensor, outputs: Tensor, states: Nested, sample_ids: Tensor) -> Next:
        """The next step, for any tokens."""
        number = int(time) + 1
        return wrap(plain(self.sequence_length) <= number), self._step(number), states


class GreedyEmbeddingHelper(DecodeHelper):
    """Feeds the likeliest token of the step before.

    Args:
        embedding_fn: gives inputs from tokens.
        start_tokens: the first tokens [B].
        end_token: the token after which a sequence is finished.
    """

    def __init__(self, embedding_fn: Callable[[Tensor], Any], start_tokens: Tensor, end_token: int) -> None:
        self.embedding_fn, self.start_tokens, self.end_token = embedding_fn, start_tokens, end_token

    def initialize(self) -> tuple[Nested, Tensor]:
        """The start tokens; no sequence is finished."""
        return self.embedding_fn(self.start_tokens), wrap(torch.zeros_like(plain(self.start_tokens), dtype=torch.bool))

    def next_inputs(self, time: Tensor, outputs: Tensor, states: Nested, sample_ids: Tensor) -> Next:
        """The tokens chosen."""
        finished = wrap(plain(sample_ids) == int(as_torch(self.end_token)))
        return finished, self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds a token drawn by the scores.

    Args:
        embedding_fn, start_tokens, end_token: as of `GreedyEmbeddingHelper`.
        softmax_temperature: divides the scores.
        seed: of the draws; default: the stream of `paddle.seed`.
    """

    def __init__(
        self,
        embedding_fn: Callable[[Tensor], Any],
        start_tokens: Tensor,
        end_token: int,
        softmax_temperature: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding_fn, start_tokens, end_token)
        self.softmax_temperature, self.seed = softmax_temperature, seed

    def sample(self, time: Tensor, outputs: Tensor, states: Nested) -> Tensor:
        """Tokens [B] drawn with the probabilities softmax(scores / temperature)."""
        shares = torch.softmax(plain(outputs.detach()) / (self.softmax_temperature or 1.0), -1).cumsum(-1)
        # A seed starts the same stream at every call; the step makes the draws differ.
        seed = 0 if self.seed is None else self.seed + int(time) + 1
        draws = uniform([shares.shape[0], 1], str(outputs.dtype).removeprefix("paddle."), 0.0, 1.0, seed)
        return wrap(torch.searchsorted(shares, plain(draws)).squeeze(-1).clamp(max=shares.shape[-1] - 1))


class OutputWrapper(NamedTuple):
    """The outputs of a step of `BasicDecoder`."""

    cell_outputs: Nested
    sample_ids: Tensor


class BasicDecoder(Decoder):
    """Steps a cell on the inputs that a helper chooses, for `dynamic_decode`.

    Args:
        cell: an RNN cell, called as `cell(inputs, states)`.
        helper: a `DecodeHelper`.
        output_fn: applied to the cell's outputs, such as a Linear.
    """

    def __init__(
        self, cell: Callable[..., Any], helper: DecodeHelper, output_fn: Callable[[Any], Any] | None = None
    ) -> None:
        self.cell, self.helper, self.output_fn = cell, helper, output_fn

    def initialize(self, initial_cell_states: Nested) -> tuple[Nested, Nested, Tensor]:
        """The helper's first inputs, the states given, and which sequences are finished."""
        inputs, finished = self.helper.initialize()
        return inputs, initial_cell_states, finished

    def step(
        self, time: Tensor, inputs: Nested, states: Nested, **kwargs: Any
    ) -> tuple[OutputWrapper, Nested, Nested, Tensor]:
        """One step of the cell: outputs and tokens, states, the next inputs, and which sequences are finished."""
        outputs, states = self.cell(inputs, states, **kwargs)
        outputs = outputs if self.output_fn is None else self.output_fn(outputs)
        tokens = self.helper.sample(time, outputs, states)
        tokens.stop_gradient = True
        finished, following, states = self.helper.next_inputs(time, outputs, states, tokens)
        return OutputWrapper(outputs, tokens), states, following, finished


BasicDecoder.OutputWrapper = OutputWrapper  # type: ignore[attr-defined]
