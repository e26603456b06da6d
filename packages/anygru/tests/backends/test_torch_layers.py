"""torch's kernels of LSTMs and Elman networks: the same results, and errors where torch would read other memory."""

from typing import Any

import pytest
import torch

from anygru.errors import ArgumentError, ArgumentTypeError
from anygru.extend import layer_of_torch

OPTIONS = (True, 1, 0.0, False, False)


def _weights() -> list[torch.Tensor]:
    return [torch.randn(shape) for shape in ((12, 3), (12, 3), (12,), (12,))]


def test_the_results_are_torchs() -> None:
    weights, state = _weights(), torch.zeros(1, 2, 3)
    dense = (torch.randn(5, 2, 3), (state, state), weights, *OPTIONS, False)
    rows = (torch.randn(5, 3), torch.tensor([2, 2, 1]), (state, state), weights, *OPTIONS)
    for arguments in (dense, rows):
        assert all(map(torch.equal, layer_of_torch("lstm")(*arguments), torch.lstm(*arguments)))


BATCH = {"input": torch.ones(5, 2, 3), "hx": (torch.zeros(1, 2, 3),) * 2, "batch_first": False}
ROWS = {"data": torch.ones(5, 3), "batch_sizes": torch.tensor([2, 2, 1]), "hx": (torch.zeros(1, 2, 3),) * 2}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (BATCH | {"input": torch.ones(5, 2, 1)}, ArgumentError, "1 features"),
        (BATCH | {"input": torch.ones(5, 2, 3, 1)}, ArgumentError, "3 axes"),
        (BATCH | {"input": torch.ones(5, 2, 3, dtype=torch.int64)}, ArgumentTypeError, "floating-point"),
        (BATCH | {"input": [1.0]}, ArgumentTypeError, "got list"),
        (BATCH | {"hx": torch.zeros(1, 2, 3)}, ArgumentError, "h_0, c_0"),
        (BATCH | {"hx": (torch.zeros(1, 1, 3),) * 2}, ArgumentError, "hx must be"),
        (BATCH | {"hx": (torch.zeros(1, 2, 3, dtype=torch.float64),) * 2}, ArgumentTypeError, "float64"),
        (BATCH | {"num_layers": 2}, ArgumentError, "hx must be"),
        (BATCH | {"has_biases": False}, ArgumentError, "weights of the shapes"),
        (BATCH | {"bidirectional": True}, ArgumentError, "hx must be"),
        (ROWS | {"batch_first": False}, ArgumentTypeError, "expected the arguments"),
        (ROWS | {"batch_sizes": torch.tensor([2, 2, 2])}, ArgumentError, "sum to the 5 rows"),
        (ROWS | {"batch_sizes": torch.tensor([1, 2, 2])}, ArgumentError, "must not rise"),
        (ROWS | {"batch_sizes": torch.tensor([3, 2, 1, -1])}, ArgumentError, "above 0"),
        (ROWS | {"batch_sizes": torch.tensor([2.0, 2.0, 1.0])}, ArgumentTypeError, "int64"),
        (ROWS | {"batch_sizes": [2, 2, 1]}, ArgumentTypeError, "batch_sizes"),
    ],
)
def test_arguments_that_do_not_fit_raise(given: dict[str, Any], error: type[Exception], words: str) -> None:
    names = ("has_biases", "num_layers", "dropout", "train", "bidirectional")
    call = {"params": _weights(), **dict(zip(names, OPTIONS, strict=True)), **given}
    with pytest.raises(error, match=words):
        layer_of_torch("lstm")(**call)
