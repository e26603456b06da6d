"""ChainerMN's vocabulary over `torch.distributed`: several processes train copies of a model together.

Start the processes with `anygru launch` (torchrun); a script that is started alone is a world of one process. Gloo joins
processes on CPUs, NCCL processes with a GPU each.
"""

from anygru.extend import cover as _cover

from . import communicators, functions
from .communicators import CommunicatorBase, create_communicator
from .training import create_empty_dataset, create_multi_node_evaluator, create_multi_node_optimizer, scatter_dataset

_cover(__name__)
