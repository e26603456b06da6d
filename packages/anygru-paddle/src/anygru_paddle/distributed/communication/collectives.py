"""The collectives, on torch.distributed. Each returns a task to wait for; None where this process is not in the group.

`src` and `dst` are global ranks. With `sync_op=False` the call returns at once and the task's `wait()` finishes it.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from ...tensor.operation import plain, wrap
from .group import Group, resolve
from .reduce_op import TORCH_OPS, ReduceOp, check_op


class Task:
    """A collective under way. `then` runs once, when it is known to be complete."""

    def __init__(self, work: Any = None, then: Callable[[], None] | None = None) -> None:
        self._work = work
        self._then = then

    def wait(self) -> bool:
        """Wait for the result; True."""
        if self._work is not None:
            self._work.wait()
            self._work = None
        if self._then is not None:
            then, self._then = self._then, None
            then()
        return True

    def is_completed(self) -> bool:
        """Whether the result is available."""
        return self._work is None or self._work.is_completed()

    def synchronize(self) -> None:
        """Wait."""
        self.wait()


def finish(task: Task, sync_op: bool) -> Task:
    """Return the task; a synchronous call waits for it."""
    if sync_op:
        task.wait()
    return task


def raw(tensor: Any, name: str) -> torch.Tensor:
    """The values of a tensor argument as torch's collectives take them: its own memory, outside the gradient graph."""
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(f"(InvalidArgument) {name} must be Tensor, but got {type(tensor).__name__}")
    return plain(tensor.detach())


def raw_list(tensors: Any, name: str) -> list[torch.Tensor]:
    """The same for a list of tensors."""
    if not isinstance(tensors, (list, tuple)):
        raise ValueError(f"(InvalidArgument) {name} must be list of Tensor, but got {type(tensors).__name__}")
    return [raw(tensor, f"{name}[{index}]") for index, tensor in enumerate(tensors)]


def all_reduce(tensor: Any, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Replace the tensor on every process by the reduction of all of them.

    Raises:
        RuntimeError: where there is no group (one process, or before `init_parallel_env`).
    """
    check_op(op, "all_reduce")
    members = resolve(group)
    if members is None:
        return None
    return finish(_reduce_with(dist.all_reduce, raw(tensor, "tensor"), op, members), sync_op)


def reduce(
    tensor: Any, dst: int, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Replace the tensor on process `dst` by the reduction of all of them; the others keep theirs."""
    check_op(op, "reduce")
    members = resolve(group)
    if members is None:
        return None
    value = raw(tensor, "tensor")
    if dist.get_rank() != dst:
        value = value.clone()  # torch leaves intermediate sums in it
    return finish(_reduce_with(functools.partial(dist.reduce, dst=dst), value, op, members), sync_op)


def _reduce_with(call: Callable[..., Any], value: torch.Tensor, op: int, members: Group) -> Task:
    """Reduce in place; booleans travel as integers, and a mean is divided at the end."""
    carried = value.to(torch.int32) if value.dtype == torch.bool else value.contiguous()

    def complete() -> None:
        if op == ReduceOp.AVG:
            carried.copy_(carried / members.nranks)
        if carried is not value:
            value.copy_(carried)

    work = call(carried, op=TORCH_OPS[op], group=members.process_group, async_op=True)
    return Task(work, complete)


def all_gather(tensor_list: list[Any], tensor: Any, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Collect every process's tensor, in the order of ranks: appended to an empty list, or written into its tensors."""
    members = resolve(group)
    if members is None:
        return None
    value = raw(tensor, "tensor").contiguous()
    if not tensor_list:
        tensor_list.extend(wrap(torch.empty_like(value)) for _ in range(members.nranks))
    parts = raw_list(tensor_list, "tensor_list")
    work = dist.all_gather(parts, value, group=members.process_group, async_op=True)
    return finish(Task(work), sync_op)


def gather(
    tensor: Any, gather_list: list[Any] | None = None, dst: int = 0, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Collect the tensor of every process on process `dst`, in an empty list or into its tensors."""
    members = resolve(group)
    if members is None:
        return None
    value = raw(tensor, "tensor").contiguous()
    parts = None
    if dist.get_rank() == dst:
        if gather_list is None:
            raise ValueError("gather_list should not be none for dst")
        if not gather_list:
            gather_list.extend(wrap(torch.empty_like(value)) for _ in range(members.nranks))
        parts = raw_list(gather_list, "gather_list")
    elif gather_list is not None:
        warnings.warn("Specific `gather_list` is meaningless for rank which is not dst.", stacklevel=2)
    return finish(Task(dist.gather(value, parts, dst, group=members.process_group, async_op=True)), sync_op)


def broadcast(tensor: Any, src: int, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Overwrite the tensor on every process with the tensor of process `src`."""
    members = resolve(group)
    if members is None:
        return None
    value = raw(tensor, "tensor")
    carried = value.contiguous()
    work = dist.broadcast(carried, src, group=members.process_group, async_op=True)

    def complete() -> None:
        if carried is not value:
            value.copy_(carried)

    return finish(Task(work, complete), sync_op)


def scatter(
    tensor: Any, tensor_list: Any = None, src: int = 0, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Write into the tensor of each process its part of the list that process `src` gives."""
    members = resolve(group)
    if members is None:
        return None
    parts = None
    if dist.get_rank() == src:
        if not tensor_list:
            raise RuntimeError("The tensor_list should not be empty on src rank.")
        parts = [part.contiguous() for part in raw_list(tensor_list, "tensor_list")]
    elif tensor_list:
        warnings.warn("Specific `tensor_list` is meaningless for rank which is not src.", stacklevel=2)
    work = dist.scatter(raw(tensor, "tensor"), parts, src, group=members.process_group, async_op=True)
    return finish(Task(work), sync_op)


def reduce_scatter(
    tensor: Any, tensor_list: Any, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Reduce each tensor of the lists over the processes, and give process k the k-th result in `tensor`."""
    check_op(op, "reduce_scatter")
    members = resolve(group)
    if members is None:
        return None
    # As one all_reduce, which every backend has.
    stacked = torch.stack(raw_list(tensor_list, "tensor_list"))
    task = _reduce_with(dist.all_reduce, stacked, op, members)
    target, mine = raw(tensor, "tensor"), members.rank

    def complete() -> None:
        task.wait()
        target.copy_(stacked[mine])

    return finish(Task(None, complete), sync_op)


def alltoall(
    in_tensor_list: Any, out_tensor_list: list[Any], group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Send the k-th tensor to process k; receive in `out_tensor_list` (filled if empty) one tensor from each."""
    members = resolve(group)
    if members is None:
        return None
    inputs = raw_list(in_tensor_list, "in_tensor_list")
    if not out_tensor_list:
        out_tensor_list.extend(wrap(torch.empty_like(part)) for part in inputs)
    outputs = raw_list(out_tensor_list, "out_tensor_list")
    sizes = [part.numel() for part in outputs]
    received = outputs[0].new_empty(sum(sizes))
    work = dist.all_to_all_single(
        received,
        torch.cat([part.reshape(-1) for part in inputs]),
        sizes,
        [part.numel() for part in inputs],
        group=members.process_group,
        async_op=True,
    )

    def complete() -> None:
        for target, part in zip(outputs, received.split(sizes), strict=True):
            target.copy_(part.view_as(target))

    return finish(Task(work, complete), sync_op)


def alltoall_single(
    in_tensor: Any,
    out_tensor: Any,
    in_split_sizes: list[int] | None = None,
    out_split_sizes: list[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Send slices of the first axis to the processes, and receive slices of `out_tensor` from them."""
    members = resolve(group)
    if members is None:
        return None
    value, target = raw(in_tensor, "in_tensor").contiguous(), raw(out_tensor, "out_tensor")
    work = dist.all_to_all_single(
        target, value, out_split_sizes, in_split_sizes, group=members.process_group, async_op=True
    )
    return finish(Task(work), sync_op)


def barrier(group: Group | None = None) -> None:
    """Wait until every process of the group has come here."""
    members = resolve(group)
    if members is not None:
        dist.barrier(group=members.process_group)


def wait(tensor: Any, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Wait until all operations on the tensor are done; collectives here are done when they return."""
    if raw(tensor, "tensor").is_cuda:
        torch.cuda.current_stream().synchronize()
