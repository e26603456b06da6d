"""Warning classes of the dialect."""


class PerformanceWarning(RuntimeWarning):
    """Something works, but slower than it could."""
