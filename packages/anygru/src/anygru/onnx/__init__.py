"""ONNX, both ways: `export` writes models with GRUs as ONNX's GRU operator, `load` reads GRUs back as layers.

Needs the extra `anygru[onnx]` (onnx and onnxscript). See `docs/onnx.md`.
"""

# Not relative: a relative import would make editors offer the names of these files.
from anygru.onnx.exporting import export as export
from anygru.onnx.exporting import export_step as export_step
from anygru.onnx.loading import ReverseGRU as ReverseGRU
from anygru.onnx.loading import load as load
from anygru.onnx.operators import translations as translations

__all__ = ["ReverseGRU", "export", "export_step", "load", "translations"]


def __dir__() -> list[str]:
    return __all__
