"""Reading and writing parts of a tensor: `t[1, ..., ::-1]`, `t[mask] = 0`."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..framework.kinds import Operand
from .operation import as_torch, plain, translate, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

_PLAIN = (int, slice, type(None), type(Ellipsis))


def _item(item: Any, position: int) -> Any:
    """One index in a form that torch takes."""
    if isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, _PLAIN):
        if isinstance(item, slice):
            return slice(*(None if part is None else int(part) for part in (item.start, item.stop, item.step)))
        return item
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, torch.Tensor):
        if item.is_floating_point():
            raise ValueError(f"(InvalidArgument) an index tensor must hold ints or bools, got {item.dtype}")
        return item.as_subclass(torch.Tensor) if type(item) is not torch.Tensor else item
    if isinstance(item, (list, np.ndarray, range)) or (isinstance(item, tuple) and position >= 0):
        index = torch.as_tensor(
            np.asarray([_scalar(each) for each in item]) if isinstance(item, list) else np.asarray(item)
        )
        return index.to(torch.int64) if torch.Tensor.numel(index) == 0 else index
    raise ValueError(
        "(InvalidArgument) Currently, Tensor.__indices__() only allows indexing by Boolean, Integers, Slices, Ellipsis, "
        "None, Tuples of these types and List / Tensor of Bool and Integers, but received "
        f"{type(item).__name__} in {max(position, 0) + 1}th slice item"
    )


def _scalar(value: Operand) -> Any:
    return value.item() if isinstance(value, torch.Tensor) and torch.Tensor.numel(value) == 1 else value


def _flipped(x: torch.Tensor, items: list[Any]) -> tuple[torch.Tensor, list[Any], list[int]]:
    """torch has no negative steps: turn those axes round and step forwards.

    Returns the tensor to index, the items for it, and the axes of the tensor that were turned.
    """
    consumed = sum(_axes_of(each) for each in items if each is not Ellipsis)
    axes, axis, out = [], 0, []
    for item in items:
        if item is Ellipsis:
            axis += x.ndim - consumed
        elif isinstance(item, slice) and item.step is not None and item.step < 0:
            length = int(x.shape[axis])
            places = range(*item.indices(length))
            axes.append(axis)
            start = length - 1 - places[0] if len(places) else 0
            item = slice(start, start + (len(places) - 1) * places.step * -1 + 1 if len(places) else 0, -item.step)
            axis += 1
        else:
            axis += _axes_of(item)
        out.append(item)
    return (torch.flip(x, axes) if axes else x), out, axes


def _items(index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return [_item(each, position) for position, each in enumerate(index)]
    return [_item(index, -1)]


def get(self: "Tensor", index: Any) -> "Tensor":
    """`self[index]`: views for ints and slices, copies for lists, tensors and masks."""
    if type(index) is int:
        try:
            return wrap(torch.select(self, 0, index))
        except (IndexError, RuntimeError) as error:
            raise IndexError(f"(OutOfRange) index {index} does not fit shape {self.shape}") from error
    x, items, _ = _flipped(self, _items(index))
    try:
        out = torch.Tensor.__getitem__(x, tuple(items))
    except IndexError as error:
        raise _out_of_range(error, plain(self.detach()), items) from error
    except RuntimeError as error:
        raise translate(error, "__getitem__") from error
    return wrap(out)


def _out_of_range(error: IndexError, x: torch.Tensor, items: list[Any]) -> Exception:
    """Paddle's error: a ValueError for a number in an index tensor, an IndexError for all else (2.6.2, recorded)."""
    axis = 0
    for place, item in enumerate(items):
        if item is Ellipsis:
            axis = x.ndim - sum(_axes_of(each) for each in items[place + 1 :])
            continue
        if isinstance(item, torch.Tensor) and item.dtype != torch.bool and axis < x.ndim:
            length = int(x.shape[axis])
            if bool(((item < -length) | (item >= length)).any()):
                return ValueError(f"(InvalidArgument) Input(index) has wrong value: {error}")
        axis += _axes_of(item)
    return IndexError(f"(OutOfRange) {error}")


def _axes_of(item: Any) -> int:
    """How many axes of the tensor an index stands for."""
    if item is None:
        return 0
    return item.ndim if isinstance(item, torch.Tensor) and item.dtype == torch.bool else 1


def set_(self: "Tensor", index: Any, value: Operand) -> None:
    """`self[index] = value`, the value cast to the dtype of the tensor.

    Raises:
        ValueError: if the shapes do not fit, or the tensor is a leaf that gets gradients.
        IndexError: if a position is out of range.
    """
    if self.is_leaf and self.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"(InvalidArgument) Leaf Tensor ({self.name}) that doesn't stop gradient can't use inplace strategy."
        )
    if not isinstance(value, (torch.Tensor, np.ndarray, np.generic, bool, int, float, complex)):
        raise ValueError(
            "(InvalidArgument) Value type error. The assign value allows Tensor, numpy.ndarray, integer, float, complex or "
            f"bool, but received {type(value).__name__}"
        )
    new = torch.Tensor.to(as_torch(value), torch.Tensor.dtype.__get__(self))  # type: ignore[attr-defined]
    items = _items(index)
    if any(isinstance(each, slice) and each.step is not None and each.step < 0 for each in items):
        flipped, items, axes = _flipped(self, items)
        torch.Tensor.__setitem__(flipped, tuple(items), new)
        torch.Tensor.copy_(self, torch.flip(flipped, axes))
        return
    try:
        torch.Tensor.__setitem__(self, tuple(items), new)
    except IndexError as error:
        raise _out_of_range(error, plain(self.detach()), items) from error
    except RuntimeError as error:
        raise translate(error, "__setitem__") from error
