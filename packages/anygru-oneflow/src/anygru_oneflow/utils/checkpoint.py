"""Less memory for more computing."""

from collections.abc import Callable
from typing import Any

import torch.utils.checkpoint as _torch


def checkpoint(function: Callable[..., Any], *args: Any) -> Any:
    """Call the function, and call it again in backward instead of keeping its saved tensors."""
    return _torch.checkpoint(function, *args, use_reentrant=False)
