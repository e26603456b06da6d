"""Runs a graph: its nodes in order, on torch tensors, with attributes that are parsed once.

Two optimizations do not change results: the RNN operator reads the separate parameters instead of the joined vector of MXNet's
    graph, and a cell is one call of `anygru.functional`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor

from anygru.errors import AnygruError

from ..base import MXNetError, is_refusal
from ..operators import OPERATORS
from ..operators.recurrent import in_torch_order, run_recurrent
from ..operators.registry import truth
from ..state import state, without_torch_grad
from .node import Entry, Node, topological

_LONGEST_MESSAGE = 1000  # torch's message may quote an attribute of a file
_CREATORS = ("_zeros", "_ones", "_full")
# The broadcasting operators for elementwise operators, for states of unknown batch size.
BROADCASTING = {f"elemwise_{name}": f"broadcast_{name}" for name in ("add", "sub", "mul", "div")} | {
    f"_{name}": f"broadcast_{name}" for name in ("maximum", "minimum", "power", "mod", "equal", "greater", "lesser")
}


def flattened_parameters(node: Node) -> list[Entry] | None:
    """The entries that are flattened and joined in an RNN node's parameter vector, or None."""
    if node.operator is None or node.operator.name != "RNN" or len(node.inputs) < 2:
        return None
    joined = node.inputs[1][0]
    if joined.operator is None or joined.operator.name not in ("_rnn_param_concat", "Concat"):
        return None
    sources = []
    for below, _ in joined.inputs:
        if (
            below.operator is None
            or below.operator.name != "Reshape"
            or below.attrs.get("shape") not in ("-1", "(-1,)")
        ):
            return None
        sources.append(below.inputs[0])
    return sources


def running_inputs(node: Node) -> list[Entry]:
    """The entries that a node reads."""
    if node.fused is not None:
        return node.fused[1]
    parameters = flattened_parameters(node)
    if parameters is not None:
        return [node.inputs[0], *node.inputs[2:], *parameters]
    return node.inputs


def _run_rnn(attributes: dict[str, Any], others: int, *tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    """The RNN operator on separate parameters: data, state and lengths, then the parameters."""
    data, states = tensors[0], list(tensors[1 : 1 + others])
    lengths = states.pop() if truth(attributes.get("use_sequence_length", False)) else None
    result = run_recurrent(
        attributes.get("mode", "gru"),
        data,
        states,
        in_torch_order(tensors[1 + others :], bool(attributes.get("projection_size"))),
        truth(attributes.get("bidirectional", False)),
        float(attributes.get("p", 0.0)),
        lengths,
        state_for_any=attributes.get("state_for_any", False),
        projected=bool(attributes.get("projection_size")),
    )
    return result if truth(attributes.get("state_outputs", False)) else result[0]


# A function of a value's name, its operator's name, the value, and whether it is an input.
Watch = Callable[[str, str, Tensor, bool], None]


class _Step:
    __slots__ = ("done", "inputs", "name", "operator", "outputs", "reads", "run", "writes")

    def __init__(self, run: Callable[..., Any], reads: list[int], writes: list[int], node: Node) -> None:
        assert node.operator is not None
        self.operator = node.operator.name
        self.inputs = node.operator.inputs
        self.outputs = [node.output_name(index) for index in range(len(writes))]
        self.run = run
        self.reads = reads
        self.writes = writes
        self.name = node.name
        self.done: list[int] = []


def _report(step: _Step, slots: list[Any], watch: Watch) -> None:
    for place, slot in enumerate(step.reads):
        last = step.inputs[min(place, len(step.inputs) - 1)] if step.inputs else str(place)
        watch(f"{step.name}_{last}", step.operator, slots[slot], True)
    for name, slot in zip(step.outputs, step.writes, strict=True):
        watch(name, step.operator, slots[slot], False)


class Program:
    """A graph, prepared to run.

    Attributes:
        variables: names of its variables, in the order of the values for `run`. sizes: shapes of states of unknown size, by the
            ids of their nodes; other states of unknown size have batch size 1.
    """

    def __init__(
        self, heads: list[Entry], lenient: bool = False, sizes: Mapping[int, tuple[int, ...]] | None = None
    ) -> None:
        nodes = topological((node for node, _ in heads), running_inputs)
        self.variables = [node.name for node in nodes if node.operator is None]
        self._sizes = sizes or {}
        self._lenient = lenient or any(unknown_size(node) and id(node) not in self._sizes for node in nodes)
        slots: dict[tuple[int, int], int] = {}
        for node in nodes:
            if node.operator is None:
                slots[id(node), 0] = len(slots)
        self._steps: list[_Step] = []
        for node in nodes:
            if node.operator is None:
                continue
            writes = []
            for index in range(node.outputs()):
                slots[id(node), index] = len(slots)
                writes.append(slots[id(node), index])
            reads = [slots[id(below), index] for below, index in running_inputs(node)]
            self._steps.append(_Step(self._function(node), reads, writes, node))
        self._slots = len(slots)
        self._heads = [slots[id(node), index] for node, index in heads]
        self._release()

    def _function(self, node: Node) -> Callable[..., Any]:
        assert node.operator is not None
        if node.fused is not None:
            operator, _, attributes = node.fused
            return partial(operator.compute, **attributes)
        attributes = node.operator.parse(node.attrs)
        if node.operator.name == "RNN" and len(node.inputs) > 2:
            state_node = node.inputs[2][0]
            attributes["state_for_any"] = unknown_size(state_node) and id(state_node) not in self._sizes
        if node.operator.wires is not None:
            attributes["graphs"] = [self._inner(heads, variables) for heads, variables, _ in node.wires()]
        parameters = flattened_parameters(node)
        if parameters is not None:
            return partial(_run_rnn, attributes, len(node.inputs) - 2)
        if endless(node):
            # For an unknown length it is empty, which is an error in the operator.
            count = self._sizes.get(id(node), (0,))[0] // int(attributes.get("repeat", 1))
            attributes["stop"] = attributes.get("start", 0) + count * attributes.get("step", 1.0)
        elif node.operator.name in _CREATORS:
            shape = attributes.get("shape", ())
            sizes = shape if isinstance(shape, tuple) else (shape,)
            attributes["shape"] = self._sizes.get(id(node)) or tuple(size or 1 for size in sizes)
        compute = node.operator.compute
        if self._lenient and node.operator.name in BROADCASTING:
            compute = OPERATORS[BROADCASTING[node.operator.name]].compute
        return partial(compute, **attributes) if attributes else compute

    def _inner(self, heads: list[Entry], variables: list[Node]) -> Callable[[list[Tensor]], list[Tensor]]:
        """The graph of a loop or branch as a function of its variables' values."""
        program = Program(heads, self._lenient)
        names = [variable.name for variable in variables]
        order = [names.index(name) for name in program.variables]
        return lambda values: program._compute([values[place] for place in order], None)

    def _release(self) -> None:
        """Find the last step that needs each value."""
        last: dict[int, _Step] = {}
        for step in self._steps:
            for slot in (*step.reads, *step.writes):
                last[slot] = step
        for slot, step in last.items():
            if slot not in self._heads and slot >= len(self.variables):
                step.done.append(slot)

    def run(self, values: list[Tensor], watch: Watch | None = None) -> list[Tensor]:
        """The outputs from the values of the variables, with a graph of gradients only under `autograd.record`.

        Raises:
            MXNetError: for values that an operator refuses, naming the node.
        """
        results = self._compute(values, watch) if state.recording else without_torch_grad(self._compute, values, watch)
        # Copy outputs that share an input's memory.
        given = {value.untyped_storage().data_ptr() for value in values if value.device.type != "meta"}
        return [
            result.clone() if result.device.type != "meta" and result.untyped_storage().data_ptr() in given else result
            for result in results
        ]

    def compute(self, values: list[Tensor]) -> list[Tensor]:
        """The outputs as torch's tensors. They belong to torch's graph if it records, and may share an input's memory."""
        return self._compute(values, None)

    def _compute(self, values: list[Tensor], watch: Watch | None) -> list[Tensor]:
        slots: list[Any] = [*values, *[None] * (self._slots - len(values))]
        for step in self._steps:
            try:
                result = step.run(*[slots[slot] for slot in step.reads])
            except (RuntimeError, IndexError, ValueError, TypeError, AnygruError) as error:
                if is_refusal(error):
                    raise
                raise MXNetError(f"Error in operator {step.name}: {str(error)[:_LONGEST_MESSAGE]}") from error
            if isinstance(result, tuple):
                for slot, part in zip(step.writes, result, strict=False):
                    slots[slot] = part
            else:
                slots[step.writes[0]] = result
            if watch is not None:
                _report(step, slots, watch)
            for slot in step.done:
                slots[slot] = None
        return [slots[slot] for slot in self._heads]


def unknown_size(node: Node) -> bool:
    """Whether a node creates an array with a size of 0, or a range without an end, so that the size follows from the graph."""
    return 0 in created_shape(node)


def created_shape(node: Node) -> tuple[int, ...]:
    """The shape of a created array, with 0 for sizes that follow from the graph; () for other nodes."""
    if node.operator is None:
        return ()
    if endless(node):
        return (0,)
    shape = node.operator.parse(node.attrs).get("shape", ()) if node.operator.name in _CREATORS else ()
    return shape if isinstance(shape, tuple) else (shape,)


def endless(node: Node) -> bool:
    """Whether a node is `arange(start, infer_range=True)`, with a length that follows from its reader."""
    if node.operator is None or node.operator.name != "_arange":
        return False
    attributes = node.operator.parse(node.attrs)
    return truth(attributes.get("infer_range", False)) and attributes.get("stop") is None
