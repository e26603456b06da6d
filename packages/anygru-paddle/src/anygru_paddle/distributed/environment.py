"""The rank of this process, in Paddle's variables and in torch's.

anygru's launchers set torch's variables (RANK, WORLD_SIZE ...); the launcher of a cluster may set Paddle's variables. Missing
variables of each set are computed from the other set.
"""

import os

from anygru import parallel
from anygru.parallel import World


def place() -> World:
    """This process's rank and the number of processes, from either set of variables."""
    if parallel.launched() or "PADDLE_TRAINERS_NUM" not in os.environ:
        return parallel.world()
    rank, size = int(os.environ.get("PADDLE_TRAINER_ID", "0")), int(os.environ["PADDLE_TRAINERS_NUM"])
    local_rank = int(os.environ.get("PADDLE_RANK_IN_NODE", os.environ.get("PADDLE_LOCAL_RANK", rank)))
    return World(rank, size, local_rank, int(os.environ.get("PADDLE_LOCAL_SIZE", size)))


def set_torch_variables() -> None:
    """Set torch's variables from Paddle's: rank, size and the address of the rendezvous."""
    if parallel.launched():
        return
    here = place()
    master = os.environ.get("PADDLE_MASTER") or os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")[0]
    if ":" in master:
        address, _, port = master.removeprefix("http://").rpartition(":")
        os.environ.setdefault("MASTER_ADDR", address)
        os.environ.setdefault("MASTER_PORT", port)
    if not os.environ.get("MASTER_ADDR") or not os.environ.get("MASTER_PORT"):
        raise ValueError(
            "paddle.distributed initialize error: PADDLE_TRAINERS_NUM is set, but neither MASTER_ADDR and MASTER_PORT "
            "nor PADDLE_MASTER nor PADDLE_TRAINER_ENDPOINTS has the address of the rendezvous"
        )
    os.environ.update(
        RANK=str(here.rank),
        WORLD_SIZE=str(here.size),
        LOCAL_RANK=str(here.local_rank),
        LOCAL_WORLD_SIZE=str(here.local_size),
    )


def set_paddle_variables() -> None:
    """Set the variables of Paddle's launcher from torch's."""
    if not parallel.launched():
        return
    here = parallel.world()
    os.environ.update(
        PADDLE_TRAINER_ID=str(here.rank),
        PADDLE_TRAINERS_NUM=str(here.size),
        PADDLE_RANK_IN_NODE=str(here.local_rank),
        PADDLE_GLOBAL_RANK=str(here.rank),
        PADDLE_GLOBAL_SIZE=str(here.size),
        PADDLE_LOCAL_RANK=str(here.local_rank),
        PADDLE_LOCAL_SIZE=str(here.local_size),
        PADDLE_NNODES=str(-(-here.size // here.local_size)),
    )
