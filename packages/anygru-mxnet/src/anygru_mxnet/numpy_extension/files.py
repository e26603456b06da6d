"""`npx.save` and `npx.load`: the files of `nd.save` and `nd.load`, of arrays of `mx.np`."""

from typing import Any

from ..ndarray import utils


def save(file: str, arr: Any) -> None:
    """Write an array, a list of them, or a dict of them by name."""
    utils.save(file, arr)


def load(file: str) -> Any:
    """A list or a dict of arrays, as they were written."""
    return utils.load(file)
