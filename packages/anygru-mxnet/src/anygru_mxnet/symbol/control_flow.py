"""`mx.sym.contrib.foreach`, `while_loop` and `cond`: loops and branches as nodes that contain graphs.

Python's functions are called once, on new variables. An attribute marks the nodes that they create. Other values become inputs of
the loop's or branch's node, as in MXNet 1.9.1 and its files.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ..attribute import AttrScope
from ..attribute import current as current_attributes
from . import nesting
from .node import Entry, Node, topological
from .register import FUNCTIONS
from .symbol import Group, Symbol, var

_MARK = "__subgraph_name__"


class _Graph:
    """The graph of one of the functions.

    Attributes:
        heads: its results. form: the nesting of its outputs. outputs: the number of outputs at the begin of the heads, before the
            states.
    """

    def __init__(self, name: str, function: Callable[[], tuple[Any, Any]], states_form: Any = None) -> None:
        outer = current_attributes().get(None).get(_MARK)
        name = f"{outer}${name}" if outer else name
        self.name = f"{name}{AttrScope._subgraph_names[name]}"
        AttrScope._subgraph_names[name] += 1
        with AttrScope(**{_MARK: self.name}):
            outputs, states = function()
            flat, self.form = _flatten(outputs, f"{name} output")
            last, form = _flatten(states, f"{name} loop_vars")
            if states_form is not None and form != states_form:
                raise AssertionError("The input and output loop_vars have different format")
            self.outputs = len(flat)
            self.heads = Group(self._copied_results(flat, last))._entries
        self.outside = self._replace_outside()
        self.variables = [node for node in topological(node for node, _ in self.heads) if node.operator is None]

    def _copied_results(self, outputs: list[Symbol], states: list[Symbol]) -> list[Symbol]:
        """The results. Variables, values from outside of the function and repeated results are copied."""
        inputs = set(Group([*outputs, *states]).list_inputs())
        taken = {symbol.name for symbol in outputs} if self.form != [] else set()
        copy = FUNCTIONS["identity"]

        def own(symbol: Symbol, others: set) -> Symbol:
            strange = symbol.name in inputs or symbol.list_attr().get(_MARK) != self.name
            return copy(symbol) if strange or symbol.name in others else symbol

        return [own(symbol, set()) for symbol in outputs] + [own(symbol, taken) for symbol in states]

    def _replace_outside(self) -> dict[str, Entry]:
        """Replace values computed outside by variables; return these values by the variables' names."""
        outside: dict[str, Entry] = {}
        stand_ins: dict[tuple[int, int], Entry] = {}
        for node in topological(node for node, _ in self.heads):
            if node.attrs.get(_MARK) != self.name:
                continue
            for place, (below, index) in enumerate(node.inputs):
                if below.operator is not None and below.attrs.get(_MARK) != self.name:
                    name = below.output_name(index)
                    node.inputs[place] = stand_ins.setdefault((id(below), index), (Node(None, name), 0))
                    outside[name] = (below, index)
            if node.fused is not None:
                operator, entries, attributes = node.fused
                node.fused = operator, [stand_ins.get((id(n), i), (n, i)) for n, i in entries], attributes
        return outside


def _flatten(value: Any, what: str) -> tuple[list[Symbol], Any]:
    flat, form = nesting.flatten(value, what)
    if not all(isinstance(symbol, Symbol) for symbol in flat):
        raise AssertionError(f"{what} must be a symbol or a nested list of symbols, got {value}")
    return flat, form


def _new_variables(symbols: Iterable[Symbol], form: Any) -> Any:
    """New variables, which a function gets instead of symbols."""
    return nesting.regroup([var(_name_within(symbol)) for symbol in symbols], form)


def _name_within(symbol: Symbol) -> str:
    return f"{symbol.name}-{symbol._entries[0][1]}"


def _connect(graphs: list[_Graph], given: dict[str, Entry]) -> tuple[list[Entry], list[list[int]]]:
    """The inputs for the graphs' variables, and their positions for each graph. `given` are the variables that a loop changes.

    If a value from outside is also the first value of a loop's variable, it is a separate input.
    """
    inputs: dict[tuple[bool, Entry], int] = {}
    found = []
    for graph in graphs:
        needed = [(v.name in given, given.get(v.name) or graph.outside.get(v.name) or (v, 0)) for v in graph.variables]
        found.append([inputs.setdefault(key, len(inputs)) for key in needed])
    return [entry for _, entry in inputs], found


def _node(name: str, graphs: list[_Graph], inputs: list[Entry], attributes: dict[str, Any]) -> Symbol:
    """The node of a loop or branch."""
    texts = {key: str(value) for key, value in attributes.items()}
    result = FUNCTIONS[name](*(Symbol([entry]) for entry in inputs), **texts, num_args=len(inputs) + len(graphs))
    result._entries[0][0].graphs = [graph.heads for graph in graphs]
    return result


def foreach(body: Callable, data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Call `body(slice, states)` on each slice of the first axis. Returns the stacked outputs and the last states.

    Raises:
        AssertionError: for data or states that the body does not use, and for returned states with another nesting.
    """
    columns, form = _flatten(data, "foreach input")
    states, states_form = _flatten(init_states, "foreach states")
    graph = _Graph(name, lambda: body(_new_variables(columns, form), _new_variables(states, states_form)), states_form)
    names = [variable.name for variable in graph.variables]
    for what, symbols in (("data", columns), ("state", states)):
        if not all(_name_within(symbol) in names for symbol in symbols):
            raise AssertionError(f"the {what} arrays have to be used in the loop body")
    given = [_name_within(symbol) for symbol in (*columns, *states)]
    rest = [variable for variable in graph.variables if variable.name not in given]
    inputs = [symbol._entries[0] for symbol in (*columns, *states)]
    inputs += [graph.outside.get(variable.name, (variable, 0)) for variable in rest]
    places = [names.index(within) for within in given]
    attributes = {
        "in_data_locs": places[: len(columns)],
        "in_state_locs": places[len(columns) :],
        "remain_locs": [names.index(variable.name) for variable in rest],
        "num_out_data": graph.outputs,
        "num_outputs": len(graph.heads),
    }
    result = list(_node("_foreach", [graph], inputs, attributes))
    return nesting.regroup(result[: graph.outputs], graph.form), nesting.regroup(result[graph.outputs :], states_form)


def while_loop(
    cond: Callable, func: Callable, loop_vars: Any, max_iterations: int | None = None, name: str = "while_loop"
) -> tuple[Any, Any]:
    """Call `func(*variables)` while `cond(*variables)` is not zero, at most `max_iterations` times.

    Raises:
        ValueError: without `max_iterations`, without variables, and for an unused variable.
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    if not len(loop_vars):
        raise ValueError("loop_vars should contain at least one element")
    variables, form = _flatten(loop_vars, "while loop_vars")

    def step() -> tuple[Any, Any]:
        outputs, following = func(*_new_variables(variables, form))
        following = [] if following is None else following
        if len(following if isinstance(following, (list, tuple)) else [following]) != len(loop_vars):
            raise ValueError("The number of loop_vars should be consistent during the loop")
        return [] if outputs is None else outputs, following

    graphs = [
        _Graph(f"{name}_cond", lambda: (cond(*_new_variables(variables, form)), [])),
        _Graph(f"{name}_func", step),
    ]
    within = {_name_within(symbol): symbol._entries[0] for symbol in variables}
    inputs, (tested, called) = _connect(graphs, within)
    names = [variable.name for variable in graphs[1].variables]
    for number, key in enumerate(within, 1):
        if key not in names:
            raise ValueError(f"The {number}-th loop_var doesn't involve into the computation")
    attributes = {
        "max_iterations": int(max_iterations),
        "cond_input_locs": tested,
        "func_input_locs": called,
        "func_var_locs": [names.index(key) for key in within],
        "num_out_data": graphs[1].outputs,
        "num_outputs": len(graphs[1].heads),
    }
    result = list(_node("_while_loop", graphs, inputs, attributes))
    outputs = graphs[1].outputs
    return nesting.regroup(result[:outputs], graphs[1].form), nesting.regroup(result[outputs:], form)


def cond(pred: Symbol, then_func: Callable, else_func: Callable, name: str = "cond") -> Any:
    """The result of `then_func` if the number `pred` is not zero, otherwise of `else_func`.

    Raises:
        ValueError: if the functions have different numbers of results.
    """
    graphs = [
        _Graph(f"{name}_pred", lambda: (pred, [])),
        _Graph(f"{name}_then", lambda: (then_func(), [])),
        _Graph(f"{name}_else", lambda: (else_func(), [])),
    ]
    if len(graphs[1].heads) != len(graphs[2].heads):
        raise ValueError("Number of outputs differs between then-branch and else-branch")
    inputs, places = _connect(graphs, {})
    attributes = dict(zip(("cond_input_locs", "then_input_locs", "else_input_locs"), places, strict=True))
    result = _node("_cond", graphs, inputs, {**attributes, "num_outputs": len(graphs[1].heads)})
    return nesting.regroup(list(result), graphs[1].form)
