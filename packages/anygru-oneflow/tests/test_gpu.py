"""Programs of OneFlow on a GPU give the numbers of the CPU: `make test-gpu`."""

from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn

pytestmark = pytest.mark.gpu
X = np.random.RandomState(0).randn(4, 6, 5).astype("float32")
Y = np.array([0, 2, 1, 1])


def _losses(device: str, kind: str) -> list[float]:
    layer: Any = getattr(nn, kind)(5, 8, num_layers=2, batch_first=True, bidirectional=True)
    model = nn.ModuleList([layer, nn.Linear(16, 3), nn.Embedding(10, 5)])
    values = np.random.RandomState(1)
    for parameter in model.parameters():
        parameter.data = flow.tensor((values.randn(*parameter.shape) * 0.3).astype("float32"))
    model.to(device)
    optimizer, losses = flow.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(4):
        x = flow.tensor(X, device=device) + model[2](flow.arange(6, device=device))
        outputs, _ = model[0](x)
        loss = nn.CrossEntropyLoss()(model[1](outputs.mean(dim=1)), flow.tensor(Y, device=device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert outputs.device.type == device
    return losses


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_layers_train_as_on_the_cpu(kind: str) -> None:
    np.testing.assert_allclose(_losses("cuda", kind), _losses("cpu", kind), rtol=1e-4)


def test_global_tensors_on_one_gpu() -> None:
    placement = flow.placement("cuda", [0])
    layer = nn.GRU(5, 8)
    expected = layer(flow.tensor(X))[0].numpy()
    layer.to_global(placement=placement, sbp=flow.sbp.broadcast)
    found, _ = layer(flow.tensor(X, placement=placement, sbp=flow.sbp.split(1)))
    assert found.placement.type == "cuda"
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)
