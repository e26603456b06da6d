"""Names of anygru for dialects and commands in other packages, in addition to the public names.

A dialect (entry point group `anygru.dialects`) or a command (group `anygru.commands`) imports only the public names of
`anygru` and the names of this module. `docs/dialects.md` explains how to write a dialect. A name changes or goes under
the same rules as a public one. Names are imported on first use, as in `anygru`.
"""

import importlib
from typing import Any

_HOME = {
    # names of the original: covered, refused, or elsewhere
    "cover": "dialects.stand_ins:cover",
    "names": "dialects.names:names",
    "near": "errors:near",
    "not_covered": "dialects.stand_ins:not_covered",
    "refuser": "dialects.stand_ins:refuser",
    # weights and gates
    "Weights": "facts.weights:Weights",
    "gates": "facts.gates",
    "native": "backends.native_module:native",
    "layer_of_torch": "backends.torch_layers:layer_of_torch",
    "backward": "facts.torch_private:backward",
    "gradients": "facts.torch_private:gradients",
    "torch_private": "facts.torch_private",
    # definitions that frameworks share
    "NUMPY_OF_TORCH": "dialects.kit.numbers:NUMPY_OF_TORCH",
    "TORCH_OF_NUMPY": "dialects.kit.numbers:TORCH_OF_NUMPY",
    "behind_hooks": "dialects.kit.graph:behind_hooks",
    "bound": "dialects.kit.arguments:bound",
    "centred": "dialects.kit.numbers:centred",
    "cpp_numbers": "dialects.kit.cpp_numbers",
    "fans": "dialects.kit.fans:fans",
    "is_release": "dialects.kit.graph:is_release",
    "leave_graph": "facts.torch_private:leave_graph",
    "schedules": "dialects.kit.schedules",
    "single": "dialects.kit.numbers:single",
    # files: the originals' formats, and the means to read and write others safely
    "chainer_files": "checkpoints.formats.chainer",
    "hdf5_files": "checkpoints.formats.hdf5",
    "mxnet_files": "checkpoints.formats.mxnet",
    "oneflow_files": "checkpoints.formats.oneflow",
    "paddle_binary_files": "checkpoints.formats.paddle_binary",
    "paddle_files": "checkpoints.formats.paddle",
    "torch_files": "checkpoints.formats.torch",
    "StoredTensor": "checkpoints.stored:StoredTensor",
    "Budget": "checkpoints.reading.budget:Budget",
    "Bytes": "checkpoints.reading.source:Bytes",
    "PickledCall": "checkpoints.output.pickling:PickledCall",
    "Global": "checkpoints.output.pickling:Global",
    "PER_OBJECT": "checkpoints.reading.budget:PER_OBJECT",
    "Pending": "checkpoints.reading.pickle_tree:Pending",
    "RestrictedUnpickler": "checkpoints.reading.unpickle:RestrictedUnpickler",
    "convert": "checkpoints.writing.convert:convert",
    "dump": "checkpoints.output.pickling:dump",
    "onnxscript_operators": "onnx.operators:onnxscript_operators",
    "open_bytes": "checkpoints.reading.source:open_bytes",
    "open_for_replace": "checkpoints.output.atomic:open_for_replace",
    "parse_json": "checkpoints.reading.json_text:parse_json",
    "read_regular": "checkpoints.reading.source:read_regular",
    "shown": "checkpoints.reading.source:shown",
    # processes
    "Workers": "parallel.spawn:Workers",
    "distribute": "parallel.data_parallel:distribute",
    "serve_store": "parallel.addresses:serve_store",
    # commands
    "Failure": "cli:Failure",
    "STANDARD_INPUT": "cli.terminal:STANDARD_INPUT",
    "UsageError": "cli:UsageError",
    "bounded": "cli.spinning:bounded",
    "count": "cli.terminal:count",
    "existing": "cli:existing",
    "needed": "cli:needed",
    "writable": "cli.terminal:writable",
}
"""Name -> where it is: "module" for a module, "module:name" for other objects."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, inside = _HOME[name].partition(":")
    value: Any = importlib.import_module(f".{module}", __package__)
    if inside:
        value = getattr(value, inside)
    globals()[name] = value
    return value
