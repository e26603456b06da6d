"""The operators take their arguments in MXNet's order, under MXNet's names.

`data/operator_arguments.json` has the arguments of MXNet 1.9.1's generated functions: `python test_operator_arguments.py FILE`
under
MXNet itself writes such a file.
"""

import inspect
import json
import pathlib
import sys

import numpy as np
import pytest

if __name__ == "__main__":
    import mxnet as mx
else:
    import anygru_mxnet as mx
    from anygru_mxnet.operators.registry import OPERATORS

EXTRA = {
    "RNN": ["state_for_any"],  # a fact of our graphs
    "_linspace": ["num", "endpoint"],  # which MXNet's own description of it lacks
    "linalg_potrf": ["lower"],  # MXNet's function takes it by name alone
    "linalg_potri": ["lower"],
}


def taken(function):
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in inspect.signature(function).parameters.values() if each.kind not in kinds]


def test_order_and_names():
    recorded = json.loads((pathlib.Path(__file__).parent / "data" / "operator_arguments.json").read_text())
    wrong, compared = {}, 0
    for name, entry in OPERATORS.items():
        if name not in recorded or entry.variadic:
            continue
        ours = [each for each in taken(entry.compute) if each not in EXTRA.get(name, ())]
        compared += 1
        theirs = [each for each in recorded[name] if name != "_linspace" or each not in ("repeat", "infer_range")]
        if ours != theirs[: len(ours)]:
            wrong[name] = (ours, theirs)
    assert wrong == {}
    assert compared > 300


def test_attributes_by_place():
    """The values are MXNet 1.9.1's."""
    x, w = mx.nd.array(np.arange(32).reshape(1, 2, 4, 4)), mx.nd.ones((2, 2, 3, 3))
    y = mx.nd.Convolution(x, w, mx.nd.array([10, 20]), (3, 3), (1, 1), (1, 1), (0, 0), 2, 1, 1024)
    assert y.asnumpy().ravel().tolist() == [244, 262, 316, 334, 254, 272, 326, 344]
    y = mx.nd.Pooling(x, (2, 2), "max", False, False, "valid", (2, 2))
    assert y.asnumpy().ravel().tolist() == [5, 7, 13, 15, 21, 23, 29, 31]
    y = mx.nd.LRN(mx.nd.arange(18).reshape((1, 2, 3, 3)), 0.5, 0.3, 1.0, 3)
    np.testing.assert_allclose(y.asnumpy().ravel()[:3], [0.0, 0.42133757, 0.79303795], rtol=1e-6)
    sample, one, two = mx.nd.array([[1.0, 2.0]]), mx.nd.array([1.0]), mx.nd.array([2.0])
    y = mx.nd.random_pdf_normal(sample, mu=one, sigma=two)
    np.testing.assert_allclose(y.asnumpy(), [[0.19947115, 0.17603266]], rtol=1e-6)


def test_names_and_results_by_place():
    """MXNet 1.9.1's functions take them after the attributes; of symbols the name first, of arrays the result (recorded)."""
    v, x, out = mx.sym.var("v"), mx.nd.array([[1.0, -2.0]]), mx.nd.zeros((1, 2))
    assert mx.sym.flatten(v, "flat").list_outputs() == ["flat_output"]
    assert mx.sym.dot(v, mx.sym.var("w"), False, False, None, "z").list_outputs() == ["z_output"]
    assert mx.sym.relu(v, "r", {"__x__": "1"}, None).attr("__x__") == "1"
    assert mx.sym.relu(v, "r", None, 3).attr_dict() == mx.sym.relu(v, name="r", out=3).attr_dict() == {}
    assert mx.nd.relu(x, out) is out
    assert mx.nd.broadcast_add(x, x, out).asnumpy().tolist() == [[2, -4]]
    assert mx.nd.relu(x, None, "name").asnumpy().tolist() == [[1, 0]]
    wrong = (
        lambda: mx.sym.flatten(v, "flat", name="other"),
        lambda: mx.sym.flatten(v, "flat", None, None, None),
        lambda: mx.nd.relu(x, out, out=out),
        lambda: mx.nd.relu(x, None, "name", 3),
    )
    for call in wrong:
        with pytest.raises(TypeError):
            call()


if __name__ == "__main__":
    functions = {"_contrib_" + name: function for name, function in vars(mx.nd.contrib).items()}
    functions = {**functions, **vars(mx.nd._internal), **vars(mx.nd)}
    found = {
        name: [each for each in taken(function) if each not in ("out", "name")]
        for name, function in functions.items()
        if inspect.isfunction(function)
    }
    with open(sys.argv[1], "w") as file:
        file.write(
            "{\n" + ",\n".join(json.dumps(n) + ": " + json.dumps(a) for n, a in sorted(found.items()) if a) + "\n}\n"
        )
