"""`gluon.Parameter`: values on one or more contexts, their gradients, and initialization that may wait for a shape."""

import warnings
from typing import Any

import numpy as np
import torch

from ... import autograd, initializer
from ...base import DtypeLike, Sizes, mx_real_t
from ...context import Context, ContextLike, cpu, current_context
from ...initializer import Initial
from ...ndarray.array import mark, wrap
from ...ndarray.ndarray import NDArray
from ...ndarray.utils import zeros
from ...symbol import symbol
from ...symbol.symbol import Symbol
from ..utils import contexts_of, plain_sizes, shape_is_known
from .errors import DeferredInitializationError

__all__ = ["DeferredInitializationError", "Parameter", "tensor_types"]

tensor_types = (Symbol, NDArray)


class Parameter:
    """The values of a block that training changes.

    Args:
        name: the full name.
        grad_req: "write", "add" or "null".
        shape: sizes, with 0 for sizes that follow from the first forward pass.
        dtype: of the values.
        lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
        init: the parameter's own initializer, a name or an object.
        allow_deferred_init: whether unknown sizes are allowed at `initialize`.
        differentiable: False for states such as running means.
        stype: storage; "default" only.
        grad_stype: "row_sparse" makes lazy optimizers change only rows with a gradient that is not zero; it is stored densely.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: Sizes = None,
        dtype: DtypeLike = mx_real_t,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Initial = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        self._var: Symbol | None = None
        self._data: list[NDArray] | None = None
        self._grad: list[NDArray] | None = None
        self._ctx_list: list[Context] | None = None
        self._ctx_map: dict[Context, int] = {}  # gluon-nlp's WeightDropParameter copies it, by this name
        self._trainer: Any = None
        self._deferred_init: tuple = ()
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req: str | None = None
        self._shape = (shape,) if isinstance(shape, int) else plain_sizes(shape)
        self.name = name
        self._dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.grad_req = grad_req
        self.init = init
        for argument, given in (("grad_stype", grad_stype), ("stype", stype)):
            assert given in ("default", "row_sparse", "csr"), (
                f"{argument} for Parameter '{name}' must be one of 'default', 'row_sparse', or 'csr', but got '{given}'"
            )
        if stype != "default":
            raise NotImplementedError(f"Parameter '{name}': anygru has no sparse storage (stype={stype!r})")
        self._stype = stype
        self._grad_stype = grad_stype

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        """The treatment of the gradient in `backward`: "write", "add" or "null"."""
        return self._grad_req  # type: ignore[return-value]

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        assert req in ("write", "add", "null"), f"grad_req must be one of 'write', 'add', or 'null', but got '{req}'"
        if not self._differentiable:
            req = "null"
        if self._grad_req == req:
            return
        self._grad_req = req
        if self._data is None:
            return
        if req == "null":
            self._grad = None
            self._data = [values.detach() for values in self._data]
        else:
            self._init_grad()

    @property
    def dtype(self) -> Any:
        """The dtype argument of the constructor."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DtypeLike) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The sizes. An unknown size is 0, an unknown shape is None."""
        return self._shape

    @shape.setter
    def shape(self, new_shape: tuple[int, ...]) -> None:
        if self._shape is None:
            self._shape = new_shape
            return
        fits = len(self._shape) == len(new_shape) and all(
            new == old or old in (-1, 0) for new, old in zip(new_shape, self._shape, strict=True)
        )
        assert fits, f"Expected shape {new_shape} is incompatible with given shape {self._shape}."
        self._shape = tuple(new_shape)

    def initialize(
        self, init: Initial = None, ctx: ContextLike = None, default_init: Any = None, force_reinit: bool = False
    ) -> None:
        """Initialize the values on each context, or do so later, when the shape is known.

        Args:
            init: the initializer; by default the parameter's initializer, or `default_init` (Uniform(0.07)).
            ctx: a context or a list of them; by default the current context.
            default_init: used if neither `init` nor the parameter's initializer is given.
            force_reinit: replace existing values.

        Raises:
            ValueError: for an unknown shape where that is not allowed.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.",
                stacklevel=2,
            )
            return
        self._data = self._grad = None
        contexts = contexts_of(ctx)
        default_init = initializer.Uniform() if default_init is None else default_init
        if init is None:
            init = default_init if self.init is None else self.init
        if not shape_is_known(self.shape):
            if not self._allow_deferred_init:
                raise ValueError(
                    f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}."
                )
            self._deferred_init = (init, contexts, default_init, None)
            return
        self._deferred_init = (init, contexts, default_init, None)
        self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        if not self._deferred_init:
            return
        init, contexts, default_init, data = self._deferred_init
        self._deferred_init = ()
        assert shape_is_known(self.shape), (
            f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. "
            "Please specify in_units, in_channels, etc for `Block`s."
        )
        with autograd.pause():
            if data is None:
                data = zeros(self.shape, cpu(), self.dtype)
                described = initializer.InitDesc(self.name, {"__init__": init})
                behind = default_init if callable(default_init) else initializer.create(default_init)
                behind(described, data)
            self._store_values(data, contexts)

    def _store_values(self, data: NDArray, contexts: list[Context]) -> None:
        self._ctx_list = list(contexts)
        self._ctx_map = {context: place for place, context in enumerate(contexts)}
        self._data = [data.copyto(context) for context in contexts]  # type: ignore[misc]
        self._init_grad()

    def _init_grad(self) -> None:
        assert self._data is not None
        if self.grad_req == "null":
            self._grad = None
            return
        self._grad = [wrap(torch.zeros_like(values._t.detach()), values._ctx) for values in self._data]
        for values, gradient in zip(self._data, self._grad, strict=True):
            mark(values, gradient, self.grad_req)

    def _load_init(
        self, data: NDArray, ctx: ContextLike, cast_dtype: bool = False, dtype_source: str = "current"
    ) -> None:
        """Set the values to an array of a file.

        Raises:
            AssertionError: for another shape, another dtype without `cast_dtype`, or other contexts.
        """
        if cast_dtype:
            assert dtype_source in ("current", "saved")
        if self.shape:
            for own, saved in zip(self.shape, data.shape, strict=False):
                assert own in (0, saved), (
                    f"Failed loading Parameter '{self.name}' from saved params: "
                    f"shape incompatible expected {self.shape} vs saved {data.shape}"
                )
            self.shape = tuple(own or saved for own, saved in zip(self.shape, data.shape, strict=False))
        data = self._cast_to_dtype(data, cast_dtype, dtype_source)
        contexts = None if ctx is None else contexts_of(ctx)
        if self._data is not None or self._deferred_init:
            held = self.list_ctx()
            assert contexts is None or set(contexts) == set(held), (
                f"Failed to load Parameter '{self.name}' on {contexts} because it was previous initialized on {held}."
            )
        if self._data is not None:
            self.set_data(data)
        else:
            self._store_values(data, self._deferred_init[1] if self._deferred_init else contexts or [cpu()])
        self._deferred_init = ()

    def _cast_to_dtype(self, data: NDArray, cast_dtype: bool, dtype_source: str) -> NDArray:
        if not self.dtype or np.dtype(self.dtype).type == data.dtype:
            return data
        assert cast_dtype, (
            f"Failed loading Parameter '{self.name}' from saved params: dtype incompatible expected {self.dtype} vs saved "
            f"{data.dtype}. Set cast_dtype=True to cast the dtype of saved params."
        )
        if dtype_source == "saved":
            self.dtype = data.dtype
            return data
        return data.astype(self.dtype, copy=False)

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Any) -> Any:
        """The array on a context, or the list of all for the class `list`; gluon-nlp's WeightDropParameter calls this."""
        if arrays is None:
            self._raise_uninitialized()
        if ctx is list:
            return arrays
        if ctx is None:
            if len(arrays) == 1:  # type: ignore[arg-type]
                return arrays[0]  # type: ignore[index]
            ctx = current_context()
        if ctx in self._ctx_map:
            return arrays[self._ctx_map[ctx]]  # type: ignore[index]
        raise RuntimeError(
            f"Parameter '{self.name}' was not initialized on context {ctx}. It was only initialized on {self._ctx_list}."
        )

    def _raise_uninitialized(self) -> None:
        if self._deferred_init:
            raise DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred. Actual "
                "initialization happens during the first forward pass. Please pass one batch of data through the network "
                "before accessing Parameters. You can also avoid deferred initialization by specifying in_units, "
                "num_features, etc., for network layers."
            )
        raise RuntimeError(
            f"Parameter '{self.name}' has not been initialized. Note that you should initialize parameters and create "
            "Trainer with Block.collect_params() instead of Block.params because the later does not include Parameters of "
            "nested child Blocks"
        )

    def data(self, ctx: Context | None = None) -> NDArray:
        """The values on a context.

        Raises:
            RuntimeError: before `initialize`, or for a context without values.
            DeferredInitializationError: while the shape is unknown.
        """
        data = self._data
        if data is not None and len(data) == 1 and (ctx is None or ctx == data[0]._ctx):
            return data[0]
        return self._check_and_get(data, ctx)

    def list_data(self) -> list[NDArray]:
        """The values on every context."""
        if self._data is None:
            self._raise_uninitialized()
        return self._data  # type: ignore[return-value]

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on a context.

        Raises:
            RuntimeError: with grad_req "null", and as `data`.
        """
        self._check_grad()
        return self._check_and_get(self._grad, ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradients on every context."""
        self._check_grad()
        if self._grad is None:
            self._raise_uninitialized()
        return self._grad  # type: ignore[return-value]

    def _check_grad(self) -> None:
        if self._data is not None and self._grad is None:
            raise RuntimeError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'")

    def list_ctx(self) -> list[Context]:
        """The contexts of the values."""
        if self._data is None:
            if self._deferred_init:
                return self._deferred_init[1]
            raise RuntimeError(f"Parameter '{self.name}' has not been initialized")
        return self._ctx_list  # type: ignore[return-value]

    def set_data(self, data: NDArray) -> None:
        """Set the values on every context.

        Raises:
            AssertionError: for another shape, or before `initialize`.
        """
        self.shape = data.shape
        if self._data is None:
            assert self._deferred_init, f"Parameter '{self.name}' has not been initialized"
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        if self._trainer is not None:
            self._trainer._restart_store(self)
        for values in self._data:
            values[:] = data

    def zero_grad(self) -> None:
        """Set the gradients to zero."""
        for gradient in self._grad or ():
            gradient._t.detach().zero_()

    def reset_ctx(self, ctx: ContextLike) -> None:
        """Move the values to other contexts.

        Raises:
            ValueError: before `initialize`.
        """
        contexts = contexts_of(ctx)
        if self._data:
            data = self._reduce()
            with autograd.pause():
                self._store_values(data, contexts)
        elif self._deferred_init:
            init, _, default_init, data = self._deferred_init
            self._deferred_init = (init, contexts, default_init, data)
        else:
            raise ValueError(f"Cannot reset context for Parameter '{self.name}' because it has not been initialized.")

    def _reduce(self) -> NDArray:
        """The mean of the values over the contexts, on the CPU."""
        copies = [values.copyto(cpu()) for values in self.list_data()]
        if len(copies) == 1:
            return copies[0]  # type: ignore[return-value]
        with autograd.pause():
            return sum(copies[1:], copies[0]) / len(copies)  # type: ignore[return-value]

    def cast(self, dtype: DtypeLike) -> None:
        """Change the dtype of values and gradients."""
        self._dtype = dtype
        self._var = None
        if self._data is None:
            return
        with autograd.pause():
            self._data = [values.astype(dtype) for values in self._data]
            if self._grad is None:
                return
            self._grad = [gradient.astype(dtype) for gradient in self._grad]
            for values, gradient in zip(self._data, self._grad, strict=True):
                mark(values, gradient, self.grad_req)

    def var(self) -> Symbol:
        """The parameter as a variable of symbols."""
        if self._var is None:
            self._var = symbol.var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    def _set_trainer(self, trainer: Any) -> None:
        self._trainer = trainer

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """Refused: there is no sparse storage."""
        raise RuntimeError(
            f"Cannot return a copy of Parameter {self.name} via row_sparse_data() because its storage type is default. "
            "Please use data() instead."
        )

    list_row_sparse_data = row_sparse_data
