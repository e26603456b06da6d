"""The programs that the processes of test_global_tensor.py import and run. They return NumPy arrays."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

import anygru_oneflow as flow
from anygru import parallel
from anygru_oneflow.processes import global_tensor
from anygru_oneflow.processes.lines import Lines

WHOLE: list[Placement] = [Replicate()]
OVER_BATCH: list[Placement] = [Shard(1)]
OVER_ROWS: list[Placement] = [Shard(0)]
B = flow.sbp.broadcast
LAYOUTS = {
    "replicated": (WHOLE, WHOLE, {}),
    "batch": (OVER_BATCH, WHOLE, {}),
    "batch first": ([Shard(0)], WHOLE, {"batch_first": True}),
    "time": ([Shard(0)], WHOLE, {}),
    "rows": (WHOLE, OVER_ROWS, {}),
    "rows and batch": (OVER_BATCH, OVER_ROWS, {}),
    "rows, reset before": (WHOLE, OVER_ROWS, {"reset": "before"}),
}


def problem(batch_first: bool = False) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Input of 5 steps of 3 sequences, a state, and the weights of two layers in two directions, in float64."""
    generator = np.random.default_rng(0)
    shapes = [(3, 5, 2) if batch_first else (5, 3, 2), (4, 3, 3)]
    for features in (2, 6):
        shapes += [(9, features), (9, 3), (9,), (9,)] * 2
    tensors = [generator.normal(size=shape) * 0.5 for shape in shapes]
    return tensors[:2], tensors[2:]


def outcome(output: Any, h_n: Any, leaves: list[Any]) -> list[np.ndarray]:
    """The results and the leaves' gradients under an upstream gradient that differs from element to element."""
    upstream = [
        torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view(result.shape) for result in (output, h_n)
    ]
    if isinstance(output, DTensor):
        upstream = [global_tensor.from_whole(tensor, output.device_mesh, WHOLE) for tensor in upstream]
    sum((result * tensor).sum() for result, tensor in zip((output, h_n), upstream, strict=True)).backward()
    found = [output.detach(), h_n.detach(), *(leaf.grad for leaf in leaves)]
    return [tensor.full_tensor().numpy() if isinstance(tensor, DTensor) else tensor.numpy() for tensor in found]


def gru_on_layout(name: str) -> dict[str, Any]:
    """A global GRU, forward and backward."""
    of_input, of_weights, options = LAYOUTS[name]
    mesh = global_tensor.mesh("cpu", np.arange(parallel.world().size))
    arguments, weights = problem(options.get("batch_first", False))
    input = global_tensor.from_whole(torch.tensor(arguments[0]), mesh, of_input).requires_grad_()
    h_0 = global_tensor.from_whole(torch.tensor(arguments[1]), mesh, WHOLE).requires_grad_()
    own = [torch.nn.Parameter(global_tensor.from_whole(torch.tensor(weight), mesh, of_weights)) for weight in weights]
    for weight in own:
        global_tensor.keep_gradient_layout(weight)
    output, h_n = global_tensor.gru(input, h_0, own, bidirectional=True, **options)
    return {
        "results": outcome(output, h_n, [input, h_0, *own]),
        "rows": own[1].to_local().shape[0],
        "layouts": {tuple(map(str, weight.grad.placements)) for weight in own},
    }


def layouts_of_a_tensor() -> dict[str, Any]:
    """Every layout of pieces that differ, and every change of layout."""
    rank, mesh = parallel.start().rank, global_tensor.mesh("cpu", np.arange(2))
    local = torch.arange(4.0).view(2, 2) + 10 * rank
    found: dict[str, Any] = {}
    for before in (Replicate(), Shard(0), Shard(1), Partial()):
        made = global_tensor.from_local(local, mesh, [before])
        found[str(before)] = made.full_tensor().numpy()
        for after in (Replicate(), Shard(0), Shard(1), Partial()):
            changed = global_tensor.relayout(made, mesh, [after])
            found[f"{before} {after}"] = changed.full_tensor().numpy()
    found["untouched"] = local.numpy()
    uneven = global_tensor.from_local(torch.ones(2 - rank, 1), mesh, [Shard(0)])
    found["uneven"] = (tuple(uneven.shape), tuple(uneven.to_local().shape))
    try:
        global_tensor.from_local(torch.ones(1 + rank, 1), mesh, [Shard(0)])
    except ValueError as error:
        found["refused"] = str(error)
    return found


def oneflow_training(rows: bool) -> list[np.ndarray]:
    """Three steps of a global layer of OneFlow's, its input split over the batch or its weights over their rows."""
    everyone = flow.placement.all("cpu")
    gru = flow.nn.GRU(2, 4)
    generator = np.random.default_rng(1)
    gru.load_state_dict(
        {name: generator.normal(size=w.shape).astype("float32") for name, w in gru.state_dict().items()}
    )
    gru.to_global(everyone, flow.sbp.broadcast)
    if rows:
        gru.to_global(sbp=flow.sbp.split(0))
    x = flow.tensor(generator.normal(size=(5, 4, 2)).astype("float32"))
    layout = flow.sbp.broadcast if rows else flow.sbp.split(1)
    x = flow.tensor(x.numpy(), placement=everyone, sbp=layout)
    optimizer = flow.optim.Adam(gru.parameters(), lr=0.1)
    for _ in range(3):
        loss = (gru(x)[0] ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        flow.nn.utils.clip_grad_norm_(gru.parameters(), 0.5)
        optimizer.step()
    return [weight.numpy() for weight in gru.parameters()]


def oneflow_tensors() -> dict[str, Any]:
    """Global tensors of OneFlow's: values and gradients where the processes do not all do the same."""
    rank, everyone = flow.env.get_rank(), flow.placement.all("cpu")
    broadcast, rows, columns = flow.sbp.broadcast, flow.sbp.split(0), flow.sbp.split(1)

    def leaf(sbp: Any) -> Any:
        return flow.tensor([[1.0, 2.0], [3.0, 4.0]], placement=everyone, sbp=sbp, requires_grad=True)

    into_sum, into_local = leaf(broadcast), leaf(broadcast)
    (into_sum.to_global(sbp=flow.sbp.partial_sum) ** 2).sum().backward()
    (into_local.to_local() ** 2).sum().backward()
    local = flow.tensor([1.0, 2.0], requires_grad=True)
    (local.to_global(everyone, broadcast) * 3).sum().backward()
    whole, pieces = leaf(rows), leaf(columns)
    pieces.chunk(2, 1)[1].sum().backward()
    first = flow.placement("cpu", [0])
    alone = flow.ones(2, 2).to_global(first, broadcast)
    batch = flow.tensor([[0.0], [2.0], [4.0], [10.0]], placement=everyone, sbp=rows, requires_grad=True)
    layers = flow.nn.Sequential(flow.nn.BatchNorm1d(1), flow.nn.ReLU6(inplace=True)).to_global(everyone, broadcast)
    normalized = layers[0](batch)
    layers(batch).sum().backward()
    return {
        "normalized": (str(normalized.sbp), normalized.to_local().numpy()),
        "running mean": layers[0].running_mean.to_local().item(),
        "through relu6": (str(batch.grad.sbp), layers[0].bias.grad.to_local().item()),
        "into a sum": into_sum.grad.to_local().numpy(),
        "into local ones": into_local.grad.to_local().numpy(),
        "from a local one": local.grad.numpy(),
        "one piece of two": pieces.grad.numpy(),
        "row": whole[1].to_local().tolist(),
        "number": (float(whole.sum()), [float(number) for number in whole[0]]),
        "uneven view": [str(flow.ones(n, 2, 4, placement=everyone, sbp=columns).view(-1, 4).sbp) for n in (2, 3)],
        "view that has none": str(flow.ones(6, 4, placement=everyone, sbp=rows).reshape(3, 8).sbp),
        "elsewhere": (tuple(alone.to_local().shape), alone.to_global(everyone, rows).to_local().numpy().tolist()),
        "rank": rank,
    }


def oneflow_files(folder: str) -> dict[str, Any]:
    """A global model's checkpoint, which one process loads for all."""
    everyone, broadcast = flow.placement.all("cpu"), flow.sbp.broadcast
    x = flow.ones(2, 3, placement=everyone, sbp=flow.sbp.split(0))
    model = flow.nn.Linear(3, 4).to_global(everyone, broadcast)
    optimizer = flow.optim.Adam(model.parameters(), 0.1)
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    flow.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder, global_dst_rank=0)
    flow.comm.barrier()
    saved = flow.load(folder, global_src_rank=0)
    again = flow.nn.Linear(3, 4).to_global(everyone, broadcast)
    again.load_state_dict(saved["model"])
    resumed = flow.optim.Adam(again.parameters(), 0.1)
    resumed.load_state_dict(saved["optimizer"])
    for one, by in ((model, optimizer), (again, resumed)):
        one(x).sum().backward()
        by.step()
        by.zero_grad()
    return {
        "placement": str(saved["model"]["weight"].placement.ranks.tolist()),
        "weights": [model.weight.numpy(), again.weight.numpy()],
    }


def pipeline_layers() -> list[Any]:
    flow.manual_seed(0)
    convolution = flow.nn.Sequential(flow.nn.Conv1d(3, 4, 1), flow.nn.LayerNorm([4, 1]), flow.nn.Flatten())
    return [convolution.to(flow.float64), flow.nn.Linear(4, 2).to(flow.float64)]


def pipeline_steps(first: Any, second: Any, x: Any, between: Any) -> list[float]:
    """Three steps of training; `between` moves the first layer's output to the processes of the second layer."""
    optimizer = flow.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1, momentum=0.9)
    losses = []
    for _ in range(3):
        loss = (second(between(first(x).tanh())) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float((loss.to_local() if loss.is_global else loss).detach().numpy()))
    return losses


def pipeline_on_one() -> tuple[list[np.ndarray], list[float]]:
    """The weights of both layers and the losses, on one process."""
    layers = pipeline_layers()
    losses = pipeline_steps(*layers, flow.ones(5, 3, 1, dtype=flow.float64), lambda x: x)
    return [next(layer.parameters()).detach().numpy() for layer in layers], losses


def run_pipeline() -> dict[str, Any]:
    """The same with a layer on each of two processes, and other moves between processes."""
    rank = flow.env.get_rank()
    places, both = [flow.placement("cpu", [0]), flow.placement("cpu", [1])], flow.placement("cpu", [0, 1])
    layers = [layer.to_global(placement=place, sbp=B) for layer, place in zip(pipeline_layers(), places, strict=True)]
    x = flow.ones(5, 3, 1, dtype=flow.float64, placement=places[0], sbp=B)
    losses = pipeline_steps(*layers, x, lambda x: x.to_global(placement=places[1], sbp=B))
    source = flow.tensor([1.0, 2.0], requires_grad=True)
    spread = source.to_global(places[1], B).to_global(both, flow.sbp.split(0))
    (spread * 3).sum().backward()
    gathered, scattered = flow.zeros(2, 2), flow.zeros(2)
    flow.comm.all_gather_into_tensor(gathered, flow.zeros(2) + rank)
    flow.comm.reduce_scatter_tensor(scattered, flow.tensor([[0.0, 0.0], [1.0, 1.0]]) + rank)
    return {
        "losses": losses,
        "weight": next(layers[rank].parameters()).to_local().detach().numpy(),
        "spread": source.to_global(places[0], B).to_global(both, B).to_local().tolist(),
        "gradient": source.grad.tolist(),
        "gathered": gathered.tolist(),
        "scattered": scattered.tolist(),
    }


def run_all(folder: str) -> dict[str, Any]:
    """Everything above, on one of several processes."""
    parallel.start()
    return {
        **{name: gru_on_layout(name) for name in LAYOUTS},
        "tensor": layouts_of_a_tensor(),
        "training": {rows: oneflow_training(rows) for rows in (False, True)},
        "oneflow": oneflow_tensors(),
        "files": oneflow_files(folder),
        "pipeline": run_pipeline(),
    }


def windows_in_processes() -> list[str]:
    """Average pooling and `unfold` of each layout, forward and backward, against one process; the layouts that differ."""
    place = flow.placement.all("cpu")
    values = np.random.default_rng(3).standard_normal((4, 2, 4, 4)).astype("float32")
    functions = {
        "AvgPool2d": flow.nn.AvgPool2d(2),
        "avg_pool1d": lambda x: flow.nn.functional.avg_pool1d(x[0], 2),
        "F.unfold": lambda x: flow.nn.functional.unfold(x, kernel_size=2),
        "unfold": lambda x: x.unfold(2, 2, 1),
    }
    wrong = []
    for name, function in functions.items():
        alone = flow.tensor(values, requires_grad=True)
        expected = function(alone)
        (expected * expected).sum().backward()
        for layout in (flow.sbp.broadcast, flow.sbp.partial_sum, *map(flow.sbp.split, range(4))):
            x = flow.tensor(values).to_global(placement=place, sbp=flow.sbp.broadcast).to_global(sbp=layout)
            x = x.detach().requires_grad_()
            result = function(x)
            (result * result).sum().backward()
            if not (
                np.allclose(result.numpy(), expected.detach().numpy(), atol=1e-5)
                and np.allclose(x.grad.numpy(), alone.grad.numpy(), atol=1e-5)
            ):
                wrong.append(f"{name} of {layout}")
    return wrong


@contextlib.contextmanager
def _counted(name: str = "all_reduce") -> Iterator[list[int]]:
    """The numbers that a process brings into each collective of this name, usually sums over processes."""
    sizes: list[int] = []
    collective = getattr(torch.distributed, name)

    def counting(*arguments: Any, **keywords: Any) -> Any:
        sizes.append(next(value.numel() for value in arguments if isinstance(value, torch.Tensor)))
        return collective(*arguments, **keywords)

    setattr(torch.distributed, name, counting)
    try:
        yield sizes
    finally:
        setattr(torch.distributed, name, collective)


def data_parallel() -> dict[str, Any]:
    """A model of broadcast weights on a split batch, against one process on the whole batch; counts the messages of a step."""
    place, rank = flow.placement.all("cpu"), parallel.world().rank
    flow.manual_seed(0)

    def model() -> Any:
        flow.manual_seed(0)
        return flow.nn.ModuleList([flow.nn.Embedding(7, 4), flow.nn.GRU(4, 6, batch_first=True), flow.nn.Linear(6, 7)])

    def loss(layers: Any, x: Any, labels: Any) -> Any:
        hidden = layers[1](layers[0](x))[0]
        scores = layers[2](hidden.tanh() + hidden)
        return flow.nn.functional.cross_entropy(scores.reshape(-1, 7), labels.reshape(-1))

    draw = np.random.default_rng(0)
    words = draw.integers(0, 7, (4, 6))
    alone, shared = model(), model().to_global(place, B)
    optimizers = [flow.optim.Adam(layers.parameters(), lr=0.05) for layers in (alone, shared)]
    found: dict[str, Any] = {"messages": [], "losses": []}
    for step in range(4):
        labels = words[:, 1:].copy()
        if step == 3:
            labels[0] = -100  # which do not count, all of them on the first process
        pair = []
        for layers, optimizer in zip((alone, shared), optimizers, strict=True):
            x, y = flow.tensor(words[:, :-1].copy()), flow.tensor(labels)
            if layers is shared:
                x, y = (part[2 * rank : 2 * rank + 2].to_global(place, flow.sbp.split(0)) for part in (x, y))
            with _counted() as messages:
                for _ in range(1 + (step == 2)):  # the third step adds up two backward passes
                    value = loss(layers, x, y)
                    value.backward()
            pair.append(float(value.detach().numpy()))
            optimizer.step()
            optimizer.zero_grad()
        found["messages"].append(messages)
        found["losses"].append(pair)
    found["weights"] = [
        np.abs(a.detach().numpy() - b.detach().numpy()).max()
        for a, b in zip(alone.parameters(), shared.parameters(), strict=True)
    ]
    return {**found, **_between(place), **_promised(place)}


def _promised(place: Any) -> dict[str, Any]:
    """A split of pieces that the program declares equal in shape: its messages, shape, values and the gradient of a piece."""
    rank = parallel.world().rank
    piece = flow.tensor([[1.0, 2.0], [3.0, 4.0]]) + 10 * rank
    piece.requires_grad_()
    found = {}
    for checks in (True, False):
        with mock.patch.object(Lines, "exchange", autospec=True, side_effect=Lines.exchange) as told:
            whole = piece.to_global(place, flow.sbp.split(1), check_meta=checks)
        piece.grad = None
        (whole * whole).sum().backward()
        found[checks] = (told.call_count, tuple(whole.shape), whole.numpy().tolist(), piece.grad.numpy().tolist())
    return {"promised": found}


def _between(place: Any) -> dict[str, Any]:
    """Gradients by tensors on the way: of `autograd.grad`, of hooks, after a change in place, and of a weight used twice."""
    rows = flow.sbp.split(0)

    def start() -> Any:
        whole = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
        return whole.to_global(place, B).to_global(sbp=rows).detach().requires_grad_()

    x = start()
    middle = x.relu()
    (result,) = flow.autograd.grad((middle.tanh() * middle).sum(), [middle])
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = np.tanh(values) + values * (1 - np.tanh(values) ** 2)
    y, seen = start() * 2, []
    y.register_hook(lambda gradient: seen.append(gradient.numpy()))
    y.relu().sum().backward()
    late = start() * 2
    late.relu()
    try:
        late.register_hook(lambda gradient: None)
        refused = ""
    except RuntimeError as error:
        refused = str(error)
    z = start()
    changed = z * 2
    changed.mul_(3).add_(1)
    changed.square().sum().backward()
    weight = flow.nn.Parameter(flow.tensor([1.0, 2.0]).to_global(place, B))
    loss = lambda: ((start().detach() * weight).relu() * weight).sum()  # noqa: E731
    (given,) = flow.autograd.grad(loss(), [weight])
    used = {"given": (given.numpy().tolist(), weight.grad)}
    (loss() + (weight * weight).sum()).backward()
    used["also whole"], weight.grad = weight.grad.numpy().tolist(), None
    loss().backward()
    twice = weight.grad.numpy().tolist()
    weight.register_hook(lambda gradient: used.update(hooked=gradient.numpy().tolist()))
    loss().backward()
    used["added"] = weight.grad.numpy().tolist()
    frozen, bias = (
        flow.nn.Parameter(flow.tensor(values).to_global(place, B), requires_grad=is_trained)
        for values, is_trained in (([[1.0, 0.0], [1.0, 0.0]], False), ([0.0, 0.0], True))
    )
    given = start()
    flow.nn.functional.linear(given, frozen, bias).sum().backward()
    linear = given.grad.sum(0).numpy().tolist(), frozen.grad, bias.grad.numpy().tolist()
    return {
        "between": np.abs(result.numpy() - expected).max(),
        "hooked": [gradient.tolist() for gradient in seen],
        "late": refused,
        "changed": z.grad.numpy().tolist(),
        "twice": twice,
        "frozen": linear,
        "used": used,
    }
