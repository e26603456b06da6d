"""Real numbers as the C++ library libstdc++ makes them from the words of an mt19937, to the last bit."""

import ctypes
import ctypes.util
import math
from collections.abc import Callable

import numpy as np


def _c_logarithm() -> Callable[[float], float] | None:
    name = ctypes.util.find_library("m")
    if name is None:
        return None
    function = ctypes.CDLL(name).logf
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return function


_LOGF = _c_logarithm()


def fractions(words: np.ndarray, kind: type[np.floating]) -> np.ndarray:
    """Numbers from 0 up to, not including, 1: of one word each in float32, of two in float64."""
    if kind is np.float32:
        values = words.astype(np.float32) / np.float32(2**32)
    else:
        low, high = words[..., 0::2].astype(np.float64), words[..., 1::2].astype(np.float64)
        values = (low + high * 2.0**32) / 2.0**64
    # After rounding a number may be 1, which libstdc++ replaces by the greatest number below 1.
    return np.minimum(values, np.nextafter(kind(1), kind(0)))


def logarithms(values: np.ndarray) -> np.ndarray:
    """The C library's logarithms of numbers from 0 to 1, to the last bit, which depends on how it rounds."""
    exact = np.log(values.astype(np.float64))
    if values.dtype == np.float64:
        return np.fromiter(map(math.log, values.flat), np.float64, values.size).reshape(values.shape)
    found = exact.astype(np.float32)
    if _LOGF is not None:
        # Its error, in units of the last place, is below 0.3 near 1 and below 0.05 elsewhere (measured): only numbers
        # this near to the middle of two float32 values may be rounded differently.
        tie = 0.5 - np.abs(exact - found) / np.spacing(np.abs(found))
        doubtful = tie < np.where(values > 0.9, 0.35, 0.06)
        found[doubtful] = [_LOGF(value) for value in values[doubtful].tolist()]
    return found
