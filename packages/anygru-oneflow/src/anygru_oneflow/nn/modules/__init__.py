"""The layers, in files as in OneFlow."""
