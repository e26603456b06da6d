"""`mx.mod.BucketingModule`: a module for each length of sequences, with shared parameters."""

import logging
from collections.abc import Callable
from typing import Any

from ..batches import DataBatch
from ..checkpoints import load_params
from ..metric import EvalMetric
from ..monitor import Monitor
from ..name import NameManager
from ..ndarray import array
from ..ndarray.ndarray import NDArray
from ..ndarray.utils import load as load_arrays
from ..ndarray.utils import save as save_arrays
from ..symbol.symbol import Symbol
from .base_module import BaseModule
from .module import Module


class BucketingModule(BaseModule):
    """A module for each key of a bucket. `sym_gen(bucket_key)` returns a symbol and the names of its data and labels."""

    def __init__(
        self,
        sym_gen: Callable,
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(logger)
        assert default_bucket_key is not None
        self._sym_gen, self._default = sym_gen, default_bucket_key
        self._options = {"logger": logger, "context": context, **kwargs}
        self._modules: dict[Any, Module] = {}
        self._curr_module = self._make(default_bucket_key)
        self._bound: dict[str, Any] = {}
        self._monitor: Monitor | None = None

    def _call_sym_gen(self, key: Any) -> tuple:
        # The names are counted from 0 for each bucket, so that layers without names share their parameters.
        with NameManager():
            return self._sym_gen(key)

    def _make(self, key: Any) -> Module:
        symbol, data_names, label_names = self._call_sym_gen(key)
        return Module(symbol, data_names, label_names, **self._options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_curr_module" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._curr_module, name)

    def bind(
        self, data_shapes: list, label_shapes: list | None = None, for_training: bool = True, **kwargs: Any
    ) -> None:
        """Allocate the arrays of the default bucket."""
        again = kwargs.pop("force_rebind", False)
        if self.binded and not again:
            self.logger.warning("Already bound, ignoring bind()")
            return
        self._bound = {"for_training": for_training, **kwargs}
        self._curr_module = self._modules.get(self._default, self._curr_module)
        self._curr_module.bind(data_shapes, label_shapes, for_training, force_rebind=again, **kwargs)
        self._modules = {self._default: self._curr_module}
        self.binded, self.for_training = True, for_training

    def init_params(self, *args: Any, **kwargs: Any) -> None:
        """Initialize the parameters, as `Module.init_params`."""
        self._curr_module.init_params(*args, **kwargs)
        self.params_initialized = True

    def init_optimizer(self, *args: Any, **kwargs: Any) -> None:
        """Create the optimizer of all buckets."""
        self._curr_module.init_optimizer(*args, **kwargs)
        for module in self._modules.values():
            module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    def switch_bucket(self, bucket_key: Any, data_shapes: list, label_shapes: list | None = None) -> None:
        """Switch to the module of a bucket."""
        assert self.binded, "call bind before switching bucket"
        if bucket_key not in self._modules:
            module = self._make(bucket_key)
            module.bind(data_shapes, label_shapes, shared_module=self._modules[self._default], **self._bound)
            self._modules[bucket_key] = module
            if self._monitor is not None:
                module.install_monitor(self._monitor)
        self._curr_module = self._modules[bucket_key]

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Any = None) -> None:
        """Prepare for a batch; no effect."""

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs by the module of the batch's bucket."""
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data or [], data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients of the last `forward`."""
        self._curr_module.backward(out_grads)

    def update(self) -> None:
        """Change the parameters by their gradients."""
        self._curr_module.update()

    def update_metric(self, eval_metric: EvalMetric, labels: list, pre_sliced: bool = False) -> None:
        """Update a metric with the last outputs and these labels."""
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a Monitor in the modules of all buckets."""
        self._monitor = mon
        for module in self._modules.values():
            module.install_monitor(mon)

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the parameters, the symbols of the buckets used so far, and the list of these buckets."""
        assert self._modules, "Empty BucketingModule cannot be saved"
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key in self._modules:
            self._call_sym_gen(key)[0].save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        save_arrays(f"{prefix}.buckets", array(list(self._modules), dtype="int32"))

    @staticmethod
    def load(
        prefix: str, epoch: int, sym_gen: Callable | None = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> "BucketingModule":
        """An unbound module with the parameters of a checkpoint. As in MXNet its symbols come from `sym_gen`."""
        assert sym_gen is not None, "sym_gen is required for loading BucketingModule"
        buckets = load_arrays(f"{prefix}.buckets")[0].asnumpy().tolist()
        return BucketingModule.load_dict(
            dict.fromkeys(buckets), sym_gen, default_bucket_key, *load_params(prefix, epoch), **kwargs
        )

    @staticmethod
    def load_dict(
        sym_dict: dict[Any, Symbol | None] | None = None,
        sym_gen: Callable | None = None,
        default_bucket_key: Any = None,
        arg_params: dict[str, NDArray] | None = None,
        aux_params: dict[str, NDArray] | None = None,
        **kwargs: Any,
    ) -> "BucketingModule":
        """An unbound module with the given parameters. `sym_dict` lists the buckets, `sym_gen` creates their symbols."""
        assert default_bucket_key is not None, "default_bucket_key is required for loading BucketingModule"
        assert sym_gen is not None, "sym_gen is required for loading BucketingModule"
        known = list(sym_dict or ())
        assert default_bucket_key in known, f"default_bucket_key must be one of {known}, got {default_bucket_key!r}"
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._curr_module._loaded = arg_params or {}, aux_params or {}
        module._curr_module.params_initialized = module.params_initialized = True
        return module
