"""`import chainerx`, as it is where ChainerX was not built: scripts compare `device.xp` with it, and find it unavailable."""

from anygru.extend import cover as _cover


def is_available() -> bool:
    """False: there are no ChainerX arrays here."""
    return False


class ndarray:
    """The class of no array; for `isinstance`."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("ChainerX is not available.")


_cover(__name__)
