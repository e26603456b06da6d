"""The example that ships denoisers: RNNoise's file of weights is read as its own program reads it."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

SIZES = {"input_dense": (42, 24), "vad_output": (24, 1), "denoise_output": (96, 22)}
GRUS = {"vad_gru": (24, 24), "noise_gru": (90, 48), "denoise_gru": (114, 96)}


def example() -> ModuleType:
    path = Path(__file__).parents[4] / "examples" / "denoisers.py"
    spec = importlib.util.spec_from_file_location("denoisers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arrays() -> dict[str, np.ndarray]:
    """Whole numbers in the layouts of RNNoise: [inputs, outputs], of GRUs [inputs, 3 * units] with the gates z, r, n."""
    random = np.random.default_rng(0)
    found = {}
    for name, (inputs, outputs) in SIZES.items():
        found |= {f"{name}_weights": (inputs, outputs), f"{name}_bias": (outputs,)}
    for name, (inputs, units) in GRUS.items():
        found |= {f"{name}_weights": (inputs, 3 * units), f"{name}_recurrent_weights": (units, 3 * units)}
        found |= {f"{name}_bias": (3 * units,)}
    return {name: random.integers(-60, 60, shape) for name, shape in found.items()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_weights_of_rnnoise_are_read_in_their_order() -> None:
    stored = arrays()
    text = "".join(
        f"static const rnn_weight {name}[{values.size}] = {{\n   {', '.join(map(str, values.ravel()))}\n}};\n"
        for name, values in stored.items()
    )
    weights = {name: values / 256 for name, values in stored.items()}

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"{name}_weights"] + weights[f"{name}_bias"]

    def gru(name: str, h: np.ndarray, x: np.ndarray) -> np.ndarray:
        z, r, n = np.split(dense(name, x), 3)
        z_h, r_h, n_h = np.split(weights[f"{name}_recurrent_weights"], 3, 1)
        z, r = sigmoid(z + h @ z_h), sigmoid(r + h @ r_h)
        return z * h + (1 - z) * np.maximum(0, n + (h * r) @ n_h)

    features = torch.randn(40, 42) * 0.3
    voice, noise, gains = np.zeros(24), np.zeros(48), np.zeros(96)
    expected = []
    for x in features.double().numpy():
        first = np.tanh(dense("input_dense", x))
        voice = gru("vad_gru", voice, first)
        noise = gru("noise_gru", noise, np.concatenate((first, voice, x)))
        gains = gru("denoise_gru", gains, np.concatenate((voice, noise, x)))
        expected.append(sigmoid(np.concatenate((dense("denoise_output", gains), dense("vad_output", voice)))))
    with torch.no_grad():
        found = example().rnnoise(text)(features[None])[0]
    torch.testing.assert_close(found.double(), torch.tensor(np.array(expected)), atol=1e-5, rtol=1e-5)
