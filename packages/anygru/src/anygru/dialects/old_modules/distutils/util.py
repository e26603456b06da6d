"""Small helpers."""

import sysconfig


def strtobool(val: str) -> int:
    """1 for y, yes, t, true, on and 1; 0 for n, no, f, false, off and 0 (ValueError for anything else)."""
    val = val.lower()
    if val in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if val in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")


def get_platform() -> str:
    """The platform, such as linux-x86_64."""
    return sysconfig.get_platform()
