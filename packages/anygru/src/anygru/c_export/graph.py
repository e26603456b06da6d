"""A model as a graph of one step, from `torch.export`: its GRUs are nodes, and its memory are inputs and outputs.

Two designs were compared. To export the whole sequence and cut it into frames needs the place of time in every value, through
all reshapes. Here the stepped copy of the model (`layers/machine.py`), which was compared with the model already, is exported
for one step: every size is a number, and a convolution along time is a `cat` with its last inputs.
"""

import itertools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn
from torch.export.graph_signature import OutputKind

from ..errors import AnygruError, ArgumentError
from ..facts import torch_private
from ..facts.quantization import WeightFormat
from ..layers.machine import Machine
from ..layers.memory import GraphRows, GRUMemory, InnerGRU, Memory, stepping
from ..layers.recording import first_tensor
from .operations import Recurrence, check_numbers
from .reading import recurrence

WHOLE, STEP = 0, 1
"""The computation of a GRU's node: a sequence along an axis other than time from zeros, or one step from the state."""


class Graph(NamedTuple):
    """One step of a model.

    Attributes:
        nodes: of torch's operators and `anygru_c::gru`; the first placeholder that is no constant is the input.
        constants: the tensors of the other placeholders.
        states: the memory of each placeholder of a state.
        written: the node of each memory's state after the step.
        output: the node of the model's output.
        grus: of the nodes `anygru_c::gru`, by their number.
        offsets: of their states in a row of all states; of a GRU without a state, 0.
        machine: the stepped model.
    """

    nodes: list[fx.Node]
    constants: dict[str, Tensor]
    states: dict[str, Memory]
    written: list[tuple[Memory, fx.Node]]
    output: fx.Node
    grus: list[Recurrence]
    offsets: list[int]
    machine: Machine


# The schema is given: torch 2.4 reads none from a signature with `list[int]`.
@torch.library.custom_op(
    "anygru_c::gru",
    mutates_args=(),
    schema="(Tensor input, int number, int kind, int[] sizes, bool batch_first) -> (Tensor, Tensor)",
)
def _node(input: Tensor, number: int, kind: int, sizes: list[int], batch_first: bool) -> tuple[Tensor, Tensor]:
    """A GRU as one node; sizes: layers, directions and hidden units. Its numbers are never computed."""
    raise AssertionError("a node of a graph is written, not called")


@_node.register_fake
def _(input: Tensor, number: int, kind: int, sizes: list[int], batch_first: bool) -> tuple[Tensor, Tensor]:
    layers, directions, hidden = sizes
    batch = input.shape[0 if batch_first else 1]
    return input.new_empty((*input.shape[:2], directions * hidden)), input.new_empty(
        (layers * directions, batch, hidden)
    )


class _Rows(GraphRows):
    """The states of a graph; its GRUs become nodes."""

    def __init__(self, states: dict[int, Tensor], grus: list[tuple[nn.Module, str, int]]) -> None:
        super().__init__(states)
        self._grus = grus

    def step(self, memory: GRUMemory, input: Tensor) -> tuple[Tensor, Tensor]:
        return self._node(STEP, memory.layer[0], memory.name, input, memory.offset)

    def sequence(self, inner: InnerGRU, input: Tensor) -> tuple[Tensor, Tensor]:
        return self._node(WHOLE, inner.layer, inner.name, input)

    def _node(self, kind: int, layer: Any, name: str, input: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        if input.dim() != 3:
            raise ArgumentError(
                f"{name}: a GRU in a file in C takes a batch [B, T, I] or [T, B, I], got {list(input.shape)}"
            )
        self._grus.append((layer, "" if name == "model" else name, offset))
        sizes = [layer.num_layers, 1 + bool(layer.bidirectional), layer.hidden_size]
        output, h_n = _node(input, len(self._grus) - 1, kind, sizes, bool(layer.batch_first))
        return output, h_n


class _Step(nn.Module):
    """One step as a function of the input and the states."""

    def __init__(self, machine: Machine, rows: Callable[[tuple[Tensor, ...]], _Rows]) -> None:
        super().__init__()
        self.model, self._rows = machine.model, rows

    def forward(self, input: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        rows = self._rows(states)
        with stepping(rows):
            output = first_tensor(self.model(input))
        return output, *rows.written.values()


def graph_of(machine: Machine, weights: WeightFormat | None, takes: Callable[[str], bool]) -> Graph:
    """The graph of one step of a model, for a batch of one.

    Operators that the file does not take are taken apart where torch can do it.

    Raises:
        ArgumentError: torch cannot export the model, or this version of torch keeps no operators; a GRU that C cannot have;
            a step changes a buffer.
    """
    if not torch_private.at_least(2, 6):
        raise ArgumentError(
            f"a model that is not a sequence of modules needs torch 2.6 or later in C, got {torch.__version__}"
        )
    layers: list[
        tuple[nn.Module, str, int]
    ] = []  # not an attribute of the module, which torch.export gives back as it was

    def rows(states: tuple[Tensor, ...]) -> _Rows:
        layers.clear()
        return _Rows({memory.offset: state for memory, state in zip(machine.memories, states, strict=True)}, layers)

    step = _Step(machine, rows)
    frame = machine.longer.narrow(machine.batch, 0, 1).narrow(machine.time, 0, 1)
    states = [machine.like.new_zeros((1, memory.size)) for memory in machine.memories]
    tables = torch.export.default_decompositions()
    apart = {each: rule for each, rule in tables.items() if str(each).startswith("aten.") and not takes(str(each))}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch deprecates, and uses itself
            program = torch.export.export(step, (frame, *states), strict=False).run_decompositions(apart)
    except AnygruError:
        raise
    except Exception as error:  # of torch's exporter, or of the model
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        raise ArgumentError(f"torch.export cannot read the model: {reason}") from error
    signature = program.graph_signature
    kinds = [one.kind for one in signature.output_specs]
    kept = (OutputKind.USER_OUTPUT, OutputKind.USER_INPUT_MUTATION)
    if changed := sorted({str(one.target) for one in signature.output_specs if one.kind not in kept}):
        names = ", ".join(name.removeprefix("model.") for name in changed)
        raise ArgumentError(
            f"a step of the model must change no buffer and no weight, and it changes {names}: a file in C keeps the states of "
            "GRUs and causal convolutions only; remove the change in evaluation mode"
        )
    grus = [recurrence(layer, path, weights) for layer, path, _ in layers]
    check_numbers(grus)
    constants: dict[str, Tensor] = {}
    stored = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    for place, name in stored.items():
        constants[place] = program.state_dict[name] if name in program.state_dict else program.constants[name]
    for place, name in signature.inputs_to_lifted_tensor_constants.items():
        constants[place] = program.constants[name]
    places = list(signature.user_inputs)
    nodes = list(program.graph.nodes)
    own = [kind is OutputKind.USER_OUTPUT for kind in kinds]  # the others are inputs that the model changes
    output, *after = itertools.compress(nodes[-1].args[0], own)
    states_after = zip(machine.memories, after, strict=True)
    written = [(memory, node) for memory, node in states_after if not isinstance(memory, GRUMemory)]
    by_place = dict(zip(places[1:], machine.memories, strict=True))
    return Graph(nodes[:-1], constants, by_place, written, output, grus, [offset for *_, offset in layers], machine)


def module_of(node: fx.Node) -> str:
    """The module of the user's model that a node comes from, with its class: "encoder.conv (Conv2d)"."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("model", "")
    name = str(path).removeprefix("model").removeprefix(".") or "the model itself"
    return f"{name} ({str(kind).rpartition('.')[2]})" if kind else name
