"""Train a byte-level GRU language model on text files, or on the Python manual that ships with CPython.

The run's folder holds checkpoints, the best model, the loss curve (loss.csv, loss.png); see docs/training.md.
"""

import argparse
import contextlib
import dataclasses
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anygru.errors import printable
from anygru.extend import STANDARD_INPUT, Failure, UsageError, bounded, existing, writable

from .language_model import options as options_module

if TYPE_CHECKING:
    from .language_model.checkpoint import RunFolder
    from .language_model.corpus import Corpus
    from .language_model.index import Progress
    from .language_model.session import Job


RUN_FOLDER = "runs/train"
EXPORTED_WEIGHTS = ("float32", "bfloat16", "int8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="files or folders to train on, - for standard input (default: the Python manual)",
    )
    parser.add_argument(
        "--val-file",
        action="append",
        default=[],
        metavar="FILE",
        help="file or folder to validate on; may be repeated (default: parts of the TEXTs are held out)",
    )
    parser.add_argument("--out", default=RUN_FOLDER, metavar="DIR", help="the run's folder (default: %(default)s)")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="continue the run in --out, even if it has finished")
    start.add_argument("--fresh", action="store_true", help="start over, even if the run in --out is unfinished")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar, only a line for each validation")
    parser.add_argument("--tensorboard", action="store_true", help="write event files for TensorBoard into --out")
    parser.add_argument("--wandb", action="store_true", help="send the losses to Weights & Biases (package wandb)")
    parser.add_argument("--no-xz", action="store_true", help="omit the slow comparison with xz from the report")
    parser.add_argument(
        "--export",
        action="append",
        default=[],
        metavar="FILE",
        help="at the end, write the best model: FILE.onnx is one step of inference, FILE.safetensors is frozen; may be repeated",
    )
    parser.add_argument(
        "--export-weights",
        choices=EXPORTED_WEIGHTS,
        help=f"format of the weights of an exported FILE.safetensors (default: {EXPORTED_WEIGHTS[0]})",
    )
    parser.add_argument(
        "--evaluate",
        metavar="MODEL",
        help="do not train: print the bits per byte of MODEL (a run or a file) on --val-file, or on the held-out part",
    )
    options_module.add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Train to the end, or until a signal stops the run; see `anygru.cli` for the exit status."""
    if "torch" not in sys.modules:
        os.environ.update(bounded(os.environ))
    _check_arguments(args)
    _check_files(args)
    from .language_model import evaluate, exports, joined
    from .language_model.checkpoint import RunFolder

    if args.evaluate is not None:
        return evaluate.main(args)
    exports.check(args.export, _read_files(args))
    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        args.fresh = False  # the first attempt has started over; a restart continues its run
    folder = RunFolder(args.out)
    if joined.is_joined():
        return _main_of_joined(args, folder)
    if not folder.holds_a_run():
        options_module.check(options_module.Options(**options_module.given(args)))  # before there is a folder
    folder.prepare()
    with folder.locked():
        job = _job(args, folder)
        corpus = job.load_corpus()
        stopped_by = _guarded(lambda: _train(job, corpus), folder)
        return _end(args, folder, corpus, stopped_by)


_OF_TRAINING = ("resume", "fresh", "tensorboard", "wandb", "no_xz", "export")


def _check_arguments(args: argparse.Namespace) -> None:
    """Raise UsageError for arguments that contradict each other."""
    given = options_module.given(args)
    lengths = [f"--{name}" for name in ("steps", "epochs", "seconds") if name in given]
    if len(lengths) > 1:
        raise UsageError(f"{' and '.join(lengths)} both set the length of the run; give one of them")
    if args.val_file and "val_fraction" in given:
        raise UsageError("--val-file and --val-fraction both choose the held-out text; give one of them")
    if args.export_weights and not any(file.endswith(".safetensors") for file in args.export):
        raise UsageError("--export-weights is for a frozen file; it needs --export FILE.safetensors")
    if args.evaluate is None:
        return
    unused = [options_module.flag(name) for name in given if name not in options_module.USED_IN_EVALUATION]
    unused += ["--out"] if args.out != RUN_FOLDER else []
    unused += [f"--{name.replace('_', '-')}" for name in _OF_TRAINING if getattr(args, name)]
    if unused:
        raise UsageError(f"--evaluate does not train; leave out {', '.join(unused)}")


def _check_files(args: argparse.Namespace) -> None:
    """Raise UsageError for a missing file before torch is imported; in a launched job rank 0 checks later."""
    if "RANK" in os.environ:
        return
    for path in _read_files(args):
        if path != STANDARD_INPUT:
            existing(path)
    writable("--out", args.out, *args.texts, *args.val_file, folder=True)


def _read_files(args: argparse.Namespace) -> list[str]:
    """The files and folders that a training or an evaluation reads."""
    models = (args.evaluate, getattr(args, "init_from", None))
    return [*args.texts, *args.val_file, *(model for model in models if model is not None)]


def _main_of_joined(args: argparse.Namespace, folder: "RunFolder") -> int:
    """`main` for one process of a job that a launcher started."""
    from .language_model import joined

    with contextlib.ExitStack() as stack:

        def make_job(args: argparse.Namespace, folder: "RunFolder") -> "Job":
            folder.prepare()
            stack.enter_context(folder.locked())
            return _job(args, folder)

        part = joined.main(args, make_job)
        corpus = part.job.load_corpus()
        stopped_by = _guarded(lambda: part.train(corpus), folder)
        if part.writes:
            return _end(args, folder, corpus, stopped_by)
        return 128 + stopped_by if stopped_by else 0


def _guarded(train: Callable[[], int], folder: "RunFolder") -> int:
    """Call `train` and return its result; add to its errors how to continue the run."""
    try:
        return train()
    except Failure as failure:
        raise Failure(f"{failure}; {_how_to_go_on(folder)}") from None
    except BrokenPipeError:
        raise  # standard output was closed: not a failure of the run
    except OSError as error:
        place, cause = error.filename or str(folder.path), error.strerror or error
        raise Failure(f"{place}: {cause}; {_how_to_go_on(folder)}") from None


def _end(args: argparse.Namespace, folder: "RunFolder", corpus: "Corpus", stopped_by: int) -> int:
    """Report on the run and return the exit status."""
    from .language_model import exports, report

    if stopped_by:
        print(printable(f"stopped by {signal.Signals(stopped_by).name}; {_how_to_go_on(folder)}"))
        return 128 + stopped_by
    progress = folder.read()
    assert progress is not None  # the training has just written it
    assert progress.best is not None
    report.finish(folder, progress, corpus, xz=not args.no_xz)
    exports.write(args.export, folder.path / progress.best.file.file, args.export_weights or EXPORTED_WEIGHTS[0])
    return 0


def _train(job: "Job", corpus: "Corpus") -> int:
    """Train; return 0, or the number of the signal that stopped the run."""
    if job.options.nproc > 1:
        from .language_model import processes

        return processes.run_together(job)

    from .language_model import session
    from .language_model.trainer import Group

    return session.run(job, corpus, Group(), job.display())


def _job(args: argparse.Namespace, folder: "RunFolder") -> "Job":
    """Return the job, a new run or the run in the folder, and print the choice."""
    from anygru import backends

    from .language_model.session import Job
    from .language_model.trainer import check_device

    given = options_module.given(args)
    texts, val_texts = _files(args.texts), _files(args.val_file)
    if "-" in texts and given.get("nproc", 1) > 1:
        raise UsageError("--nproc needs files: standard input can be read by one process only")
    progress, damage = (None, None) if args.fresh else folder.read_or_fall_back()
    if progress is not None and damage is not None:
        print(f"{printable(damage)}; going on from the older checkpoint of step {progress.step:,}", flush=True)
    resume = progress is not None and (args.resume or not progress.finished)
    if args.resume and progress is None:
        raise UsageError(f"there is no run to resume in {args.out!r}")
    if progress is not None and resume:
        options = _resumed_options(args, progress, given, texts, val_texts)
        texts, val_texts = texts or progress.texts, val_texts or progress.val_texts
        if "-" in texts and "-" not in args.texts:
            raise UsageError("the run reads standard input: pipe the same text in again, and name it as -")
    else:
        options = options_module.check(options_module.Options(**given))
        if folder.holds_a_run():
            line = f"{args.out} holds a run: starting a new one; the old one goes to {args.out}/previous"
            print(printable(line), flush=True)
    if options.backend is not None:
        backends.load(options.backend)
    check_device(options.device)
    if options.init_from and not resume:
        _check_init_from(options)
    return Job(options, texts, args.out, resume, not args.no_progress, val_texts, args.tensorboard, args.wandb)


def _check_init_from(options: options_module.Options) -> None:
    from .language_model.checkpoint import read_model
    from .language_model.generate import build, format_of
    from .language_model.model import Shape

    assert options.init_from is not None
    shape, weights = read_model(options.init_from)
    frozen = format_of(weights)
    if frozen:
        raise UsageError(
            f"--init-from {options.init_from} holds {frozen} weights, which cannot be trained; "
            "start from the model that was frozen"
        )
    if shape != Shape.of(options):
        raise UsageError(f"--init-from {options.init_from} holds a model of {shape}, the run's is {Shape.of(options)}")
    build(shape, weights, options.init_from)  # raises where the file is damaged


def _files(paths: list[str]) -> tuple[str, ...]:
    """Return the absolute paths of the files, and of all files below the folders."""
    from .language_model.corpus import files_of

    return tuple(path if path == "-" else os.path.abspath(path) for each in paths for path in files_of(each))


def _resumed_options(
    args: argparse.Namespace,
    progress: "Progress",
    given: dict[str, Any],
    texts: tuple[str, ...],
    val_texts: tuple[str, ...],
) -> options_module.Options:
    """Return the options of the resumed run; raise UsageError if the given ones would make another run."""
    at = f"step {progress.step:,} of {progress.steps:,}"
    different = options_module.differences(given, progress.options)
    if texts != progress.texts and (texts or not args.resume):
        different.append("other texts")
    if val_texts != progress.val_texts and (val_texts or not args.resume):
        different.append("another --val-file")
    if different:
        raise UsageError(
            f"{args.out!r} holds a run at {at}, which cannot go on with {', '.join(different)}; "
            "leave that out, or start over with --fresh"
        )
    free = {name: value for name, value in given.items() if name in options_module.FREE_ON_RESUME}
    options = options_module.check(dataclasses.replace(progress.options, **free))
    if options.steps is not None and options.steps < progress.step:
        raise UsageError(f"--steps {options.steps} is less than the {progress.step} steps that the run has made")
    alternative = "" if args.resume else " (--fresh would start over)"
    print(printable(f"going on from {at} in {args.out}{alternative}"), flush=True)
    if options.steps is not None and options.steps > progress.steps:
        print(
            f"the learning rate has been lowered for a run of {progress.steps:,} steps; a new run of "
            f"{options.steps:,} steps (--fresh) usually ends with a lower loss",
            flush=True,
        )
    return options


def _how_to_go_on(folder: "RunFolder") -> str:
    progress = folder.read()
    if progress is None:
        return "there is no checkpoint yet"
    return f"saved up to step {progress.step:,}; go on with: anygru train --out {folder.path} --resume"
