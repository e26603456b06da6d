"""Optimizers, evaluators and datasets for several processes."""

from collections.abc import Callable
from typing import Any

import numpy

from ..dataset import Examples
from ..datasets.combined import SubDataset, TransformDataset
from ..link import Link
from ..optimizer import GradientMethod
from ..training.extensions.evaluator import Evaluator
from .communicators import CommunicatorBase


class MultiNodeOptimizer:
    """An optimizer that averages the gradients over all processes before each update; the rest is the original's.

    The first update only gives the parameters of process 0 to all.
    """

    def __init__(self, actual_optimizer: GradientMethod, communicator: CommunicatorBase, zero_fill: bool) -> None:
        # Past `__setattr__`, which hands everything on to the optimizer inside.
        self.__dict__["communicator"] = communicator
        self.__dict__["actual_optimizer"] = actual_optimizer
        self.__dict__["zero_fill"] = zero_fill
        self.__dict__["_is_synchronized"] = False

    def setup(self, link: Link) -> Any:
        """Set the link to update. Returns self."""
        self.actual_optimizer.setup(link)
        self.__dict__["_is_synchronized"] = False
        return self

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """Compute the gradients (of `lossfun`, if it is given), average them and update."""
        target = self.target
        if lossfun is not None:
            loss = lossfun(*args, **kwds)
            target.cleargrads()
            loss.backward(loss_scale=self.actual_optimizer._loss_scale)
            del loss
        if not self._is_synchronized:
            self.communicator.bcast_data(target)
            self.__dict__["_is_synchronized"] = True
            return
        self.communicator.multi_node_mean_grad(target, self.zero_fill)
        self.actual_optimizer.update()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["actual_optimizer"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.actual_optimizer, name, value)


def create_multi_node_optimizer(
    actual_optimizer: GradientMethod,
    communicator: CommunicatorBase,
    double_buffering: bool = False,
    zero_fill: bool = True,
) -> MultiNodeOptimizer:
    """An optimizer that averages gradients over all processes.

    Args:
        actual_optimizer: the optimizer to wrap.
        communicator: see `create_communicator`.
        double_buffering: must be False (NotImplementedError): it delays gradients by a step.
        zero_fill: take missing gradients for zeros.
    """
    if double_buffering:
        raise NotImplementedError(
            "create_multi_node_optimizer: double_buffering=True is not covered; "
            "torch.nn.parallel.DistributedDataParallel overlaps communication with computation"
        )
    return MultiNodeOptimizer(actual_optimizer, communicator, zero_fill)


def create_multi_node_evaluator(actual_evaluator: Evaluator, communicator: CommunicatorBase) -> Any:
    """The evaluator, changed so that its results are the means over all processes."""
    local_evaluate = actual_evaluator.evaluate

    def evaluate() -> dict[str, Any]:
        results = communicator.allgather_obj({key: float(value) for key, value in local_evaluate().items()})
        return {key: sum(result[key] for result in results) / len(results) for key in sorted(results[0])}

    actual_evaluator.evaluate = evaluate  # type: ignore[method-assign]
    return actual_evaluator


def scatter_dataset(
    dataset: Examples,
    comm: CommunicatorBase,
    root: int = 0,
    shuffle: bool = False,
    seed: int | None = None,
    max_buf_len: int = 0,
    *,
    force_equal_length: bool = True,
) -> Any:
    """A part of the dataset of process `root` for each process.

    Args:
        shuffle: deal the examples out in random order (the same in all processes).
        seed: of that order.
        force_equal_length: make all parts as long as the longest, by giving some examples twice.
    """
    dataset = comm.bcast_obj(dataset if comm.rank == root else None, root=root)
    n_examples = len(dataset)
    order = numpy.arange(n_examples)
    if shuffle:
        order = numpy.random.RandomState(comm.bcast_obj(_seed(seed), root=root)).permutation(n_examples)
    if force_equal_length:
        size = -(-n_examples // comm.size)
        start = n_examples * comm.rank // comm.size
        stop = min(start + size, n_examples)
        start = max(stop - size, 0)
    else:
        start, stop = (n_examples * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    return SubDataset(dataset, start, stop, order)


def _seed(seed: int | None) -> int:
    return int(numpy.random.randint(2**31)) if seed is None else seed


def create_empty_dataset(dataset: Examples) -> Any:
    """A dataset of the same length with empty tuples as examples."""
    return TransformDataset(dataset, lambda example: ())
