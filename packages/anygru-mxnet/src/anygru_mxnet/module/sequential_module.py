"""`mx.mod.SequentialModule`: a chain of modules, each with parameters and an optimizer."""

import copy
import logging
from typing import Any

from ..batches import DataBatch
from ..initializer import Initializer, Uniform
from ..metric import EvalMetric
from ..ndarray.ndarray import NDArray
from .base_module import BaseModule


class SequentialModule(BaseModule):
    """A chain of modules. `add` appends a module."""

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, bool]] = []
        self.label_shapes: Any = None

    def add(self, module: BaseModule, **kwargs: bool) -> "SequentialModule":
        """Append a module.

        Args:
            module: the module.
            take_labels: whether it gets the labels.
            auto_wiring: whether the previous outputs become its data in order, with any names.
        """
        for key in kwargs:
            assert key in (self.META_TAKE_LABELS, self.META_AUTO_WIRING), f'Unknown meta "{key}", a typo?'
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> list[str]:
        """The first module's data names."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        """The last module's output names."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list:
        """The shapes of the first module's data."""
        assert self.binded
        return self._modules[0].data_shapes

    @property
    def output_shapes(self) -> list:
        """The shapes of the last module's outputs."""
        assert self.binded
        return self._modules[-1].output_shapes

    def bind(
        self,
        data_shapes: list,
        label_shapes: list | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str = "write",
    ) -> None:
        """Allocate the arrays for inputs of these shapes. The outputs of each module are the inputs of the next."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert shared_module is None, "Shared module is not supported"
        assert self._modules, "Attempting to bind an empty SequentialModule"
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        takes = [meta.get(self.META_TAKE_LABELS) for meta in self._metas]
        self.label_shapes = label_shapes if any(takes) else None
        for place, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING):
                data_shapes = [(name, d[1]) for name, d in zip(module.data_names, data_shapes, strict=True)]
            needs = inputs_need_grad or (for_training and place > 0)
            module.bind(
                data_shapes, label_shapes if takes[place] else None, for_training, needs, force_rebind, None, grad_req
            )
            data_shapes = module.output_shapes

    def init_params(
        self,
        initializer: Initializer | None = Uniform(0.01),  # noqa: B008 (MXNet's default, without a state)
        arg_params: dict | None = None,
        aux_params: dict | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize the parameters of all modules, as `Module.init_params`.

        Raises:
            AssertionError: for two parameters with the same name.
        """
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        known: dict[str, int] = {}
        for place, module in enumerate(self._modules):
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
            for name in (name for held in module.get_params() for name in held):
                assert name not in known, (
                    f'Duplicated parameter names: name "{name}" in layer {place} ({type(module)}) is already used in '
                    f"layer {known[name]} ({type(self._modules[known[name]])})."
                )
                known[name] = place
        self.params_initialized = True

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """The parameters and auxiliary states of all modules."""
        self._check_ready()
        arguments: dict[str, NDArray] = {}
        states: dict[str, NDArray] = {}
        for module in self._modules:
            own = module.get_params()
            arguments.update(own[0])
            states.update(own[1])
        return arguments, states

    def init_optimizer(self, *args: Any, force_init: bool = False, **kwargs: Any) -> None:
        """Create an optimizer for each module."""
        self._check_ready()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(*args, force_init=force_init, **kwargs)
        self.optimizer_initialized = True

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Run all modules. Each gets the labels of the batch."""
        self._check_ready()
        batch = copy.copy(data_batch)
        for place, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if place + 1 < len(self._modules):
                batch.data = module.get_outputs()
                batch.provide_data = [(d[0], x.shape) for d, x in zip(module.output_shapes, batch.data, strict=True)]

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients of the last `forward`, from the last module to the first."""
        self._check_ready()
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        """Change the parameters by their gradients."""
        assert self.optimizer_initialized, "call init_optimizer first"
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """The last module's outputs."""
        self._check_ready()
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The first module's gradients of its data."""
        self._check_ready()
        assert self.inputs_need_grad, "bind with inputs_need_grad=True"
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: list, pre_sliced: bool = False) -> None:
        """Update a metric with these labels and the outputs of modules that take labels."""
        self._check_ready()
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Install a Monitor in all modules."""
        assert self.binded, "call bind first"
        for module in self._modules:
            module.install_monitor(mon)
