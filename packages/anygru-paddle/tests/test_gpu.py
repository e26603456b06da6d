"""Programs of Paddle on a GPU give the numbers of the CPU: `make test-gpu`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import nn

pytestmark = pytest.mark.gpu
X = np.random.RandomState(0).randn(4, 6, 5).astype("float32")
Y = np.array([0, 2, 1, 1])


@pytest.fixture(autouse=True)
def _on_the_gpu() -> Iterator[None]:
    paddle.set_device("gpu")
    yield
    paddle.set_device("cpu")


def _losses(device: str, make: Any, lengths: list[int] | None) -> list[float]:
    paddle.set_device(device)
    net, embedding = make(), nn.Embedding(10, 5)
    net.eval()
    head = nn.Linear(net(paddle.to_tensor(X))[0].shape[-1], 3)
    layers = nn.LayerList([net, embedding, head])
    values = np.random.RandomState(1)
    for parameter in layers.parameters():
        parameter.set_value((values.randn(*parameter.shape) * 0.3).astype("float32"))
    clip = nn.ClipGradByGlobalNorm(1.0)
    optimizer = paddle.optimizer.Adam(0.01, parameters=layers.parameters(), grad_clip=clip)
    losses = []
    for _ in range(4):
        x = paddle.to_tensor(X) + embedding(paddle.arange(6) % 4)
        outputs, _ = net(x, sequence_length=None if lengths is None else paddle.to_tensor(lengths))
        loss = nn.functional.cross_entropy(head(outputs.mean(axis=1)), paddle.to_tensor(Y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert outputs.place.is_gpu_place() == (device == "gpu")
    return losses


@pytest.mark.parametrize("lengths", [None, [6, 3, 1, 5]])
@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.GRU(5, 8, num_layers=2, direction="bidirect"),
        lambda: nn.LSTM(5, 8, num_layers=2, direction="bidirect"),
        lambda: nn.SimpleRNN(5, 8),
        lambda: nn.RNN(nn.GRUCell(5, 8)),
        lambda: nn.RNN(nn.LSTMCell(5, 8)),
    ],
)
def test_layers_train_as_on_the_cpu(make: Any, lengths: list[int] | None) -> None:
    np.testing.assert_allclose(_losses("gpu", make, lengths), _losses("cpu", make, lengths), rtol=1e-4)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x + np.array([1.0] * 5, "float32"),
        lambda x: np.array([1.0] * 5, "float32") * x,
        lambda x: paddle.where(x > 0, x, 0.0),
        lambda x: nn.functional.one_hot(paddle.to_tensor([1, 3]), 5),
        lambda x: nn.functional.sequence_mask(paddle.to_tensor([1, 3]), 4),
        lambda x: x[0].put_along_axis(paddle.to_tensor([[1], [0], [2], [1], [0], [3]]), -3.0, 1),
        lambda x: paddle.quantile(x, 0.3, axis=0),
        lambda x: paddle.scatter_nd(paddle.to_tensor([[1], [3]]), x[0, :2], [5, 5]),
        lambda x: paddle.signal.overlap_add(x, 2),
        lambda x: x.unique(return_index=True)[1],
        lambda x: x.lerp(x * 2, 0.5),
        lambda x: paddle.shape(x),
        lambda x: paddle.nanmedian(x, axis=[0, 2]),
        lambda x: x[paddle.to_tensor([0, 2])],
        lambda x: x == 1.5,
        lambda x: paddle.distribution.Normal(0.0, 1.0).log_prob(x),
    ],
)
def test_functions_make_their_tensors_where_they_compute(compute: Any) -> None:
    found = compute(paddle.to_tensor(X))
    paddle.set_device("cpu")
    np.testing.assert_allclose(found.numpy(), compute(paddle.to_tensor(X)).numpy(), rtol=1e-5, atol=1e-6)


def test_a_loader_with_workers_and_a_file(tmp_path: Any) -> None:
    class Samples(paddle.io.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            return paddle.ones([2]) * index, index

    for values, _ in paddle.io.DataLoader(Samples(), batch_size=2, num_workers=1):
        assert values.place.is_gpu_place()
    paddle.save({"x": paddle.to_tensor(X)}, str(tmp_path / "x.pdparams"))
    loaded = paddle.load(str(tmp_path / "x.pdparams"))["x"]
    assert loaded.place.is_gpu_place()
    np.testing.assert_array_equal(loaded.numpy(), X)
