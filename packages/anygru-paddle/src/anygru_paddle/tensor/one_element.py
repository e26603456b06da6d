"""Arrays of one element that also act as numbers, as in every NumPy before 2.4: `"%.3f" % loss.numpy()` for a loss [1]."""

from typing import Any

import numpy as np


class OneElement(np.ndarray):
    """An array that `float`, `int` and `complex` convert if it has one element; copied and saved as a plain array."""

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


OneElement.__name__ = "array"  # in its printed form
