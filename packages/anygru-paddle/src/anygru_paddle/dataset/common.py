"""The cache of `paddle.dataset`: where an archive is, and an error with instructions if it is missing."""

import hashlib
import os
import re
import tempfile

__all__ = ["DATA_HOME", "download", "md5file"]

_HOME = os.path.expanduser("~")
DATA_HOME = os.path.join(_HOME if os.access(_HOME, os.W_OK) else tempfile.gettempdir(), ".cache", "paddle", "dataset")


def md5file(fname: str) -> str:
    """The MD5 sum of a file, in hexadecimal digits."""
    with open(fname, "rb") as file:
        return hashlib.md5(file.read(), usedforsecurity=False).hexdigest()


def download(url: str, module_name: str, md5sum: str, save_name: str | None = None) -> str:
    """The path of the archive in the cache. Unlike Paddle this function never downloads it.

    Raises:
        FileNotFoundError: without the archive; the message names the file and its folder.
        ValueError: for a file of another MD5 sum, or a name that leaves the cache.
    """
    name = url.split("/")[-1] if save_name is None else save_name
    if not re.fullmatch(r"[a-zA-Z0-9_/-]+", module_name) or ".." in name:
        raise ValueError(f"paddle.dataset: {module_name!r} and {name!r} must be names in the cache {DATA_HOME}")
    path = os.path.join(DATA_HOME, module_name, name)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"paddle.dataset.{module_name}: {path} is missing, and anygru does not download; fetch {url} and put it there "
            f"(MD5 {md5sum})"
        )
    if md5file(path) != md5sum:
        raise ValueError(f"paddle.dataset.{module_name}: {path} has the MD5 sum {md5file(path)}, expected {md5sum}")
    return path
