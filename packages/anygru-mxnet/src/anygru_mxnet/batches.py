"""`mx.io.DataDesc` and `DataBatch`: a batch of an iterator, and the description of its inputs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from .base import DtypeLike, Sizes, mx_real_t

__all__ = ["DataBatch", "DataDesc"]


class _Described(NamedTuple):
    name: str
    shape: Any


class DataDesc(_Described):
    """A tuple of the name and the shape of an input, with its dtype and layout as attributes."""

    dtype: Any
    layout: str

    def __new__(cls, name: str, shape: Sizes, dtype: DtypeLike = mx_real_t, layout: str = "NCHW") -> "DataDesc":
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_list(shapes: Iterable[tuple], types: Iterable[tuple[str, Any]] | None) -> list["DataDesc"]:
        """Descriptions from pairs (name, shape) and pairs (name, dtype)."""
        known = None if types is None else dict(types)
        return [DataDesc(each[0], each[1], *([] if known is None else [known[each[0]]])) for each in shapes]

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The position of N in a layout."""
        return 0 if layout is None else layout.find("N")


class DataBatch:
    """The arrays of a batch, `data` and `label`, and the number of padding samples at its end."""

    def __init__(
        self,
        data: list,
        label: list | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: list | None = None,
        provide_label: list | None = None,
    ) -> None:
        for what, given in (("Data", data), ("Label", label)):
            assert given is None or isinstance(given, (list, tuple)), f"{what} must be list of NDArrays"
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        shapes = [[part.shape for part in parts] if parts else [] for parts in (self.data, self.label)]
        return f"{type(self).__name__}: data shapes: {shapes[0]} label shapes: {shapes[1]}"
