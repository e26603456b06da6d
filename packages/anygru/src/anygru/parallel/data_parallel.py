"""Data parallelism on torch's DistributedDataParallel, under the contract of `paddle.DataParallel`."""

import contextlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import AnygruError, ArgumentError, ArgumentTypeError

Group = dist.ProcessGroup | None


class ModelMismatchError(AnygruError, ValueError):
    """The processes of a job built different models."""


class DataParallel(nn.Module):
    """A module; backward averages its gradients over the processes of the job.

    Args:
        module: the same model on every process. Rank 0's parameters and persistent buffers replace the values of the
            other ranks here.
        comm_buffer_size: MB of gradients that one all-reduce carries.
        last_comm_buffer_size: MB of the all-reduce that is sent first, for the gradients of the model's end.
        find_unused_parameters: look, in each forward, for parameters that do not take part; costs time.
        group: the processes among which to average; None for all.

    Keep the object while you train: without it, as in `DataParallel(module)(x)`, gradients are not averaged. torch's own
    needs the same.

    `state_dict` and `load_state_dict` are the module's own, without a prefix. Where no process group exists (a world of
    one) the module runs alone. Raises `ModelMismatchError`, on every process and naming the parameter, if a process
    built another model.
    """

    _engine: DistributedDataParallel | None

    def __init__(
        self,
        module: nn.Module,
        comm_buffer_size: float = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Group = None,
    ) -> None:
        super().__init__()
        check_sizes(comm_buffer_size, last_comm_buffer_size)
        self.module = module
        engine = None
        if dist.is_initialized() and dist.get_world_size(group) > 1:
            engine = distribute(module, comm_buffer_size, last_comm_buffer_size, find_unused_parameters, group)
        # Not a submodule: the parameters belong to `module` alone.
        object.__setattr__(self, "_engine", engine)

    def forward(self, *inputs: object, **keywords: object) -> Any:
        """Call `module`."""
        return (self.module if self._engine is None else self._engine)(*inputs, **keywords)

    def no_sync(self) -> AbstractContextManager[None]:
        """Context in which backward accumulates local gradients only; the first backward after it averages."""
        return self._engine.no_sync() if self._engine is not None else contextlib.nullcontext()

    def state_dict(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the module's own method."""
        return self.module.state_dict(*arguments, **keywords)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Call the module's own method."""
        return self.module.load_state_dict(state_dict, strict=strict, assign=assign)


def distribute(
    module: nn.Module,
    comm_buffer_size: float = 25,
    last_comm_buffer_size: float = 1,
    find_unused_parameters: bool = False,
    group: Group = None,
) -> DistributedDataParallel:
    """Check that every process has the same model, give all of them rank 0's values, and let DDP average the gradients.

    Takes the arguments of `DataParallel`, and needs a process group. Call the result instead of `module`.
    """
    check_sizes(comm_buffer_size, last_comm_buffer_size)
    check_same_model(module, group)
    synchronize(module, group)
    accepted = inspect.signature(DistributedDataParallel.__init__).parameters
    options: dict[str, Any] = {}
    if "bucket_cap_mb_list" in accepted:  # torch 2.12
        options["bucket_cap_mb_list"] = [last_comm_buffer_size, comm_buffer_size]
    elif (comm_buffer_size, last_comm_buffer_size) != (25, 1):  # the default of torch as well
        options["bucket_cap_mb"] = comm_buffer_size
    options["forward_sync_buffers" if "forward_sync_buffers" in accepted else "broadcast_buffers"] = False
    if "init_sync" in accepted:  # torch 2.6
        options["init_sync"] = False  # done above
    return DistributedDataParallel(
        module, process_group=group, find_unused_parameters=find_unused_parameters, **options
    )


def check_sizes(comm_buffer_size: float, last_comm_buffer_size: float) -> None:
    """Raise unless both are numbers of MB above 0."""
    for name, value in (("comm_buffer_size", comm_buffer_size), ("last_comm_buffer_size", last_comm_buffer_size)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentTypeError(f"DataParallel: {name} must be a number of MB, got {type(value).__name__}")
        if not value > 0:
            raise ArgumentError(f"DataParallel: {name} must be above 0 MB, got {value}")


def check_same_model(module: nn.Module, group: Group = None) -> None:
    """Raise `ModelMismatchError` on every process of the group if one of them has another model than the first."""
    everyone: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, _description(module), group=group)
    faults = [fault for rank, other in enumerate(everyone) for fault in _differences(everyone[0], other, rank)]
    if faults:
        shown = faults[:5] + ([f"and {len(faults) - 5} more"] if len(faults) > 5 else [])
        raise ModelMismatchError("DataParallel: the processes have different models: " + "; ".join(shown))


def synchronize(module: nn.Module, group: Group = None) -> None:
    """Give every process of the group its first rank's parameters and persistent buffers."""
    source = dist.get_global_rank(group, 0) if group is not None else 0
    with torch.no_grad():
        for _, tensor in _shared_tensors(module):
            dist.broadcast(_plain(tensor), source, group=group)


def average_gradients(parameters: Iterable[Tensor], group: Group = None, bucket_mb: float = 128) -> None:
    """Replace each parameter's gradient by its mean over the processes of the group, in few all-reduces.

    Args:
        parameters: the same parameters in the same order on every process; parameters without a gradient are skipped.
        group: the processes; None for all.
        bucket_mb: the most MB of gradients in one all-reduce.

    Raises `ModelMismatchError` on every process if a parameter has a gradient on some of them only.
    """
    chosen = [parameter for parameter in parameters if parameter.requires_grad]
    _check_same_gradients(chosen, group)
    gradients = [_plain(gradient) for gradient in map(_gradient, chosen) if gradient is not None]
    size = dist.get_world_size(group)
    for bucket in _buckets(gradients, bucket_mb * 2**20):
        flat = torch.cat([gradient.reshape(-1) for gradient in bucket])
        dist.all_reduce(flat, group=group)
        flat /= size
        for gradient, part in zip(bucket, torch.split(flat, [gradient.numel() for gradient in bucket]), strict=True):
            gradient.copy_(part.view_as(gradient))


def _plain(tensor: Tensor) -> Tensor:
    """View the tensor as a plain `torch.Tensor`: a dialect's subclass may override the methods used here."""
    return torch.Tensor.detach(tensor).as_subclass(torch.Tensor)


_grad: Any = torch.Tensor.grad  # torch's own property, even if a subclass overrides it


def _gradient(parameter: Tensor) -> Tensor | None:
    gradient: Tensor | None = _grad.__get__(parameter)
    return gradient


def _shared_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The parameters and persistent buffers, each once, in the module's order."""
    yield from module.named_parameters()
    seen: set[int] = set()
    for prefix, part in module.named_modules():
        for name, buffer in part._buffers.items():
            if buffer is not None and name not in part._non_persistent_buffers_set and id(buffer) not in seen:
                seen.add(id(buffer))
                yield f"{prefix}.{name}" if prefix else name, buffer


def _description(module: nn.Module) -> dict[str, str]:
    """Return shape, dtype and whether it is trained for each tensor, which must agree between processes."""
    description = {}
    for name, tensor in _shared_tensors(module):
        values = _plain(tensor)
        trained = "" if tensor.requires_grad else " (not trained)"
        description[name] = f"{list(values.shape)} {str(values.dtype).removeprefix('torch.')}{trained}"
    return description


def _differences(first: dict[str, str], other: dict[str, str], rank: int) -> Iterator[str]:
    """Yield a description of each difference between a rank's model and rank 0's."""
    for name, here in first.items():
        if name not in other:
            yield f"rank {rank} has no parameter '{name}', which is {here} on rank 0"
        elif other[name] != here:
            yield f"parameter '{name}' is {here} on rank 0 and {other[name]} on rank {rank}"
    for name in other.keys() - first.keys():
        yield f"rank {rank} has a parameter '{name}', {other[name]}, that rank 0 does not have"
    if first.keys() == other.keys() and list(first) != list(other):
        name = next(mine for mine, theirs in zip(first, other, strict=True) if mine != theirs)
        yield f"the parameters of rank {rank} are in another order than on rank 0, from '{name}' on"


def _check_same_gradients(parameters: list[Tensor], group: Group) -> None:
    present = torch.tensor([_gradient(parameter) is not None for parameter in parameters], dtype=torch.int64)
    if dist.get_backend(group) == "nccl":
        present = present.cuda()
    dist.all_reduce(present, group=group)
    size = dist.get_world_size(group)
    for index, count in enumerate(present.tolist()):
        if count not in (0, size):
            shape = list(_plain(parameters[index]).shape)
            raise ModelMismatchError(
                f"average_gradients: parameter {index}, of shape {shape}, has a gradient on {count} of {size} processes"
            )


def _buckets(tensors: list[Tensor], limit: float) -> Iterator[list[Tensor]]:
    """Group consecutive tensors of one dtype and device, up to `limit` bytes a group; a larger tensor is a separate
    group."""
    bucket: list[Tensor] = []
    size = 0
    for tensor in tensors:
        nbytes = tensor.numel() * tensor.element_size()
        like = not bucket or (bucket[0].dtype, bucket[0].device) == (tensor.dtype, tensor.device)
        if bucket and (not like or size + nbytes > limit):
            yield bucket
            bucket, size = [], 0
        bucket.append(tensor)
        size += nbytes
    if bucket:
        yield bucket
