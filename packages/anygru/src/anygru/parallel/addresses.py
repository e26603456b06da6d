"""Addresses, interfaces and stores of this machine. The names of machines may not resolve, so it asks for none."""

import contextlib
import ipaddress
import socket
import struct
from typing import Any

import torch
import torch.distributed as dist

LOOPBACK = "127.0.0.1"
_SIOCGIFADDR = 0x8915  # Linux: the address of an interface


def own_address(host: str) -> str:
    """Return the address of this machine on the route to another, IPv4 where both have it; loopback where no route exists."""
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
        for family, kind, protocol, _, address in sorted(found, key=lambda entry: entry[0] != socket.AF_INET):
            with socket.socket(family, kind, protocol) as probe, contextlib.suppress(OSError):
                probe.connect(address)  # sends nothing: it only chooses the route
                return str(probe.getsockname()[0])
    return LOOPBACK


def is_this_machine(host: str) -> bool:
    """Return whether an address, or a name that resolves to one, belongs to an interface of this machine."""
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
        return any(address[0] == own_address(str(address[0])) for *_, address in found)
    return False


def interface_of(address: str) -> str | None:
    """Return the name of the interface that has an address; None where Linux's ways to ask are missing."""
    with contextlib.suppress(OSError, ImportError):
        if ":" in address:
            wanted = ipaddress.IPv6Address(address).packed.hex()
            with open("/proc/net/if_inet6") as file:
                return next((fields[5] for fields in map(str.split, file) if fields[0] == wanted), None)
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            for _, name in socket.if_nameindex():
                with contextlib.suppress(OSError):  # an interface without an address
                    answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name[:15].encode()))
                    if socket.inet_ntoa(answer[20:24]) == address:
                        return name
    return None


def listening_at(address: str, port: int = 0) -> socket.socket:
    """Return a socket that listens at an address of this machine, at a free port unless one is given."""
    return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)


def serve_store(address: str = LOOPBACK, port: int = 0) -> "dist.TCPStore":  # type: ignore[name-defined]
    """Return a store by which processes find each other. It listens on one address, at a free port unless one is given.

    A `TCPStore` that opens its port itself listens on all addresses of the machine.
    """
    listening = listening_at(address, port)
    port = listening.getsockname()[1]
    # The libuv store of torch 2.4 to 2.6, its default, takes no socket that listens already.
    older: dict[str, Any] = {} if torch.__version__ >= "2.7" else {"use_libuv": False}
    return dist.TCPStore(  # type: ignore[attr-defined]
        address, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach(), **older
    )
