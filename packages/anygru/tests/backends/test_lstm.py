"""The native step of LSTM units, against NumPy in float64."""

import numpy as np
import pytest
import torch
from helpers import with_kernels
from torch import Tensor

from anygru.backends.cpu_calls import native

if native is None:
    pytest.skip("no native kernels", allow_module_level=True)


variant = with_kernels(native.variants())


def place(tensor: Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.nbytes


def expected(c: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, ...]:
    a, (i, f, o) = np.tanh(sums[:, 0]), 1 / (1 + np.exp(-sums[:, 1:].T))
    cells = a * i + f * c
    return cells, o * np.tanh(cells), a, i, f, o


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("units", [1, 3, 16, 17, 131])
def test_a_step_and_its_gradients_are_those_of_numpy(units: int, dtype: torch.dtype, variant: str) -> None:
    generator = torch.Generator().manual_seed(units)
    c, g_cells, g_output = torch.randn(3, units, generator=generator, dtype=dtype)
    sums = torch.randn(units, 4, generator=generator, dtype=dtype) * 3
    cells, output, g_sums, g_c = (torch.full_like(like, torch.nan) for like in (c, c, sums, c))
    native.lstm(dtype.itemsize, units, *map(place, (c, sums, cells, output)))
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype is torch.float32 else {"rtol": 1e-12, "atol": 1e-13}
    new, h, a, i, f, o = expected(c.double().numpy(), sums.double().numpy())
    np.testing.assert_allclose(cells.numpy(), new, **tolerance)
    np.testing.assert_allclose(output.numpy(), h, **tolerance)
    for given in ((g_cells, g_output), (None, g_output), (g_cells, None)):
        places = [None if g is None else place(g) for g in given]
        native.lstm_gradients(dtype.itemsize, units, *map(place, (c, sums, cells)), *places, place(g_sums), place(g_c))
        of_cells, of_output = (np.zeros(units) if g is None else g.double().numpy() for g in given)
        g = of_output * o * (1 - np.tanh(new) ** 2) + of_cells
        of_sums = (
            g * i * (1 - a**2),
            g * a * i * (1 - i),
            g * c.double().numpy() * f * (1 - f),
            of_output * np.tanh(new) * o * (1 - o),
        )
        np.testing.assert_allclose(g_sums.numpy(), np.stack(of_sums, 1), **tolerance)
        np.testing.assert_allclose(g_c.numpy(), g * f, **tolerance)


def test_sizes_that_do_not_fit_are_refused() -> None:
    c, sums = torch.zeros(4), torch.zeros(4, 4)
    with pytest.raises(ValueError, match="sums must have 64 bytes, got 32"):
        native.lstm(4, 4, place(c), place(sums[:2]), place(c.clone()), place(c.clone()))
    with pytest.raises(ValueError, match="units must not be negative"):
        native.lstm(4, -1, *[place(c)] * 4)
    with pytest.raises(ValueError, match="itemsize must be 4 or 8"):
        native.lstm(2, 4, *[place(c)] * 4)
    with pytest.raises(ValueError, match="grad_sums must have 64 bytes"):
        native.lstm_gradients(4, 4, place(c), place(sums), place(c), None, None, place(c), place(c))
