"""`python -m paddle.distributed.launch`: start the processes of a job."""

from .main import launch as launch
