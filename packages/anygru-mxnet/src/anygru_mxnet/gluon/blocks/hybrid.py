"""`gluon.HybridBlock`: a block that can also be traced into a graph, to run it, infer shapes from it or export it."""

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch import Tensor

from ... import ndarray, symbol
from ...base import DtypeLike, MXNetError
from ...ndarray.array import wrap
from ...ndarray.utils import save
from ...symbol import nesting
from ...symbol.graph import Program
from ...symbol.sizing import SizedProgram, ready
from .base import Block
from .errors import DeferredInitializationError
from .parameter_dict import ParameterDict

__all__ = ["HybridBlock"]


class HybridBlock(Block):
    """A block with a method `hybrid_forward(F, x, ...)`, which uses only the operators of `F`: `mx.nd` for arrays, `mx.sym` for
    tracing."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._cached_graph: tuple = ()
        self._cached_op: Program | SizedProgram | None = None
        self._cached_op_args: list[tuple[bool, Any]] = []
        self._out_format: Any = None
        self._in_format: Any = None
        self._active = False
        self._op_hook: tuple | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a hybrid block a child.

        Raises:
            ValueError: for a block that is not hybrid.
        """
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"Children of HybridBlock must also be HybridBlock, but {block} has type {type(block)}. "
                "If you are using Sequential, please try HybridSequential instead."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Run as a graph from the next call on, or as Python code again. The options for MXNet's engine have no effect.

        Raises:
            NotImplementedError: for a `backend`, MXNet's hook for other compilers.
            MXNetError: for `static_shape` without `static_alloc`, which MXNet refuses at the first call.
        """
        if backend is not None:
            raise NotImplementedError(f"hybridize: backend={backend!r} is MXNet's own; in PyTorch: torch.compile")
        if active and static_shape and not static_alloc:
            raise MXNetError("hybridize: static_alloc must be True when static_shape is True")
        self._active = active
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(
                f'"{self}" is being hybridized while still having forward hook/pre-hook. If "{self}" is a child of '
                "HybridBlock, the hooks will not take effect.",
                stacklevel=2,
            )
        super().hybridize(
            active,
            static_alloc=static_alloc,
            static_shape=static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
        )

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> None:
        """Refused: MXNet's hook for other compilers.

        Raises:
            ValueError: without a backend.
            NotImplementedError: with one.
        """
        if not backend:
            raise ValueError('Must specify "backend" to optimize_for')
        raise NotImplementedError(f"optimize_for: backend={backend!r} is MXNet's own; in PyTorch: torch.compile")

    def cast(self, dtype: DtypeLike) -> None:
        self._clear_cached_op()
        super().cast(dtype)

    def _clear_cached_op(self) -> None:
        self._cached_graph = ()
        self._cached_op = None
        self._cached_op_args = []

    def _get_graph(self, *args: Any) -> tuple[list[symbol.Symbol], symbol.Symbol]:
        """Trace the block on symbols: its input variables and its outputs."""
        if not self._cached_graph:
            flat, self._in_format = nesting.flatten(args, nesting.INPUT)
            count = sum(value is not None for value in flat)
            if count == 0:
                raise ValueError(f"All args are None and we do not support such a case. Received args={args}")
            names = iter(f"data{i}" if count > 1 else "data" for i in range(count))
            stand_ins = [None if value is None else symbol.var(next(names)) for value in flat]
            grouped = nesting.regroup(stand_ins, self._in_format)
            parameters = {key: parameter.var() for key, parameter in self._reg_params.items()}
            with self.name_scope():
                output = self.hybrid_forward(symbol, *grouped, **parameters)
            outputs, self._out_format = nesting.flatten(output, nesting.OUTPUT)
            inputs = [stand_in for stand_in in stand_ins if stand_in is not None]
            self._cached_graph = (inputs, symbol.Group(outputs))
        return self._cached_graph

    def _build_cache(self, *args: Any) -> None:
        """Prepare the graph to run."""
        inputs, output = self._get_graph(*args)
        places = {str(variable.name): place for place, variable in enumerate(inputs)}
        parameters = self.collect_params()
        needed = output.list_inputs()
        for name in needed:
            assert name in parameters or name in places, f"Unknown input to HybridBlock: {name}"
        self._warn_about_unused(set(needed), places, parameters)
        flat, _ = nesting.flatten(args, nesting.INPUT)
        try:
            for name in needed:
                if name in parameters:
                    parameters[name].data(_first_context(args))
        except DeferredInitializationError:
            self._deferred_infer_shape(*args)
            for name in needed:
                if name in parameters:
                    parameters[name]._finish_deferred_init()
        self._cached_op = ready(output._entries)
        self._cached_op_args = [
            (True, places[name]) if name in places else (False, parameters[name]) for name in self._cached_op.variables
        ]

    def _warn_about_unused(self, needed: set[str], places: dict[str, int], parameters: ParameterDict) -> None:
        unused = [f"{place}-th" for name, place in places.items() if name not in needed]
        if unused:
            warnings.warn(
                f"The {', '.join(unused)} input to HybridBlock is not used by any computation. Is this intended?",
                stacklevel=5,
            )
        unused = [name for name in parameters if name not in needed]
        if unused:
            warnings.warn(
                f"Parameter {', '.join(unused)} is not used by any computation. Is this intended?", stacklevel=5
            )

    def register_op_hook(self, callback: Callable, monitor_all: bool = False) -> None:
        """Call `callback(name, operator, array)` for each result (with `monitor_all`, also for each input) of its graph.

        As in MXNet 1.9.1 the names are bytes, which `mx.base.py_str` decodes. The arrays are NDArrays; in MXNet they are handles.
        """
        self._op_hook = (callback, monitor_all)
        super().register_op_hook(callback, monitor_all)

    def _call_cached_op(self, *args: Any) -> Any:
        if self._cached_op is None:
            self._build_cache(*args)
        assert self._cached_op is not None
        flat, form = nesting.flatten(args, nesting.INPUT)
        if form != self._in_format and not nesting.same_form(self._in_format, form):
            raise ValueError(
                "The argument structure of HybridBlock does not match the cached version. "
                f"Stored format = {self._in_format}, input format = {form}"
            )
        given = [value for value in flat if value is not None]
        ctx = given[0]._ctx
        values = [given[source]._t if is_input else source.data(ctx)._t for is_input, source in self._cached_op_args]
        watch = None
        if self._op_hook is not None:
            callback, everything = self._op_hook

            def watch(name: str, operator: str, value: Tensor, is_input: bool) -> None:
                if everything or not is_input:
                    callback(name.encode(), operator.encode(), wrap(value.detach(), ctx))

        results = [wrap(result, ctx) for result in self._cached_op.run(values, watch)]
        return nesting.regroup(results, self._out_format)

    def _deferred_infer_shape(self, *args: Any) -> None:
        try:
            self.infer_shape(*args)
        except Exception as error:
            raise ValueError(f"Deferred initialization failed because shape cannot be inferred. {error}") from error

    def infer_shape(self, *args: Any) -> None:
        """Set the shapes of all parameters from inputs.

        Raises:
            ValueError: where they do not follow from them.
        """
        inputs, output, given = self._traced(args)
        shapes, _, states = output.infer_shape(
            **{str(v.name): value.shape for v, value in zip(inputs, given, strict=True)}
        )
        if shapes is None:
            raise ValueError("the shapes of some parameters do not follow from the inputs' shapes")
        self._set_all("shape", output, shapes, states)

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of all parameters from inputs."""
        inputs, output, given = self._traced(args)
        types, _, states = output.infer_type(
            **{str(v.name): value.dtype for v, value in zip(inputs, given, strict=True)}
        )
        self._set_all("dtype", output, types, states)

    def _traced(self, args: tuple) -> tuple[list[symbol.Symbol], symbol.Symbol, list]:
        inputs, output = self._get_graph(*args)
        flat, _ = nesting.flatten(args, nesting.INPUT)
        return inputs, output, [value for value in flat if value is not None]

    def _set_all(self, attribute: str, output: symbol.Symbol, arguments: list, states: list) -> None:
        found = dict(zip(output.list_arguments(), arguments, strict=True))
        found.update(zip(output.list_auxiliary_states(), states, strict=True))
        for parameter in self.collect_params().values():
            setattr(parameter, attribute, found[parameter.name])

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write `path-symbol.json` and `path-NNNN.params`, which `SymbolBlock.imports` loads, here and in MXNet.

        Raises:
            RuntimeError: before `hybridize()` and a forward pass.
        """
        if not self._cached_graph:
            raise RuntimeError(
                "Please first call block.hybridize() and then run forward with this block at least once before calling "
                "export."
            )
        output = self._cached_graph[1]
        output.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)
        states = set(output.list_auxiliary_states())
        parameters = {parameter.name: parameter for is_input, parameter in self._cached_op_args if not is_input}
        values = {}
        for name in output.list_inputs():
            if name in parameters:
                values[f"{'aux' if name in states else 'arg'}:{name}"] = parameters[name]._reduce()
        save(f"{path}-{epoch:04d}.params", values)

    def forward(self, x: Any, *args: Any) -> Any:
        """Run `hybrid_forward` on arrays (by its graph, if hybridized) or on symbols.

        Raises:
            ValueError: for neither or both, for a mixture of contexts when hybridized, and for shapes that cannot be
                inferred.
        """
        contexts: list[Any] = []
        symbols, arrays = nesting.look((x, *args), contexts)
        if symbols and arrays:
            raise ValueError(
                "In HybridBlock, we do not support mixed NDArrays and Symbols types for the input. "
                "Please check the type of the args."
            )
        if not symbols and not arrays:
            raise ValueError(
                "In HybridBlock, there must be one NDArray or one Symbol in the input. Please check the type of the args."
            )
        if symbols:
            parameters: dict[str, Any] = {key: parameter.var() for key, parameter in self._reg_params.items()}
            with self.name_scope():
                return self.hybrid_forward(symbol, x, *args, **parameters)
        ctx = contexts[0]
        with ctx:
            if self._active:
                if any(other != ctx for other in contexts):
                    raise ValueError(
                        "Find multiple contexts in the input, After hybridized, the HybridBlock only supports one input "
                        f"context. Find all contexts = {set(contexts)}"
                    )
                return self._call_cached_op(x, *args)
            try:
                parameters = {key: parameter.data(ctx) for key, parameter in self._reg_params.items()}
            except DeferredInitializationError:
                self._deferred_infer_shape(x, *args)
                for parameter in self.params.values():
                    parameter._finish_deferred_init()
                parameters = {key: parameter.data(ctx) for key, parameter in self._reg_params.items()}
            return self.hybrid_forward(ndarray, x, *args, **parameters)

    def hybrid_forward(self, F: ModuleType, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The computation of the block with the operators of F; the block's parameters come as keywords."""
        raise NotImplementedError


def _first_context(args: tuple) -> Any:
    contexts: list[Any] = []
    nesting.look(args, contexts)
    return contexts[0] if contexts else None
