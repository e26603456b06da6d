"""iDeep, Chainer's library for Intel CPUs, does not exist here; the functions by which scripts look for it report that."""


def is_ideep_available() -> bool:
    """Always False."""
    return False


def check_ideep_available() -> None:
    """Raise RuntimeError: iDeep does not exist here."""
    raise RuntimeError("iDeep is not available, and anygru has its own CPU kernels: use '@numpy'")


def should_use_ideep(level: str) -> bool:
    """Whether to use iDeep at a level ("==always" or ">=auto"): never."""
    if level not in ("==always", ">=auto"):
        raise ValueError(f"invalid use_ideep level: {level!r}")
    return False
