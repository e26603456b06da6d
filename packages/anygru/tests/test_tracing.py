"""torch.compile(fullgraph=True) and torch.export, with dynamic batch and length, values and gradients."""

import pytest
import torch
from helpers import all_close, close, mostly_slow

import anygru
from anygru.facts.formula import Formula
from anygru.facts.weights import Layout
from anygru.functional import gru
from anygru.operator import tracing

in_one_graph = pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
pytestmark = [
    pytest.mark.compiles,
    # torch's compiler on torch's own modules
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:torch.*"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch.*"),
]


def gradients(function, layer, x):
    x = x.clone().requires_grad_()
    output, h_n = function(x)
    loss = (output * torch.linspace(-1, 1, output.numel(), dtype=x.dtype).view_as(output)).sum() + h_n.square().sum()
    return (output, h_n, *torch.autograd.grad(loss, [x, *layer.parameters()]))


def test_compiled_with_or_without_breaks_of_the_graph() -> None:
    model = anygru.GRU(4, 8, 2, bidirectional=True)
    compiled = torch.compile(lambda x: model(x)[0].relu(), backend="eager")
    x = torch.randn(5, 2, 4)
    close(compiled(x), model(x)[0].relu())


@in_one_graph
@pytest.mark.parametrize(
    "arguments",
    mostly_slow(
        [{"num_layers": 2, "bidirectional": True}, {"reset": "before", "bias": False}, {}, {"activation": "relu"}]
    ),
    ids=str,
)
def test_compiled_equals_eager_at_every_size(arguments: dict) -> None:
    torch._dynamo.reset()
    layer = anygru.GRU(3, 4, dtype=torch.float64, **arguments)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for steps, batch in ((5, 2), (6, 3), (9, 7)):
        x = torch.randn(steps, batch, 3, dtype=torch.float64)
        all_close(gradients(compiled, layer, x), gradients(layer, layer, x))
        with torch.no_grad():
            close(compiled(x)[0], layer(x)[0])


@in_one_graph
def test_one_node_for_any_length() -> None:
    torch._dynamo.reset()
    graphs = []

    def count(module, inputs):
        graphs.append([node.target for node in module.graph.nodes if node.op == "call_function"])
        return module.forward

    layer = anygru.GRU(3, 4)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=count)
    for steps in (5, 50, 500):
        compiled(torch.randn(steps, 2, 3))
    assert len(graphs) == 1
    assert graphs[0].count(torch.ops.anygru.gru.default) + graphs[0].count(torch.ops.anygru.gru) == 1


@in_one_graph
@pytest.mark.parametrize("batch_first", mostly_slow([True, False]))
def test_a_padded_batch_is_one_node(batch_first: bool) -> None:
    torch._dynamo.reset()
    layer = anygru.GRU(3, 4, 2, bidirectional=True, reset="before", batch_first=batch_first, dtype=torch.float64)

    def call(x, lengths):
        return layer(x, lengths=lengths)

    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")
    for steps, lengths in ((5, [5, 2]), (7, [0, 7, 3]), (2, [1, 2, 0, 2])):
        shape = (len(lengths), steps, 3) if batch_first else (steps, len(lengths), 3)
        x, lengths = torch.randn(shape, dtype=torch.float64), torch.tensor(lengths)
        found = gradients(lambda x, lengths=lengths: compiled(x, lengths), layer, x)
        all_close(found, gradients(lambda x, n=lengths: layer(x, lengths=n), layer, x))
    with pytest.raises(ValueError, match="lengths must be between 0 and the 2 steps of input, got 3"):
        compiled(x, torch.tensor([1, 3, 0, 2]))


@in_one_graph
def test_a_step_of_a_stream_is_one_node() -> None:
    torch._dynamo.reset()
    layer, graphs = anygru.GRU(3, 4, num_layers=2), []
    expected = layer.stream(2)

    def count(module, inputs):
        graphs.append(module.code.count("anygru.gru.default("))
        return module.forward

    stream = layer.stream(2)
    step = torch.compile(lambda x: stream.step(x), fullgraph=True, dynamic=True, backend=count)
    for x in torch.randn(4, 2, 3):
        assert torch.equal(step(x), expected.step(x))
    assert torch.equal(stream.state, expected.state)
    assert graphs == [1]


class Packed(torch.nn.Module):
    """Packs its input, or takes it packed."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = anygru.GRU(3, 4)

    def forward(self, packed):
        if isinstance(packed, torch.Tensor):
            packed = torch.nn.utils.rnn.pack_padded_sequence(packed, torch.tensor([5, 2]), enforce_sorted=False)
        output, h_n = self.gru(packed)
        return output.data, h_n


@in_one_graph
def test_a_packed_sequence_is_one_node() -> None:
    torch._dynamo.reset()
    model, graphs = Packed(), []

    def count(module, inputs):
        graphs.append(module.code.count("anygru.gru.default("))
        return module.forward

    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=count)
    for lengths in ((5, 2), (4, 3, 2)):
        packed = torch.nn.utils.rnn.pack_sequence([torch.randn(length, 3) for length in lengths])
        for found, expected in zip(compiled(packed), model(packed), strict=True):
            assert torch.equal(found, expected)
    assert graphs == [1]
    unsorted = torch.nn.utils.rnn.pack_sequence([torch.randn(2, 3), torch.randn(5, 3)], enforce_sorted=False)
    for given in (packed, unsorted):
        program = torch.export.export(model, (given,))
        assert sum("anygru.gru" in str(node.target) for node in program.graph.nodes) == 1
        for found, expected in zip(program.module()(given), model(given), strict=True):
            assert torch.equal(found, expected)
    padded = torch.randn(5, 2, 3)  # packed inside the graph
    for found, expected in zip(torch.export.export(model, (padded,)).module()(padded), model(padded), strict=True):
        assert torch.equal(found, expected)


@in_one_graph
def test_a_stream_is_not_exported() -> None:
    class Streaming(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stream = anygru.GRU(3, 4).stream(2)

        def forward(self, x):
            return self.stream.step(x)

    with pytest.raises(ValueError, match="a stream keeps its state outside the graph and cannot be exported"):
        torch.export.export(Streaming(), (torch.zeros(2, 3),))


@in_one_graph
def test_inductor() -> None:
    torch._dynamo.reset()
    layer = torch.nn.ModuleList([anygru.GRU(3, 4, batch_first=True), torch.nn.Linear(4, 2)])

    def model(x):
        return layer[1](torch.relu(layer[0](x)[0])), layer[0](x)[1]

    compiled = torch.compile(model, fullgraph=True)
    x = torch.randn(2, 5, 3)
    all_close(gradients(compiled, layer, x), gradients(model, layer, x))


@pytest.mark.parametrize("strict", [pytest.param(True, marks=in_one_graph), False])
def test_export_with_dynamic_batch_and_length(strict: bool) -> None:
    layer = anygru.GRU(3, 4, num_layers=2)
    sizes = {0: torch.export.Dim("steps", min=2, max=5000), 1: torch.export.Dim("batch", min=2, max=500)}
    exported = torch.export.export(layer, (torch.randn(5, 4, 3),), dynamic_shapes={"input": sizes}, strict=strict)
    for steps, batch in ((2, 2), (17, 9)):
        x = torch.randn(steps, batch, 3)
        close(exported.module()(x)[0], layer(x)[0])


@in_one_graph
def test_transforms_inside_a_compiled_function() -> None:
    torch._dynamo.reset()
    layer = anygru.GRU(3, 4, dtype=torch.float64)
    weights = [weight.detach() for weight in layer.parameters()]
    x = torch.randn(5, 2, 3, dtype=torch.float64)

    def per_sequence(x):
        return torch.func.vmap(lambda sequence: gru(sequence, None, weights)[0], in_dims=1, out_dims=1)(x)

    close(torch.compile(per_sequence, fullgraph=True, backend="aot_eager")(x), layer(x)[0])


def test_operator_passes_torchs_own_checks() -> None:
    layer, x = anygru.GRU(3, 4), torch.randn(5, 2, 3, requires_grad=True)
    weights = list(layer.parameters())
    for keep in (True, False):
        facts = (*Layout(), *Formula(), None)
        arguments = (x, torch.zeros(1, 2, 4), weights, *(None,) * (1 + tracing.MODIFIERS), *facts, keep)
        if not keep:
            arguments = (x.detach(), arguments[1], [w.detach() for w in weights], *arguments[3:])
        torch.library.opcheck(torch.ops.anygru.gru.default, arguments)


@pytest.mark.parametrize("backend", mostly_slow(["aot_eager", "inductor"]))
def test_a_compiled_output_may_be_changed_out_of_sight_of_autograd(backend: str) -> None:
    layer, x = anygru.GRU(3, 4), torch.randn(5, 2, 3)
    found = []
    for call in (layer, torch.compile(layer, fullgraph=True, backend=backend)):
        output, _ = call(x)
        if call is not layer:
            output.data.zero_()
        found.append(torch.autograd.grad(output.sum(), list(layer.parameters())))
    all_close(*found)


CALLS_WITH_STATES = {
    "h_0": lambda x, h: {"h_0": h},
    "states first": lambda x, h: {"h_0": h},
    "one state": lambda x, h: {"h_0": h[:, :1]},
    "resets": lambda x, h: {"h_0": h, "resets": torch.zeros(x.shape[:2], dtype=torch.bool), "reset_states": h[:, :1]},
    "decay": lambda x, h: {"h_0": h, "decay": torch.ones(*x.shape[:2], 5)},
    "padded": lambda x, h: {"h_0": h, "lengths": torch.full((x.shape[1],), 2)},
}


@in_one_graph
@pytest.mark.parametrize("name", mostly_slow(CALLS_WITH_STATES))
def test_a_state_may_come_after_a_call_without_one(name: str) -> None:
    """The batch of one input is a symbol; the batch of the other is a number or another symbol."""
    torch._dynamo.reset()
    layer = anygru.GRU(3, 5, batch_first_states=name == "states first")
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        compiled(torch.randn(3, 2, 3))
        for batch in (4, 6):
            x, h = torch.randn(7, batch, 3), torch.randn(1, batch, 5)
            given = CALLS_WITH_STATES[name](x, h.transpose(0, 1) if layer.batch_first_states else h)
            all_close(compiled(x, **given), layer(x, **given))
