"""Addresses and interfaces of this machine. Names of machines may not resolve, so none is asked for."""

import contextlib
import ipaddress
import socket
import struct

LOOPBACK = "127.0.0.1"
PATIENCE = 3.0  # seconds that a machine has to answer
_SIOCGIFADDR = 0x8915  # Linux: the address of an interface


def is_this_machine(host: str) -> bool:
    """Return whether an address, or a name that resolves to one, belongs to an interface of this machine."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as probe:
            try:
                probe.bind(address)
            except OSError:
                continue
            return True
    return False


def answers(host: str, port: int) -> bool:
    """Return whether a machine answers at all within some seconds; also by refusing the connection."""
    try:
        socket.create_connection((host, port), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def own_address(host: str) -> str:
    """Return the address of this machine on the way to another, of IPv4 where both have one; loopback where there is no way."""
    try:
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
    except OSError:
        return LOOPBACK
    for family, kind, protocol, _, address in sorted(found, key=lambda entry: entry[0] != socket.AF_INET):
        with socket.socket(family, kind, protocol) as probe, contextlib.suppress(OSError):
            probe.connect(address)  # sends nothing: it only chooses the way
            return str(probe.getsockname()[0])
    return LOOPBACK


def listening_at(address: str) -> socket.socket:
    """Return a socket that listens at a free port of an address of this machine."""
    return socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)


def interface_of(address: str) -> str | None:
    """Return the name of the interface that has an address; None if there is none, or the system does not tell."""
    if ":" in address:
        return _interface_of_6(address)
    try:
        import fcntl
    except ImportError:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name[:15].encode()))
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return None


def _interface_of_6(address: str) -> str | None:
    wanted = ipaddress.IPv6Address(address).packed.hex()
    with contextlib.suppress(OSError), open("/proc/net/if_inet6") as file:
        return next((fields[5] for fields in map(str.split, file) if fields[0] == wanted), None)
    return None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
