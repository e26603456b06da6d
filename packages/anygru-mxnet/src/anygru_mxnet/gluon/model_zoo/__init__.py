"""`gluon.model_zoo`: local files of trained models. MXNet's networks for images are not covered."""

from . import model_store
