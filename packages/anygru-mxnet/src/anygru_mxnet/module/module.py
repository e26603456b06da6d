"""`mx.mod.Module`: a symbol with its parameters and an optimizer, on one executor."""

import logging
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from anygru.extend import open_for_replace

from .. import optimizer as optimizers
from ..batches import DataBatch, DataDesc
from ..checkpoints import load_checkpoint, save_checkpoint
from ..context import Context, current_context
from ..executor import Executor
from ..initializer import InitDesc, Initializer, Uniform
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray.ndarray import NDArray
from ..optimizer.updater import Updater, read_states
from ..symbol.symbol import Symbol
from .base_module import BaseModule, check_names, of_shape

Names = Sequence[str] | None


class _Group(NamedTuple):
    """The arrays of a module, each in a list with one array per context. A module has one context."""

    execs: list[Executor]
    arg_names: list[str]
    param_names: list[str]
    param_arrays: list[list[NDArray | None]]
    grad_arrays: list[list[NDArray | None]]


class Module(BaseModule):
    """Trains a symbol.

    Args:
        symbol: the graph. Its outputs are losses such as `SoftmaxOutput`; other outputs have a gradient of one.
        data_names, label_names: the variables that get the data and labels of batches; other variables are parameters.
        context: the context; several contexts are not covered. fixed_param_names: parameters that training does not change.
            state_names: variables that `set_states` sets.

    Raises:
        NotImplementedError: for several contexts and gradient compression.
        ValueError: for data names that the symbol does not have.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Names = ("data",),
        label_names: Names = ("softmax_label",),
        logger: Any = logging,
        context: Context | list[Context] | None = None,
        work_load_list: Any = None,
        fixed_param_names: Names = None,
        state_names: Names = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger)
        contexts = context if isinstance(context, (list, tuple)) else [context or current_context()]
        for given, what in (
            (len(contexts) > 1, "several contexts"), (group2ctxs, "group2ctxs"),
            (compression_params, "compression_params"),
        ):  # fmt: skip
            if given:
                raise NotImplementedError(f"Module: {what} is not covered; gluon.Trainer, or a torch training loop")
        self.symbol = symbol
        self._context = contexts[0]
        arguments = symbol.list_arguments()
        self.data_names = list(data_names or ())
        self.label_names = list(label_names or ())
        self._fixed_param_names, self._state_names = list(fixed_param_names or ()), list(state_names or ())
        for name in (*self.data_names, *self._fixed_param_names, *self._state_names):
            if name not in arguments:
                raise ValueError(f'You created Module with a name "{name}" that the symbol does not have: {arguments}')
        for name in self.label_names:
            if name not in arguments:
                warnings.warn(
                    f'You created Module with label_names "{name}" that the symbol does not have', stacklevel=2
                )
        inputs = {*self.data_names, *self.label_names, *self._state_names}
        self._param_names = [n for n in arguments if n not in inputs]
        self.output_names = symbol.list_outputs()
        self._executor: Executor | None = None
        self._loaded: tuple[dict, dict] | None = None
        self._states_file: str | None = None
        self._optimizer: Any = None
        self._updater: Updater | None = None
        self.data_shapes: list[DataDesc] = []
        self.label_shapes: list[DataDesc] = []

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs, with the batch size as the first size.

        As in MXNet 1.9.1 an output (24, 12) of all steps of 4 sequences has the shape (4, 12) here (recorded).
        """
        known = {description.name: description.shape for description in (*self.data_shapes, *self.label_shapes)}
        first = self.data_shapes[0]
        size = first.shape[DataDesc.get_batch_axis(first.layout)]
        shapes = [list(shape) for shape in self.symbol.infer_shape(**known)[1]]
        for shape, name in zip(shapes, self.output_names, strict=True):
            axis = DataDesc.get_batch_axis(self.symbol[name].attr("__layout__"))
            if 0 <= axis < len(shape):
                shape[axis] = size
        return [(name, tuple(shape)) for name, shape in zip(self.output_names, shapes, strict=True)]

    def _bound_executor(self) -> Executor:
        assert self._executor is not None, "call bind first"
        return self._executor

    @property
    def _exec_group(self) -> _Group:
        """Programs for MXNet clip the gradients in this attribute."""
        running = self._bound_executor()
        names = [name for name in self._param_names if running.grad_dict.get(name) is not None]
        values, gradients = ([[arrays[name]] for name in names] for arrays in (running.arg_dict, running.grad_dict))
        return _Group([running], list(running.arg_dict), names, values, gradients)

    def bind(
        self,
        data_shapes: list,
        label_shapes: list | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: "Module | None" = None,
        grad_req: str = "write",
    ) -> None:
        """Allocate the arrays for inputs with these descriptions, or pairs of name and shape.

        Raises:
            ValueError: for other data than `data_names`. KeyError: for a label that the symbol does not have.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        held = self.get_params() if self.binded and self.params_initialized else self._loaded
        data, labels = (
            [d if isinstance(d, DataDesc) else DataDesc(*d) for d in shapes or ()]
            for shapes in (data_shapes, label_shapes)
        )
        check_names(self, data, labels)
        self.data_shapes, self.label_shapes = data, labels
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        trained = dict.fromkeys(
            (n for n in self._param_names if n not in self._fixed_param_names), grad_req if for_training else "null"
        )
        wanted = dict.fromkeys(self.data_names, grad_req if inputs_need_grad else "null") | trained
        requests = {name: wanted.get(name, "null") for name in self.symbol.list_arguments()}
        known = {d.name: d.shape for d in (*self.data_shapes, *self.label_shapes) if d.name in requests}
        types = {d.name: d.dtype for d in (*self.data_shapes, *self.label_shapes) if d.name in requests}
        self._executor = self._at_bind = self.symbol.simple_bind(self._context, requests, types, **known)
        self.binded = True
        if shared_module is not None:
            self._share(shared_module)
        elif held is not None:
            self._executor.copy_params_from(held[0], held[1], allow_extra_params=True)
            self.params_initialized = True

    def _share(self, other: "Module") -> None:
        """Share another module's arrays of the parameters with the same names."""
        mine, theirs = self._bound_executor(), other._bound_executor()
        for name in self._param_names:
            if name in theirs.arg_dict:
                mine.arg_dict[name], mine.grad_dict[name] = theirs.arg_dict[name], theirs.grad_dict[name]
        mine.aux_dict.update({name: theirs.aux_dict[name] for name in mine.aux_dict if name in theirs.aux_dict})
        self.params_initialized = other.params_initialized
        if other.optimizer_initialized:
            self.borrow_optimizer(other)

    def init_params(
        self,
        initializer: Initializer | None = Uniform(0.01),  # noqa: B008 (MXNet's default, without a state)
        arg_params: dict | None = None,
        aux_params: dict | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Set the parameters from the dicts, or by the initializer.

        As in MXNet 1.9.1 unknown names are ignored, also without `allow_extra` (recorded).

        Raises:
            RuntimeError: for a parameter that a dict lacks, unless `allow_missing`.
        """
        if self.params_initialized and not force_init:
            warnings.warn(
                "Parameters already initialized and force_init=False. init_params call ignored.", stacklevel=2
            )
            return
        assert self.binded, "call bind before initializing the parameters"
        running, attributes = self._bound_executor(), self.symbol.attr_dict()
        parts = [({n: running.arg_dict[n] for n in self._param_names}, arg_params), (running.aux_dict, aux_params)]
        for targets, given in parts:
            # Initializers draw their numbers in the order of the names (MXNet 1.9.1, `module.py`).
            for name, target in sorted(targets.items()):
                if given is not None and name in given:
                    target[:] = given[name]
                elif given is not None and not allow_missing:
                    raise RuntimeError(f"{name} is not presented")
                elif initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), target)
        self.params_initialized = True

    def set_params(
        self,
        arg_params: dict,
        aux_params: dict,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set the parameters and auxiliary states.

        Raises:
            ValueError: for an unknown name, with `allow_missing` and without `allow_extra`. Without `allow_missing` it is
                ignored, as in `init_params` and `fit`, and as in MXNet 1.9.1 (recorded).
        """
        known = {*self._bound_executor().arg_dict, *self._bound_executor().aux_dict}
        unknown = [name for name in (*arg_params, *(aux_params or ())) if name not in known]
        if unknown and allow_missing and not allow_extra:
            raise ValueError(f'Find name "{unknown[0]}" that is not in the arguments')
        super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Copies of the parameters and of the auxiliary states, by name."""
        if self._executor is None and self._loaded is not None:
            return self._loaded
        running = self._bound_executor()
        assert self.params_initialized
        states = {name: value.copy() for name, value in running.aux_dict.items()}
        return {name: running.arg_dict[name].copy() for name in self._param_names}, states

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Create the optimizer, which divides gradients by the batch size.

        Raises:
            NotImplementedError: for a distributed kvstore.
        """
        self._check_ready()
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if "dist" in str(getattr(kvstore, "type", kvstore)):
            raise NotImplementedError("Module: kvstore 'dist_*' is not covered; gluon.Trainer(kvstore='dist_sync')")
        batch = self.data_shapes[0].shape[DataDesc.get_batch_axis(self.data_shapes[0].layout)]
        names = dict(enumerate(self._param_names))
        if isinstance(optimizer, str):
            # The default rate of 0.01 in `optimizer_params` holds for every optimizer, including Adam (MXNet 1.9.1, observed).
            options = {"rescale_grad": 1.0 / batch, **dict(optimizer_params)}
            optimizer = optimizers.create(optimizer, sym=self.symbol, param_idx2name=names, **options)
        elif optimizer.rescale_grad != 1.0 / batch:
            warnings.warn(
                "Optimizer created manually outside Module but rescale_grad is not normalized to "
                f"1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {1.0 / batch}). Is this intended?",
                stacklevel=2,
            )
        optimizer.idx2name = optimizer.idx2name or names
        self._optimizer, self._updater = optimizer, Updater(optimizer)
        self.optimizer_initialized = True
        if self._states_file is not None:
            self.load_optimizer_states(self._states_file)
            self._states_file = None

    def borrow_optimizer(self, shared_module: "Module") -> None:
        """Use another module's optimizer and its states."""
        self._optimizer, self._updater = shared_module._optimizer, shared_module._updater
        self.optimizer_initialized = True

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs for a batch of any size that does not change the parameters' shapes.

        Raises:
            MXNetError: for shapes that would change a parameter's. AssertionError: before `bind` or `init_params`.
        """
        self._check_ready()
        running = self._bound_executor()
        names = [description.name for description in self.data_shapes]
        given = dict(zip(names, data_batch.data[: len(names)], strict=True))
        if self.label_shapes and data_batch.label:
            given |= zip((d.name for d in self.label_shapes), data_batch.label, strict=False)
        given = {name: value for name, value in given.items() if name in running.arg_dict}
        if any(running.arg_dict[name].shape != value.shape for name, value in given.items()):
            shapes = {name: value.shape for name, value in given.items()}
            # As in MXNet 1.9.1 labels that are not given have their shape of `bind` again, and `data_shapes` and `label_shapes`
            # change (recorded).
            self._executor = running = self._at_bind.reshape(allow_up_sizing=True, **shapes)
            for descriptions in (self.data_shapes, self.label_shapes):
                descriptions[:] = [of_shape(each, running.arg_dict) for each in descriptions]
        cast = {name: value.astype(running.arg_dict[name].dtype, copy=False) for name, value in given.items()}
        running.forward(self.for_training if is_train is None else is_train, **cast)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients of the last `forward`."""
        assert self.for_training, "backward: bind with for_training=True"
        self._bound_executor().backward(out_grads)

    def update(self) -> None:
        """Change the parameters by their gradients."""
        assert self._updater is not None, "call init_optimizer first"
        running = self._bound_executor()
        for index, name in enumerate(self._param_names):
            gradient = running.grad_dict.get(name)
            if gradient is not None:
                self._updater(index, gradient, running.arg_dict[name])

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """The outputs of the last `forward`."""
        outputs = self._bound_executor().outputs
        return outputs if merge_multi_context else [[output] for output in outputs]

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The gradients of the data; `bind(inputs_need_grad=True)`."""
        assert self.inputs_need_grad, "bind with inputs_need_grad=True"
        gradients = [self._bound_executor().grad_dict[name] for name in self.data_names]
        return gradients if merge_multi_context else [[gradient] for gradient in gradients]

    def get_states(self, merge_multi_context: bool = True) -> list:
        """The values of the states."""
        self._check_ready()
        states = [self._bound_executor().arg_dict[name].copy() for name in self._state_names]
        return states if merge_multi_context else [[state] for state in states]

    def set_states(self, states: list | None = None, value: float | None = None) -> None:
        """Set the states: an array (or a list with an array) for each, or one number for all."""
        assert (states is None) != (value is None), "set_states: either states or value, got both or neither"
        given = [value] * len(self._state_names) if states is None else states
        for name, values in zip(self._state_names, given, strict=True):
            self._bound_executor().arg_dict[name][:] = values[0] if isinstance(values, (list, tuple)) else values

    def update_metric(self, eval_metric: EvalMetric, labels: list, pre_sliced: bool = False) -> None:
        """Update a metric with the last outputs and these labels. With `pre_sliced` there is a list of labels for each
        context."""
        labels = labels[0] if pre_sliced else labels
        named = dict(zip((d.name for d in self.label_shapes), labels or (), strict=False))
        eval_metric.update_dict(named, dict(zip(self.output_names, self.get_outputs(), strict=True)))

    def install_monitor(self, mon: Monitor) -> None:
        """Install a Monitor in the executor."""
        mon.install(self._bound_executor())

    def _sync_params_from_devices(self) -> None:
        """Does nothing, because parameters are not copied; programs for MXNet call this after an update."""

    def reshape(self, data_shapes: list, label_shapes: list | None = None) -> None:
        """Prepare for inputs of other shapes.

        Raises:
            MXNetError: for shapes that would change a parameter's.
        """
        parts = ((d if isinstance(d, DataDesc) else DataDesc(*d) for d in s or ()) for s in (data_shapes, label_shapes))
        data, labels = (list(part) for part in parts)
        known = {description.name: description.shape for description in (*data, *labels)}
        self._bound_executor()  # or it has not been bound
        self._executor = self._at_bind.reshape(allow_up_sizing=True, **known)
        self.data_shapes, self.label_shapes = data, labels

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file."""
        assert self._updater is not None, "call init_optimizer first"
        with open_for_replace(fname) as file:
            file.write(self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        assert self._updater is not None, "call init_optimizer first"
        self._updater.set_states(read_states(fname), fname)

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol and the parameters, and optionally the optimizer's states."""
        save_checkpoint(prefix, epoch, self.symbol, *self.get_params(), remove_amp_cast)
        if save_optimizer_states:
            path = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(path)
            logging.info('Saved optimizer state to "%s"', path)

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> "Module":
        """An unbound module with the parameters of a checkpoint."""
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._loaded, module.params_initialized = (arguments, states), True
        module._states_file = f"{prefix}-{epoch:04d}.states" if load_optimizer_states else None
        return module
