"""Reading and writing parts of a tensor: `t[1, ..., ::-1]`, `t[mask] = 0`.

As in Paddle 2.6.2 numbers, slices, `None` and `...` come first and give a view; lists, arrays, tensors and bools then index the
view. They count its axes without the axes of `None`, so that `t[None, [0]]` indexes the new axis (recorded).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..framework.kinds import Operand
from ..framework.recording import refuse_to_record
from .inplace import refuse_leaf
from .operation import as_torch, plain, translate, unsettled, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_shape = torch.Tensor.shape.__get__  # type: ignore[attr-defined]
_WHOLE = slice(None)


def _item(item: Any, position: int) -> Any:
    """One index: an int, a bool, a slice of ints, None, Ellipsis, or a tensor of ints or bools."""
    if isinstance(item, (int, type(None), type(Ellipsis))):
        return item
    if isinstance(item, slice):
        return slice(*(None if part is None else int(part) for part in (item.start, item.stop, item.step)))
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, torch.Tensor):
        # `to_tensor([])` is float32, and as an index it takes nothing (recorded, 2.6.2).
        if item.is_floating_point() and torch.Tensor.numel(item):
            raise ValueError(f"(InvalidArgument) an index tensor must hold ints or bools, got {item.dtype}")
        if item.ndim == 0 and _dtype(item) != torch.bool:
            return int(item)
        return _as_index(plain(item))
    if isinstance(item, (list, np.ndarray, range)) or (isinstance(item, tuple) and position >= 0):
        return _as_index(
            torch.as_tensor(
                np.asarray([_scalar(each) for each in item]) if isinstance(item, list) else np.asarray(item)
            )
        )
    raise ValueError(
        "(InvalidArgument) Currently, Tensor.__indices__() only allows indexing by Boolean, Integers, Slices, Ellipsis, "
        "None, Tuples of these types and List / Tensor of Bool and Integers, but received "
        f"{type(item).__name__} in {max(position, 0) + 1}th slice item"
    )


def _as_index(index: torch.Tensor) -> torch.Tensor:
    return index.to(torch.int64) if torch.Tensor.numel(index) == 0 and index.dtype != torch.bool else index


def _scalar(value: Operand) -> Any:
    return value.item() if isinstance(value, torch.Tensor) and torch.Tensor.numel(value) == 1 else value


def _axes_of(item: Any) -> int:
    """The number of the tensor's axes that an index consumes."""
    if item is None or isinstance(item, bool) or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, torch.Tensor) and item.dtype == torch.bool else 1


def _items(index: Any, axes: int) -> list[Any]:
    """The indices, `...` written as slices."""
    items = [_item(each, place) for place, each in enumerate(index)] if isinstance(index, tuple) else [_item(index, -1)]
    if Ellipsis in (each for each in items if not isinstance(each, torch.Tensor)):
        place = next(place for place, each in enumerate(items) if each is Ellipsis)
        items[place : place + 1] = [_WHOLE] * (axes - sum(map(_axes_of, items)))
    return items


def places(item: slice, length: int, writes: bool = False) -> range:
    """The positions of a slice in Paddle 2.6.2 (recorded), which differ from Python's only beyond the ends of the axis.

    An end before the axis is counted from its end a second time: `t[:-5]` of 4 elements is `t[:3]`. With a negative step an
    end of -1
    is before the axis, an end further on is 0 in reading, and a start before the axis is 0.
    """
    start, stop, step = item.start, item.stop, 1 if item.step is None else item.step
    if step > 0:
        first = 0 if start is None else min(max(start + length if start < 0 else start, 0), length)
        last = length if stop is None else stop
        for _ in range(2):
            last = last + length if last < 0 else last
        return range(first, min(max(last, 0), length), step)
    first = length - 1 if start is None else min(max(start + length if start < 0 else start, 0), length - 1)
    if stop is None or stop == -1:
        last = -1
    elif stop < 0:
        last = max(stop + length, -1 if writes else 0)
    else:
        last = length - 2 if start is not None and min(start, stop) >= length else stop
    return range(first, last, step)


class _Parts:
    """A parsed index.

    Attributes:
        tensor: the tensor to index, some axes flipped, because torch has no negative steps.
        turned: the flipped axes.
        basic: ints, slices with positive steps and None, which give a view of `tensor`.
        advanced: the axis of the view that each index tensor indexes, and the tensor.
    """

    def __init__(self, x: torch.Tensor, index: Any, writes: bool = False) -> None:
        lengths = _shape(x)
        self.turned: list[int] = []
        self.basic: list[Any] = []
        self.advanced: list[tuple[int, torch.Tensor]] = []
        self.is_whole = True
        axis = place = 0
        for item in _items(index, len(lengths)):
            if isinstance(item, slice):
                item = self._forwards(item, axis, lengths, writes)
                place += 1
            elif isinstance(item, bool):
                self.advanced.append((place, torch.tensor([item], device=x.device)))
                item = None
                place += 1
            elif isinstance(item, torch.Tensor):
                if item.dtype == torch.bool and item.ndim and axis < len(lengths) and item.shape[0] != lengths[axis]:
                    raise IndexError(f"a mask of {item.shape[0]} for axis {axis} of {lengths[axis]}")
                self.advanced.append((place, item))
                self.basic += [_WHOLE] * (_axes_of(item) - 1)
                axis += _axes_of(item) - 1
                place += _axes_of(item)
                item = _WHOLE
            if item is not None:
                axis += 1
            self.is_whole = self.is_whole and item is _WHOLE
            self.basic.append(item)
        self.tensor = torch.flip(x, self.turned) if self.turned else x  # a copy, which `set_` writes back

    def _forwards(self, item: slice, axis: int, lengths: Any, writes: bool) -> slice:
        if axis >= len(lengths):
            return item
        length = lengths[axis]
        if isinstance(length, torch.SymInt):
            return self._of_any_length(item, axis)
        chosen = places(item, length, writes)
        if chosen.step > 0:
            # Only a slice of all elements with step 1 is the tensor itself; `t[::2]` of one element is a step of the graph.
            return (
                _WHOLE
                if len(chosen) == length and chosen.step == 1
                else slice(chosen.start, max(chosen.start, chosen.stop), chosen.step)
            )
        self.turned.append(axis)
        first = length - 1 - chosen[0] if chosen else 0
        return slice(first, first + (len(chosen) - 1) * -chosen.step + 1 if chosen else 0, -chosen.step)

    def _of_any_length(self, item: slice, axis: int) -> slice:
        """A slice of an axis of open length in a recorded pass, where an end beyond the axis is clipped as in Python."""
        if item.step is None or item.step > 0:
            return _WHOLE if item == _WHOLE else item
        if item.start is not None or item.stop is not None:
            refuse_to_record("a slice backwards along an axis of any length")
        self.turned.append(axis)
        return slice(None, None, -item.step)

    def view(self) -> torch.Tensor:
        """The part of the tensor that the basic indices name."""
        return self.tensor if self.is_whole else torch.Tensor.__getitem__(self.tensor, tuple(self.basic))

    def of_view(self) -> tuple[Any, ...]:
        """The advanced indices as an index of the view."""
        found: list[Any] = []
        axis = 0
        for place, index in self.advanced:
            found += [_WHOLE] * (place - axis) + [index]
            axis = place + _axes_of(index)
        return tuple(found)


def get(self: "Tensor", index: Any) -> "Tensor":
    """`self[index]`: the tensor itself for a full slice, views for ints and slices, copies for lists, tensors and masks."""
    view = None
    try:
        # The way of loops over steps, so without taking the index apart.
        if type(index) is int:
            return wrap(torch.select(self, 0, index))
        parts = _Parts(self, index)
        view = parts.view()
        return wrap(torch.Tensor.__getitem__(view, parts.of_view()) if parts.advanced else view)
    except (IndexError, RuntimeError) as error:
        raise _translated(error, self, view, "could not be broadcast", " mask ") from error


def _translated(error: Exception, x: "Tensor", view: torch.Tensor | None, fits: str, other: str) -> Exception:
    """Paddle's error (2.6.2, recorded).

    A ValueError for index tensors that do not fit the view, torch's texts with `fits` among them, and an IndexError for
    other faults,
    torch's texts with `other` among them.
    """
    if not isinstance(error, IndexError):
        return unsettled(translate(error, "__getitem__"), x)
    text = str(error)
    if view is not None and (fits in text or other not in text):
        return unsettled(ValueError(f"(InvalidArgument) an index tensor does not fit shape {x.shape}: {error}"), x)
    return unsettled(IndexError(f"(OutOfRange) the index does not fit shape {x.shape}: {error}"), x)


def _choose(view: torch.Tensor, parts: _Parts, new: torch.Tensor) -> bool:
    """Write where a mask of the whole view is True; False without such a mask, or for a value that does not fit the view."""
    mask = parts.advanced[0][1]
    if len(parts.advanced) > 1 or mask.dtype != torch.bool or _shape(mask) != _shape(view) or not new.ndim:
        return False
    try:
        new = torch.Tensor.expand(new, _shape(view))
    except RuntimeError:
        return False
    torch.Tensor.copy_(view, torch.where(mask, new, view))
    return True


def _chooses_nothing(parts: _Parts) -> bool:
    """Whether one of the masks is False everywhere: Paddle 2.6.2 then writes nothing, for any other indices (recorded)."""
    return any(index.dtype == torch.bool and not bool(torch.any(index)) for _, index in parts.advanced)


def _write(view: torch.Tensor, parts: _Parts, new: torch.Tensor) -> None:
    """Write to the places that index tensors name.

    Paddle 2.6.2 brings the axes that they index to the front before it broadcasts the value: `t[:, [0, 2]] = [1, 2]` writes
    1 to
    the first row and 2 to the second one (recorded).
    """
    if _choose(view, parts, new):
        return
    taken = [place + step for place, index in parts.advanced for step in range(_axes_of(index))]
    if new.ndim and taken != list(range(len(taken))):
        front = torch.movedim(view, taken, list(range(len(taken))))
        indices = tuple(index for _, index in parts.advanced)
        try:
            torch.Tensor.__setitem__(front, indices, new)
            return
        except RuntimeError:  # where Paddle refuses a value, NumPy's rule is left
            pass
    torch.Tensor.__setitem__(view, parts.of_view(), new)


def set_(self: "Tensor", index: Any, value: Operand) -> None:
    """`self[index] = value`, the value cast to the dtype of the tensor.

    A value of the shape of the tensor, or of a shape that broadcasts to it, may be written by a mask of the tensor's shape.

    Raises:
        ValueError: if the shapes do not fit, or the tensor is a leaf that gets gradients.
        IndexError: if a position is out of range.
    """
    refuse_leaf(self)
    if not isinstance(value, (torch.Tensor, np.ndarray, np.generic, bool, int, float, complex)):
        raise ValueError(
            "(InvalidArgument) Value type error. The assign value allows Tensor, numpy.ndarray, integer, float, complex or "
            f"bool, but received {type(value).__name__}"
        )
    new = torch.Tensor.to(as_torch(value), _dtype(self))
    view = None
    try:
        parts = _Parts(self, index, writes=True)
        if parts.advanced:
            view = parts.view()
            _write(view, parts, new)
        else:
            torch.Tensor.__setitem__(parts.tensor, tuple(parts.basic), new)
        if parts.turned:
            torch.Tensor.copy_(self, torch.flip(parts.tensor, parts.turned))
    except (IndexError, RuntimeError) as error:
        if "could not be broadcast" in str(error) and _chooses_nothing(parts):
            return
        raise _translated(error, self, view, " mask ", "none") from error
