"""`gluon.model_zoo.model_store`: paths of files with trained parameters. gluon-nlp adds its models to `_model_sha1`."""

import os

from ...base import data_dir
from ..utils import download

__all__ = ["get_model_file", "purge"]

# The SHA-1 sum of the file of each model.
_model_sha1: dict[str, str] = {}


def short_hash(name: str) -> str:
    """The first eight digits of a model's SHA-1 sum, which are part of its file's name.

    Raises:
        ValueError: for an unknown model.
    """
    if name not in _model_sha1:
        raise ValueError(f"Pretrained model for {name} is not available.")
    return _model_sha1[name][:8]


def get_model_file(name: str, root: str = os.path.join(data_dir(), "models")) -> str:
    """The file of a model's parameters in the folder `root`.

    Raises:
        NotCoveredError: if the file does not exist, since anygru does not download, or has another sum.
        ValueError: for an unknown model.
    """
    path = os.path.join(os.path.expanduser(root), f"{name}-{short_hash(name)}.params")
    return download(path, path, sha1_hash=_model_sha1[name])


def purge(root: str = os.path.join(data_dir(), "models")) -> None:
    """Remove the parameter files in the folder."""
    folder = os.path.expanduser(root)
    for name in os.listdir(folder):
        if name.endswith(".params"):
            os.remove(os.path.join(folder, name))
