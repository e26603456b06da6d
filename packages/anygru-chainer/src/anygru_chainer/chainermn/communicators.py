"""Communication between processes."""

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
import torch.distributed as dist

from anygru import parallel

from ..backends._tensors import as_array, as_tensor
from ..link import Link
from ..types import DTypeSpec, NdArray

# The original's names of communicators. All do the same over torch.distributed, which chooses the way itself.
NAMES = ("naive", "flat", "pure_nccl", "non_cuda_aware", "hierarchical", "two_dimensional", "single_node")


def create_communicator(
    communicator_name: str = "pure_nccl", mpi_comm: None = None, allreduce_grad_dtype: DTypeSpec = None, **kwargs: Any
) -> "CommunicatorBase":
    """A communicator between all processes.

    Args:
        communicator_name: one of the original's names (ValueError otherwise); "pure_nccl" needs a GPU in each process.
        mpi_comm: must be None: there is no MPI (ValueError).
        allreduce_grad_dtype: float dtype in which gradients are averaged; None for their own.

    Raises:
        RuntimeError: "pure_nccl" without CUDA.
        TypeError: an unknown keyword.
    """
    if communicator_name not in NAMES:
        raise ValueError(f"Unrecognized communicator: {communicator_name!r}; known are {', '.join(NAMES)}")
    if mpi_comm is not None:
        raise ValueError(
            f"mpi_comm must be None, got {mpi_comm!r}: processes are joined by torch.distributed, not by MPI"
        )
    if kwargs:
        raise TypeError(f"create_communicator() got unexpected keyword argument(s) {sorted(kwargs)}")
    if communicator_name == "pure_nccl" and not torch.cuda.is_available():
        raise RuntimeError("the communicator 'pure_nccl' needs CUDA, which torch does not find; on CPUs use 'naive'")
    dtype = None if allreduce_grad_dtype is None else numpy.dtype(allreduce_grad_dtype)
    if dtype is not None and dtype.kind != "f":
        raise ValueError(f"allreduce_grad_dtype must be a float dtype, got {dtype}")
    return CommunicatorBase("nccl" if communicator_name == "pure_nccl" else "gloo", dtype)


class CommunicatorBase:
    """Communication between the processes. A rank is the number of a process, from 0 to `size` - 1."""

    def __init__(self, backend: str, allreduce_grad_dtype: numpy.dtype | None) -> None:
        parallel.start(backend, alone=True, timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
        self._grad_dtype = allreduce_grad_dtype
        self._inbox: dict[int, list[tuple[int, Any]]] = {}

    rank = property(lambda self: dist.get_rank(), doc="The number of this process.")
    size = property(lambda self: dist.get_world_size(), doc="The number of processes.")

    @property
    def intra_rank(self) -> int:
        """The number of this process on its machine."""
        return int(os.environ.get("LOCAL_RANK", 0))

    @property
    def intra_size(self) -> int:
        """The number of processes on this machine."""
        return int(os.environ.get("LOCAL_WORLD_SIZE", self.size))

    inter_rank = property(lambda self: int(os.environ.get("GROUP_RANK", 0)), doc="The number of this machine.")
    inter_size = property(lambda self: int(os.environ.get("GROUP_WORLD_SIZE", 1)), doc="The number of machines.")

    def barrier(self) -> None:
        """Wait for all processes."""
        dist.barrier()

    def finalize(self) -> None:
        """Leave the group of processes."""
        parallel.stop()

    def bcast_obj(self, obj: Any, max_buf_len: int = 0, root: int = 0) -> Any:
        """The object of one process."""
        objects = [obj]
        dist.broadcast_object_list(objects, root)
        return objects[0]

    def allgather_obj(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank."""
        objects: list[Any] = [None] * self.size
        dist.all_gather_object(objects, obj)
        return objects

    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        """The objects of all processes in process `root`; None in other processes."""
        objects = self.allgather_obj(obj)
        return objects if self.rank == root else None

    def allreduce_obj(self, obj: Any, op: Callable[[Any, Any], Any] = operator.add) -> Any:
        """The objects of all processes, added up (dictionaries and lists element by element) or joined by `op`."""
        objects = self.allgather_obj(obj)
        total = objects[0]
        for other in objects[1:]:
            total = _combine(total, other, op)
        return total

    def bcast(self, array: NdArray, root: int = 0) -> Any:
        """The array of one process. The others pass None or an array of its shape and dtype."""
        return self.bcast_obj(array, root=root)

    def allreduce(self, array: NdArray) -> Any:
        """The sum of the arrays of all processes."""
        # torch sums in place, and the caller keeps its array.
        tensor = as_tensor(array).clone()
        dist.all_reduce(tensor)
        return as_array(tensor)

    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object to a process."""
        dist.send_object_list([(tag, obj)], dest)

    def recv_obj(self, source: int, tag: int = 0) -> Any:
        """The next object of this tag from a process; objects with other tags are kept for later calls."""
        kept = self._inbox.setdefault(source, [])
        while True:
            for place, (found, obj) in enumerate(kept):
                if found == tag:
                    del kept[place]
                    return obj
            received: list[Any] = [None]
            dist.recv_object_list(received, source)
            kept.append(received[0])

    send, recv = send_obj, recv_obj

    def allgather(self, x: NdArray) -> tuple[NdArray, ...]:
        """The arrays of all processes, by rank."""
        return tuple(self.allgather_obj(x))

    def alltoall(self, xs: Sequence[NdArray]) -> tuple[NdArray, ...]:
        """The values of each process for this one, by rank, where `xs` are the arrays for each of them."""
        return tuple([sent[self.rank] for sent in self.allgather_obj(tuple(xs))])

    def gather(self, x: NdArray, root: int = 0) -> tuple[NdArray, ...] | None:
        """The arrays of all processes in process `root`; None in other processes."""
        found = self.gather_obj(x, root)
        return None if found is None else tuple(found)

    def scatter(self, xs: Sequence[NdArray] | None, root: int = 0) -> NdArray:
        """One of the arrays of process `root` for each process."""
        return self.bcast_obj(None if xs is None else tuple(xs), root=root)[self.rank]

    def multi_node_mean(self, sendbuf: NdArray, recvbuf: NdArray) -> None:
        """Write the mean of the arrays of all processes into `recvbuf`."""
        target = as_tensor(recvbuf)
        target.copy_(as_tensor(sendbuf))
        dist.all_reduce(target)
        target.div_(self.size)

    def bcast_data(self, model: Link) -> None:
        """Give the parameters of process 0 to the models of all processes."""
        # Sorted, since all processes must send in one order.
        for _, param in sorted(model.namedparams()):
            if param.array is not None:
                dist.broadcast(as_tensor(param.array), 0)

    def multi_node_mean_grad(self, model: Link, zero_fill: bool = False) -> None:
        """Replace all gradients by their means over the processes, in one message a dtype.

        Args:
            zero_fill: take a missing gradient for zeros instead of leaving the parameter out.
        """
        grads: dict[Any, list[torch.Tensor]] = {}
        for _, param in sorted(model.namedparams()):
            if param.array is not None and param.grad is None and zero_fill:
                param.grad = param.xp.zeros_like(param.array)
            if param.array is not None and param.grad is not None:
                grad = as_tensor(param.grad)
                grads.setdefault(grad.dtype, []).append(grad)
        for tensors in grads.values():
            flat = torch.cat([grad.reshape(-1) for grad in tensors])
            if self._grad_dtype is not None:
                flat = flat.to(as_tensor(numpy.empty(0, self._grad_dtype)).dtype)
            dist.all_reduce(flat)
            flat /= self.size
            for grad, part in zip(tensors, flat.split([grad.numel() for grad in tensors]), strict=True):
                grad.copy_(part.reshape(grad.shape))

    allreduce_grad = multi_node_mean_grad
    broadcast_data = bcast_data


def _combine(a: Any, b: Any, op: Callable[[Any, Any], Any]) -> Any:
    if isinstance(a, dict):
        return {key: _combine(a[key], b[key], op) for key in a}
    if isinstance(a, (list, tuple)):
        return type(a)(_combine(x, y, op) for x, y in zip(a, b, strict=True))
    return op(a, b)
