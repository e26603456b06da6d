"""ONNX, both ways: `export` writes models whose GRUs are ONNX's own GRU operator, `load` reads GRUs back as layers.

Needs the extra `anygru[onnx]` (onnx and onnxscript). See `docs/onnx.md`.
"""

from .exporting import export as export
from .exporting import export_step as export_step
from .loading import ReverseGRU as ReverseGRU
from .loading import load as load
from .operators import translations as translations
