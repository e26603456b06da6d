"""Parts of global tensors that are overwritten, in every layout, against NumPy; the gradients are OneFlow 0.9.0's."""

from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru import parallel

pytestmark = pytest.mark.needs_torch(2, 13, because="older layouts of distributed tensors differ")

B = flow.sbp.broadcast
VALUES = np.arange(12, dtype=np.float32).reshape(4, 3)
INDICES: tuple[Any, ...] = (
    0, -1, slice(1, 3), slice(0, 4, 2), (slice(1, 3), 1), (..., 0), (1, 1), [0, 2], VALUES > 5,
)  # fmt: skip


def _given(place: Any, layout: Any) -> Any:
    return flow.tensor(VALUES).to_global(place, B).to_global(sbp=layout)


def overwritten() -> dict[str, Any]:
    """The differences from NumPy, the layouts, and gradients."""
    place = flow.placement.all("cpu")
    wrong = []
    for layout in (B, flow.sbp.split(0), flow.sbp.split(1), flow.sbp.partial_sum):
        for index in INDICES:
            x, expected = _given(place, layout), VALUES.copy()
            part = expected[index]
            for value in (7.0, -part):
                expected[index] = value
                given = value if isinstance(value, float) else flow.tensor(value).to_global(place, B)
                x[index if not isinstance(index, np.ndarray) else _given(place, layout) > 5] = given
                if x.sbp != (layout,) or not np.array_equal(x.numpy(), expected):
                    wrong.append((str(layout), str(index), x.numpy().tolist()))
    x, row = _given(place, flow.sbp.split(0)).requires_grad_(), flow.ones(3, placement=place, sbp=B).requires_grad_()
    y = x * 2
    y[1] = row * 3
    (y * y).sum().backward()
    return {"wrong": wrong, "x": x.grad.numpy().tolist(), "row": row.grad.numpy().tolist()}


def test_parts_of_every_layout_are_overwritten() -> None:
    workers = parallel.spawn(overwritten, nprocs=2)
    for rank in range(2):
        found = workers.result(rank)
        assert found["wrong"] == []
        assert found["x"] == [[0.0, 8.0, 16.0], [0.0, 0.0, 0.0], [48.0, 56.0, 64.0], [72.0, 80.0, 88.0]]
        assert found["row"] == [18.0, 18.0, 18.0]
