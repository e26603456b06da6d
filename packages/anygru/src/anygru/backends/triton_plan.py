"""How the GPU kernels divide a layer: the arithmetic of shared memory and programs. docs/kernels.md explains it."""

from functools import cache
from typing import NamedTuple

import torch

TILE = 16
"""Sequences, and hidden units, of the smallest tile that tensor cores multiply."""

WARPS = 8
"""Of a program; a spread kernel cuts its products into this number of slices."""

STREAMED_SLICE = 128
"""Bytes of the states of a slice, if weights are loaded again at each step."""

STREAMED_SHARED = 80 << 10
"""Bytes of shared memory for such slices of three gates and of the states; where there are fewer, slices are half as long."""

MOST_SEQUENCES = 32
"""Of a tile: more would need more registers than a thread has."""

REGISTERS = 224
"""Of a thread, at most. Without a number, the assembler spills some so that several programs can share a processor,
which these do not; with all 255 it also spills some."""

ALONE_REST = 20 << 10
"""Shared memory of a program that works alone, without its weights."""

MOST_OWN = 128 << 10
"""With more, the backward pass of a lone program spills registers on sm_100."""

AMD_OWN = 12 << 10
"""The compiler for AMD keeps a lone program's weights in registers, and more would not fit there."""


class Device(NamedTuple):
    """The facts of a GPU on which a plan depends."""

    processors: int
    shared: int
    """Bytes of shared memory that one program can have."""
    precision: str
    """How float32 is multiplied: "tf32", "tf32x3" (as exact as float32, with three products for one) or "ieee"."""
    amd: bool = False

    @property
    def own(self) -> int:
        """Bytes of all recurrent weights that a program can keep in addition to a tile of states."""
        return AMD_OWN if self.amd else min(self.shared - ALONE_REST, MOST_OWN)

    @property
    def options(self) -> dict[str, int | bool]:
        """How kernels are compiled."""
        most = {} if self.amd or self.precision == "ieee" else {"maxnreg": REGISTERS}
        return {"num_warps": WARPS, "num_stages": 1, "enable_fp_fusion": True, **most}


class Plan(NamedTuple):
    """How one launch divides a layer."""

    alone: bool
    """Each program takes some sequences through all steps; otherwise programs meet after each phase of a step."""
    constants: dict[str, int | bool | str]
    """The kernel's own: tile sizes and the precision."""
    programs: int
    """For each direction."""
    directions: int
    """That run at the same time."""


def plan(hidden: int, batch: int, directions: int, itemsize: int, device: Device) -> Plan:
    """The fastest way that fits the device, estimated without a measurement."""
    stored = itemsize * (2 if itemsize == 4 and device.precision == "tf32x3" else 1)  # the parts are stored apart
    width = max(TILE, _power(hidden))
    if 3 * width * width * stored <= device.own:
        return Plan(True, {"PRECISION": device.precision, "BM": TILE, "BH": width}, -(-batch // TILE), directions)
    return _spread(hidden, batch, directions, stored, itemsize, device)


def _spread(hidden: int, batch: int, directions: int, stored: int, itemsize: int, device: Device) -> Plan:
    tiles = -(-hidden // TILE)
    piece = max(TILE, _power(-(-hidden // WARPS)))
    states = piece * WARPS
    rows = (device.shared - 3 * states * TILE * stored) // (
        states * itemsize
    )  # the remaining memory is for a tile of states
    resident = rows >= TILE and tiles <= device.processors
    if not resident:
        piece = min(piece, STREAMED_SLICE // itemsize)
        if device.shared < STREAMED_SHARED:
            piece = max(TILE, piece // 2)
        rows = MOST_SEQUENCES
    together = directions if tiles * directions <= device.processors or not resident else 1
    room = max(1, device.processors // together)
    groups = room // tiles if resident else 1
    sequences = TILE
    while sequences < min(rows // 2, MOST_SEQUENCES, batch) and -(-batch // sequences) > groups:
        sequences *= 2
    items = tiles * -(-batch // sequences)
    programs = tiles * min(groups, -(-batch // sequences)) if resident else min(items, room)
    constants: dict[str, int | bool | str] = {"PRECISION": device.precision, "RESIDENT": resident, "AMD": device.amd}
    constants |= {"BM": sequences, "BN": TILE, "BK": piece, "SLICES": WARPS}
    return Plan(False, constants, programs, together)


def _power(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (count - 1).bit_length()


def device_of(tensor: torch.Tensor) -> Device:
    """The device of a tensor; of one on the CPU, Triton's interpreter."""
    if not tensor.is_cuda:
        return Device(4, 1 << 16, "ieee")
    if torch.version.hip:
        return Device(*_sizes(tensor.device), "ieee", amd=True)
    products = torch.backends.cuda.matmul
    # torch.get_float32_matmul_precision() raises where the newer attribute was set, which torch has since 2.9.
    rounded = products.fp32_precision == "tf32" if hasattr(products, "fp32_precision") else products.allow_tf32
    return Device(*_sizes(tensor.device), "tf32" if rounded else "tf32x3")


@cache
def _sizes(device: torch.device) -> tuple[int, int]:
    facts = torch.cuda.get_device_properties(device)
    shared = 0 if torch.version.hip else getattr(facts, "shared_memory_per_block_optin", 0)
    return facts.multi_processor_count, shared or facts.shared_memory_per_block
