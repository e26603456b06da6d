"""`nn.Graph`, run eagerly. Numbers were recorded under OneFlow 0.9.0 on the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn

X = flow.tensor(np.arange(12.0).reshape(4, 3).astype("float32") / 10)
Y = flow.ones(4, 2)


def model() -> Any:
    linear = nn.Linear(3, 2)
    linear.weight.data = flow.tensor(np.linspace(-1, 1, 6).reshape(2, 3).astype("float32"))
    linear.bias.data = flow.zeros(2)
    return linear


class Training(nn.Graph):
    def __init__(self, module: Any, optimizer: Any, schedule: Any = None, accumulation: int = 1) -> None:
        super().__init__()
        self.m = module
        self.loss = nn.MSELoss()
        self.add_optimizer(optimizer, lr_sch=schedule)
        self.config.set_gradient_accumulation_steps(accumulation)
        self.config.allow_fuse_add_to_output(True)

    def build(self, x: Any, y: Any) -> Any:
        loss = self.loss(self.m(x), y)
        loss.backward()
        return loss


class Evaluation(nn.Graph):
    def __init__(self, module: Any) -> None:
        super().__init__()
        self.m = module

    def build(self, x: Any) -> Any:
        return self.m(x)


def losses(graph: Any) -> list[float]:
    return [float(graph(X, Y).numpy()) for _ in range(3)]


@pytest.mark.parametrize(
    ("options", "expected", "weight"),
    [
        ({}, [2.190999984741211, 1.4199366569519043, 0.5249596834182739], -0.506569504737854),
        (
            {"clip_grad_max_norm": 0.1, "clip_grad_norm_type": 2.0},
            [2.190999984741211, 2.1617610454559326, 2.106783151626587],
            -0.9796968102455139,
        ),
    ],
    ids=["plain", "clipped"],
)
def test_a_training_step(options: dict[str, Any], expected: list[float], weight: float) -> None:
    module = model()
    optimizer = flow.optim.SGD([{"params": module.parameters(), **options}], lr=0.1, momentum=0.9)
    assert losses(Training(module, optimizer)) == pytest.approx(expected, rel=1e-6)
    assert module.weight[0, 0].item() == pytest.approx(weight, rel=1e-6)


def test_a_schedule_steps_with_the_graph() -> None:
    module = model()
    optimizer = flow.optim.SGD(module.parameters(), lr=0.1)
    schedule = flow.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    expected = [2.190999984741211, 1.4199366569519043, 1.1644997596740723]
    assert losses(Training(module, optimizer, schedule)) == pytest.approx(expected, rel=1e-6)


def test_gradients_are_accumulated_over_parts_of_a_batch() -> None:
    module = model()
    graph = Training(module, flow.optim.SGD(module.parameters(), lr=0.1), accumulation=2)
    assert graph(X, Y).tolist() == pytest.approx([1.1218, 3.2602], abs=1e-4)
    assert graph(X, Y).tolist() == pytest.approx([0.7635, 2.0764], abs=1e-4)
    with pytest.raises(RuntimeError, match="cannot be cut into 2 equal parts"):
        Training(module, flow.optim.SGD(module.parameters()), accumulation=2)(X[:3], Y[:3])


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_training_goes_on_from_a_saved_state(kind: str, tmp_path: Path) -> None:
    def graph() -> Any:
        module = model()
        options = {"momentum": 0.9} if kind == "SGD" else {}
        return Training(module, getattr(flow.optim, kind)(module.parameters(), lr=0.1, **options))

    whole = losses(graph()) + [0.0]
    first = graph()
    first(X, Y)
    state = first.state_dict()
    names = {"m.weight-momentum"} if kind == "SGD" else {"m.weight-m", "m.weight-v"}
    assert {"m", "loss", "System-Train-TrainStep", *names} <= set(state)
    assert state["System-Train-TrainStep"].tolist() == [1]
    flow.save(state, tmp_path / "graph")
    second = graph()
    second.load_state_dict(flow.load(tmp_path / "graph"))
    assert losses(second)[:2] == whole[1:3]
    with pytest.raises(AssertionError, match="before the first call"):
        second.load_state_dict(state)


def test_results_are_outside_of_the_graph_and_inputs_stay_alike() -> None:
    graph = Evaluation(model())
    assert (graph(X).requires_grad, graph.training, graph.name.startswith("Evaluation_")) == (False, False, True)
    for other in (X[:2], X.to(flow.float64)):
        with pytest.raises(RuntimeError, match="ONLY accepts static inputs"):
            graph(other)


def test_what_a_graph_refuses() -> None:
    with pytest.raises(NotImplementedError, match="must be overridden"):
        nn.Graph()(X)
    with pytest.raises(AssertionError, match="must be an instance of Optimizer"):
        Evaluation(model()).add_optimizer(3)
    with pytest.raises(NotImplementedError, match="only support types: Tensor/None"):
        Evaluation(lambda x: 3)(X)


def test_stages_take_their_inputs_to_their_placement() -> None:
    here = flow.placement("cpu", [0])
    module = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).to_global(placement=here, sbp=flow.sbp.broadcast)
    graph = Evaluation(module)
    block = graph.m[0].to(nn.graph.GraphModule)
    block.set_stage(0, here)
    graph.m.config.activation_checkpointing = True
    assert (block.stage_id, graph.m[0].to(nn.graph.GraphModule) is block, graph.m.to(nn.Module)) == (0, True, module)
    assert graph(X.to_global(here, flow.sbp.broadcast)).shape == (4, 2)


def test_groups_scale_their_rate() -> None:
    module = model()
    group = {"params": module.parameters(), "lr_scale": 0.5}
    scaled = losses(Training(module, flow.optim.SGD([group], lr=0.2)))
    other = model()
    assert scaled == losses(Training(other, flow.optim.SGD(other.parameters(), lr=0.1)))


def test_functions_as_graphs_and_inputs_before_the_first_call() -> None:
    @flow.nn.Graph.trace
    def double(x: flow.Tensor) -> flow.Tensor:
        return x * 2

    assert (double(flow.ones(2)).tolist(), double.name) == ([2, 2], "double_graph_0")
    with pytest.raises(AssertionError, match="must be a function"):
        flow.nn.Graph.trace(flow.nn.Linear(1, 1))

    class Same(flow.nn.Graph):
        def build(self, x: flow.Tensor) -> flow.Tensor:
            return x + 1

    graph = Same()
    graph._compile(flow.ones(2))
    assert graph.is_compiled
    with pytest.raises(RuntimeError, match="static inputs"):
        graph(flow.ones(3))
