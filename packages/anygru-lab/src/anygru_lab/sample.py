"""Generate text from a model of `anygru train`, one byte at a time. Speed and seed are printed to standard error."""

import argparse
import math
import os
import secrets
import sys
import time

from anygru.extend import STANDARD_INPUT, UsageError, count, existing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="folder of a run, or the file of a model (.safetensors)")
    parser.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help="beginning of the text, - for standard input (default: none); may be repeated, one text for each",
    )
    parser.add_argument("--num", type=int, default=1, metavar="N", help="texts for each prompt (default: %(default)s)")
    parser.add_argument("--length", type=int, default=1000, metavar="N", help="in bytes (default: %(default)s)")
    parser.add_argument(
        "--temperature",
        type=float,
        default=0.6,
        metavar="X",
        help="below 1 likelier bytes are preferred, 0 takes the likeliest (default: %(default)s)",
    )
    parser.add_argument("--top-k", type=int, default=0, metavar="N", help="draw among the N likeliest (default: all)")
    parser.add_argument(
        "--top-p",
        type=float,
        default=1.0,
        metavar="X",
        help="draw among the likeliest bytes that together have this probability (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="generate the same text again (default: a random seed)")
    parser.add_argument("--bytes", action="store_true", help="write the raw bytes, even if they are not valid UTF-8")
    parser.add_argument("--backend", metavar="NAME", help="backend of the GRU (default: the fastest that fits)")
    parser.add_argument(
        "--weights",
        choices=("float32", "bfloat16", "int8"),
        help="freeze the GRU with weights in this format (default: the format of the file)",
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads (default: %(default)s)")


def main(args: argparse.Namespace) -> int:
    """Stream text to standard output."""
    _check(args)
    existing(args.model)
    given = [_prompt(text) for text in args.prompt or [""]]
    import torch

    from .language_model.checkpoint import read_model
    from .language_model.generate import build, generate, write_bytes, write_text

    torch.set_num_threads(args.threads)
    seed = secrets.randbits(32) if args.seed is None else args.seed
    shape, weights = read_model(args.model)
    model = build(shape, weights, args.model, args.backend, args.weights)
    write = write_bytes if args.bytes else write_text
    start = time.perf_counter()
    texts = len(given) * args.num
    for number, prompt in enumerate(prompt for prompt in given for _ in range(args.num)):
        if texts > 1:
            write([b"\n" if number else b"", f"--- {number + 1} of {texts}\n".encode()])
        write([prompt])
        # One seed per text: the first text does not depend on --num.
        write(generate(model, prompt, args.length, args.temperature, seed + number, args.top_k, args.top_p))
        write([b"\n"])
    seconds = time.perf_counter() - start
    size = texts * args.length
    print(f"{count(size, 'byte')} in {seconds:.2f} s, {size / seconds:,.0f} bytes/s; seed {seed}", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.length < 0:
        raise UsageError(f"--length must be at least 0, got {args.length}")
    if not (math.isfinite(args.temperature) and args.temperature >= 0):
        raise UsageError(f"--temperature must be at least 0, got {args.temperature}")
    if args.num < 1:
        raise UsageError(f"--num must be at least 1, got {args.num}")
    if args.top_k < 0:
        raise UsageError(f"--top-k must be at least 0, got {args.top_k}")
    if not 0 < args.top_p <= 1:
        raise UsageError(f"--top-p must be above 0 and at most 1, got {args.top_p}")
    if args.seed is not None and not 0 <= args.seed < 1 << 62:
        raise UsageError(f"--seed must be from 0 to {(1 << 62) - 1}, got {args.seed}")
    if not 1 <= args.threads <= 4096:
        raise UsageError(f"--threads must be from 1 to 4096, got {args.threads}")


def _prompt(text: str) -> bytes:
    return sys.stdin.buffer.read() if text == STANDARD_INPUT else os.fsencode(text)
