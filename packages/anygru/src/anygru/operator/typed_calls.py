"""Types of calls and their results for type checkers: the output has the form of the input."""

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypedDict, TypeVar, cast, overload

from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from ..facts.decays import PerStep
from ..facts.formula import Activation, Reset
from ..facts.modifiers import DropoutOn
from ..facts.problem import BackendName, Between
from ..facts.sequences import Batch, Lengths

Form = TypeVar("Form", Tensor, PackedSequence, list[Tensor], tuple[Tensor, ...])


class SequenceCall(Protocol):
    """A call of a layer, or its method `forward`."""

    def __get__(self, layer: Any, kind: type | None = None) -> "SequenceCall": ...

    @overload
    def __call__(
        self,
        input: Form,
        h_0: Tensor | None = None,
        lengths: Lengths | None = None,
        resets: PerStep | None = None,
        decay: PerStep | None = None,
        return_states: Literal[False] = False,
        reset_states: PerStep | None = None,
        *,
        hx: Tensor | None = None,
    ) -> tuple[Form, Tensor]: ...

    @overload
    def __call__(
        self,
        input: Form,
        h_0: Tensor | None = None,
        lengths: Lengths | None = None,
        resets: PerStep | None = None,
        decay: PerStep | None = None,
        *,
        return_states: Literal[True],
        reset_states: PerStep | None = None,
        hx: Tensor | None = None,
    ) -> tuple[Form, Tensor, Form]: ...

    @overload
    def __call__(
        self,
        input: Batch,
        h_0: Tensor | None = None,
        lengths: Lengths | None = None,
        resets: PerStep | None = None,
        decay: PerStep | None = None,
        return_states: bool = False,
        reset_states: PerStep | None = None,
        *,
        hx: Tensor | None = None,
    ) -> tuple[Any, ...]: ...


def typed(method: Callable[..., tuple[Any, ...]]) -> SequenceCall:
    """The method itself; for type checkers `layer.forward(...)` has the types of `layer(...)`."""
    return cast(SequenceCall, method)


class CellCall(Protocol):
    """A call of a cell."""

    def __call__(self, input: Tensor, h: Tensor | None = None, *, hx: Tensor | None = None) -> Tensor: ...


class CallOptions(TypedDict, total=False):
    """The keyword arguments of `functional.gru`, without return_states."""

    lengths: Lengths | None
    batch_first: bool
    batch_first_states: bool
    bidirectional: bool
    bias: bool
    dropout: float | Between
    training: bool
    reverse: bool
    resets: PerStep | None
    reset_states: PerStep | None
    decay: PerStep | None
    norm: Literal["layer"] | None
    groups: int
    input_groups: int
    gradient_clipping: float | None
    zoneout: float
    recurrent_dropout: float
    recurrent_dropout_on: DropoutOn
    reset: Reset
    gate_activation: Activation
    activation: Activation
    backend: BackendName | None
