"""Run by `python -m paddle.distributed.launch`."""

from .main import launch

launch()
