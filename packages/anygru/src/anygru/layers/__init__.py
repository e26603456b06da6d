"""The layers: parameters, options and calls. `anygru.functional` computes the results."""

from .gru import GRU as GRU
from .gru import FrozenGRU as FrozenGRU
from .gru import FrozenGRUCell as FrozenGRUCell
from .gru import GRUCell as GRUCell
from .gru import LazyGRU as LazyGRU
from .memory import CausalConv1d as CausalConv1d
from .sessions import Session as Session
from .sessions import SessionError as SessionError
from .sessions import SessionPool as SessionPool
from .stepper import Stepper as Stepper
from .stream import Stream as Stream
