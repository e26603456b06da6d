"""A new store for the workers of each attempt of a job.

torch's own rendezvous gives the workers of all attempts one store: a restarted job finds the addresses of dead processes
there. Its stores listen on all addresses, even for a job on one machine. Here torch's rendezvous only numbers the machines,
and machine 0 opens a store for each attempt, on the address by which the others reach it. The launcher alone imports this
file, because torch's elastic part takes long to load.
"""

import copy
import os
from typing import Any

from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.distributed.elastic.rendezvous import (
    RendezvousConnectionError,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import StaticTCPRendezvous
from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint

from .addresses import LOOPBACK, interface_of, is_this_machine, own_address, serve_store
from .watch import FaultWatch

NAME = "anygru"


class Attempts:
    """torch's rendezvous `inner` with a store for each attempt and a watch. Other attributes come from `inner`."""

    use_agent_store = True

    def __init__(self, inner: Any, address: str, watch: FaultWatch, alone: bool) -> None:
        self._inner, self._address, self._watch, self._alone = inner, address, watch, alone
        self._attempt = 0
        self._store: TCPStore | None = None  # alive as long as workers may use it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get_backend(self) -> str:
        """Return the name of this rendezvous in torch's registry."""
        return NAME

    def next_rendezvous(self) -> RendezvousInfo:
        """Meet the other launchers."""
        if self._attempt > 0:
            self._watch.leave()
        interface = interface_of(self._address)
        if interface is not None:  # Gloo would take the address to which the machine's name resolves
            os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
        met = None if self._alone else self._inner.next_rendezvous()
        # The store of `static` is the same for all attempts; the store of another rendezvous belongs to one attempt.
        key = f"anygru/{self._attempt}" if self._inner.get_backend() == "static" else "anygru"
        self._attempt += 1
        if met is not None and met.rank > 0:
            address, port, link = met.store.get(key).decode().split()
            self._watch.begin(address, int(link))
            return RendezvousInfo(met.store, met.rank, met.world_size, RendezvousStoreInfo(address, int(port)))
        self._store = serve_store(self._address)
        info = RendezvousStoreInfo(self._address, self._store.port)
        if met is None:
            return RendezvousInfo(PrefixStore("launcher", self._store), 0, 1, info)
        met.store.set(key, f"{self._address} {self._store.port} {self._watch.begin(self._address)}")
        return RendezvousInfo(met.store, 0, met.world_size, info)


def _make(parameters: RendezvousParameters) -> Any:
    backend, watch = parameters.config.pop("inner"), parameters.config.pop("watch")
    if backend is None:
        inner = StaticTCPRendezvous(LOOPBACK, 0, 0, 1, parameters.run_id, 0)  # opens nothing before it meets
        return Attempts(inner, LOOPBACK, watch, alone=True)
    parameters = copy.copy(parameters)
    parameters.backend = backend
    host, _ = parse_rendezvous_endpoint(parameters.endpoint, 0)
    address = own_address(host)
    parameters.local_addr = parameters.local_addr or address  # by its name others may not find this machine
    # torch asks only whether the machine's name resolves to the host, this asks its network interfaces.
    if backend == "c10d" and "is_host" not in parameters.config and is_this_machine(host):
        parameters.config["is_host"] = True
        try:
            return Attempts(get_rendezvous_handler(parameters), address, watch, alone=False)
        except RendezvousConnectionError:
            parameters.config["is_host"] = False  # another launcher of the job on this machine serves the port
    return Attempts(get_rendezvous_handler(parameters), address, watch, alone=False)


def register() -> str:
    """Make the rendezvous known to torch, and return its name."""
    rendezvous_handler_registry.register(NAME, _make)
    return NAME
