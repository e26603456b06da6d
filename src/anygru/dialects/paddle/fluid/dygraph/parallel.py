"""`paddle.fluid.dygraph.parallel`."""

from ...distributed.parallel import DataParallel as DataParallel
from ...distributed.parallel import ParallelEnv as ParallelEnv

Env = ParallelEnv
