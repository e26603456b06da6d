"""A model as one file in C, for programs without Python: `anygru.export_c`; the same as WebAssembly: `export_wasm`.

`Residual` is a module for models that add their input to their output, such as guitar amplifiers.
"""

from .checking import CheckError as CheckError
from .exporting import Exported as Exported
from .exporting import export_c as export_c
from .residual import Residual as Residual
from .wasm import Pages as Pages
from .wasm import ToolMissingError as ToolMissingError
from .wasm import export_wasm as export_wasm
