"""`gluon.Trainer`: an optimizer for the parameters of a model, on one device or many."""

from typing import Any

from anygru.extend import open_for_replace

from ..kvstore import kvstore as kv
from ..kvstore.kvstore import KVStore
from ..optimizer import optimizer as opt
from ..optimizer.updater import get_updater, read_states
from .blocks.parameter import Parameter
from .blocks.parameter_dict import ParameterDict

__all__ = ["Trainer"]

_ON_STORE = "when parameters are updated on kvstore is not supported. Try setting `update_on_kvstore` to False"


class Trainer:
    """Changes parameters by an optimizer.

    Args:
        params: a ParameterDict, a dict or a list of parameters.
        optimizer: a name or an object.
        optimizer_params: arguments of an optimizer given by name.
        kvstore: the store that sums gradients over devices and processes: a name, an object or None.
        compression_params: not covered.
        update_on_kvstore: whether the store runs the optimizer. Default: if there is a store.

    Raises:
        ValueError: for params that are not parameters, an unknown optimizer.
        RuntimeError: for parameters that are not initialized.
        TypeError: for no parameters, an unknown option of the optimizer.
    """

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: dict | None = None,
        kvstore: Any = "device",
        compression_params: dict | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if isinstance(params, (dict, ParameterDict)):
            # Sorted by name: files of states contain the positions (MXNet 1.9.1, observed).
            params = [params[name] for name in sorted(params.keys())]
        if not isinstance(params, (list, tuple)):
            raise ValueError(f"First argument must be a list or dict of Parameters, got {type(params)}.")
        for parameter in params:
            if not isinstance(parameter, Parameter):
                raise ValueError(f"First argument must be a list or dict of Parameters, got list of {type(parameter)}.")
        if not params:
            raise TypeError("Trainer: params must hold at least one parameter")
        if compression_params:
            raise NotImplementedError(
                f"Trainer: compression_params={compression_params} is not covered; in PyTorch: DDP communication hooks"
            )
        self._params: list[Parameter] = list(params)
        for parameter in self._params:
            parameter._set_trainer(self)
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params or {})
        self._scale = self._optimizer.rescale_grad
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._kv_initialized = False
        self._kvstore: KVStore | None = None
        self._update_on_kvstore = False
        self._distributed = False
        self._params_to_init = list(self._params)

    def _check_contexts(self) -> list:
        contexts = None
        for parameter in self._params:
            held = parameter.list_ctx()
            assert contexts is None or contexts == held, (
                "All Parameters must be initialized on the same set of contexts, but Parameter "
                f"{parameter.name} is initialized on {held} while previous Parameters are initialized on {contexts}."
            )
            contexts = held
        return contexts or []

    def _init_optimizer(self, optimizer: Any, options: dict) -> None:
        by_index: dict[int, Parameter] = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            assert not options, "optimizer_params must be None if optimizer is an instance of Optimizer instead of str"
            self._optimizer = optimizer
            self._optimizer.param_dict = by_index
        else:
            self._optimizer = opt.create(optimizer, param_dict=by_index, **options)
        self._updaters = [get_updater(self._optimizer) for _ in self._contexts]

    def _prepare(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def _init_kvstore(self) -> None:
        for parameter in self._params:
            parameter.data(self._contexts[0])  # raises an error before `initialize`
        store, on_store = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        if isinstance(store, str):
            # One device in one process needs no store.
            store = kv.create(store) if len(self._contexts) > 1 or "dist" in store else None
        elif not (store is None or isinstance(store, KVStore)):
            raise TypeError("kvstore must be KVStore, str or None")
        self._kvstore = store
        self._distributed = store is not None and "dist" in store.type
        self._update_on_kvstore = store is not None and on_store is not False
        if store is not None and self._update_on_kvstore:
            store.set_optimizer(self._optimizer)
        self._kv_initialized = True

    def _restart_store(self, parameter: Parameter) -> None:
        """Restart the store and the optimizer's states, because the store's copy of a parameter is out of date."""
        if not (self._kv_initialized and self._update_on_kvstore) or parameter in self._params_to_init:
            return
        if self._distributed:
            raise RuntimeError("Cannot reset distributed KVStore.")
        self._kv_initialized = False
        self._kvstore = self._update_on_kvstore = self._distributed = None  # type: ignore[assignment]
        self._params_to_init = list(self._params)

    def _init_params(self) -> None:
        waiting = []
        for place, parameter in enumerate(self._params):
            if self._kvstore is None or parameter not in self._params_to_init:
                continue
            if parameter._deferred_init:
                waiting.append(parameter)
            else:
                arrays = parameter.list_data()
                self._kvstore.broadcast(place, arrays[0], arrays)
        self._params_to_init = waiting

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self._optimizer.learning_rate

    @property
    def optimizer(self) -> opt.Optimizer:
        """The optimizer."""
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Raises:
            UserWarning: if the optimizer has a scheduler.
        """
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Sum the gradients over devices and change the parameters; gradients are divided by `batch_size`.

        Raises:
            UserWarning: for a gradient without a `backward` since the last step, unless `ignore_stale_grad`.
        """
        self._rescale(self._scale / batch_size)
        self._prepare()
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Sum the gradients over devices and processes; `update` then changes the parameters."""
        self._prepare()
        assert not self._update_on_kvstore, f"allreduce_grads() {_ON_STORE} when creating trainer."
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Change the parameters. The gradients are already summed."""
        self._prepare()
        assert not self._update_on_kvstore, f"update() {_ON_STORE} when creating trainer."
        self._rescale(self._scale / batch_size)
        self._update(ignore_stale_grad)

    def _rescale(self, scale: float) -> None:
        if (
            self._update_on_kvstore
            and self._distributed
            and self._kv_initialized
            and self._optimizer.rescale_grad != scale
        ):
            raise UserWarning(
                "Possible change in the `batch_size` from previous `step` detected. Optimizer gradient normalizing factor "
                "will not change w.r.t new batch_size when update_on_kvstore=True and when distributed kvstore is used."
            )
        self._optimizer.rescale_grad = scale

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        for place, parameter in enumerate(self._params):
            if parameter.grad_req != "null":
                gradients = parameter.list_grad()
                out = parameter.list_data() if self._update_on_kvstore else None
                # Priorities order the transfers in MXNet. torch.distributed has no priorities, and the store ignores them.
                self._kvstore.pushpull(place, gradients, out=out, priority=-place)

    def _update(self, ignore_stale_grad: bool) -> None:
        updates: list[list[tuple]] = [[] for _ in self._updaters]
        for place, parameter in enumerate(self._params):
            if parameter.grad_req == "null":
                continue
            if not ignore_stale_grad:
                self._check_fresh(parameter)
            if self._update_on_kvstore:
                continue
            for pending, values, gradient in zip(updates, parameter.list_data(), parameter.list_grad(), strict=True):
                if not ignore_stale_grad or gradient._fresh:
                    pending.append((place, gradient, values))
                    gradient._fresh = False
        for updater, pending in zip(self._updaters, updates, strict=True):
            if pending:
                updater(*zip(*pending, strict=True))

    # MXNet raises the UserWarning as an exception (1.9.1, recorded).
    def _check_fresh(self, parameter: Parameter) -> None:
        for values in parameter.list_data():
            if not values._fresh_grad:
                raise UserWarning(
                    f"Gradient of Parameter `{parameter.name}` on context {values.context} has not been updated by backward "
                    "since last `step`. This could mean a bug in your model that made it only use a subset of the Parameters "
                    "(Blocks) for this iteration. If you are intentionally only using a subset, call step with "
                    "ignore_stale_grad=True to suppress this warning and skip updating of Parameters with stale gradient"
                )

    def save_states(self, fname: str) -> None:
        """Write the optimizer and its states (for example momenta and counts) to a file."""
        self._prepare()
        if self._update_on_kvstore:
            assert self._kvstore is not None
            assert not self._params_to_init, (
                "Cannot save trainer states when some parameters are not yet initialized in kvstore."
            )
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
        else:
            with open_for_replace(fname) as file:
                file.write(self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname: str) -> None:
        """Read the optimizer and its states, including the learning rate, from a file.

        Raises:
            FileNotFoundError: for a missing file.
            MXNetError: for a damaged file; the message names it.
        """
        self._prepare()
        if self._update_on_kvstore:
            assert self._kvstore is not None
            self._kvstore.load_optimizer_states(fname)
            self._optimizer = self._kvstore._updater.optimizer
        else:
            states = read_states(fname)
            for updater in self._updaters:
                updater.set_states(states, fname)
                updater.optimizer = self._updaters[0].optimizer
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
