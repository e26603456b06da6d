"""Conditional random fields over chains, and the count of chunks: operators of Paddle 1.x for sequence labelling.

Source: the documentation of `linear_chain_crf`, `crf_decoding` and `chunk_eval` in 1.8. A transition matrix [D + 2, D] has
the weights to begin with each tag, to end with it, and then from tag to tag. Sequences are padded to [N, S, ...].
"""

from collections.abc import Iterator
from typing import Any

import torch

from ...tensor.creation import to_tensor
from ...tensor.operation import plain, wrap
from ...tensor.tensor import Tensor
from ..metrics import chunk_scores

__all__ = ["chunk_eval"]

Chunk = tuple[int, int, int]  # the first step, the last one, the type
_TAGS = {"IOB": "BI", "IOE": "IE", "IOBES": "BIES", "plain": "I"}


def _steps(emission: torch.Tensor, length: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The scores [N, S, D] and the lengths [N]; a batch without lengths is one sequence [S, D] or full sequences."""
    scores = plain(emission)
    scores = scores.unsqueeze(0) if scores.dim() == 2 else scores
    full = torch.full((scores.shape[0],), scores.shape[1], dtype=torch.int64, device=scores.device)
    return scores, full if length is None else plain(length).reshape(-1).to(torch.int64)


def linear_chain_crf(
    emission: torch.Tensor, transition: torch.Tensor, label: torch.Tensor, length: torch.Tensor | None = None
) -> Tensor:
    """-log of the probability of the labels [N, S] of each sequence, [N, 1]."""
    scores, lengths = _steps(emission, length)
    weights, tags = plain(transition), plain(label).reshape(scores.shape[:2]).to(torch.int64)
    begin, end, step = weights[0], weights[1], weights[2:]
    rows = torch.arange(scores.shape[0], device=scores.device)
    alpha, path = begin + scores[:, 0], begin[tags[:, 0]] + scores[rows, 0, tags[:, 0]]
    for place in range(1, scores.shape[1]):
        inside = place < lengths
        moved = torch.logsumexp(alpha.unsqueeze(2) + step, 1) + scores[:, place]
        alpha = torch.where(inside.unsqueeze(1), moved, alpha)
        gained = step[tags[:, place - 1], tags[:, place]] + scores[rows, place, tags[:, place]]
        path = path + torch.where(inside, gained, torch.zeros_like(gained))
    path = path + end[tags[rows, lengths - 1]]
    return wrap((torch.logsumexp(alpha + end, 1) - path).unsqueeze(1))


def crf_decoding(
    emission: torch.Tensor,
    transition: torch.Tensor,
    label: torch.Tensor | None = None,
    length: torch.Tensor | None = None,
) -> Tensor:
    """The likeliest tags [N, S], 0 after the end; with labels, ones where they are the labels."""
    scores, lengths = _steps(emission.detach(), length)
    weights = plain(transition).detach()
    best, back = weights[0] + scores[:, 0], []
    for place in range(1, scores.shape[1]):
        inside = (place < lengths).unsqueeze(1)
        moved, before = (best.unsqueeze(2) + weights[2:]).max(1)
        best = torch.where(inside, moved + scores[:, place], best)
        back.append(torch.where(inside, before, torch.arange(scores.shape[2], device=scores.device)))
    tag = (best + weights[1]).argmax(1)
    path = [tag]
    for before in reversed(back):
        tag = before.gather(1, tag.unsqueeze(1)).squeeze(1)
        path.append(tag)
    found = torch.stack(path[::-1], 1)
    inside = torch.arange(scores.shape[1], device=scores.device) < lengths.unsqueeze(1)
    if label is not None:
        found = (found == plain(label).reshape(found.shape)).to(torch.int64)
    found = torch.where(inside, found, torch.zeros_like(found))
    return wrap(found.reshape(-1, 1) if emission.ndim == 2 else found)


def _chunks(tags: list[int], scheme: str, kinds: int) -> Iterator[Chunk]:
    """The chunks of a sequence of tags; tag = type * letters + letter, and the last number is outside of all."""
    letters = _TAGS[scheme]
    outside = kinds * len(letters)
    split = [(None, kinds) if tag == outside else (letters[tag % len(letters)], tag // len(letters)) for tag in tags]
    split = [(None, kinds), *split, (None, kinds)]
    first = None
    for place in range(1, len(split)):
        (before, kind_before), (now, kind) = split[place - 1], split[place]
        new = kind != kind_before or before in ("E", "S") or now in ("B", "S")
        if first is not None and new:
            yield first, place - 2, kind_before
            first = None
        if now is not None and first is None:
            first = place - 1


def chunk_eval(
    input: torch.Tensor,
    label: torch.Tensor,
    chunk_scheme: str,
    num_chunk_types: int,
    excluded_chunk_types: list[int] | None = None,
    seq_length: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """Precision, recall and F1 of chunks, and how many were found, are labelled, and are both, each [1].

    Raises:
        ValueError: unless the scheme is IOB, IOE, IOBES or plain.
    """
    if chunk_scheme not in _TAGS:
        raise ValueError(f"chunk_scheme must be one of {', '.join(_TAGS)}, got {chunk_scheme!r}")
    sizes = [1, -1] if seq_length is None else [len(plain(seq_length).reshape(-1)), -1]
    found, wanted = (plain(each).reshape(sizes).tolist() for each in (input, label))
    lengths: Any = [len(found[0])] if seq_length is None else plain(seq_length).reshape(-1).tolist()
    counts = [0, 0, 0]
    for tags, labels, length in zip(found, wanted, lengths, strict=True):
        here, there = (
            {
                each
                for each in _chunks(row[:length], chunk_scheme, num_chunk_types)
                if each[2] not in (excluded_chunk_types or ())
            }
            for row in (tags, labels)
        )
        counts = [total + len(more) for total, more in zip(counts, (here, there, here & there), strict=True)]
    scores = [to_tensor([score], "float32") for score in chunk_scores(*counts)]
    return (*scores, *(to_tensor([count], "int64") for count in counts))
