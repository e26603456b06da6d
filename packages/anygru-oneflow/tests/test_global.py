"""Global tensors on one process: names, texts, refusals. tests/parallel/test_global_tensor.py uses two processes."""

import functools
import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru.dialects import NotCoveredError
from anygru_oneflow import nn
from anygru_oneflow.processes import global_tensor

pytestmark = pytest.mark.needs_torch(2, 13, because="older layouts of distributed tensors differ")
HERE = flow.placement("cpu", [0])
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split


def test_texts() -> None:
    assert str(HERE) == 'oneflow.placement(type="cpu", ranks=[0])'
    assert [str(layout) for layout in (B, P, S(1))] == [
        "oneflow.sbp.broadcast",
        "oneflow.sbp.partial_sum",
        "oneflow.sbp.split(dim=1)",
    ]
    assert str(flow.ones(2, placement=HERE, sbp=S(0))) == (
        'tensor([1., 1.], placement=oneflow.placement(type="cpu", ranks=[0]),\n'
        "       sbp=(oneflow.sbp.split(dim=0),), dtype=oneflow.float32)"
    )
    assert (flow.placement.all("cpu") == HERE, S(0) == S(0), S(0) == S(1), B() == B) == (True, True, False, True)


LAYOUTS: dict[str, tuple[Any, Any]] = {
    "S0 @ B": (lambda x: x @ flow.ones(3, 2, placement=HERE, sbp=B), S(0)),
    "B @ S1": (lambda x: x.to_global(sbp=B) @ flow.ones(3, 2, placement=HERE, sbp=S(1)), S(1)),
    "S1 @ S0": (lambda x: x.to_global(sbp=S(1)) @ flow.ones(3, 2, placement=HERE, sbp=S(0)), P),
    "sum": (lambda x: x.sum(), P),
    "mean": (lambda x: x.mean(), P),
    "max": (lambda x: x.max(), B),
    "transpose": (lambda x: x.t(), S(1)),
    "product": (lambda x: x * 2, S(0)),
    "softmax over rows": (lambda x: flow.softmax(x, 0), S(1)),
    "softmax in a layer": (lambda x: nn.Softmax(0)(x), S(1)),
    "cat of rows": (lambda x: flow.cat([x, x], 0), S(1)),
    "piece": (lambda x: x.chunk(2, 0)[1], S(1)),
    "row": (lambda x: x[0], P),
    "some rows": (lambda x: x[1:], P),
    "some columns": (lambda x: x[:, 1:], S(0)),
    "view of columns": (lambda x: x.to_global(sbp=S(1)).view(-1), S(0)),
    "greatest of rows": (lambda x: x.max(0)[0], S(0)),
    "argmax of columns": (lambda x: x.to_global(sbp=S(1)).argmax(1), S(0)),
    "rows apart": (lambda x: x.unbind(0)[0], S(0)),
    "any": (lambda x: (x > 0).any(), B),
    "sum, relu": (lambda x: x.sum(0).relu(), S(0)),
    "sum, plus one": (lambda x: x.sum(0) + 1, S(0)),
    "sum, negative": (lambda x: -x.sum(0), S(0)),
    "sum, halved": (lambda x: x.sum(0) / 2, P),
    "sum of all, root": (lambda x: x.sum().sqrt(), B),
    "sum, mean": (lambda x: x.sum(0).mean(), P),
    "sum, copied": (lambda x: x.sum(0).clone(), P),
    "sum, zeros like it": (lambda x: flow.zeros_like(x.sum(0)), P),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_results(name: str) -> None:
    function, layout = LAYOUTS[name]
    result = function(flow.ones(4, 3, placement=HERE, sbp=S(0)))
    assert (result.is_global, result.sbp) == (True, (layout,))


REFUSED: dict[str, Any] = {
    "placement": lambda: flow.ones(1).placement,
    "sbp": lambda: flow.ones(1).sbp,
    "Only local tensors have 'device'": lambda: flow.ones(1, placement=HERE, sbp=B).device,
    "Expected global tensor": lambda: flow.ones(1).to_local(),
    "needs a placement and an sbp": lambda: flow.ones(1).to_global(placement=HERE),
    "Split axis out of range": lambda: flow.ones(1).to_global(HERE, S(1)),
    "sbp must have 1 entries": lambda: flow.ones(1).to_global(HERE, [B, B]),
    "Split axis must not be negative, but got -1!": lambda: S(-1),
    "an array of whole numbers": lambda: flow.placement("cpu", [0.0]),
    "ranks must be different": lambda: flow.placement("cpu", [0, 0]),
    "ranks 0 to 0 of this job": lambda: flow.placement("cpu", [1]).mesh,
    "local and global": lambda: nn.GRU(3, 4)(flow.ones(2, 1, 3, placement=HERE, sbp=B)),
    "has been removed, please use .to_global": lambda: flow.ones(1).to_consistent(HERE, B),
}


@pytest.mark.parametrize(("words", "function"), REFUSED.items(), ids=REFUSED.keys())
def test_what_is_refused(words: str, function: Any) -> None:
    with pytest.raises(RuntimeError) as error:
        function()
    assert words in str(error.value)


def test_split_takes_its_older_name_and_refuses_others() -> None:
    with pytest.warns(UserWarning, match="has been updated to 'dim'"):
        assert S(axis=1) == S(1) == S(True)
    for keywords in ({}, {"foo": 1}, {"axis": "1"}):
        with pytest.raises(TypeError, match="split_sbp"):
            S(**keywords)
    with pytest.raises(AssertionError):
        S(1.0)


def test_local_and_global_do_not_mix() -> None:
    with pytest.raises(RuntimeError):
        flow.ones(2) + flow.ones(2, placement=HERE, sbp=B)
    gru = nn.GRU(3, 4).to_global(HERE, B)
    with pytest.raises(RuntimeError, match="local / global mismatch"):
        gru.load_state_dict(nn.GRU(3, 4).state_dict())
    with pytest.raises(RuntimeError, match="local / global mismatch"):
        nn.GRU(3, 4).load_state_dict(gru.state_dict())


@pytest.mark.parametrize("weights", [B, S(0)], ids=str)
def test_a_global_layer(weights: Any) -> None:
    gru = nn.GRU(3, 4, 2)
    x = flow.tensor(np.random.RandomState(0).randn(5, 2, 3), dtype=flow.float32)
    expected = gru(x)[0].numpy()
    assert gru.to_global(HERE, weights) is gru
    assert (type(gru.weight_hh_l1).__name__, isinstance(gru.weight_hh_l1, nn.Parameter)) == ("Parameter", True)
    output, h_n = gru(x.to_global(HERE, S(1)))
    assert (output.sbp, h_n.sbp) == ((S(1),), (S(1),))
    np.testing.assert_allclose(output.numpy(), expected, atol=1e-6)
    output.sum().backward()
    assert gru.weight_hh_l1.grad.sbp == (weights,)
    optimizer = flow.optim.SGD(gru.parameters(), 0.1)
    optimizer.step()
    assert gru.weight_hh_l1.is_global
    assert gru.to_local().weight_hh_l1.is_local


@pytest.mark.parametrize("function", [lambda w: w * 2, lambda w: w.mean(), lambda w: flow.softmax(w, 1)])
@pytest.mark.parametrize("layout", [B, S(0), S(1)], ids=str)
def test_a_leafs_gradient_has_the_layout_of_the_leaf(layout: Any, function: Any) -> None:
    leaf = flow.ones(4, 4).to_global(HERE, layout)
    leaf.requires_grad = True
    function(leaf).sum().backward()
    assert leaf.requires_grad
    assert leaf.grad.sbp == (layout,)


def test_gradients_reach_local_leaves() -> None:
    leaf = flow.tensor([1.0, 2.0], requires_grad=True)
    (leaf.to_global(HERE, S(0)).to_global(sbp=B) * 3).sum().backward()
    assert (leaf.grad.tolist(), leaf.grad.is_local) == ([3.0, 3.0], True)


def test_ways_of_local_tensors() -> None:
    whole = flow.tensor([[1.0, 2.0], [3.0, 4.0]], placement=HERE, sbp=flow.sbp.split(0))
    assert flow.allclose(whole, whole + 1e-9)
    assert [row.numpy().tolist() for row in whole] == [[1.0, 2.0], [3.0, 4.0]]
    assert flow.zeros_like(whole, placement=HERE, sbp=flow.sbp.broadcast).sbp == (flow.sbp.broadcast,)
    weight = flow.ones(2, 1, placement=HERE, sbp=flow.sbp.broadcast, requires_grad=True)
    (whole @ weight).sum().backward()
    assert weight.grad.sbp == (flow.sbp.broadcast,)
    layer = nn.Linear(2, 1).to_global(HERE, flow.sbp.broadcast)
    assert layer.cpu().double().weight.is_global
    with pytest.raises(RuntimeError, match="global module stays"):
        layer.to("cuda")


def test_a_placement_is_no_text() -> None:
    with pytest.raises(TypeError, match=r"placement must be a oneflow\.placement, got 'cpu'"):
        flow.ones(2).to_global("cpu", B)


def test_an_older_torch_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.__version__", "2.10.0")
    global_tensor._mesh.cache_clear()
    with pytest.raises(
        NotCoveredError, match=r"to_global with torch 2\.10\.0 is not covered .*; use torch 2\.13 or newer"
    ):
        flow.ones(2).to_global(placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast)


PAGE = Path(global_tensor.__file__).with_name("README.md").read_text(encoding="utf-8")
HOME = Path(flow.__file__).parent


def test_every_name_on_the_page_of_global_tensors_exists() -> None:
    def path(name: str) -> Path:
        places = [HOME, HOME / "processes", HOME / "framework", Path(__file__).parents[1]]
        return next(place / name for place in places if (place / name).is_file())

    for name in re.findall(r"[\w/]+\.py", PAGE):
        assert path(name)
    named = re.findall(r"(\w+\.py): ([\w.]+)(?:\([^)]*\))?(?:, ([\w.]+))?", PAGE)
    named += [(file, name, "") for name, file in re.findall(r"`(\w+)` in\s+`(\w+\.py)`", PAGE)]
    assert len(named) == 9
    for file, *found in named:
        module = importlib.import_module(".".join(path(file).relative_to(HOME.parent).with_suffix("").parts))
        for name in filter(None, found):
            functools.reduce(getattr, name.split("."), module)
    kinds = {"broadcast": B, "split": S(0), "partial_sum": P}
    rows = re.findall(r"\| `(\w+)(?:\(i\))?` \| `(\w+)", PAGE)
    assert dict(rows) == {
        name: type(flow.ones(2, placement=HERE, sbp=kind).placements[0]).__name__ for name, kind in kinds.items()
    }


def _place(frame: Any) -> str:
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"


def test_the_drawing_of_the_way_through_an_operator() -> None:
    """Each call on the page happens in its order: forward, backward, and one message for two parameters."""
    parameters = [nn.Parameter(flow.ones(3, 2, placement=HERE, sbp=B)) for _ in range(2)]
    x = flow.ones(4, 2).to_global(HERE, S(0))

    def calls(act: Any) -> tuple[Any, list[str]]:
        seen: list[str] = []
        sys.setprofile(lambda frame, event, _: seen.append(_place(frame)) if event == "call" else None)
        try:
            return act(), seen
        finally:
            sys.setprofile(None)

    y, forward = calls(lambda: nn.functional.linear(x, parameters[0]))
    assert y.sbp == (S(0),)
    way = ["tensor.__torch_function__", "layouts.call", "split.call", "split._linear"]
    way += ["pieces.pieces_of", "pieces.piece_of", "pieces.assembled"]
    assert [forward.index(name) for name in way] == sorted(forward.index(name) for name in way)
    loss = (y + nn.functional.linear(x, parameters[1])).sum()
    _, backward = calls(loss.backward)
    way = ["pieces.backward", "gradients.take", "gradients.close", "gradients._closed"]
    assert [backward.index(name) for name in way] == sorted(backward.index(name) for name in way)
    assert [backward.count(name) for name in way[1:]] == [2, 1, 1]
    assert all(parameter.grad.sbp == (B,) for parameter in parameters)
