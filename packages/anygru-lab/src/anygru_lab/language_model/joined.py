"""Training as one process of a job that a launcher started: `anygru launch -m anygru train ...`, on one machine or many.

Only rank 0 reads and writes the run's folder and prints; it sends the job to the other ranks. A restarted job
(`--max-restarts`) continues from the last checkpoint.
"""

import argparse
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch.distributed

from anygru import parallel
from anygru.errors import CheckpointError
from anygru.extend import UsageError

from .checkpoint import RunFolder
from .progress import Display
from .session import Job, run
from .trainer import ConnectionLost, Group

if TYPE_CHECKING:
    from .corpus import Corpus


def is_joined() -> bool:
    """Return whether a launcher started this process as one of several."""
    return parallel.world().size > 1


def main(args: argparse.Namespace, make_job: Callable[[argparse.Namespace, RunFolder], Job]) -> "Joined":
    """Connect, and let rank 0 choose the job for all."""
    try:
        place = parallel.start()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ConnectionLost(f"the processes of the job did not find each other: {reason}") from None
    folder = RunFolder(args.out)
    group = Group(place.rank, place.size)
    _check_folder(folder, group)

    def choose() -> Job:
        job = make_job(args, folder)
        if job.options.nproc > 1:
            raise UsageError(
                "--nproc is for one machine without a launcher; the launcher's --nproc-per-node counts here"
            )
        if place.size > job.options.batch:
            raise UsageError(f"--batch {job.options.batch} is less than the {place.size} processes; each needs a lane")
        return job

    return Joined(group, group.of_rank_0(choose))


class Joined:
    """The job on one process."""

    def __init__(self, group: Group, job: Job) -> None:
        self.group, self.job = group, job

    @property
    def writes(self) -> bool:
        """Whether this process reads and writes the folder, and prints."""
        return self.group.rank == 0

    def train(self, corpus: "Corpus") -> int:
        """`session.run`."""
        return run(self.job, corpus, self.group, self.job.display() if self.writes else Display())


def _check_folder(folder: RunFolder, group: Group) -> None:
    """Raise on all processes if the newest checkpoint of the run is not on the machine of rank 0."""
    step = -1
    with contextlib.suppress(CheckpointError):  # rank 0 will find out itself
        progress = folder.read()
        step = -1 if progress is None else progress.step
    steps: list[int] = [0] * group.size
    torch.distributed.all_gather_object(steps, step)
    newest = max(range(group.size), key=lambda rank: steps[rank])
    if steps[newest] > steps[0]:
        raise UsageError(
            f"the run in {str(folder.path)!r} is on the machine of rank {newest}, and rank 0 writes it; "
            "name a folder that all machines share"
        )
