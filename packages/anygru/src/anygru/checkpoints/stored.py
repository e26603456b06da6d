"""One tensor of a checkpoint in stored form. torch is imported only when a tensor is needed."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor

BITS: dict[str, np.dtype] = {
    "bfloat16": np.dtype(np.uint16),
    "float8_e4m3fn": np.dtype(np.uint8),
    "float8_e5m2": np.dtype(np.uint8),
    "float8_e4m3fnuz": np.dtype(np.uint8),
    "float8_e5m2fnuz": np.dtype(np.uint8),
}
"""dtypes that NumPy lacks, and the integers that hold their bits here."""


def holder(dtype: str) -> np.dtype:
    """Give the NumPy dtype that holds values of a dtype of torch's name."""
    return BITS[dtype] if dtype in BITS else np.dtype(dtype)


_PIECE = 4 << 20

Branch: TypeAlias = dict[Any, Any] | list[Any] | tuple[Any, ...]
"""Values that lead on to others."""

Path = tuple[Any, ...]
"""The keys that lead to a value in nested containers."""


@dataclass(frozen=True, eq=False, slots=True)
class StoredTensor:
    """A tensor's values, often a view of the mapped file.

    Attributes:
        values: the array; for a dtype in `BITS`, its bits.
        dtype: the dtype by torch's name, "float32", "bfloat16" ...
    """

    values: np.ndarray
    dtype: str

    @classmethod
    def of(cls, array: np.ndarray) -> "StoredTensor":
        """Take an array of numbers."""
        return cls(array, array.dtype.name)

    @classmethod
    def of_tensor(cls, tensor: "Tensor", name: str = "") -> "StoredTensor":
        """Take a torch tensor, without a copy where it is dense and on the CPU; an error calls it by the name.

        Raises:
            CheckpointError: the tensor is sparse, quantized or nested, or has no values (it is on the meta device, or a lazy
                layer has not made it yet).
        """
        import torch

        place = f"{name}: " if name else ""
        if torch.nn.parameter.is_lazy(tensor) or tensor.is_meta:
            raise CheckpointError(f"{place}a tensor without values ({type(tensor).__name__} on {tensor.device})")
        dtype = str(tensor.dtype).removeprefix("torch.")
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
            raise CheckpointError(f"{place}a tensor of layout {tensor.layout} and dtype {dtype} cannot be stored")
        plain = tensor.detach().cpu().resolve_conj().resolve_neg()
        if dtype in BITS:
            plain = plain.view(torch.uint16 if BITS[dtype].itemsize == 2 else torch.uint8)
        return cls(plain.numpy(), dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.values.shape

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return self.values.nbytes

    def tensor(self) -> "Tensor":
        """Give the torch tensor; it shares the memory of `values`."""
        import torch

        plain = torch.from_numpy(self.values)
        return plain.view(getattr(torch, self.dtype)) if self.dtype in BITS else plain

    def widened(self) -> np.ndarray:
        """Give the values in a dtype that NumPy has: bfloat16 becomes float32, which is exact."""
        if self.dtype == "bfloat16":
            wide: np.ndarray = self.values.astype(np.uint32) << np.uint32(16)
            return wide.view(np.float32)
        if self.dtype not in BITS:
            return self.values
        values: np.ndarray = self.tensor().float().numpy()
        return values

    def same_bits(self, other: "StoredTensor") -> bool:
        """Return whether the other tensor is bitwise equal."""
        if self.dtype != other.dtype or self.shape != other.shape:
            return False
        mine, others = np.asarray(self.values, order="C"), np.asarray(other.values, order="C")
        if not mine.size:
            return True
        one, two = mine.reshape(-1).view(np.uint8), others.reshape(-1).view(np.uint8)
        # piece by piece, since a comparison takes the memory of its arguments again
        starts = range(0, len(one), _PIECE)
        return all(np.array_equal(one[start : start + _PIECE], two[start : start + _PIECE]) for start in starts)


def branches(tree: object) -> set[int]:
    """Return the ids of the containers that lead on to others: dicts, and lists and tuples with a tensor or a dict inside.

    A list of plain values is a leaf. Each container is visited once, even if it is used repeatedly.
    """
    known: dict[int, bool] = {}

    def leads_on(value: object) -> bool:
        if not isinstance(value, dict | list | tuple):
            return isinstance(value, StoredTensor)
        if id(value) not in known:
            known[id(value)] = isinstance(value, dict)
            for part in value.values() if isinstance(value, dict) else value:
                known[id(value)] |= leads_on(part)
        return known[id(value)]

    leads_on(tree)
    return {identity for identity, leads in known.items() if leads}


def walk(tree: object) -> Iterator[tuple[Path, Any]]:
    """Yield each leaf of a tree with the keys that lead to it; a list of plain values is a leaf."""
    leading = branches(tree)

    def below(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        if id(value) not in leading:
            yield path, value
            return
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from below(part, (*path, key))

    yield from below(tree, ())


def flat_name(path: Path) -> str:
    """Return the name of a value in nested containers: its keys joined by dots."""
    return ".".join(str(key) for key in path)


def map_leaves(tree: object, change: Callable[[Any], Any], is_leaf: Callable[[object], bool] | None = None) -> Any:
    """Return the same nesting with each leaf changed. An object used twice is changed once, and its result is used twice.

    Args:
        tree: nested dicts, lists and tuples.
        change: returns the replacement of a leaf.
        is_leaf: whether to treat a container as a leaf.
    """
    changed: dict[int, Any] = {}

    def rebuilt(value: object) -> Any:
        if is_leaf is not None and is_leaf(value):
            return change(value)
        if isinstance(value, dict):
            kind = OrderedDict if isinstance(value, OrderedDict) else dict
            return kind((key, mapped(part)) for key, part in value.items())
        if isinstance(value, list | tuple):
            parts = [mapped(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        return change(value)

    def mapped(value: object) -> Any:
        if not isinstance(value, dict | list | tuple | StoredTensor | np.ndarray):
            return change(value)
        if id(value) not in changed:
            changed[id(value)] = rebuilt(value)
        return changed[id(value)]

    return mapped(tree)
