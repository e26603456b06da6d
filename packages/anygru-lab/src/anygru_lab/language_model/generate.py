"""Generate text one byte at a time with a stream of the model's GRU."""

import codecs
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

import anygru
from anygru import GRU, FrozenGRU
from anygru.errors import ArgumentError, CheckpointError

from .lanes import BOUNDARY
from .model import LanguageModel, Shape


def build(
    shape: Shape,
    weights: Mapping[str, Tensor],
    source: Path | str,
    backend: str | None = None,
    freeze: anygru.quantization.WeightFormat | None = None,
) -> LanguageModel:
    """Build the model of these weights for generation.

    Args:
        freeze: a format of weights, to freeze the GRU; a file of frozen weights makes a frozen GRU anyway.

    Raises:
        CheckpointError: they do not fit; it names `source`.
        ArgumentError: the weights are frozen in another format than `freeze`.
    """
    frozen = format_of(weights)
    if frozen and freeze not in (None, frozen):
        raise ArgumentError(f"{source} holds {frozen} weights, which cannot become {freeze}")
    # Check the sizes on the meta device first: a damaged file must not cause a large allocation.
    model = LanguageModel(shape, backend=backend, device="meta")
    if frozen:
        anygru.freeze(model, frozen)
    expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    found = {name: tuple(weight.shape) for name, weight in weights.items()}
    if expected != found:
        wrong = sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))
        names = ", ".join(wrong)
        raise CheckpointError(f"{source} does not hold the weights of a model of {shape}; wrong or missing: {names}")
    kinds = {name: weight.dtype for name, weight in model.state_dict().items()}
    if not all(weight.dtype == kinds[name] and weight.isfinite().all() for name, weight in weights.items()):
        raise CheckpointError(f"{source} holds weights that are not finite float32 numbers")
    try:
        model.load_state_dict({name: weight.clone() for name, weight in weights.items()}, assign=True)
    except RuntimeError as error:  # invalid scales
        raise CheckpointError(f"{source}: {' '.join(str(error).split())}") from None
    if freeze and not frozen:
        anygru.freeze(model, freeze)
    return model.eval()


def format_of(weights: Mapping[str, Tensor]) -> anygru.quantization.WeightFormat | None:
    """Return the format of a frozen GRU's weights, or None if it is not frozen."""
    if "gru.weight_hh_l0" not in weights:
        return None
    dtype = weights["gru.weight_hh_l0"].dtype
    return "int8" if dtype is torch.int8 else "bfloat16" if dtype is torch.bfloat16 else None


@torch.no_grad()
def generate(
    model: LanguageModel, prompt: bytes, length: int, temperature: float, seed: int, top_k: int = 0, top_p: float = 1.0
) -> Iterator[bytes]:
    """Draw `length` bytes that continue the prompt, and yield each at once.

    At the end of a document an empty line is yielded in addition, and the next document begins.

    Args:
        model: in evaluation mode.
        prompt: the beginning of a document, possibly empty.
        length: in bytes.
        temperature: divides the logits; 0 takes the likeliest byte.
        seed: of the draws.
        top_k: draw among the k most probable symbols; 0: all.
        top_p: draw among the likeliest symbols that together have at least this probability (Holtzman et al. 2020).
    """
    generator = torch.Generator().manual_seed(seed)
    gru = model.gru
    assert isinstance(gru, GRU | FrozenGRU)  # as `build` makes it
    stream = gru.stream(1)
    outputs = stream.run(model.embed(torch.tensor([[BOUNDARY], *([byte] for byte in prompt)])))
    output, fresh = outputs[-1], not prompt
    while length:
        logits: Tensor = model.head(output)[0]
        if fresh:
            logits[BOUNDARY] = -torch.inf  # a document has at least one byte
        symbol = _draw(logits, temperature, generator, top_k, top_p)
        fresh = symbol == BOUNDARY
        if fresh:
            stream.reset()
            yield b"\n\n"
        else:
            yield bytes([symbol])
            length -= 1
        output = stream.step(model.embed(torch.tensor([symbol])))


def _draw(logits: Tensor, temperature: float, generator: torch.Generator, top_k: int, top_p: float) -> int:
    if temperature == 0:
        return int(logits.argmax())
    probabilities = ((logits.double() - logits.max()) / temperature).softmax(0)
    if top_k or top_p < 1:
        values, symbols = probabilities.sort(descending=True, stable=True)
        before = values.cumsum(0) - values  # of the symbols that are likelier
        values = values.where(before < top_p, 0.0)
        values[top_k or len(values) :] = 0.0
        return int(symbols[torch.multinomial(values, 1, generator=generator)])
    return int(torch.multinomial(probabilities, 1, generator=generator))


def write_bytes(parts: Iterable[bytes]) -> None:
    """Stream raw bytes to standard output."""
    for part in parts:
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def write_text(parts: Iterable[bytes]) -> None:
    """Stream bytes to standard output as printable UTF-8.

    Invalid UTF-8 and control characters, which could control the terminal, are replaced by U+FFFD.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for part in itertools.chain(parts, [None]):
        text = decoder.decode(part or b"", final=part is None)
        shown = (c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
        write_bytes(["".join(shown).encode()])
