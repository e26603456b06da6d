"""Train a byte-level GRU language model on text files, or on the Python manual that ships with CPython.

The run's folder holds checkpoints, the best model, the loss curve (loss.csv, loss.png); see docs/training.md.
"""

import argparse
import dataclasses
import os
import signal
from typing import TYPE_CHECKING, Any

from . import Failure, UsageError
from .language_model import options as options_module

if TYPE_CHECKING:
    from .language_model.checkpoint import Progress, RunFolder
    from .language_model.corpus import Corpus
    from .language_model.session import Job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="files to train on (default: the Python manual)")
    parser.add_argument("--out", default="runs/train", metavar="DIR", help="the run's folder (default: %(default)s)")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on with the run in --out, also after it has finished")
    start.add_argument("--fresh", action="store_true", help="start over, even if the run in --out is unfinished")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar, only a line for each validation")
    options_module.add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Train to the end, or until a signal stops the run; see `anygru.cli` for the exit status."""
    from .language_model import corpus as corpus_module
    from .language_model import report
    from .language_model.checkpoint import RunFolder

    folder = RunFolder(args.out)
    folder.prepare()
    with folder.locked():
        job = _job(args, folder)
        corpus = corpus_module.load(job.texts)
        try:
            stopped_by = _train(job, corpus)
        except Failure as failure:
            raise Failure(f"{failure}; {_how_to_go_on(folder)}") from None
        except BrokenPipeError:
            raise  # the reader of standard output closed it: not a failure of the run
        except OSError as error:
            place, cause = error.filename or str(folder.path), error.strerror or error
            raise Failure(f"{place}: {cause}; {_how_to_go_on(folder)}") from None
        if stopped_by:
            print(f"stopped by {signal.Signals(stopped_by).name}; {_how_to_go_on(folder)}")
            return 128 + stopped_by
        progress = folder.read()
        assert progress is not None  # the training has just written it
        report.finish(folder, progress, corpus)
    return 0


def _train(job: "Job", corpus: "Corpus") -> int:
    """Train; return 0, or the number of the signal that stopped the run."""
    if job.options.nproc > 1:
        from .language_model import processes

        return processes.run_together(job)

    from .language_model import session
    from .language_model.progress import Screen
    from .language_model.trainer import Group

    return session.run(job, corpus, Group(), Screen(job.bar))


def _job(args: argparse.Namespace, folder: "RunFolder") -> "Job":
    """Return the job: a new run or the one in the folder; print which, unless it is obvious."""
    from .. import backends
    from .language_model.session import Job

    given = options_module.given(args)
    if "steps" in given and "seconds" in given:
        raise UsageError("--steps and --seconds both set the length of the run; give one of them")
    texts = tuple(os.path.abspath(path) for path in args.texts)
    progress, damage = (None, None) if args.fresh else folder.read_or_fall_back()
    if progress is not None and damage is not None:
        print(f"{damage}; going on from the older checkpoint of step {progress.step:,}", flush=True)
    resume = progress is not None and (args.resume or not progress.finished)
    if args.resume and progress is None:
        raise UsageError(f"there is no run to resume in {args.out!r}")
    if progress is not None and resume:
        options = _resumed_options(args, progress, given, texts)
        texts = texts or progress.texts
    else:
        options = options_module.check(options_module.Options(**given))
        if folder.holds_a_run():
            print(f"{args.out} holds a run: starting a new one; the old one goes to {args.out}/previous", flush=True)
    if options.backend is not None:
        backends.load(options.backend)
    return Job(options, texts, args.out, resume, bar=not args.no_progress)


def _resumed_options(
    args: argparse.Namespace, progress: "Progress", given: dict[str, Any], texts: tuple[str, ...]
) -> options_module.Options:
    """Return the options to resume with; UsageError if the given ones belong to another run."""
    at = f"step {progress.step:,} of {progress.steps:,}"
    different = options_module.differences(given, progress.options)
    if texts != progress.texts and (texts or not args.resume):
        different.append("other texts")
    if different:
        raise UsageError(
            f"{args.out!r} holds a run at {at}, which cannot go on with {', '.join(different)}; "
            "leave that out, or start over with --fresh"
        )
    free = {name: value for name, value in given.items() if name in options_module.FREE_ON_RESUME}
    options = options_module.check(dataclasses.replace(progress.options, **free))
    if options.steps is not None and options.steps < progress.step:
        raise UsageError(f"--steps {options.steps} is less than the {progress.step} steps that the run has made")
    print(f"going on from {at} in {args.out}" + ("" if args.resume else " (--fresh would start over)"), flush=True)
    return options


def _how_to_go_on(folder: "RunFolder") -> str:
    progress = folder.read()
    if progress is None:
        return "there is no checkpoint yet"
    return f"saved up to step {progress.step:,}; go on with: anygru train --out {folder.path} --resume"
