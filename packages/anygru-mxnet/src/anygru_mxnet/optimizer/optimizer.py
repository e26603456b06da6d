"""`mx.optimizer.Optimizer`: the base class of the rules, with learning rates, weight decay and update counts, and the registry.

The rules are in `optimizer.optimizers`. Follows MXNet 1.9's `mxnet.optimizer`.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from anygru.extend import near

from ..ndarray.ndarray import NDArray

__all__ = ["Optimizer", "create", "register"]


def each(index: Any, *columns: Any) -> Iterator[tuple]:
    """Yield the arguments of each update, from the arguments of one update or lists of them."""
    return zip(index, *columns, strict=True) if isinstance(index, (list, tuple)) else iter([(index, *columns)])


class Optimizer:
    """An update rule. A subclass defines `create_state` and `update`.

    Args:
        rescale_grad: factor on gradients; `Trainer.step(batch_size)` divides it by the batch size.
        param_idx2name: names of the parameters by index.
        wd: weight decay, also for biases.
        clip_gradient: bound on each element of the rescaled gradient, or None.
        learning_rate: 0.01 by default.
        lr_scheduler: the learning rate as a function of the number of updates.
        sym: a symbol; its variables' `__lr_mult__` and `__wd_mult__` are factors.
        begin_num_update: the number of updates to begin with.
        multi_precision: keep float32 copies of float16 weights.
        param_dict: parameters by index, for their lr_mult and wd_mult.
    """

    opt_registry: dict[str, type["Optimizer"]] = {}
    # Whether the rule has `lazy_update`, which changes only the rows of a row_sparse gradient (in MXNet 1.9.1 SGD and Adam).
    _by_rows = False

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: dict | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Any = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: dict | None = None,
    ) -> None:
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None and learning_rate is None:
            learning_rate = 0.01
        self.lr = learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            if lr_scheduler.base_lr != learning_rate:  # MXNet prints this text
                print("learning rate from ``lr_scheduler`` has been overwritten by ``learning_rate`` in optimizer.")
            lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.lr_mult: dict = {}
        self.wd_mult: dict = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        names = {} if param_idx2name is None else param_idx2name
        assert isinstance(names, dict), "param_idx2name should be a dict of param indexes to names."
        self.idx2name = names.copy()
        self.sym_info: tuple = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict = param_dict or {}
        self.allow_np_array = False
        self.set_lr_mult({})
        self.set_wd_mult({})

    @staticmethod
    def register(klass: type["Optimizer"]) -> type["Optimizer"]:
        """Register an optimizer under its class name in lower case."""
        assert isinstance(klass, type)
        name = klass.__name__.lower()
        if name in Optimizer.opt_registry:
            warnings.warn(
                f"WARNING: New optimizer {klass.__name__} is overriding existing optimizer {name}", stacklevel=2
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> "Optimizer":
        """An optimizer by its registered name.

        Raises:
            ValueError: for an unknown name.
        """
        if name.lower() not in Optimizer.opt_registry:
            raise ValueError(f"Cannot find optimizer {name}{near(name, Optimizer.opt_registry)}")
        return Optimizer.opt_registry[name.lower()](**kwargs)

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The state of a weight."""
        return None

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Change a weight in place."""
        raise NotImplementedError

    def _has_master(self, weight: NDArray) -> bool:
        """Whether the state of a weight has a float32 copy of it."""
        return self.multi_precision and weight.dtype == np.float16

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The state. With `multi_precision` it includes a float32 copy of a float16 weight."""
        if self._has_master(weight):
            master = weight.astype(np.float32)
            return (master, self.create_state(index, master))
        if weight.dtype == np.float16:
            warnings.warn(
                "Accumulating with float16 in optimizer can lead to poor accuracy or slow convergence. "
                "Consider using multi_precision=True option of the optimizer",
                stacklevel=2,
            )
        return self.create_state(index, weight)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight or several weights. If a weight has a float32 copy, change the copy first."""
        for one in each(index, weight, grad, state):
            self._update_one(*one)

    def _update_one(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        if self._has_master(weight):
            master, inner = state
            self.update(index, master, grad.astype(np.float32), inner)
            weight[:] = master
        else:
            self.update(index, weight, grad, state)

    @property
    def learning_rate(self) -> float:
        """The current rate."""
        rate: Any = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate.

        Raises:
            UserWarning: if the optimizer has a scheduler.
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                "LRScheduler of the optimizer has already been defined. Note that set_learning_rate can mutate the value of "
                "the learning rate of the optimizer only when the LRScheduler of the optimizer is undefined."
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: dict) -> None:
        """Raise an error, as in MXNet 1.9.1: use `set_lr_mult`."""
        raise DeprecationWarning

    def set_lr_mult(self, args_lr_mult: dict) -> None:
        """Set factors on the rate, by index or name."""
        self.lr_mult = self._symbol_factors("__lr_mult__") | args_lr_mult

    def set_wd_mult(self, args_wd_mult: dict) -> None:
        """Set factors on the weight decay, by index or name. Parameters that are not weights or gammas by name get 0."""
        # Biases and betas do not decay if `param_idx2name` contains their names. With a Trainer they decay (MXNet 1.9.1,
        # observed).
        self.wd_mult = {n: 0.0 for n in self.idx2name.values() if not n.endswith(("_weight", "_gamma"))}
        self.wd_mult |= self._symbol_factors("__wd_mult__") | args_wd_mult

    def _symbol_factors(self, attribute: str) -> dict[str, float]:
        """Factors in the attributes of the symbol's variables."""
        attributes, names = self.sym_info or ({}, [])
        return {name: float(attributes[name][attribute]) for name in names if attribute in attributes.get(name, {})}

    def _set_current_context(self, device_id: int) -> None:
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        for one in index if isinstance(index, (list, tuple)) else [index]:
            count = self._index_update_count.get(one, self.begin_num_update) + 1
            self._index_update_count[one] = count
            # Each weight has a count. The rate depends on the largest count, which the first weight of a step increases (1.9.1,
            # observed).
            self.num_update = max(count, self.num_update)

    def _factor(self, index: Any, attribute: str) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], attribute)
        given = getattr(self, attribute)
        if index in given:
            return given[index]
        return given.get(self.idx2name.get(index), 1.0)

    def _get_lr(self, index: Any) -> float:
        return self.learning_rate * self._factor(index, "lr_mult")

    def _get_wd(self, index: Any) -> float:
        return self.wd * self._factor(index, "wd_mult")

    def _get_lrs(self, indices: list) -> list[float]:
        return [self._get_lr(index) for index in indices]

    def _get_wds(self, indices: list) -> list[float]:
        return [self._get_wd(index) for index in indices]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "param_dict"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self.param_dict = {}
        # The current counts are an element of the counts of all contexts, not a copy.
        self._index_update_count = self._all_index_update_counts.get(0, self._index_update_count)


register = Optimizer.register
create = Optimizer.create_optimizer
