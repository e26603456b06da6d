"""`gluon.model_zoo`: files of trained models that lie on the disk; MXNet's networks for pictures are not covered."""

from . import model_store
