"""`gluon.model_zoo`: files of trained models on the disk; MXNet's networks for pictures are not covered."""

from . import model_store
