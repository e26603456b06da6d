"""`anygru train --evaluate`: the bits per byte of a trained model."""

import argparse
import dataclasses
import os
import sys

import torch

from anygru.errors import printable
from anygru.extend import UsageError, count

from .checkpoint import RunFolder, read_model
from .corpus import load
from .generate import build, format_of
from .options import Options, check, given
from .trainer import Group, Trainer, check_device


def main(args: argparse.Namespace) -> int:
    """Print the bits per byte of the model `args.evaluate` on a held-out text; return 0.

    The text is `--val-file`, or the held-out part of the texts; without texts, the held-out part of the run's own.
    """
    shape, weights = read_model(args.evaluate)
    sizes = {"layers": shape.layers, "hidden": shape.hidden, "embedding": shape.embedding, "tie": shape.tied}
    options = check(Options(**{**given(args), **sizes, "layer_dropout": 0.0}))
    check_device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    texts, val_texts = args.texts, args.val_file
    run = RunFolder(args.evaluate).read() if os.path.isdir(args.evaluate) else None
    if run is not None and not texts and not val_texts:
        texts, val_texts = run.texts, run.val_texts
        options = dataclasses.replace(options, val_fraction=run.options.val_fraction)
    corpus = load(texts, val_texts, options.val_fraction)
    for warning in corpus.warnings:
        print(printable(f"warning: {warning}"), file=sys.stderr)
    trainer = Trainer(options, corpus, Group())
    model = build(shape, weights, args.evaluate, options.backend)
    if format_of(weights):
        if options.layer == "torch":
            raise UsageError(f"--layer torch cannot evaluate frozen weights, and {args.evaluate} holds some")
        trainer.model = model.to(trainer.device)
    else:
        with torch.no_grad():
            trainer.load_weights(weights)
    bits, size = trainer.validate(), sum(map(len, corpus.held_out))
    print(f"{bits:.4f} bits per byte on {count(size, 'byte')}")
    return 0
