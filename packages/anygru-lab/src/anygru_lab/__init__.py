"""Experiments with anygru: the commands `train`, `sample` and `bench`."""
