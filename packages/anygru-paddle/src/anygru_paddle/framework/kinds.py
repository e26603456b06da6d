"""The kinds of arguments that Paddle's functions take, for annotations."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

from .dtype import dtype

Number: TypeAlias = bool | int | float | complex
DTypeLike: TypeAlias = dtype | torch.dtype | np.dtype | type | str | None
"""An element type: Paddle's, a name such as "float32" or "paddle.float32", NumPy's, or None for the default."""
Operand: TypeAlias = torch.Tensor | np.ndarray | np.generic | Number
"""The second operand of an operation on a tensor."""
Axis: TypeAlias = int | Sequence[int] | torch.Tensor | np.ndarray | None
"""One axis or several; None usually means all."""
Shape: TypeAlias = int | Sequence[int | torch.Tensor] | torch.Tensor | np.ndarray
"""Sizes: numbers, tensors of one number, or one integer tensor."""
