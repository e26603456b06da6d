"""Chainer 7.8's vocabulary on PyTorch: Variables and functions, links, optimizers, serializers, the training loop.

A Variable holds a NumPy array; functions compute on torch tensors over the same memory and are differentiated by torch;
GRUs are computed by `anygru.functional`. `names.txt` lists the covered names.
"""

from anygru.extend import cover as _cover

from . import (
    backend,
    backends,
    computational_graph,
    dataset,
    datasets,
    distributions,
    function_hooks,
    functions,
    gradient_check,
    initializers,
    iterators,
    link_hooks,
    links,
    optimizer_hooks,
    optimizers,
    serializers,
    testing,
    training,
    types,
    utils,
    variable,
)
from .backend import get_array_types, get_cpu_array_types, get_device, is_arrays_compatible, using_device
from .backends import cuda
from .backends.cuda import should_use_cudnn, should_use_cudnn_tensor_core
from .configuration import (
    DebugMode,
    __version__,
    config,
    get_compute_mode,
    get_dtype,
    global_config,
    is_debug,
    mixed16,
    print_runtime_info,
    set_debug,
    using_config,
)
from .device_resident import DeviceResident
from .distributions import Distribution, cross_entropy, kl_divergence, register_kl
from .function import Function, FunctionAdapter, force_backprop_mode, no_backprop_mode
from .function_hook import FunctionHook, LinkHook, get_function_hooks
from .function_hook import get_link_hooks as _get_link_hooks  # as in Chainer 7.8.1; chainer-chemistry imports it
from .function_node import FunctionNode, backward, grad
from .initializers import Initializer
from .link import Chain, ChainList, Link
from .links.losses import WalkerAlias as _WalkerAlias
from .optimizer import GradientMethod, Optimizer, UpdateRule
from .reporter import DictSummary, Reporter, Summary, get_current_reporter, report, report_scope
from .sequential import Sequential
from .serializer import AbstractSerializer, Deserializer, Serializer
from .variable import Parameter, Variable, as_array, as_variable

disable_experimental_feature_warning = False
setattr(utils, "WalkerAlias", _WalkerAlias)  # noqa: B010 (the file of the class imports this package)

_cover(__name__)
