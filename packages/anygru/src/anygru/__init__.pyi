# What type checkers and editors see of the lazy names of `__init__.py`; a test compares the two. `facts` is no public
# name: imported in the relative form, editors would offer it.
from anygru.facts import formula as formula
from anygru.facts import gates as gates
from anygru.facts import quantization as quantization
from anygru.facts import weights as weights

from . import backends as backends
from . import c_export as c_export
from . import checkpoints as checkpoints
from . import dialects as dialects
from . import errors as errors
from . import functional as functional
from . import layers as layers
from . import onnx as onnx
from . import parallel as parallel
from .c_export import export_c as export_c
from .checkpoints import load_checkpoint as load_checkpoint
from .checkpoints import save_checkpoint as save_checkpoint
from .dialects import from_dialect as from_dialect
from .errors import AnygruError as AnygruError
from .errors import ArgumentError as ArgumentError
from .errors import ArgumentTypeError as ArgumentTypeError
from .errors import BackendError as BackendError
from .errors import CheckpointError as CheckpointError
from .layers.gru import GRU as GRU
from .layers.gru import FrozenGRU as FrozenGRU
from .layers.gru import FrozenGRUCell as FrozenGRUCell
from .layers.gru import GRUCell as GRUCell
from .layers.own_cells import CellLayer as CellLayer
from .layers.sessions import Session as Session
from .layers.sessions import SessionPool as SessionPool
from .layers.stepper import Stepper as Stepper
from .layers.stepper import stepper as stepper
from .layers.stream import Stream as Stream
from .patching.accelerate import accelerate as accelerate
from .patching.accelerate import restore as restore
from .patching.explain import Explanation as Explanation
from .patching.explain import explain as explain
from .patching.freeze import freeze as freeze
from .patching.freeze import freeze_aware as freeze_aware

__version__: str
__all__: list[str]
