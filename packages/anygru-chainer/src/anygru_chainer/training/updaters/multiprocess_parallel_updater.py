"""The updater for several GPUs with a process each, joined by `torch.distributed`."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import torch
import torch.distributed as dist
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from anygru import extend

from ... import backend
from ...backends._tensors import as_array, as_tensor
from ...dataset import call_converter, concat_examples
from ...iterators import _processes
from ...link import Link
from ...optimizer import Optimizer
from ...reporter import Reporter
from ...types import NdArray
from .standard_updater import StandardUpdater, as_arguments

__all__ = ["MultiprocessParallelUpdater"]


# Chainer 7.8.1 multiplies `eps` by this power of the number of devices (read), because the gradients are sums.
_EPS_POWERS = {"Adam": 1, "AdaGrad": 1, "RMSprop": 1, "RMSpropGraves": 2, "AdaDelta": 2}


class MultiprocessParallelUpdater(StandardUpdater):
    """The process of each device computes the gradients of its batch; the first process adds them and updates.

    Links report the values of the first device.

    Args:
        iterators: an iterator for each device, over datasets of one length (AssertionError).
        optimizer: the optimizer. Its `eps`, or without `eps` its `lr`, is changed with a warning, as gradients are sums
        of batches.
        converter: converts a batch to arrays.
        devices: list of GPUs, or a dictionary with "main" (otherwise ValueError); the first or "main" updates.
        auto_new_epoch: call the optimizer's `new_epoch` at the end of each epoch.

    Raises:
        Exception: without NCCL, as in Chainer; ask `available()`.
        RuntimeError: CUDA is in use already and the program's processes are forked.
    """

    def __init__(
        self,
        iterators: Sequence[Any],
        optimizer: Optimizer,
        converter: Callable[..., Any] = concat_examples,
        devices: Any = None,
        auto_new_epoch: bool = True,
    ) -> None:
        if not self.available():
            raise Exception("NCCL is not enabled. MultiprocessParallelUpdater requires torch with CUDA and NCCL.")
        if torch.cuda.is_initialized() and _processes.context().get_start_method() == "fork":
            raise RuntimeError(
                "The CUDA context has been already initialized, so processes cannot be forked: create the updater before "
                "CUDA is used, or call multiprocessing.set_start_method('spawn')"
            )
        if len(iterators) != len(devices) or len({len(iterator.dataset) for iterator in iterators}) > 1:
            raise AssertionError("each device needs an iterator, and their datasets must have one length")
        _scale(optimizer, len(devices))
        super().__init__(iterators[0], optimizer, converter, auto_new_epoch=auto_new_epoch)
        if isinstance(devices, dict):
            devices = [devices["main"], *[device for name, device in devices.items() if name != "main"]]
        if not isinstance(devices, (list, tuple)):
            raise ValueError(f"devices argument should be either dict, list or tuple, but {type(devices)} was given.")
        if any(device is None for device in devices):
            raise ValueError("GPU devices must be specified.")
        self._master: Any = optimizer.target
        self._devices = [backend.get_device(device) for device in devices]
        self._mpu_iterators = iterators
        self._pipes: list[Any] = []
        self._workers: list[Any] = []
        self._initialized = False

    @staticmethod
    def available() -> bool:
        """Whether there are CUDA and NCCL."""
        return torch.cuda.is_available() and dist.is_nccl_available()

    def setup_workers(self) -> None:
        """Start the processes, at the first call."""
        if self._initialized:
            return
        self._initialized = True
        self._master.cleargrads()
        context: Any = _processes.context()
        size = len(self._devices)
        store = extend.serve_store() if size > 1 else None
        for rank in range(1, size):
            pipe, end = context.Pipe()
            iterator, device = self._mpu_iterators[rank], self._devices[rank]
            arguments = (end, store.port, rank, size, device, self._master, iterator, self.converter)  # type: ignore[union-attr]
            worker = context.Process(target=_work, args=arguments, daemon=True)
            _processes.start(worker)
            self._pipes.append(pipe)
            self._workers.append(worker)
        self._master.to_device(self._devices[0])
        if store is not None:
            self._send("join")
            _join(store, 0, size, self._devices[0])

    def _send(self, message: str) -> None:
        for pipe in self._pipes:
            pipe.send(message)

    def update_core(self) -> None:
        self.setup_workers()
        self._send("update")
        optimizer, iterator = self.get_optimizer("main"), self.get_iterator("main")
        _gradients(self._master, iterator, self.converter, self._devices[0])
        if self._workers:
            total = _flat(self._master, "grad")
            dist.reduce(total, 0)
            scatter_grads(self._master, as_array(total))
        optimizer.update()
        if self._workers:
            dist.broadcast(_flat(self._master, "array"), 0)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def finalize(self) -> None:
        self._send("finalize")
        for worker in self._workers:
            worker.join()
        if self._workers:
            dist.destroy_process_group()
        self._pipes, self._workers = [], []
        super().finalize()


def _scale(optimizer: Any, n: int) -> None:
    """Change `eps` or `lr` for gradients that are sums over n batches, and warn."""
    power = _EPS_POWERS.get(type(optimizer).__name__)
    if power is not None:
        optimizer.eps *= n**power
    elif hasattr(optimizer, "lr"):
        optimizer.lr /= n
    else:
        return
    name = "lr" if power is None else "eps"
    value = getattr(optimizer, name)
    warnings.warn(f"optimizer.{name} is changed to {value} by MultiprocessParallelUpdater for new batch size.")


def _join(store: Any, rank: int, size: int, device: Any) -> None:
    dist.init_process_group("gloo" if device.xp is numpy else "nccl", store=store, rank=rank, world_size=size)


def _gradients(model: Any, iterator: Any, converter: Callable[..., Any], device: Any) -> None:
    """Set the model's gradients for the iterator's next batch."""
    with device.create_context():
        args, kwargs = as_arguments(call_converter(converter, iterator.next(), device))
        loss = model(*args, **kwargs)
        model.cleargrads()
        loss.backward()


def _work(
    pipe: Any, port: int, rank: int, size: int, device: Any, model: Any, iterator: Any, converter: Callable[..., Any]
) -> None:
    """The loop of a process: it computes gradients on request, until it receives "finalize" or the pipe closes."""
    reporter = Reporter()
    try:
        while (message := pipe.recv()) != "finalize":
            if message == "join":
                model.to_device(device)
                reporter.add_observer("main", model)
                reporter.add_observers("main", model.namedlinks(skipself=True))
                _join(TCPStore("127.0.0.1", port, size, is_master=False), rank, size, device)
                continue
            with reporter.scope({}):
                _gradients(model, iterator, converter, device)
            dist.reduce(_flat(model, "grad"), 0)
            model.cleargrads()
            values = _flat(model, "array")
            dist.broadcast(values, 0)
            scatter_params(model, as_array(values))
    except EOFError:
        return
    dist.destroy_process_group()


def _parameters(link: Link) -> Iterator[Any]:
    return (parameter for _, parameter in sorted(link.namedparams()) if parameter.size)


def size_num_grads(link: Link) -> tuple[int, int]:
    """The number of elements of a link's parameters, and the number of parameters that have any."""
    sizes = [parameter.size for parameter in _parameters(link)]
    return sum(sizes), len(sizes)


def _flat(link: Link, target: str) -> Any:
    """One tensor of all arrays or gradients of a link, by the names of the parameters; float16 as float32."""
    tensors = []
    for parameter in _parameters(link):
        values, held = as_tensor(parameter.array), getattr(parameter, target)
        tensor = torch.zeros_like(values) if held is None else as_tensor(held)
        tensors.append(tensor.flatten().to(torch.promote_types(tensor.dtype, torch.float32)))
    return torch.cat(tensors)


def _gather(link: Link, target: str, name: str) -> NdArray:
    if link.xp is numpy:
        raise RuntimeError(f"{name} works only on GPU.")
    return as_array(_flat(link, target))


def gather_grads(link: Link) -> NdArray:
    """One array of a link's gradients on a GPU, zeros where there is none (RuntimeError on the CPU, as in Chainer)."""
    return _gather(link, "grad", "gather_grads")


def gather_params(link: Link) -> NdArray:
    """One array of a link's parameters on a GPU (RuntimeError on the CPU, as in Chainer)."""
    return _gather(link, "array", "Link.gather_params")


def _scatter(link: Link, array: NdArray, target: str) -> None:
    start = 0
    for parameter in _parameters(link):
        part = array[start : start + parameter.size].reshape(parameter.shape)
        start += parameter.size
        held = getattr(parameter, target)
        if held is None:
            setattr(parameter, target, part.astype(parameter.dtype))
        else:
            held[...] = part.astype(held.dtype)


def scatter_grads(link: Link, array: NdArray) -> None:
    """Write a result of `gather_grads` back into the link's gradients."""
    _scatter(link, array, "grad")


def scatter_params(link: Link, array: NdArray) -> None:
    """Write a result of `gather_params` back into the link's parameters."""
    _scatter(link, array, "array")
