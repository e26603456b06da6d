"""The folder of data sets. anygru downloads nothing: an error names the missing file and the place to put it.

Chainer 7.8.1 keeps its downloads in `~/.chainer/dataset/_dl_cache`, under the MD5 sum of the address
(`dataset/download.py`, read), so data that Chainer has fetched are found.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

__all__ = [
    "cache_or_load_file",
    "cached_download",
    "get_dataset_directory",
    "get_dataset_root",
    "set_dataset_root",
]

_dataset_root = os.environ.get("CHAINER_DATASET_ROOT", os.path.join(os.path.expanduser("~"), ".chainer", "dataset"))


def get_dataset_root() -> str:
    """The folder of all data sets: CHAINER_DATASET_ROOT, by default `~/.chainer/dataset`."""
    return _dataset_root


def set_dataset_root(path: str) -> None:
    """Set the folder of all data sets."""
    global _dataset_root
    _dataset_root = path


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """The folder of a data set, made if it is missing."""
    path = os.path.join(_dataset_root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """The path of a file that Chainer, or you, have downloaded from an address before.

    Raises:
        FileNotFoundError: the file is not there.
    """
    path = os.path.join(_dataset_root, "_dl_cache", hashlib.md5(url.encode(), usedforsecurity=False).hexdigest())
    if not os.path.exists(path):
        raise FileNotFoundError(f"anygru downloads nothing: fetch {url} yourself and save it as {path}")
    return path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """The content of a file: `loader(path)` if it exists; otherwise `creator(temporary path)`, whose file is moved to `path`."""
    if os.path.exists(path):
        return loader(path)
    try:
        os.makedirs(_dataset_root, exist_ok=True)
    except OSError as error:
        raise RuntimeError(f"cannot create dataset directory {_dataset_root}") from error
    with tempfile.TemporaryDirectory(dir=_dataset_root) as folder:
        temporary = os.path.join(folder, os.path.basename(path))
        content = creator(temporary)
        os.replace(temporary, path)
    return content
