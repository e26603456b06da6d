"""Further functions of `mx.np`. `data/numpy_names.json` has MXNet 1.9.1's results for the same arrays.

`python test_numpy_names.py FILE` writes such a file under MXNet itself.
"""

import json
import pathlib
import sys

import numpy as onp

if __name__ == "__main__":
    from mxnet import autograd, np, npx
else:
    import pytest

    from anygru_mxnet import autograd, np, npx

npx.set_np()
a = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
b = np.array([1.0, 2.0, 3.0])
n = np.array([1.0, onp.nan, 3.0])
i = np.array([2, 0, 1, 2], dtype="int32")
s = np.array([1.0, 2.0, 4.0, 8.0])
m = np.array([[2.0, 1.0], [1.0, 3.0]])
u = np.array([1, 0, 1, 1, 0, 0, 0, 1], dtype="uint8")
CASES = {
    "alltrue": (a,),
    "apply_along_axis": (lambda x: x.sum(), 0, a),
    "apply_over_axes": (onp.sum, a, [0]),
    "argpartition": (b, 1),
    "argwhere": (a,),
    "array_equiv": (b, b),
    "choose": (np.array([0, 1, 0], dtype="int32"), [b, b * 2]),
    "compress": ([True, False], a),
    "corrcoef": (a,),
    "correlate": (b, b),
    "count_nonzero": (a,),
    "cov": (a,),
    "digitize": (b, s),
    "divmod": (s, 3.0),
    "extract": (a > 1, a),
    "flatnonzero": (a,),
    "float_power": (b, 2.0),
    "frexp": (s,),
    "heaviside": (b, 0.5),
    "histogram_bin_edges": (b,),
    "i0": (b,),
    "in1d": (i, np.array([2], dtype="int32")),
    "interp": (np.array([1.5]), b, b * 2),
    "intersect1d": (i, np.array([2, 1], dtype="int32")),
    "isclose": (b, b + 1e-09),
    "isin": (i, np.array([2], dtype="int32")),
    "lexsort": ((b, n),),
    "min_scalar_type": (3,),
    "modf": (s / 3,),
    "msort": (a,),
    "nanargmax": (n,),
    "nanargmin": (n,),
    "nancumprod": (n,),
    "nancumsum": (n,),
    "nanmax": (n,),
    "nanmedian": (n,),
    "nanmin": (n,),
    "nanpercentile": (n, 50),
    "nanprod": (n,),
    "nanquantile": (n, 0.5),
    "partition": (s, 2),
    "piecewise": (b, [b < 2, b >= 2], [-1.0, 1.0]),
    "packbits": (u,),
    "poly": (b,),
    "polyadd": (b, b),
    "polydiv": (s, b[:2]),
    "polyfit": (b, b * 2, 1),
    "polyint": (b,),
    "polymul": (b, b),
    "polysub": (b, b),
    "positive": (b,),
    "promote_types": ("float32", "int8"),
    "ptp": (a,),
    "real": (b,),
    "searchsorted": (s, np.array([3.0])),
    "select": ([b < 2, b >= 2], [b, b * 10]),
    "setdiff1d": (i, np.array([2], dtype="int32")),
    "setxor1d": (i, np.array([2], dtype="int32")),
    "signbit": (b - 2,),
    "spacing": (b,),
    "take_along_axis": (a, np.array([[0], [1]], dtype="int64"), 1),
    "trapz": (b,),
    "tril_indices_from": (m,),
    "trim_zeros": (np.array([0.0, 1.0, 0.0]),),
    "triu_indices_from": (m,),
    "union1d": (i, np.array([7], dtype="int32")),
    "unpackbits": (np.array([5], dtype="uint8"),),
    "unwrap": (s,),
    "vander": (b,),
    "append": (a, b),
    "average": (a,),
    "bitwise_and": (i, 1),
    "bitwise_or": (i, 1),
    "bitwise_xor": (i, 1),
    "blackman": (4,),
    "hamming": (4,),
    "hanning": (4,),
    "broadcast_arrays": (b, a),
    "copysign": (b, -1.0),
    "delete": (a, 1, 1),
    "diag_indices_from": (m,),
    "diagflat": (b,),
    "dsplit": (np.ones((2, 2, 4)), 2),
    "ediff1d": (s,),
    "fabs": (b - 2,),
    "hsplit": (np.ones((2, 4)), 2),
    "vsplit": (np.ones((4, 2)), 2),
    "indices": ((2, 2),),
    "insert": (b, 1, 9.0),
    "isneginf": (b,),
    "isposinf": (b,),
    "lcm": (i, 3),
    "ldexp": (b, 2.0),
    "logspace": (0, 2, 3),
    "may_share_memory": (a, b),
    "shares_memory": (a, b),
    "nan_to_num": (n,),
    "percentile": (a, 50),
    "quantile": (a, 0.5),
    "polyval": (b, b),
    "product": (b,),
    "resize": (a, (3, 2)),
    "round_": (b / 3, 1),
    "row_stack": ((b, b),),
    "sometrue": (a,),
    "unravel_index": (np.array([3], dtype="int64"), (2, 3)),
    "atleast_3d": (b,),
    "set_printoptions": (),
    "nonzero": (a,),
}
LINALG = {
    "cond": (m,),
    "lstsq": (m, np.array([1.0, 2.0])),
    "matrix_power": (m, 2),
    "matrix_rank": (m,),
    "multi_dot": ([m, m, m],),
    "qr": (m,),
    "eig": (m,),
    "eigvals": (m,),
    "eigvalsh": (m,),
}
npx.reset_np()


def plain(result):
    """A result with its kind, dtype and shape."""
    if hasattr(result, "asnumpy"):
        values = result.asnumpy()
        return ["A", str(values.dtype), list(values.shape), onp.round(values.astype("float64"), 4).ravel().tolist()]
    if isinstance(result, (list, tuple)):
        return ["L"] + [plain(part) for part in result]
    if isinstance(result, onp.dtype):
        return ["D", str(result)]
    if isinstance(result, (bool, onp.bool_)):
        return ["B", bool(result)]
    return ["S", round(float(result), 4)] if isinstance(result, (int, float, onp.generic)) else [type(result).__name__]


def compute(name):
    npx.set_np()
    try:
        if name.startswith("linalg."):
            return plain(getattr(np.linalg, name[7:])(*LINALG[name[7:]]))
        return plain(getattr(np, name)(*CASES[name]))
    finally:
        npx.reset_np()


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump(
            {name: compute(name) for name in (*CASES, *(f"linalg.{key}" for key in LINALG))},
            file,
            separators=(",", ":"),
        )
        file.write("\n")
else:
    RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "numpy_names.json").read_text())

    @pytest.mark.filterwarnings("ignore:.*rcond:FutureWarning")  # of NumPy 1
    @pytest.mark.parametrize("name", RECORDED)
    def test_same_as_mxnet(name):
        found, expected = compute(name), RECORDED[name]
        if expected[0] in "AS":
            assert found[:-1] == expected[:-1]
            onp.testing.assert_allclose(found[-1], expected[-1], atol=2e-4)
        else:
            assert found == expected

    def test_every_name_has_a_recorded_result():
        assert {*CASES, *(f"linalg.{key}" for key in LINALG)} == set(RECORDED)

    def test_results_of_numpy_have_no_gradient():
        x = np.ones((3,))
        x.attach_grad()
        with autograd.record():
            with pytest.raises(ValueError, match=r"trapz has no gradient.*outside of autograd.record"):
                np.trapz(x)
            y = np.average(np.polyval(np.array([1.0, 2.0]), x), weights=np.array([1.0, 2.0, 1.0]))
        y.backward()
        assert x.grad.asnumpy().tolist() == [0.25, 0.5, 0.25]
        assert np.ediff1d(np.array([1.0, 3.0]), to_end=[9], to_begin=0).asnumpy().tolist() == [0, 2, 9]
        assert np.append(np.ones((2, 1)), np.zeros((2, 1)), axis=1).shape == (2, 2)
