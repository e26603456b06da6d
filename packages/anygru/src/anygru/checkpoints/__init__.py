"""Checkpoints of every framework: recognised by content, read without running any code from them, written atomically.

torch is imported only when tensors are needed.
"""

from .checkpoint import Checkpoint as Checkpoint
from .checkpoint import load_checkpoint as load_checkpoint
from .finding import FoundGRU as FoundGRU
from .formats import NAMES as NAMES
from .formats import format_for as format_for
from .formats import format_module as format_module
from .formats import recognise as recognise
from .writing.saving import save_checkpoint as save_checkpoint
