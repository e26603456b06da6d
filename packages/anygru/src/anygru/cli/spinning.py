"""How long OpenMP's threads wait busily, for the commands that train.

At each barrier the threads of an OpenMP team wait in a loop before they sleep. GCC's library, which
torch ships, loops for some milliseconds if it assumes one core for each thread. On a busy machine this is wrong: the
scheduler suspends the waiting threads, and the working thread waits for them. A bound of 10,000 rounds, some tenths of
a millisecond, costs nothing on an idle machine.
"""

from collections.abc import Mapping

SPINCOUNT = "10000"
SET_BY_USER = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "KMP_LIBRARY")
"""Variables by which a user decides: then nothing changes."""


def bounded(environment: Mapping[str, str]) -> dict[str, str]:
    """Give the environment with a bound on busy waiting, unless the user has set one; it must be set before torch is loaded."""
    if any(name in environment for name in SET_BY_USER):
        return dict(environment)
    return {**environment, "GOMP_SPINCOUNT": SPINCOUNT, "KMP_BLOCKTIME": "1"}
