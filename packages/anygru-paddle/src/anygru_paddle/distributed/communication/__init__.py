"""Groups of processes and what they exchange."""

from .collectives import all_gather as all_gather
from .collectives import all_reduce as all_reduce
from .collectives import alltoall as alltoall
from .collectives import alltoall_single as alltoall_single
from .collectives import barrier as barrier
from .collectives import broadcast as broadcast
from .collectives import gather as gather
from .collectives import reduce as reduce
from .collectives import reduce_scatter as reduce_scatter
from .collectives import scatter as scatter
from .collectives import wait as wait
from .group import destroy_process_group as destroy_process_group
from .group import get_backend as get_backend
from .group import get_group as get_group
from .group import is_initialized as is_initialized
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import scatter_object_list as scatter_object_list
from .point_to_point import P2POp as P2POp
from .point_to_point import batch_isend_irecv as batch_isend_irecv
from .point_to_point import irecv as irecv
from .point_to_point import isend as isend
from .point_to_point import recv as recv
from .point_to_point import send as send
from .reduce_op import ReduceOp as ReduceOp
