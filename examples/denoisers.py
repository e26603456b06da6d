"""Two denoisers with their published weights as one file in C each, or as a web page: RNNoise and GTCRN.

python examples/denoisers.py rnnoise rnn_data.c OUT     (src/rnn_data.c of github.com/xiph/rnnoise, as in its commit 231b9c0)
python examples/denoisers.py gtcrn CLONE OUT            (a clone of github.com/Xiaobin-Rong/gtcrn; needs einops)

OUT is a file that ends in .h, or a folder for a page (which needs clang, lld and wasi-libc). Without arguments: RNNoise with
random weights. Both files read features of a frame and give gains or a spectrum; the transforms around them are the program's.
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import anygru
from anygru.c_export import export_wasm

FEATURES, BANDS = 42, 22
UNIT = 1 / 256
"""The weights of RNNoise are whole numbers of this unit."""


class RNNoise(nn.Module):
    """The network of RNNoise 0.1 (Valin, 2018): features [B, T, 42] give gains of 22 bands and the odds of a voice, [B, T, 23].

    Its GRUs multiply the state by the reset gate before the product, and have the activation relu.
    """

    def __init__(self) -> None:
        super().__init__()
        self.input_dense = nn.Linear(FEATURES, 24)
        self.vad_gru = self._gru(24, 24)
        self.noise_gru = self._gru(24 + 24 + FEATURES, 48)
        self.denoise_gru = self._gru(24 + 48 + FEATURES, 96)
        self.vad_output = nn.Linear(24, 1)
        self.denoise_output = nn.Linear(96, BANDS)

    @staticmethod
    def _gru(inputs: int, hidden: int) -> anygru.GRU:
        return anygru.GRU(inputs, hidden, batch_first=True, reset="before", activation="relu")

    def forward(self, features: Tensor) -> Tensor:
        dense = torch.tanh(self.input_dense(features))
        voice = self.vad_gru(dense)[0]
        noise = self.noise_gru(torch.cat((dense, voice, features), -1))[0]
        denoised = self.denoise_gru(torch.cat((voice, noise, features), -1))[0]
        return torch.sigmoid(torch.cat((self.denoise_output(denoised), self.vad_output(voice)), -1))


def rnnoise(text: str) -> nn.Module:
    """The model with the weights of a file of C (rnn_data.c): arrays [inputs, outputs], of a GRU with the gates z, r, n."""
    found = re.findall(r"rnn_weight (\w+)\[\d+\] = \{([^}]*)\}", text)
    arrays = {
        name: UNIT * torch.tensor([float(word) for word in body.split(",") if word.strip()]) for name, body in found
    }
    model = RNNoise().eval()
    layers: dict[str, Any] = dict(model.named_children())
    with torch.no_grad():
        for name, layer in layers.items():
            if isinstance(layer, nn.Linear):
                layer.weight.copy_(arrays[f"{name}_weights"].view(layer.in_features, -1).T)
                layer.bias.copy_(arrays[f"{name}_bias"])
                continue
            for parameter, array in ((layer.weight_ih_l0, "weights"), (layer.weight_hh_l0, "recurrent_weights")):
                parameter.copy_(gates(arrays[f"{name}_{array}"].view(parameter.shape[1], -1).T))
            layer.bias_ih_l0.copy_(gates(arrays[f"{name}_bias"]))
            layer.bias_hh_l0.zero_()
    return model


def gates(rows: Tensor) -> Tensor:
    """Rows for the gates z, r, n in the order r, z, n."""
    z, r, n = rows.chunk(3)
    return torch.cat((r, z, n))


def gtcrn(clone: str) -> nn.Module:
    """GTCRN (Rong et al., 2024) from its authors' code and weights: spectra [B, 257, T, 2] give cleaned spectra."""
    sys.path.insert(0, clone)
    from gtcrn import GTCRN  # type: ignore[import-not-found]

    model: nn.Module = GTCRN().eval()
    stored = torch.load(
        Path(clone) / "checkpoints" / "model_trained_on_dns3.tar", map_location="cpu", weights_only=True
    )
    model.load_state_dict(stored["model"])
    return model


def main(words: list[str]) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if not words:
        with tempfile.TemporaryDirectory() as folder:
            print(anygru.export_c(RNNoise(), Path(folder) / "rnnoise.h"))
        return
    name, source, out = words
    if name == "rnnoise":
        model, example, axis = rnnoise(Path(source).read_text()), torch.randn(1, 100, FEATURES), 1
    else:
        model, example, axis = gtcrn(source), 0.3 * torch.randn(1, 257, 40, 2), 2
    if out.endswith(".h"):
        print(anygru.export_c(model, out, name=name, example=example, time_axis=axis))
    else:
        print(export_wasm(model, out, name=name, example=example, time_axis=axis))


if __name__ == "__main__":
    main(sys.argv[1:])
