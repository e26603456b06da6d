"""Experiments with anygru: the commands `train` and `sample`."""
