"""The state of a session as bytes: a header with digests of the model, a checksum, and the numbers."""

import struct
import zlib

import torch
from torch import Tensor

from ..errors import ArgumentError, ArgumentTypeError
from .machine import Machine

HEADER = struct.Struct("<8s8s8sQII")
_MAGIC = b"anygru\x01\x00"
"""Magic, digests of the model's sizes and of its weights, steps, count of numbers, checksum of all other bytes."""
_MOST_STEPS = 1 << 62
"""The most steps that the bytes may announce; this number can still be added without overflow."""


def pack(machine: Machine, numbers: Tensor, steps: int) -> bytes:
    """Give a state [numbers] after some steps as bytes.

    Raises:
        ArgumentError: a number is infinite or NaN: `unpack` would refuse the bytes, perhaps years later.
    """
    if not bool(numbers.isfinite().all()):
        raise ArgumentError(f"the session's state is infinite or NaN after {steps} steps: reset() or close() it")
    body = numbers.cpu().view(torch.uint8).numpy().tobytes()
    head = (_MAGIC, *machine.digests, steps, numbers.numel())
    check = zlib.crc32(body, zlib.crc32(HEADER.pack(*head, 0)))
    return HEADER.pack(*head, check) + body


def unpack(machine: Machine, state: bytes, retrained: bool) -> tuple[Tensor, int]:
    """Read the numbers of a state and its steps; anybody can make bytes with a right checksum, so each number is checked.

    Args:
        machine: the model that will continue from the state.
        state: bytes of `pack`.
        retrained: whether the state may be of a model with other weights.

    Raises:
        ArgumentError: the bytes are cut short, damaged, of another model, or hold numbers that no model computes.
        ArgumentTypeError: `state` is not bytes.
    """
    if not isinstance(state, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"state must be bytes of Session.state_bytes(), got {type(state).__name__}")
    data = bytes(state)
    if len(data) < HEADER.size or not data.startswith(_MAGIC):
        raise ArgumentError("state must be bytes of Session.state_bytes(): these begin otherwise")
    magic, sizes, weights, steps, count, check = HEADER.unpack_from(data)
    body = data[HEADER.size :]
    if zlib.crc32(body, zlib.crc32(HEADER.pack(magic, sizes, weights, steps, count, 0))) != check:
        raise ArgumentError("state is damaged or cut short: its checksum is another")
    if sizes != machine.digests[0]:
        raise ArgumentError("state is of a model of other sizes, formula, dtype or weights' format than this pool's")
    if weights != machine.digests[1] and not retrained:
        raise ArgumentError("state is of a model with other weights; a pool with retrained=True takes it")
    if count != machine.size or len(body) != count * machine.like.element_size() or steps > _MOST_STEPS:
        raise ArgumentError(f"state announces {count} numbers after {steps} steps, and has {len(body)} bytes")
    values = torch.frombuffer(bytearray(body), dtype=machine.like.dtype)
    if not bool(values.isfinite().all()):
        raise ArgumentError("state has numbers that are infinite or NaN")
    return values.to(machine.like.device), steps
