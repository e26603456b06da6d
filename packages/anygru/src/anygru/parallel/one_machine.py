"""How the processes of a job on one machine meet: at a store that other machines cannot reach, a new one for each attempt.

Torch's own rendezvous listens on all addresses, and a restarted job would find the addresses of the attempt before in a
store that both share. It is imported by the launcher alone, because torch's elastic part takes long to load.
"""

from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.distributed.elastic.rendezvous import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)

from .addresses import LOOPBACK
from .stores import local_store

NAME = "anygru-one-machine"


class OneMachine(RendezvousHandler):
    """A rendezvous of one launcher with itself."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._closed = False
        self._stores: list[TCPStore] = []  # alive as long as a worker may use one

    @property
    def use_agent_store(self) -> bool:
        return True

    def get_backend(self) -> str:
        return NAME

    def next_rendezvous(self) -> RendezvousInfo:
        store = local_store()
        self._stores.append(store)
        return RendezvousInfo(PrefixStore("launcher", store), 0, 1, RendezvousStoreInfo(LOOPBACK, store.port))

    def is_closed(self) -> bool:
        return self._closed

    def set_closed(self) -> None:
        self._closed = True

    def num_nodes_waiting(self) -> int:
        return 0

    def get_run_id(self) -> str:
        return self._run_id

    def shutdown(self) -> bool:
        self._closed = True
        return True


def _make(parameters: RendezvousParameters) -> OneMachine:
    return OneMachine(parameters.run_id)


def register() -> str:
    """Make it known to torchrun; return the name for `--rdzv-backend`."""
    rendezvous_handler_registry.register(NAME, _make)
    return NAME
