"""`paddle.io`: datasets, samplers, DataLoader."""

from .dataloader.batch_sampler import *  # noqa: F403
from .dataloader.dataset import *  # noqa: F403
from .dataloader.sampler import *  # noqa: F403
from .reader import *  # noqa: F403
