"""The files of a run, always a consistent set.

    checkpoint.json                    the step, the options, and the names of the next two files
    state-00000400-<hash>.safetensors  weights, moments of the optimizer, lanes, random state, history
    model-00000300-<hash>.safetensors  the weights that were best on the held-out documents
    checkpoint-00000300.json           with --keep 2 and more: an older checkpoint, which names its two files

The tensor files are named by a hash of their contents and written first. Renaming `checkpoint.json` makes the new set
valid, and the files of the old set are removed afterwards. A kill at any other moment leaves the old set intact (and
possibly an unused file, which the next save removes). Sizes and digests in the JSON file, and a digest of the file
itself, detect damage before anything is used.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from filelock import FileLock, Timeout
from torch import Tensor

from anygru.errors import CheckpointError
from anygru.extend import Budget, UsageError, existing, open_bytes, open_for_replace, parse_json, read_regular

from .index import Best, Progress, TensorFile, from_json, to_json
from .model import Shape

INDEX = "checkpoint.json"
_OLDER = "checkpoint-*.json"  # the index of an older checkpoint, by its step
PREVIOUS = "previous"
# Temporary files that a kill during a write leaves behind.
_UNFINISHED = (".*.safetensors.*.tmp", f".{INDEX}.*.tmp", f".{_OLDER}.*.tmp", ".loss.*.tmp", "..writable.*.tmp")
SHAPE = "anygru language model"  # key of the model's sizes in the metadata of its file


class RunFolder:
    """The folder of one run. Only one process writes into it at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: list[Path] = []
        """The folders that `prepare` made, the run's own first."""

    def prepare(self) -> None:
        """Create the folder if need be; UsageError if nothing can be written there."""
        self._made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with open_for_replace(self.path / ".writable"):
                pass
            (self.path / ".writable").unlink()
        except OSError as error:
            raise UsageError(f"cannot write into {str(self.path)!r}: {error.strerror or error}") from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other trainings; the system releases the lock when the process ends, even by a signal.

        If nothing was written while it was locked, the lock and the folders that `prepare` made are removed.
        """
        lock = self.path / ".lock"
        try:
            with FileLock(lock, timeout=0):
                try:
                    yield
                finally:
                    if list(self.path.iterdir()) == [lock]:
                        with contextlib.suppress(OSError):  # another program may have written or opened something
                            lock.unlink()
                            for folder in self._made:
                                folder.rmdir()
        except Timeout:
            raise UsageError(f"another training is writing into {str(self.path)!r}") from None

    def holds_a_run(self) -> bool:
        """Return whether there is an index, damaged or not."""
        return (self.path / INDEX).exists()

    def read(self) -> Progress | None:
        """Return the index, or None if there is no run. Raises CheckpointError if it is damaged."""
        return self._read_index(self.path / INDEX)

    def read_or_fall_back(self) -> tuple[Progress | None, str | None]:
        """Return the newest whole checkpoint, and the damage of a newer checkpoint if it has any.

        The older index takes the place of the damaged one.

        Raises:
            CheckpointError: the newest checkpoint is damaged, and no older one is whole.
        """
        older = self._older_indices()
        try:
            progress = self.read()
            if progress is not None and older:
                self._check(progress)
            return progress, None
        except CheckpointError as damage:
            for path in older:
                with contextlib.suppress(CheckpointError):
                    progress = self._read_index(path)
                    if progress is not None:
                        self._check(progress)
                        with open_for_replace(self.path / INDEX) as out:
                            out.write(path.read_bytes())
                        return progress, str(damage)
            raise

    def _older_indices(self) -> list[Path]:
        """The indices that `--keep` keeps, newest first."""
        return sorted((path for path in self.path.glob(_OLDER) if path.stem[-8:].isdecimal()), reverse=True)

    def _check(self, progress: Progress) -> None:
        """Raises CheckpointError if a file of a checkpoint has changed since it was written."""
        for entry in progress.files():
            self.read_tensors(entry)

    def _read_index(self, path: Path) -> Progress | None:
        if not path.exists():
            return None
        budget = Budget(path)
        text = open_bytes(path, budget)
        try:
            return from_json(parse_json(text, budget))
        except CheckpointError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"{path} is damaged: {error}") from None

    def read_tensors(self, entry: TensorFile) -> dict[str, Tensor]:
        """Return the tensors of a file in the index. Raises CheckpointError if size or digest differ."""
        path = self.path / entry.file
        data = read_regular(path)
        if len(data) != entry.bytes:
            raise CheckpointError(f"{path} is damaged: it has {len(data)} bytes, and {entry.bytes} by {INDEX}")
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise CheckpointError(f"{path} is damaged: its digest differs from the digest in {INDEX}")
        return _tensors(path, data)

    def save(
        self, progress: Progress, tensors: Mapping[str, Tensor], best_weights: Mapping[str, Tensor] | None = None
    ) -> Progress:
        """Write a checkpoint and remove the files of the old one.

        Args:
            progress: its `state` is set here, and with `best_weights` also the file of its `best`.
            tensors: the state of the training.
            best_weights: the weights of the model if they are the best so far; None keeps the old best file.

        Returns:
            The progress as written.
        """
        changes: dict[str, Any] = {"state": self._write("state", progress.step, tensors, {})}
        if best_weights is not None and progress.best is not None:
            shape = json.dumps(asdict(Shape.of(progress.options)))
            file = self._write("model", progress.best.step, best_weights, {SHAPE: shape})
            changes["best"] = Best(progress.best.step, progress.best.bits_per_byte, file)
        progress = dataclasses.replace(progress, **changes)
        if progress.options.keep > 1:
            self._set_index_aside()
        with open_for_replace(self.path / INDEX, "w") as out:
            json.dump(to_json(progress), out, indent=1)
        self._remove_all_but(progress)
        return progress

    def _write(self, kind: str, step: int, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> TensorFile:
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        data = safetensors.torch.save(whole, metadata=metadata)
        fingerprint = hashlib.sha256(data).hexdigest()
        name = f"{kind}-{step:08d}-{fingerprint[:12]}.safetensors"
        with open_for_replace(self.path / name) as out:
            out.write(data)
        return TensorFile(name, len(data), fingerprint)

    def _set_index_aside(self) -> None:
        """Copy the index to the name of an older checkpoint; its tensor files keep their names."""
        with contextlib.suppress(CheckpointError):  # a damaged index is not kept
            old = self.read()
            if old is not None:
                with open_for_replace(self.path / _OLDER.replace("*", f"{old.step:08d}")) as out:
                    out.write((self.path / INDEX).read_bytes())

    def _remove_all_but(self, progress: Progress) -> None:
        kept = [progress]
        for path in self._older_indices():
            old = None
            with contextlib.suppress(CheckpointError):
                old = self._read_index(path)
            if old is not None and old.step < progress.step and len(kept) < progress.options.keep:
                kept.append(old)
            else:
                path.unlink(missing_ok=True)
        wanted = {entry.file for each in kept for entry in each.files()}
        for pattern in ("state-*.safetensors", "model-*.safetensors", *_UNFINISHED):
            for path in self.path.glob(pattern):
                if path.name not in wanted:
                    path.unlink(missing_ok=True)

    def set_aside(self) -> None:
        """Empty the folder `previous`, and move an existing run into it."""
        if not self.holds_a_run():
            return
        previous = self.path / PREVIOUS
        shutil.rmtree(previous, ignore_errors=True)
        previous.mkdir()
        # The index goes first: without it the tensor files are orphans, not a run.
        for path in [
            self.path / INDEX,
            *self._older_indices(),
            *self.path.glob("*.safetensors"),
            *self.path.glob("loss.*"),
        ]:
            os.replace(path, previous / path.name)


def read_model(path: str | os.PathLike[str]) -> tuple[Shape, dict[str, Tensor]]:
    """The model of a run: its folder, its checkpoint.json, or the file of the weights itself.

    Raises:
        UsageError: there is no such file, or the run has no model yet.
        CheckpointError: the file is damaged, or not one of these.
    """
    given = Path(path)
    if given.is_dir() or given.name == INDEX:
        folder = RunFolder(given if given.is_dir() else given.parent)
        progress = folder.read()
        if progress is None:
            raise UsageError(f"{str(folder.path)!r} holds no run of `anygru train`")
        if progress.best is None:
            raise UsageError(f"the run in {str(folder.path)!r} has no model yet")
        folder.read_tensors(progress.best.file)  # compares the digest
        given = folder.path / progress.best.file.file
    data = read_regular(existing(str(given)))
    tensors = _tensors(given, data)
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return Shape.from_json(json.loads(header["__metadata__"][SHAPE])), tensors
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{given} is not a model of `anygru train`: {_words(error)}") from None


def _tensors(path: Path, data: bytes) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file: {_words(error)}") from None


def _words(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
