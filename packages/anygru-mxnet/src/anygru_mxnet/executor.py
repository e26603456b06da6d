"""`mx.executor.Executor`: a symbol bound to arrays, from MXNet's API before Gluon. Follows MXNet 1.9's `mxnet.executor`."""

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from .base import MXNetError, Sizes
from .context import Context, current_context
from .ndarray.array import mark, wrap
from .ndarray.custom import keep_operators
from .ndarray.gradients import backward
from .ndarray.ndarray import NDArray
from .ndarray.utils import zeros
from .state import Scope, state


class _Program(Protocol):
    """A symbol's graph, prepared to run."""

    variables: list[str]

    def run(self, values: list[Tensor], watch: Callable | None = None) -> list[Tensor]: ...


class Executor:
    """A graph with arrays for its variables, made by `Symbol.bind` and `Symbol.simple_bind`.

    Attributes:
        arg_dict: the arguments' arrays by name.
        grad_dict: the arrays that get their gradients, or None.
        aux_dict: the auxiliary states' arrays by name.
        outputs: the results of the last `forward`.
    """

    def __init__(
        self,
        symbol: Any,
        program: _Program,
        ctx: Context,
        args: dict[str, NDArray],
        grads: dict[str, NDArray | None],
        requests: dict[str, str],
        states: dict[str, NDArray],
    ) -> None:
        self._symbol, self._program, self._ctx = symbol, program, ctx
        self.arg_dict, self.grad_dict, self.aux_dict = args, grads, states
        self._requests = requests
        self._results: list[NDArray] = []
        self._monitored: tuple[Callable, bool] | None = None
        self._recorded = False
        self._custom: dict = {}

    @property
    def arg_arrays(self) -> list[NDArray]:
        """The arguments' arrays in the symbol's order."""
        return list(self.arg_dict.values())

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """The gradients' arrays in the symbol's order."""
        return list(self.grad_dict.values())

    @property
    def aux_arrays(self) -> list[NDArray]:
        """The auxiliary states' arrays in the symbol's order."""
        return list(self.aux_dict.values())

    @property
    def outputs(self) -> list[NDArray]:
        """The results of the last `forward`; without one, it runs in prediction mode."""
        return self._results or self.forward()

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The results by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs, after setting arguments to the values of the keywords.

        Raises:
            ValueError: for values that are not arrays, and for a wrong shape.
            TypeError: for an unknown name.
        """
        for name, value in kwargs.items():
            if not isinstance(value, (NDArray, np.ndarray)):
                raise ValueError(f"only accept keyword argument of NDArrays and numpy.ndarray, got {type(value)}")
            if name not in self.arg_dict:
                raise TypeError(f"Unknown argument {name}")
            target = self.arg_dict[name]
            if target.shape != value.shape:
                raise ValueError(f"Shape not match! Argument {name}, need: {target.shape}, received: {value.shape}")
            target[:] = value
        self._compute(bool(is_train), bool(is_train))
        return self._results

    def _compute(self, recording: bool, training: bool) -> None:
        values = []
        for name in self._program.variables:
            array = self.aux_dict[name] if name in self.aux_dict else self.arg_dict[name]
            gradient = self.grad_dict.get(name)
            if recording and gradient is not None:
                # A new leaf on the same memory, so that the user's array does not join the graph.
                array = wrap(array._t.detach(), array._ctx)
                mark(array, gradient, self._requests[name])
            values.append(array._t)
        watch = self._scoped_callback()
        with self._ctx, Scope(recording, training), keep_operators(self._custom):
            self._results = [wrap(result, self._ctx) for result in self._program.run(values, watch)]
        self._recorded = recording

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Compute the arguments' gradients from the gradients of the outputs (an array, a list or a dict). Losses need no
        gradient.

        `is_train=False` gives the gradients that layers have in prediction.

        Raises:
            TypeError: for gradients that are not arrays.
            MXNetError: for fewer gradients than outputs, unless the remaining outputs are losses; further gradients are
                ignored (both as in MXNet 1.9.1).
        """
        if isinstance(out_grads, dict):
            out_grads = [out_grads[name] for name in self._symbol.list_outputs()]
        given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads or [])
        if not all(gradient is None or isinstance(gradient, NDArray) for gradient in given):
            raise TypeError(f"inputs must be NDArray, got {[type(gradient) for gradient in given]}")
        if not self._recorded:
            # After `forward(is_train=False)` MXNet's executors compute the gradients of layers in prediction.
            self._compute(True, False)
        entries = [(id(node), index) for node, index in self._symbol._entries]
        # An output that is listed twice counts once, with its last gradient (1.9.1, recorded).
        once = dict(zip(entries, zip_longest(self.outputs, given[: len(entries)]), strict=True))
        pairs = [(head, seed) for head, seed in once.values() if head._t.requires_grad]
        for (node, _), head in zip(self._symbol._entries[len(given) :], self.outputs[len(given) :], strict=True):
            if head._t.requires_grad and not (node.operator and node.operator.loss):
                raise MXNetError(
                    f"out_grads must have one array for each of the {len(entries)} outputs, got {len(given)}; {node.name} "
                    "is not a loss, and needs a gradient"
                )
        if pairs:
            heads, seeds = zip(*pairs, strict=True)
            # MXNet 1.9.1 allows two calls of `backward` after one `forward` (observed).
            backward(list(heads), list(seeds), retain_graph=True, train_mode=is_train)

    def copy_params_from(
        self,
        arg_params: dict[str, NDArray],
        aux_params: dict[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into the arguments' and states' arrays.

        Raises:
            ValueError: for a name that the symbol does not have, unless `allow_extra_params`.
        """
        for given, targets, what in (
            (arg_params, self.arg_dict, "arguments"),
            (aux_params or {}, self.aux_dict, "auxiliary states"),
        ):
            for name, value in given.items():
                if name in targets:
                    targets[name][:] = value.astype(targets[name].dtype)
                elif not allow_extra_params:
                    raise ValueError(f'Find name "{name}" that is not in the {what}')

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Sizes) -> "Executor":
        """An executor for other shapes. It shares the arrays that keep their shapes.

        Raises:
            MXNetError: for another shape of an array that `kwargs` do not name, unless `partial_shaping`, for a larger
                argument, unless `allow_up_sizing`, and for shapes that do not imply the remaining ones.
        """
        shapes, _, states = self._symbol.infer_shape(**kwargs)
        if shapes is None:
            raise MXNetError(f"Insufficient argument shapes provided: {kwargs}")
        pairs = zip((*self.arg_dict.items(), *self.aux_dict.items()), (*shapes, *states), strict=True)
        for (name, array), shape in pairs:
            if array.shape != shape and not partial_shaping and name not in kwargs:
                raise MXNetError(
                    f"Shape of {name}, which is not given, changes from {array.shape} to {shape}; new executors would not "
                    "share it: set partial_shaping=True if that is intended"
                )
            if not allow_up_sizing and np.prod(shape) > array.size:
                raise MXNetError(f"New shape of {name} is larger than original: set allow_up_sizing=True")

        def fitted(array: NDArray | None, shape: tuple[int, ...]) -> NDArray | None:
            if array is None or array.shape == shape:
                return array
            size = math.prod(shape)
            if size <= array.size:  # as in MXNet, the beginning of the same memory
                return wrap(array._t.reshape(-1)[:size].view(shape), self._ctx)
            return zeros(shape, self._ctx, array.dtype)

        def all_fitted(arrays: dict[str, Any], sizes: Sequence[tuple[int, ...]]) -> dict[str, Any]:
            return {name: fitted(arrays[name], shape) for name, shape in zip(arrays, sizes, strict=True)}

        args, grads = all_fitted(self.arg_dict, shapes), all_fitted(self.grad_dict, shapes)
        held = all_fitted(self.aux_dict, states)
        made = Executor(self._symbol, self._program, self._ctx, args, grads, self._requests, held)
        made._monitored = self._monitored
        return made

    def set_monitor_callback(self, callback: Callable, monitor_all: bool = False) -> None:
        """Call `callback(name, array)` for each result (with `monitor_all`, also each input) of `forward`."""

        self._monitored = callback, monitor_all

    def _scoped_callback(self) -> Callable | None:
        """The monitor's callback, called in the scopes of the caller of `forward`."""
        if self._monitored is None:
            return None
        (callback, monitor_all), outside, flags = self._monitored, current_context(), (state.recording, state.training)

        def watch(name: str, operator: str, value: Tensor, is_input: bool) -> None:
            if monitor_all or not is_input:
                with outside, Scope(*flags):
                    callback(name, wrap(value.detach(), self._ctx))

        return watch

    @staticmethod
    def _named(names: list[str], given: Any, what: str, missing: bool = False) -> dict[str, Any]:
        """Arrays by name, from a list or a dict of them.

        Raises:
            ValueError: for a list of another length and a missing name.
            TypeError: for values other than a list or dict of arrays.
        """
        if isinstance(given, dict):
            absent = [name for name in names if name not in given]
            if absent and not missing:
                raise ValueError(f"key `{absent[0]}` is missing in `{what}`")
            given = [given.get(name) for name in names]
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"{what}: Only accept list of NDArrays or dict of str to NDArray, got {type(given)}")
        if len(given) != len(names):
            raise ValueError(f"Length of {what} does not match the number of arguments: {len(given)}, {len(names)}")
        if not all(isinstance(array, NDArray) or (array is None and missing) for array in given):
            raise TypeError(f"{what}: Only accept list of NDArrays or dict of str to NDArray")
        return dict(zip(names, given, strict=True))

    @classmethod
    def bound(
        cls, symbol: Any, program: _Program, ctx: Context, args: Any, args_grad: Any, grad_req: Any, aux_states: Any
    ) -> "Executor":
        """Implement `Symbol.bind`."""
        names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        requests = grad_req if isinstance(grad_req, dict) else dict.fromkeys(names, grad_req)
        if isinstance(grad_req, (list, tuple)):
            requests = dict(zip(names, grad_req, strict=True))
        grads = cls._named(names, args_grad or {}, "args_grad", missing=True)
        wanted = {name: grads[name] if requests.get(name, "null") != "null" else None for name in names}
        return cls(
            symbol, program, ctx, cls._named(names, args, "args"), wanted, requests,
            cls._named(states, aux_states or {}, "aux_states"),
        )  # fmt: skip

    @classmethod
    def allocated(
        cls,
        symbol: Any,
        program: _Program,
        ctx: Context,
        grad_req: Any,
        type_dict: dict | None,
        known: dict[str, Sizes],
    ) -> "Executor":
        """Implement `Symbol.simple_bind`: infer the shapes and allocate zeros."""
        shapes, _, state_shapes = symbol.shapes((), known)
        names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
        unknown = [n for n, shape in zip(names, (*shapes, *state_shapes), strict=True) if 0 in (shape or (0,))]
        if unknown:
            raise MXNetError(f"the shapes of {', '.join(unknown)} do not follow from the given shapes")
        types, _, state_types = symbol.infer_type_partial(**(type_dict or {}))
        args = [zeros(shape, ctx, dtype or np.float32) for shape, dtype in zip(shapes, types, strict=True)]
        pairs = zip(state_shapes, state_types, strict=True)
        states = [zeros(shape, ctx, dtype or np.float32) for shape, dtype in pairs]
        grads = [zeros(array.shape, ctx, array.dtype) for array in args]
        return cls.bound(symbol, program, ctx, args, grads, grad_req, states)
