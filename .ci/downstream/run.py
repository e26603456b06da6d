"""Compare the results of a library's recurrent model unchanged and accelerated: python run.py LIBRARY

Each function here returns a model that the library builds, and a call of it. Libraries that build their model inside `fit` are in
benchmarks/libraries.py: they train and predict under `anygru.accelerate()` for the whole process, and must have a torch.nn.GRU.
Libraries that train a model of the user are in programs.py; they must also be as fast as without anygru.
The results must agree within the rounding of float32, and of a model from here at least one GRU must be accelerated.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import anygru

Case = tuple[torch.nn.Module, Callable[[], torch.Tensor]]


def skorch() -> Case:
    import numpy as np
    from skorch import NeuralNetRegressor

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = torch.nn.GRU(4, 16, batch_first=True)
            self.head = torch.nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.gru(x)[0][:, -1])

    x = np.random.default_rng(0).standard_normal((32, 10, 4)).astype("float32")
    net = NeuralNetRegressor(Model, max_epochs=2, verbose=0, train_split=None).fit(x, x[:, -1, :1])
    return net.module_, lambda: torch.from_numpy(net.predict(x))


def speechbrain() -> Case:
    from speechbrain.nnet.RNN import GRU

    model = GRU(hidden_size=16, input_size=4, bidirectional=True)
    x = torch.randn(3, 10, 4)
    return model, lambda: model(x, lengths=torch.tensor([1.0, 0.7, 0.5]))[0]


def torch_geometric() -> Case:
    from torch_geometric.nn.models import AttentiveFP

    model = AttentiveFP(4, 16, 1, edge_dim=2, num_layers=2, num_timesteps=2)
    x, edges = torch.randn(6, 4), torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    attributes, batch = torch.randn(5, 2), torch.tensor([0, 0, 0, 1, 1, 1])
    return model, lambda: model(x, edges, attributes, batch)


def torchrl() -> Case:
    from tensordict import TensorDict
    from torchrl.modules import GRUModule

    model = GRUModule(4, 16, 2, in_key="x", out_key="y", default_recurrent_mode=True)
    is_init = torch.rand(3, 10, 1) < 0.3
    given = TensorDict({"x": torch.randn(3, 10, 4), "is_init": is_init}, [3, 10])
    from anygru.patching import torchrl as ours

    same = ours.GRUModule(gru=model.gru, in_key="x", out_key="y", default_recurrent_mode=True)
    torch.testing.assert_close(same(given.clone())["y"], model(given.clone())["y"], rtol=1e-4, atol=1e-5)
    return model, lambda: model(given.clone())["y"]


CASES = {case.__name__: case for case in (skorch, speechbrain, torch_geometric, torchrl)}


# Last: a library may import a package with the name of a benchmark.
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from libraries import LIBRARIES, difference  # noqa: E402
from programs import PROGRAMS  # noqa: E402


def trained(library: str) -> None:
    """Train and predict with a small model of the library, twice."""
    fit, predict = LIBRARIES[library](16, 1)
    before = predict(fit())
    with anygru.accelerate():
        model = fit()
        after = predict(model)
    assert any(issubclass(type(each), torch.nn.GRU) for each in gc.get_objects()), (
        "the library's model has no torch.nn.GRU"
    )
    assert difference(before, after) < 1e-4, difference(before, after)
    print(f"{library}: the same predictions")


TURNS = 9
LEAST = 0.95
"""How many times as fast a program must be; below 1 by the noise of a shared machine."""


def learned(library: str) -> None:
    """Train with the library, plain and accelerated in turns."""
    times: dict[bool, list[float]] = {False: [], True: []}
    found: dict[bool, torch.Tensor] = {}
    reports: list[str] = []
    ways = {False: lambda model: None, True: lambda model: reports.append(str(anygru.accelerate(model)))}
    for _ in range(TURNS):
        for is_fast, fast in ways.items():
            torch.manual_seed(0)
            start = time.process_time()
            found[is_fast] = PROGRAMS[library](fast)
            times[is_fast].append(time.process_time() - start)
    assert not any(report.startswith("accelerated 0") for report in reports), "no GRU was accelerated"
    torch.testing.assert_close(found[True], found[False], rtol=2e-4, atol=2e-6)
    ratio = statistics.median(times[False]) / statistics.median(times[True])
    print(f"{library}: the same results, {ratio:.2f} times as fast")
    assert ratio > LEAST, f"{library}: only {ratio:.2f} times as fast"


def main(library: str) -> None:
    if library in PROGRAMS:
        return learned(library)
    if library in LIBRARIES:
        return trained(library)
    torch.manual_seed(0)
    model, call = CASES[library]()
    model.eval()
    with torch.no_grad():
        before = call()
        report = anygru.accelerate(model)
        after = call()
    print(report)
    assert not str(report).startswith("accelerated 0"), "no GRU was accelerated"
    torch.testing.assert_close(after, before, rtol=2e-5, atol=2e-6)
    print(f"{library}: the same results")


if __name__ == "__main__":
    main(sys.argv[1])
