"""The members of a backend: everything that its callers ask for."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from torch import Tensor

from ..facts.problem import Call, Problem
from ..facts.quantization import Stored

if TYPE_CHECKING:
    from .cpu_prepared import Prepared

Results: TypeAlias = tuple[Tensor, Tensor]
"""Output and h_n."""
Gradients: TypeAlias = tuple[Tensor | None, Tensor | None]
"""The upstream gradients of the results; None: zero."""


def _decline(*call: Any) -> None:
    return None


def _no_copies(input: Tensor, weights: Sequence[Tensor]) -> list[str]:
    return []


class Backend(NamedTuple):
    """A way to compute a GRU. Each module of this folder that is named in `NAMES` has one as `BACKEND`; see README.md."""

    name: str
    refuse: Callable[[Problem], str | None]
    """The reason why it cannot compute a problem, with advice for the user; None to accept."""
    run: Callable[[Problem, Call], Results]
    """Output and h_n, see `reference.run`."""
    device_type: str = ""
    """The type of device that `direct` and `direct_cell` compute on; "" if it has neither."""
    direct: Callable[..., Results | None] = _decline
    """Fast path of a dense call, see `cpu.direct`; None for a call that it does not take."""
    direct_cell: Callable[..., Tensor | None] = _decline
    """Fast path of a single step, see `cpu_cell.direct_cell`; None for a call that it does not take."""
    reserve_numel: Callable[[Problem, Call], int] | None = None
    """How many elements of the input's dtype the reserve has; symbolic if the shapes are. A backend has this function
    and the next two, or lacks all three."""
    forward: Callable[[Problem, Call, bool], tuple[Tensor, Tensor, Tensor]] | None = None
    """Output, h_n and the reserve, a flat tensor for `backward`, which is empty unless the last argument asks for it."""
    backward: (
        Callable[[Problem, Call, tuple[Tensor, Tensor], Gradients, Sequence[bool]], list[Tensor | None]] | None
    ) = None
    """The gradients of `call.tensors`, None where not needed, from the output and the reserve, and the upstream gradients."""
    prepare: "Callable[[Problem, Sequence[Stored]], Prepared] | None" = None
    """Pack weights that do not change between calls; None if it packs none."""
    copies: Callable[[Tensor, Sequence[Tensor]], list[str]] = _no_copies
    """Which tensors each call copies, and why, for `explain`."""
