"""Data parallelism."""

from .distributed import DistributedDataParallel
