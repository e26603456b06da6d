"""The base class of links that keep a state from step to step."""

from typing import Any, ClassVar

from ...device_resident import DeviceResidentsVisitor
from ...link import Chain
from ...types import VariableLike
from ...variable import Variable


def zeros(link: Any, x: VariableLike) -> Variable:
    """A state of zeros for the batch x."""
    return Variable(link.xp.zeros((x.shape[0], link.state_size), dtype=x.dtype))


class Stateful(Chain):
    """A link that keeps Variables, each None before the first step; they go with the link to its device."""

    kept: ClassVar[tuple[str, ...]] = ("h",)
    state_size: int
    h: Any = None

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        for name in self.kept:
            state = getattr(self, name)
            if state is not None:
                visitor.visit_variable(state)

    def set_state(self, h: Variable) -> None:
        """Set the state (AssertionError unless it is a Variable); it is moved to the link's device."""
        self._keep(h=h)

    def _keep(self, **states: Variable) -> None:
        for name, state in states.items():
            if not isinstance(state, Variable):
                raise AssertionError(f"{name} must be a Variable, got {type(state)}")
            state.to_device(self.device)
        for name, state in states.items():
            setattr(self, name, state)

    def reset_state(self) -> None:
        """Forget the state: the next step starts from zeros."""
        for name in self.kept:
            setattr(self, name, None)


class CellStateful(Stateful):
    """A link that keeps cells `c` and outputs `h`."""

    kept = ("c", "h")
    c: Any = None

    def set_state(self, c: Variable, h: Variable) -> None:  # type: ignore[override]
        """Set the cells and outputs (AssertionError unless they are Variables)."""
        self._keep(c=c, h=h)
