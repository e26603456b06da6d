"""Functions give the results of Chainer 7.8.1: outputs, gradients, and numbers drawn from NumPy's generator."""

from pathlib import Path

import numpy as np
import pytest
from recorded_cases import cases, packed, results

import anygru_chainer as chainer

CASES = cases(chainer.functions)
RECORDED = Path(__file__).parent / "data" / "functions_7.8.1.npz"


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_chainer_gave(name):
    function, *arrays = CASES[name]
    values, kinds = packed(results(chainer, function, arrays))
    with np.load(RECORDED) as recorded:
        assert kinds == str(recorded[f"{name}.kinds"])
        np.testing.assert_allclose(values, recorded[name], rtol=2e-4, atol=2e-5)
