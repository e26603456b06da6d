"""`mx.kv.KVStore`: values by key. Devices push gradients and pull results.

`torch.distributed` sums over processes; there are no servers. Follows MXNet 1.9's `mxnet.kvstore`.
"""

import os
from typing import Any

import torch
from torch import distributed

from anygru import parallel
from anygru.extend import open_for_replace

from ..base import MXNetError
from ..ndarray.array import wrap
from ..ndarray.ndarray import NDArray
from ..optimizer.optimizer import Optimizer
from ..optimizer.updater import Updater, get_updater, read_states

__all__ = ["KVStore", "create"]

_LOCAL = ("local", "device", "local_allreduce_cpu", "local_allreduce_device", "nccl")
_DISTRIBUTED = ("dist", "dist_sync", "dist_sync_device", "dist_device_sync")


class KVStore:
    """Values by key.

    Args:
        kind: "local" or "device" for the devices of this process, "dist_sync" and similar names for several processes.
    """

    def __init__(self, kind: str) -> None:
        self._type = kind
        self._values: dict[str | int, NDArray] = {}
        self._updater: Any = None

    @property
    def type(self) -> str:
        """The kind."""
        return self._type

    @property
    def rank(self) -> int:
        """The number of this process."""
        return distributed.get_rank() if self._across_processes else 0

    @property
    def num_workers(self) -> int:
        """The number of processes."""
        return distributed.get_world_size() if self._across_processes else 1

    @property
    def _across_processes(self) -> bool:
        return self._type in _DISTRIBUTED

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can run an optimizer."""
        return capability.lower() == "optimizer"

    def init(self, key: Any, value: Any) -> None:
        """Store the values of process 0.

        Raises:
            MXNetError: for a key that exists.
        """
        for one, values in _pairs(key, value):
            if one in self._values:
                raise MXNetError(f"duplicate init of key {one}")
            if any(type(known) is not type(one) for known in self._values):
                raise MXNetError(f"keys of one store must be all numbers or all strings, got {one!r} after others")
            first = values[0] if isinstance(values, (list, tuple)) else values
            tensor = first._t.detach().clone()
            if self._across_processes:
                distributed.broadcast(tensor, 0)
            self._values[one] = wrap(tensor, first._ctx)

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum values over devices and processes. The updater gets the sum; without an updater it is stored."""
        for one, values in _pairs(key, value):
            stored = self._stored(one)
            total = self._sum(values, stored)
            if self._updater is not None:
                self._updater(_index(one), wrap(total, stored._ctx), stored)
            else:
                # A push replaces the value and does not add to it (MXNet 1.9.1, observed).
                stored._t = total

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy stored values to arrays."""
        assert out is not None, "pull needs arrays to write to (out)"
        for one, targets in _pairs(key, out):
            stored = self._stored(one)
            for target in targets if isinstance(targets, (list, tuple)) else [targets]:
                stored.copyto(target)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Push, then pull to `out`, or to the same arrays."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Store values and copy them to arrays."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Raise an error: there are no sparse arrays.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("row_sparse_pull: anygru has no sparse arrays")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let pushed gradients change the stored values by an optimizer."""
        self._updater = get_updater(optimizer)

    def _set_updater(self, updater: Any) -> None:
        self._updater = updater

    def set_gradient_compression(self, compression_params: dict) -> None:
        """Raise an error: gradients are not compressed.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"gradient compression ({compression_params}) is not covered; in PyTorch: DDP communication hooks"
        )

    def barrier(self) -> None:
        """Wait for all processes."""
        if self._across_processes:
            distributed.barrier()

    _barrier = barrier

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the updater's states to a file."""
        assert isinstance(self._updater, Updater), "Cannot save states for distributed training"
        with open_for_replace(fname) as file:
            file.write(self._updater.get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str) -> None:
        """Read the updater's states from a file."""
        assert isinstance(self._updater, Updater), "Cannot load states for distributed training"
        self._updater.set_states(read_states(fname), fname)

    def _stored(self, key: Any) -> NDArray:
        if key not in self._values:
            raise MXNetError(f"key {key} has not been inited")
        return self._values[key]

    def _sum(self, values: Any, stored: NDArray) -> torch.Tensor:
        parts = list(values) if isinstance(values, (list, tuple)) else [values]
        # A copy, because the sum is written into it, and the caller owns the pushed gradient.
        total = parts[0]._t.detach().to(stored._t.device, copy=True)
        for part in parts[1:]:
            total += part._t.detach().to(total.device)
        if total.shape != stored._t.shape:
            raise MXNetError(f"pushed values have shape {tuple(total.shape)}, stored ones {stored.shape}")
        if self._across_processes:
            distributed.all_reduce(total)
        return total


def _pairs(key: Any, value: Any) -> list[tuple[Any, Any]]:
    keys = key if isinstance(key, (list, tuple)) else [key]
    for one in keys:
        assert isinstance(one, (str, int)), f"unexpected type for keys: {type(one)}"
        assert isinstance(one, type(keys[0])), "inconsistent types of keys detected."
    if isinstance(key, (list, tuple)):
        if len(key) != len(value):
            raise MXNetError(f"{len(key)} keys were given with {len(value)} values")
        return list(zip(key, value, strict=True))
    return [(key, value)]


def _index(key: Any) -> Any:
    # Optimizers use numbers as keys, stores also use the text of a number.
    return int(key) if isinstance(key, str) and key.isdigit() else key


def create(name: str = "local") -> KVStore:
    """A store of a kind.

    Raises:
        TypeError: for a name that is not a string.
        MXNetError: for an unknown kind, for "dist_async", and for a distributed store if the processes were not started together.
    """
    if not isinstance(name, str):
        raise TypeError("name must be a string")
    kind = name.lower()
    if "async" in kind:
        raise MXNetError(f"kvstore {name!r}: updates that do not wait for each other are not covered; use 'dist_sync'")
    if kind not in _LOCAL + _DISTRIBUTED:
        raise MXNetError(f"Unknown KVStore type {name!r}; known: {', '.join(_LOCAL + _DISTRIBUTED)}")
    if kind in _DISTRIBUTED:
        _join_processes(name)
    return KVStore(kind)


def _join_processes(name: str) -> None:
    if distributed.is_initialized():
        return
    if not all(variable in os.environ for variable in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        raise MXNetError(
            f"kvstore {name!r} needs processes that were started together; start the script with "
            "`anygru launch --nproc-per-node N script.py`, which sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
        )
    parallel.start(timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
