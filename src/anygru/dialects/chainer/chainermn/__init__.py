"""ChainerMN's vocabulary over `torch.distributed`: several processes train copies of a model together.

Start the processes with `anygru launch` (torchrun); a script that is started alone is a world of one process. Gloo joins
processes on CPUs, NCCL those with a GPU each.
"""

from anygru.dialects import refuser

from ..chainermn import communicators
from ..chainermn.communicators import CommunicatorBase, create_communicator
from ..chainermn.datasets import create_empty_dataset, scatter_dataset
from ..chainermn.extensions import create_multi_node_evaluator
from ..chainermn.optimizers import create_multi_node_optimizer

__all__ = [
    "CommunicatorBase",
    "communicators",
    "create_communicator",
    "create_empty_dataset",
    "create_multi_node_evaluator",
    "create_multi_node_optimizer",
    "scatter_dataset",
]
__getattr__ = refuser(
    "chainer",
    "chainermn",
    {
        "functions": "torch.distributed",
        "links": "torch.nn.SyncBatchNorm",
        "MultiNodeChainList": "torch.distributed.pipelining",
        "create_multi_node_checkpointer": "chainer.training.extensions.snapshot on rank 0",
        "create_multi_node_iterator": "torch.distributed.broadcast_object_list",
    },
)
