"""Decoding step by step: `dynamic_decode`, and beam search. Source: Paddle 2.6, `paddle.nn.decode`, read and recorded."""

import contextlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ..framework.framework import default_torch_dtype
from ..tensor import search
from ..tensor.operation import plain, wrap
from ..tensor.tensor import Tensor
from .functional.extension import gather_tree
from .functional.softmaxes import softmax
from .layer.sequence import Nested, first_tensor, map_structure

__all__ = ["BeamSearchDecoder", "dynamic_decode"]

_NEVER = -1e9  # the log probability of an impossible event


class Decoder:
    """A decoder for `dynamic_decode`. Subclasses define `initialize`, `step` and, if they change the outputs, `finalize`."""

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` covers all finished sequences, and not only sequences that finish in this step."""
        return False

    def initialize(self, inits: Nested) -> tuple[Nested, Nested, Tensor]:
        """The first inputs and states, and which sequences are finished."""
        raise NotImplementedError

    def step(
        self, time: Tensor, inputs: Nested, states: Nested, **kwargs: Any
    ) -> tuple[Nested, Nested, Nested, Tensor]:
        """The outputs, states and inputs after a step, and which sequences are finished."""
        raise NotImplementedError

    def finalize(self, outputs: Nested, final_states: Nested, sequence_lengths: Tensor) -> tuple[Nested, Nested]:
        """The outputs of all steps, time first, and the states as `dynamic_decode` returns them."""
        raise NotImplementedError


class OutputWrapper(NamedTuple):
    """The outputs of a step of beam search: scores, tokens and the beams that they continue, each [B, beams]."""

    scores: Tensor
    predicted_ids: Tensor
    parent_ids: Tensor


class StateWrapper(NamedTuple):
    """The state of beam search: the cell's state [B, beams, ...], and log probability, end and length of every beam."""

    cell_states: Nested
    log_probs: Tensor
    finished: Tensor
    lengths: Tensor


class BeamSearchDecoder(Decoder):
    """Keeps the `beam_size` likeliest beginnings of every sequence.

    Args:
        cell: an RNN cell, called as `cell(inputs, states)` with beams as further rows of the batch.
        start_token, end_token: numbers of the tokens that begin and end a sequence.
        beam_size: beginnings kept.
        embedding_fn: gives the cell's inputs from tokens.
        output_fn: gives the scores of all tokens from the cell's outputs.
    """

    def __init__(
        self,
        cell: Callable[..., Any],
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Callable[[Tensor], Any] | None = None,
        output_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self.cell, self.beam_size = cell, beam_size
        self.start_token, self.end_token = int(start_token), int(end_token)
        self.embedding_fn, self.output_fn = embedding_fn, output_fn

    @staticmethod
    def tile_beam_merge_with_batch(x: Nested, beam_size: int) -> Nested:
        """Every row repeated for every beam: [B, ...] as [B * beams, ...]."""
        return map_structure(lambda each: wrap(torch.repeat_interleave(plain(each), beam_size, 0)), x)

    def _split(self, x: Nested) -> Nested:
        return map_structure(lambda each: wrap(plain(each).reshape(-1, self.beam_size, *each.shape[1:])), x)

    def _merge(self, x: Nested) -> Nested:
        return map_structure(lambda each: wrap(plain(each).reshape(-1, *each.shape[2:])), x)

    def _embedded(self, tokens: Tensor) -> Nested:
        return tokens if self.embedding_fn is None else self.embedding_fn(tokens)

    def initialize(self, initial_cell_states: Nested) -> tuple[Nested, StateWrapper, Tensor]:
        """Start tokens, the states of the cell for every beam, and no sequence finished; only the first beam is likely."""
        first = plain(first_tensor(initial_cell_states))
        shape, device = (first.shape[0], self.beam_size), first.device
        states = map_structure(
            lambda each: wrap(plain(each).unsqueeze(1).expand(-1, self.beam_size, *each.shape[1:])), initial_cell_states
        )
        log_probs = torch.full(shape, _NEVER, dtype=default_torch_dtype(), device=device)
        log_probs[:, 0] = 0.0
        finished = wrap(torch.zeros(shape, dtype=torch.bool, device=device))
        lengths = wrap(torch.zeros(shape, dtype=torch.int64, device=device))
        tokens = wrap(torch.full(shape, self.start_token, dtype=torch.int64, device=device))
        return self._embedded(tokens), StateWrapper(states, wrap(log_probs), finished, lengths), finished

    def step(
        self, time: Tensor, inputs: Nested, states: StateWrapper, **kwargs: Any
    ) -> tuple[OutputWrapper, StateWrapper, Nested, Tensor]:
        """One step of the cell for every beam, and the likeliest continuations."""
        outputs, cell_states = self.cell(self._merge(inputs), self._merge(states.cell_states), **kwargs)
        outputs, cell_states = self._split(outputs), self._split(cell_states)
        logits = outputs if self.output_fn is None else self.output_fn(outputs)
        output, after = self._continued(plain(logits), cell_states, states)
        return output, after, self._embedded(output.predicted_ids), after.finished

    def _continued(
        self, logits: torch.Tensor, cell_states: Nested, before: StateWrapper
    ) -> tuple[OutputWrapper, StateWrapper]:
        """The likeliest of all continuations of all beams; a finished beam continues with end tokens only."""
        tokens = logits.shape[-1]
        ended, lengths = plain(before.finished), plain(before.lengths)
        mask = [_NEVER] * tokens
        mask[self.end_token] = 0.0
        only_end = logits.new_tensor(mask)
        step = torch.where(ended.unsqueeze(2), only_end, torch.log(softmax(logits, -1)))
        log_probs = (step + plain(before.log_probs).unsqueeze(2)).flatten(1)
        best, places = (plain(each) for each in search.topk(wrap(log_probs), self.beam_size))
        beams, chosen = places // tokens, places % tokens

        def picked(value: torch.Tensor) -> torch.Tensor:
            rows = torch.arange(value.shape[0], device=value.device).unsqueeze(1)
            return plain(value)[rows, beams]

        ended, lengths = picked(ended), picked(lengths)
        state = StateWrapper(
            map_structure(lambda each: wrap(picked(each)), cell_states),
            wrap(best),
            wrap(ended | (chosen == self.end_token)),
            wrap(lengths + (~ended).to(lengths.dtype)),
        )
        return OutputWrapper(wrap(best.clone()), wrap(chosen), wrap(beams)), state

    def finalize(
        self, outputs: OutputWrapper, final_states: StateWrapper, sequence_lengths: Tensor
    ) -> tuple[Tensor, StateWrapper]:
        """The tokens of every beam [T, B, beams], followed back from its end."""
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams change places."""
        return True


BeamSearchDecoder.OutputWrapper = OutputWrapper  # type: ignore[attr-defined]
BeamSearchDecoder.StateWrapper = StateWrapper  # type: ignore[attr-defined]


def _kept(old: torch.Tensor, new: torch.Tensor, finished: torch.Tensor) -> Tensor:
    """The old state where a sequence is finished."""
    mask = plain(finished).reshape([-1] + [1] * (new.ndim - 1))
    return wrap(torch.where(mask, plain(old), plain(new)))


def dynamic_decode(
    decoder: Decoder,
    inits: Nested = None,
    max_step_num: int | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """Step `decoder` until all sequences are finished, or after `max_step_num` + 1 steps.

    Args:
        decoder: such as a `BeamSearchDecoder`.
        inits: given to `decoder.initialize`.
        max_step_num: default: no limit.
        output_time_major: return outputs time first.
        impute_finished: keep the states of finished sequences, for decoders that do not track them.
        is_test: kept for scripts.
        return_length: also return the lengths.
        kwargs: given to `decoder.step`.

    Returns:
        The outputs, the last states and optionally the lengths.
    """
    inputs, states, finished = decoder.initialize(inits)
    lengths = wrap(torch.zeros_like(plain(finished), dtype=torch.int64))
    gathered: list[Nested] = []
    while not bool(plain(finished).all()):
        time = wrap(torch.full([1], len(gathered), dtype=torch.int64, device=plain(finished).device))
        outputs, after, inputs, ended = decoder.step(time, inputs, states, **kwargs)
        if decoder.tracks_own_finished:
            if not hasattr(after, "lengths"):
                warnings.warn(
                    "`next_states` has no `lengths` attribute, the returned `sequence_lengths` would be all zeros.",
                    stacklevel=2,
                )
            lengths = getattr(after, "lengths", lengths)
        else:
            # Paddle updates `finished` in place before it counts, so that a sequence's last step does not count (read, 2.6).
            finished = ended = wrap(plain(ended) | plain(finished))
            lengths = wrap(plain(lengths) + (~plain(finished)).to(torch.int64))
            if impute_finished:
                done = finished
                after = map_structure(lambda old, new, done=done: _kept(old, new, done), states, after)
        gathered.append(outputs)
        states, finished = after, ended
        if max_step_num is not None and len(gathered) > max_step_num:
            break
    result = map_structure(lambda *each: wrap(torch.stack([plain(one) for one in each])), *gathered)
    with contextlib.suppress(NotImplementedError):
        result, states = decoder.finalize(result, states, lengths)
    if not output_time_major:
        result = map_structure(lambda each: wrap(plain(each).transpose(0, 1)), result)
    return (result, states, lengths) if return_length else (result, states)
