"""`paddle.distributed`: several processes, on torch.distributed."""

from . import collective as collective
from . import communication as communication
from . import fleet as fleet
from .collective import is_available as is_available
from .collective import new_group as new_group
from .communication import P2POp as P2POp
from .communication import ReduceOp as ReduceOp
from .communication import all_gather as all_gather
from .communication import all_gather_object as all_gather_object
from .communication import all_reduce as all_reduce
from .communication import alltoall as alltoall
from .communication import alltoall_single as alltoall_single
from .communication import barrier as barrier
from .communication import batch_isend_irecv as batch_isend_irecv
from .communication import broadcast as broadcast
from .communication import broadcast_object_list as broadcast_object_list
from .communication import destroy_process_group as destroy_process_group
from .communication import gather as gather
from .communication import get_backend as get_backend
from .communication import get_group as get_group
from .communication import irecv as irecv
from .communication import is_initialized as is_initialized
from .communication import isend as isend
from .communication import recv as recv
from .communication import reduce as reduce
from .communication import reduce_scatter as reduce_scatter
from .communication import scatter as scatter
from .communication import scatter_object_list as scatter_object_list
from .communication import send as send
from .communication import wait as wait
from .environment import set_paddle_variables
from .launch import launch as launch
from .parallel import DataParallel as DataParallel
from .parallel import ParallelEnv as ParallelEnv
from .parallel import get_rank as get_rank
from .parallel import get_world_size as get_world_size
from .parallel import init_parallel_env as init_parallel_env
from .spawn import spawn as spawn

set_paddle_variables()
