"""A layer's forward pass recorded as a program of torch's operators, which runs without the layer's class.

torch.export cannot read the forward pass of a dialect's layer: the tensors in it answer in Paddle's words. So the pass runs
once on tensors without values (`FakeTensor`), and the results get the class `Recorded`, which has Paddle's attributes as well.
Two modes give the arguments of every function and operator of torch's its own class while it runs. torch.export reads the
graph that they record. Python code that reads values raises, because there are none.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from anygru.extend import not_covered

from ..framework.recording import recording
from ..tensor.operation import plain, recorded_results_are, wrap
from ..tensor.tensor import Tensor


class Recorded(Tensor, FakeTensor):
    """A tensor without values in a forward pass that is recorded."""


recorded_results_are(FakeTensor, Recorded)


def _in_torchs_words(_: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a function of torch's; meanwhile its arguments have torch's class."""
    given = kwargs or {}
    changed = [(each, type(each)) for each in tree_leaves((args, given)) if isinstance(each, Tensor)]
    for tensor, _ in changed:
        tensor.__class__ = FakeTensor if isinstance(tensor, FakeTensor) else torch.Tensor  # type: ignore[assignment]
    try:
        return function(*args, **given)
    finally:
        for tensor, kind in changed:
            tensor.__class__ = kind


class _Functions(TorchFunctionMode):
    __torch_function__ = _in_torchs_words


class _Operators(TorchDispatchMode):
    __torch_dispatch__ = _in_torchs_words


def _ends(value: Any) -> Any:
    """A result as the program gives it: never an input or a weight itself."""
    return torch.ops.aten.alias.default(value) if isinstance(value, torch.Tensor) else value


@contextlib.contextmanager
def _recording(of_training: bool) -> Iterator[None]:
    """The dialect and the core take tensors for ones without values."""
    compiling = torch.compiler._is_compiling_flag
    # torch.compiler.is_compiling() is read by torch's and the core's checks of values; torch has no public
    # way to set it.
    torch.compiler._is_compiling_flag = recording.is_on = True
    recording.of_training = of_training
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag, recording.is_on, recording.of_training = compiling, False, False


@contextlib.contextmanager
def _replaced(tables: Sequence[dict[str, Any]], fakes: dict[int, Any]) -> Iterator[None]:
    """Within the block tables of parameters and buffers hold the stand-ins of their tensors."""
    before = [dict(table) for table in tables]
    try:
        for table in tables:
            table.update({key: fakes[id(each)] for key, each in table.items() if id(each) in fakes})
        yield
    finally:
        for table, contents in zip(tables, before, strict=True):
            table.update(contents)


def record(
    forward: Callable[..., Any],
    layers: Sequence[torch.nn.Module],
    weights: Sequence[torch.Tensor],
    examples: Sequence[torch.Tensor],
    open_axes: Sequence[set[int]],
    of_training: bool,
) -> torch.export.ExportedProgram:
    """The program of `forward(*examples)`: it takes the list of weights and the list of inputs.

    Args:
        forward: the forward pass.
        layers: the layer and its sublayers, which own the parameters and buffers that the pass reads.
        weights: the weights that the program takes as inputs.
        examples: inputs; their values do not count.
        open_axes: for each input the axes of any length.
        of_training: whether the program must give the layer's gradients.

    Raises:
        ValueError: if the pass fixes the length of an open axis.
        NotCoveredError: with torch before 2.6.
    """
    if not hasattr(torch.export.Dim, "AUTO"):
        raise not_covered(f"paddle.jit.save with torch {torch.__version__}", "torch 2.6 or newer")
    # Lengths that are equal in the examples may differ later: each gets a separate symbol.
    shapes = ShapeEnv(duck_shape=False)
    mode = FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)
    own = [torch.empty_like(plain(each.detach())) for each in weights]
    fakes = [mode.from_tensor(each, symbolic_context=_context(each, set())) for each in own]
    inputs = [
        mode.from_tensor(each, symbolic_context=_context(each, axes))
        for each, axes in zip(examples, open_axes, strict=True)
    ]
    tables: list[Any] = [table for layer in layers for table in (layer._parameters, layer._buffers)]

    def run(weights_: list[Any], inputs_: list[Any]) -> Any:
        fakes = {id(each): wrap(fake) for each, fake in zip(weights, weights_, strict=True)}
        with _Operators(), _Functions(), _replaced(tables, fakes):
            result = tree_map(_ends, forward(*map(wrap, inputs_)))
        for each in (*weights_, *inputs_):
            each.__class__ = FakeTensor
        return result

    with mode, enable_python_dispatcher(), torch.set_grad_enabled(of_training), _recording(of_training):
        graph = make_fx(run)(fakes, inputs)
    for place, (each, axes) in enumerate(zip(inputs, open_axes, strict=True)):
        for axis in axes:
            _need_open(shapes, each, place, axis)
    # Constants that the pass made are plain attributes of the graph; as buffers they go into the program.
    for name, value in [item for item in vars(graph).items() if isinstance(item[1], torch.Tensor)]:
        delattr(graph, name)
        graph.register_buffer(name, plain(value.detach()))
    return _exported(graph, own, examples, open_axes)


def used(program: torch.export.ExportedProgram, count: int) -> list[bool]:
    """For each of the `count` weights whether the program reads it."""
    nodes = {node.name: node for node in program.graph.nodes}
    return [bool(nodes[name].users) for name in program.graph_signature.user_inputs[:count]]


def _context(tensor: torch.Tensor, axes: set[int]) -> StatelessSymbolicContext:
    kinds = [DimDynamic.DYNAMIC if axis in axes else DimDynamic.STATIC for axis in range(tensor.dim())]
    return StatelessSymbolicContext(dynamic_sizes=kinds)


def _need_open(shapes: ShapeEnv, tensor: torch.Tensor, place: int, axis: int) -> None:
    length = torch.Tensor.size(tensor, axis)
    found = shapes.replace(length.node.expr) if isinstance(length, torch.SymInt) else length
    if getattr(found, "is_number", True):
        raise ValueError(
            f"paddle.jit.save: axis {axis} of input {place} is None in input_spec, and the forward pass works for one length of "
            "it only; give its length"
        )


def _exported(
    graph: torch.nn.Module, weights: list[torch.Tensor], examples: Sequence[torch.Tensor], open_axes: Sequence[set[int]]
) -> torch.export.ExportedProgram:
    lengths = [dict.fromkeys(axes, torch.export.Dim.AUTO) for axes in open_axes]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        program = torch.export.export(
            graph, (weights, list(examples)), dynamic_shapes=([None] * len(weights), lengths), strict=False
        )
    placeholders = (
        [node for node in program.graph.nodes if node.op == "placeholder"][-len(examples) :] if examples else []
    )
    for place, (node, axes) in enumerate(zip(placeholders, open_axes, strict=True)):
        for axis in axes:
            if not isinstance(node.meta["val"].shape[axis], torch.SymInt):
                raise ValueError(f"paddle.jit.save: axis {axis} of input {place} cannot be None; give its length")
    program._example_inputs = None  # they hold the weights
    return program
