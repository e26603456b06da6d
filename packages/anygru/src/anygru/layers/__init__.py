"""The layers: parameters, options and calls. What they compute is `anygru.functional`'s."""

from .gru import GRU as GRU
from .gru import FrozenGRU as FrozenGRU
from .gru import FrozenGRUCell as FrozenGRUCell
from .gru import GRUCell as GRUCell
from .gru import LazyGRU as LazyGRU
from .stream import Stream as Stream
