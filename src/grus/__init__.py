"""One GRU for PyTorch."""
