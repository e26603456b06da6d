"""Mixed precision on GPUs: `oneflow.autocast` of "cuda"."""

from ...amp import autocast_mode
from ...framework.dtype import dtype


class autocast(autocast_mode.autocast):
    """Compute in `dtype` (float16 by default) on GPUs where that is safe."""

    def __init__(self, enabled: bool = True, dtype: dtype | None = None, cache_enabled: bool | None = None) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)
