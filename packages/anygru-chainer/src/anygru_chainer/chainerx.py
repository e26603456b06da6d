"""`import chainerx` without ChainerX: scripts compare `device.xp` with this module, and `is_available()` is False."""

from anygru.extend import cover as _cover


def is_available() -> bool:
    """False: there are no ChainerX arrays here."""
    return False


class ndarray:
    """A class without instances, for `isinstance`."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("ChainerX is not available.")


_cover(__name__)
