"""The report of a finished run: its result compared with xz on the same bytes, a picture, and a sample."""

import lzma

from anygru.errors import printable
from anygru.extend import count

from . import plot
from .checkpoint import RunFolder, read_model
from .corpus import Corpus
from .generate import build, generate, write_text
from .history import History
from .index import Progress

SAMPLE_BYTES = 600
SAMPLE_TEMPERATURE = 0.6
XZ_MEMORY = 1 << 24  # bytes: xz reads the end of a longer training text


def finish(folder: RunFolder, progress: Progress, corpus: Corpus, xz: bool = True) -> None:
    """Draw the loss curve, compare with xz if `xz`, and generate a sample from the best model."""
    assert progress.state is not None
    assert progress.best is not None  # a finished run has been validated
    history = History.of(folder.read_tensors(progress.state))
    best = progress.best
    held_out = b"".join(document.data for document in corpus.held_out)
    levels = dict(zip(("xz alone", "xz after the training text"), compressed(corpus), strict=True)) if xz else {}
    options = progress.options
    picture = folder.path / "loss.png"
    title = f"{options.layers} x {options.hidden} GRU, {len(history.training):,} steps in {progress.seconds:,.0f} s"
    plot.draw(picture, history, levels, title)
    model = folder.path / best.file.file
    steps = count(progress.step, "step")
    print(printable(f"trained {steps} in {progress.seconds:,.0f} s; best model after step {best.step:,}: {model}"))
    print(printable(f"loss curve: {picture}, {folder.path / 'loss.csv'}"))
    print(f"bits per byte on the {len(held_out):,} held-out bytes:")
    print(f"  {best.bits_per_byte:.3f}  this model, chosen on them; its {model.stat().st_size:,} bytes are not counted")
    if xz:
        print(f"  {levels['xz after the training text']:.3f}  xz -9e that has seen the training text first")
        print(f"  {levels['xz alone']:.3f}  xz -9e alone")
    print(f"sample at temperature {SAMPLE_TEMPERATURE}, {SAMPLE_BYTES} bytes:\n", flush=True)
    shape, weights = read_model(model)
    write_text(generate(build(shape, weights, model), b"", SAMPLE_BYTES, SAMPLE_TEMPERATURE, options.seed))
    print("\n")


def compressed(corpus: Corpus) -> tuple[float, float]:
    """Return bits per byte of xz on the held-out documents, alone and after the training text.

    All held-out documents are one input: unlike the model, xz can reuse one of them for the next. "After" is the compressed
    length of both texts together minus that of the training text.
    """
    held_out = b"".join(document.data for document in corpus.held_out)
    training = b"".join(document.data for document in corpus.training)[-XZ_MEMORY:]
    alone = _xz(held_out)
    after = _xz(training + held_out) - _xz(training)
    return 8 * alone / len(held_out), 8 * after / len(held_out)


def _xz(data: bytes) -> int:
    return len(lzma.compress(data, check=lzma.CHECK_NONE, preset=9 | lzma.PRESET_EXTREME))
