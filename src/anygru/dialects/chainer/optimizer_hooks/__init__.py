"""What optimizers do to gradients before an update."""

from .hooks import *
