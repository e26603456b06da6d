"""`mx.io`: iterators of batches, and descriptions of their arrays. Follows MXNet 1.9's `mxnet.io`."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from .base import MXNetError, mx_real_t
from .batches import DataBatch, DataDesc
from .ndarray.ndarray import NDArray
from .ndarray.register import FUNCTIONS
from .ndarray.utils import array

take = FUNCTIONS["take"]


class DataIter:
    """An iterator of batches. A subclass defines `next`, or `iter_next`, `getdata`, `getlabel`, `getindex` and `getpad`."""

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def reset(self) -> None:
        """Begin again."""

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last batch."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool:
        """Advance to the next batch. Returns False at the end."""
        return False

    def getdata(self) -> list:
        """The inputs of the batch."""
        return []

    def getlabel(self) -> list:
        """The labels of the batch."""
        return []

    def getindex(self) -> Any:
        """The positions of the samples, or None."""
        return None

    def getpad(self) -> int:
        """The number of padding samples at the end."""
        return 0


class NDArrayIter(DataIter):
    """Batches of arrays.

    Args:
        data, label: an array, a list of them, or a dict of them by name.
        batch_size: samples in a batch.
        shuffle: a new order at every `reset`.
        last_batch_handle: an incomplete last batch is filled from the start ("pad"), dropped ("discard"), or returned first after
            the next `reset` ("roll_over").
        data_name, label_name: names for arrays that are given without names.
        layout: for `provide_data` and `provide_label`; the batch comes first.

    Raises:
        NotImplementedError: for a layout with another axis first.
    """

    _pad = 0

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        if layout.find("N"):
            raise NotImplementedError(f"NDArrayIter: layout {layout!r}: the batch must come first; NDArray.swapaxes")
        self.layout = layout
        self.data = _named(data, data_name, allow_empty=False)
        self.label = _named(label, label_name, allow_empty=True)
        self.num_data, self.num_source = len(self.data[0][1]), len(self.data) + len(self.label)
        self.shuffle, self.last_batch_handle = shuffle, last_batch_handle
        self._left = np.empty(0, dtype="int64")
        self.idx, self._rows_of = np.arange(self.num_data), np.arange(self.num_data)
        self.reset()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Names, shapes and dtypes of the inputs of a batch."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Names, shapes and dtypes of the labels of a batch."""
        return self._described(self.label)

    def _described(self, parts: list) -> list[DataDesc]:
        return [
            DataDesc(name, (self.batch_size, *values.shape[1:]), values.dtype, self.layout) for name, values in parts
        ]

    def hard_reset(self) -> None:
        """Restart, without the remaining samples of the last pass."""
        self._left = self._left[:0]
        self.reset()

    def reset(self) -> None:
        """Begin again.

        As in MXNet 1.9.1 (recorded) the permutation is shuffled at each restart and applied to the order of the last pass.
        """
        if self.shuffle:
            np.random.shuffle(self.idx)
            self._rows_of = self._rows_of[self.idx]
        self._carried = len(self._left)
        if self.batch_size > self.num_data + self._carried > self.num_data:
            raise MXNetError(
                f"NDArrayIter: {self._carried} and {self.num_data} rows do not fill a batch of {self.batch_size}"
            )
        self._order = np.concatenate([self._left, self._rows_of])
        self._left = self._left[:0]
        self.cursor = -self.batch_size - self._carried

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        rows = self._order[self.cursor + self._carried :][: self.batch_size]
        self._pad = self.batch_size - len(rows)
        if self._pad and self.last_batch_handle == "roll_over":
            self._left = rows
        if not len(rows) or (self._pad and self.last_batch_handle != "pad"):
            return False
        # `resize` repeats the data, because a batch may be larger than the data.
        self._rows = array(np.concatenate([rows, np.resize(self._order, self._pad)]), dtype="int64")
        return True

    def getdata(self) -> list[NDArray]:
        return [take(values, self._rows) for _, values in self.data]

    def getlabel(self) -> list[NDArray]:
        return [take(values, self._rows) for _, values in self.label]

    def getpad(self) -> int:
        """The number of padding samples at the end.

        For the first batch of a pass it is the number of remaining samples of the last pass, as in MXNet 1.9.1 (recorded).
        """
        return self._pad or (-self.cursor if -self.batch_size < self.cursor < 0 else 0)


class CSVIter(NDArrayIter):
    """Batches of the rows of CSV files.

    Args:
        data_csv, label_csv: paths; without `label_csv` the labels are zeros.
        data_shape, label_shape: the shape of a row's values.
        round_batch: whether an incomplete last batch is filled from the start, after which the next pass continues; otherwise it
            is filled with rows of the previous batch, as in MXNet 1.9.1 (recorded).
        options: `dtype` (float32, int32 or int64), `data_name`, `label_name`; options for prefetching have no effect.

    Raises:
        MXNetError: for a file that cannot be read, rows of another size, and another dtype.
    """

    def __init__(
        self, *, data_csv: str, data_shape: Sequence[int], batch_size: int, label_csv: str | None = None,
        label_shape: Sequence[int] = (1,), round_batch: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        dtype = options.pop("dtype", mx_real_t)
        names = options.pop("data_name", "data"), options.pop("label_name", "softmax_label")
        if np.dtype(dtype).name not in ("float32", "int32", "int64"):
            raise MXNetError(f"CSVIter: dtype must be float32, int32 or int64, got {dtype}")
        unknown = options.keys() - {"ctx", "device_id", "name", "prefetch_buffer"}
        if unknown:
            raise MXNetError(f"CSVIter: unknown argument {min(unknown)}")
        self._round_batch, self._first = round_batch, 0
        data, shape = _read_rows(data_csv, data_shape), () if tuple(label_shape) == (1,) else label_shape
        labels = _read_rows(label_csv, shape) if label_csv else np.zeros((len(data), *shape))
        named = [{name: array(part, dtype=dtype)} for name, part in zip(names, (data, labels), strict=True)]
        super().__init__(named[0], named[1], batch_size)
        self._rows = array(np.zeros(batch_size), dtype="int64")

    def reset(self) -> None:
        """Restart after the rows that filled the last batch."""
        self._first = max(self._first - self.num_data, 0) if self._round_batch else 0

    def iter_next(self) -> bool:
        rows = np.arange(self._first, self._first + self.batch_size)
        if self._first >= self.num_data:
            return False
        beyond = rows >= self.num_data
        rows = np.where(beyond, rows % self.num_data if self._round_batch else self._rows.asnumpy(), rows)
        self._rows, self._pad, self._first = array(rows, dtype="int64"), int(beyond.sum()), self._first + len(rows)
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self._pad, self.getindex())

    def getdata(self) -> Any:
        """The inputs of the batch, one array, as in all iterators over files in MXNet."""
        return super().getdata()[0]

    def getlabel(self) -> Any:
        """The labels of the batch, one array."""
        return super().getlabel()[0]

    def getpad(self) -> int:
        """The number of padding rows at the end."""
        return self._pad

    def getindex(self) -> np.ndarray:
        """The positions of the rows."""
        return self._rows.asnumpy().astype("uint64")


def _read_rows(path: str, shape: Sequence[int]) -> np.ndarray:
    try:
        return np.loadtxt(path, delimiter=",", ndmin=2).reshape(-1, *shape)
    except (OSError, ValueError) as error:
        raise MXNetError(f"CSVIter: {path}, rows of shape {shape}: {error}") from error


class _Around(DataIter):
    """The base class of iterators over the batches of other iterators."""

    current_batch: DataBatch

    def getdata(self) -> list:
        return self.current_batch.data

    def getlabel(self) -> list:
        return self.current_batch.label or []

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> int:
        return self.current_batch.pad or 0


class ResizeIter(_Around):
    """Passes of `size` batches of another iterator, which restarts at its end.

    Args:
        data_iter: the iterator.
        size: batches of a pass.
        reset_internal: whether each pass restarts the iterator.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        self.cur = 0

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(_Around):
    """Joins iterators: a batch has the inputs and labels of all of them. There is no prefetching.

    Args:
        iters: an iterator or a list of them.
        rename_data, rename_label: for each iterator, new names of its inputs and labels.
    """

    def __init__(
        self, iters: Any, rename_data: list[dict] | None = None, rename_label: list[dict] | None = None
    ) -> None:
        self.iters = iters if isinstance(iters, list) else [iters]
        described = [one.provide_data for one in self.iters], [one.provide_label for one in self.iters]
        self.provide_data, self.provide_label = (
            [
                DataDesc(new.get(d[0], d[0]), d[1], getattr(d, "dtype", mx_real_t))
                for parts, new in zip(of_each, names or [{}] * len(self.iters), strict=True)
                for d in parts
            ]
            for of_each, names in zip(described, (rename_data, rename_label), strict=True)
        )
        super().__init__(self.provide_data[0].shape[0])

    def reset(self) -> None:
        for one in self.iters:
            one.reset()

    def iter_next(self) -> bool:
        """Advance to the next batch. Returns False at the end.

        Raises:
            AssertionError: if one iterator ends before another.
        """
        batches: list[DataBatch] = [batch for one in self.iters for batch in islice(one, 1)]
        assert len(batches) in (0, len(self.iters)), "Number of entry mismatches between iterators"
        if not batches:
            return False
        data = [part for batch in batches for part in batch.data]
        label = [part for batch in batches for part in batch.label or ()]
        self.current_batch = DataBatch(data, label, batches[0].pad, batches[0].index)
        return True


def _named(data: Any, name: str, allow_empty: bool) -> list[tuple[str, NDArray]]:
    """Pairs (name, array) of the data, sorted by name as in MXNet 1.9.1 (source), with "_10_data" before "_2_data".

    Raises:
        TypeError: for values other than arrays, lists and dicts of them.
    """
    data = [] if data is None else [data] if isinstance(data, (np.ndarray, NDArray)) else data
    if isinstance(data, list):
        if not allow_empty and not data:
            raise AssertionError("data must hold at least one array")
        names = [name] if len(data) == 1 else [f"_{place}_{name}" for place in range(len(data))]
        data = dict(zip(names, data, strict=True))
    if not isinstance(data, dict):
        raise TypeError("Input must be NDArray, numpy.ndarray, a list of them or dict with them as values")
    # NumPy arrays of any dtype become float32 (MXNet 1.9.1, observed).
    return [(key, values if isinstance(values, NDArray) else array(values)) for key, values in sorted(data.items())]
