# What type checkers see of the lazy names of `extend.py`; a test compares the two.
from .backends.native_module import native
from .backends.torch_layers import layer_of_torch
from .checkpoints.formats import chainer as chainer_files
from .checkpoints.formats import hdf5 as hdf5_files
from .checkpoints.formats import mxnet as mxnet_files
from .checkpoints.formats import oneflow as oneflow_files
from .checkpoints.formats import paddle as paddle_files
from .checkpoints.formats import paddle_binary as paddle_binary_files
from .checkpoints.formats import torch as torch_files
from .checkpoints.output.atomic import open_for_replace
from .checkpoints.output.pickling import Global, PickledCall, dump
from .checkpoints.reading.budget import PER_OBJECT, Budget
from .checkpoints.reading.json_text import parse_json
from .checkpoints.reading.pickle_tree import Pending
from .checkpoints.reading.source import Bytes, open_bytes, read_regular, shown
from .checkpoints.reading.unpickle import RestrictedUnpickler
from .checkpoints.stored import StoredTensor
from .checkpoints.writing.convert import convert
from .cli import Failure, UsageError, existing, needed
from .cli.spinning import bounded
from .cli.terminal import STANDARD_INPUT, count, writable
from .dialects.kit import cpp_numbers, schedules
from .dialects.kit.arguments import bound
from .dialects.kit.fans import fans
from .dialects.kit.graph import behind_hooks, is_release
from .dialects.kit.numbers import NUMPY_OF_TORCH, TORCH_OF_NUMPY, centred, single
from .dialects.names import names
from .dialects.stand_ins import cover, not_covered, refuser
from .errors import near
from .facts import gates, torch_private
from .facts.torch_private import backward, gradients, leave_graph
from .facts.weights import Weights
from .onnx.operators import onnxscript_operators
from .parallel.addresses import serve_store
from .parallel.data_parallel import distribute
from .parallel.spawn import Workers

__all__ = [
    "backward",
    "bounded",
    "Budget",
    "Bytes",
    "PickledCall",
    "Failure",
    "Global",
    "NUMPY_OF_TORCH",
    "PER_OBJECT",
    "Pending",
    "RestrictedUnpickler",
    "STANDARD_INPUT",
    "StoredTensor",
    "TORCH_OF_NUMPY",
    "UsageError",
    "Weights",
    "Workers",
    "behind_hooks",
    "bound",
    "centred",
    "chainer_files",
    "convert",
    "count",
    "cover",
    "distribute",
    "dump",
    "existing",
    "cpp_numbers",
    "fans",
    "gates",
    "gradients",
    "hdf5_files",
    "is_release",
    "leave_graph",
    "mxnet_files",
    "names",
    "near",
    "layer_of_torch",
    "native",
    "needed",
    "not_covered",
    "oneflow_files",
    "onnxscript_operators",
    "open_bytes",
    "open_for_replace",
    "paddle_binary_files",
    "paddle_files",
    "parse_json",
    "read_regular",
    "refuser",
    "schedules",
    "serve_store",
    "shown",
    "single",
    "torch_files",
    "torch_private",
    "writable",
]
