"""`npx.save` and `npx.load`: files of arrays of `mx.np`, in the format of `nd.save`."""

from typing import Any

from ..ndarray import utils


def save(file: str, arr: Any) -> None:
    """Write an array, a list of them, or a dict of them by name."""
    utils.save(file, arr)


def load(file: str) -> Any:
    """The list or the dict of arrays in a file."""
    return utils.load(file)
