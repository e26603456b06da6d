"""Where arrays are: NumPy's on the CPU, torch CUDA tensors behind `backends.cuda` on a GPU."""

from . import intel64
