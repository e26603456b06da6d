"""ChainerMN's vocabulary over `torch.distributed`: several processes train copies of a model together.

Start the processes with `anygru launch` (torchrun); a script that is started alone is a world of one process. Gloo joins
processes on CPUs, NCCL those with a GPU each.
"""

from anygru.extend import cover as _cover

from . import communicators, functions
from .communicators import CommunicatorBase, create_communicator
from .datasets import create_empty_dataset, scatter_dataset
from .extensions import create_multi_node_evaluator
from .optimizers import create_multi_node_optimizer

_cover(__name__)
