"""`init_parallel_env`, `ParallelEnv` and `DataParallel`."""

import contextlib
import os
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from torch.nn.parallel import DistributedDataParallel

from anygru import parallel
from anygru.extend import distribute

from ..nn.layer.layers import Layer
from ..tensor.tensor import Tensor
from .communication import group as groups
from .communication.group import Group
from .environment import place, set_torch_variables

_MB = 1024 * 1024
_NOT_PARALLEL = (
    "Currently not a parallel execution environment, `paddle.distributed.init_parallel_env` will not do anything."
)
_ONE_PROCESS = (
    "The program will return to single-card operation. Please check 1, whether you use spawn or fleetrun to start the "
    "program. 2, Whether it is a multi-card program. 3, Is the current environment multi-card."
)


def init_parallel_env() -> Group | None:
    """Connect this process with the others of the job: Gloo for CPU tensors, NCCL for CUDA tensors.

    Gives the group of all processes. On a single process it warns and gives None. A second call gives the same group.

    Raises:
        ValueError: if PADDLE_DISTRI_BACKEND names a backend other than auto, gloo and nccl.
    """
    if place().size < 2:
        warnings.warn(_NOT_PARALLEL, stacklevel=2)
        return None
    backend = os.environ.get("PADDLE_DISTRI_BACKEND", "auto")
    if backend not in ("auto", "gloo", "nccl"):
        raise ValueError(
            "paddle.distributed initialize error, backend argument can only be one of 'nccl', 'gloo', 'auto' "
            f"but got {backend}"
        )
    set_torch_variables()
    parallel.start(None if backend == "auto" else backend, timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
    return groups.set_global_group()


def get_rank(group: Group | None = None) -> int:
    """This process's rank, in the job or in a group (-1 where it is not one of the group)."""
    return place().rank if group is None or not groups.is_initialized() else group.rank


def get_world_size(group: Group | None = None) -> int:
    """How many processes the job has, or a group (-1 where this process is not one of it)."""
    return place().size if group is None or not groups.is_initialized() else group.world_size


class ParallelEnv:
    """The launcher's settings of this process, read when the object is made."""

    def __init__(self) -> None:
        here = place()
        self._rank = here.rank
        self._world_size = here.size
        self._device_id = here.local_rank
        self._endpoints = _endpoints(here.size)

    @property
    def rank(self) -> int:
        """This process's rank in the job."""
        return self._rank

    @property
    def world_size(self) -> int:
        """How many processes the job has."""
        return self._world_size

    @property
    def device_id(self) -> int:
        """The number of the device that is this process's own."""
        return self._device_id

    @property
    def device_type(self) -> str:
        """The text "gpu" if the job uses GPUs; empty otherwise."""
        return os.environ.get("PADDLE_XCCL_BACKEND", "")

    @property
    def current_endpoint(self) -> str:
        """The address of this process, empty on a single one."""
        return self._endpoints[self._rank]

    @property
    def trainer_endpoints(self) -> list[str]:
        """The address of every process."""
        return self._endpoints

    @property
    def nrings(self) -> int:
        """1: torch arranges its own rings."""
        return 1

    @property
    def pg_timeout(self) -> int:
        """How long a collective waits, in ms."""
        return 1_800_000

    local_rank = rank
    nranks = world_size
    dev_id = device_id


Env = ParallelEnv


def _endpoints(size: int) -> list[str]:
    """The launcher's addresses, or a placeholder for each process, at which it cannot be reached."""
    given = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
    if len(given) == size:
        return given
    host, port = os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "6170"))
    return [f"{host}:{port + 1 + rank}" for rank in range(size)]


class DataParallel(Layer):
    """A layer that averages its gradients over the processes of the job during `backward`.

    Args:
        layers: the same model on every process; every process takes rank 0's parameters and persistable buffers.
        strategy: deprecated.
        comm_buffer_size: MB of gradients that one all-reduce carries.
        last_comm_buffer_size: MB of the all-reduce for the model's last layers, which is sent first.
        find_unused_parameters: kept for scripts; unused parameters are always detected.
        group: the processes among which to average; None for all.

    On a single process it warns and runs the plain layer.

    Raises:
        ModelMismatchError: (a ValueError) on every process, naming the parameter, if one has another model.
        AssertionError: if there is nothing to train.
        RuntimeError: if `init_parallel_env` has not been called.
    """

    _layers: Layer
    _engine: DistributedDataParallel | None

    def __init__(
        self,
        layers: Layer,
        strategy: Any = None,
        comm_buffer_size: float = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Group | None = None,
    ) -> None:
        super().__init__(layers.full_name() + "_data_parallel")
        self._layers = layers
        self.find_unused_parameters = find_unused_parameters
        self.grad_need_sync = True
        self.group = group
        self.var_dtype = Tensor
        size = get_world_size()
        self._strategy = strategy or SimpleNamespace(nranks=size, local_rank=get_rank())
        engine = None
        if size < 2:
            warnings.warn(_ONE_PROCESS, stacklevel=2)
        else:
            if group is not None and not group.is_member():
                raise RuntimeError("DataParallel: this process must be in the group, which needs two members or more")
            self.group = groups.global_group() if group is None else group
            if not any(parameter.trainable for parameter in layers.parameters()):
                raise AssertionError(
                    "This model does not have any parameters to train, and does not need to use DataParallel"
                )
            # Paddle averages the gradients that exist, even if some parameters are unused
            # (recorded from 2.6.2). torch needs an option for this, and warns if all parameters are used.
            warnings.filterwarnings("ignore", "find_unused_parameters=True was specified", UserWarning)
            engine = distribute(layers, comm_buffer_size, last_comm_buffer_size, True, self.group.process_group)
            self.comm_buffer_size = int(comm_buffer_size * _MB)
            self.last_comm_buffer_size = int(last_comm_buffer_size * _MB)
        # Not a sublayer: it is a second way into `layers`.
        object.__setattr__(self, "_engine", engine)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the layer."""
        if self._engine is None:
            return self._layers(*inputs, **kwargs)
        self._engine.require_backward_grad_sync = self.grad_need_sync
        return self._engine(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it gradients add up on each process alone; the first forward and backward after it average them."""
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    def scale_loss(self, loss: Any) -> Any:
        """The loss itself. Deprecated: gradients are averaged, so no scaling is needed."""
        return loss

    def apply_collective_grads(self) -> None:
        """Nothing. Deprecated: `backward` does it."""

    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        *,
        prefix: str | None = None,
        keep_vars: bool = True,
    ) -> Any:
        """The layer's own `state_dict`: its keys have no prefix for this wrapper."""
        return self._layers.state_dict(
            destination, include_sublayers, structured_name_prefix, use_hook, prefix=prefix, keep_vars=keep_vars
        )

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> None:  # type: ignore[override]
        """Load a `state_dict` of this or of the plain layer. Returns None, whereas a layer returns the missing names."""
        # Paddle's wrapper drops the names that the layer returns (2.6.2, recorded).
        self._layers.set_state_dict(state_dict, use_structured_name=use_structured_name)

    set_dict = set_state_dict  # type: ignore[assignment]
    load_dict = set_state_dict  # type: ignore[assignment]
