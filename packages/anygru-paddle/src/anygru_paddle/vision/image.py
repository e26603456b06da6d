"""Which library reads images: kept for scripts that set it."""

__all__ = ["get_image_backend", "set_image_backend"]

_BACKENDS = ("pil", "cv2", "tensor")
_backend = "pil"


def set_image_backend(backend: str) -> None:
    """Choose 'pil', 'cv2' or 'tensor'.

    Raises:
        ValueError: for another name.
    """
    global _backend
    if backend not in _BACKENDS:
        raise ValueError(f"Expected backend are one of {list(_BACKENDS)}, but got {backend}")
    _backend = backend


def get_image_backend() -> str:
    """The library chosen, 'pil' at first."""
    return _backend
