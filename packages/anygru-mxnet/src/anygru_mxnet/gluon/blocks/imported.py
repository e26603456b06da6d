"""`gluon.SymbolBlock`: a block that runs a symbol, for example a model that MXNet or anygru exported."""

from types import ModuleType
from typing import Any

from ... import symbol
from ...base import mx_real_t
from ...context import ContextLike
from ...ndarray.ndarray import NDArray
from ...symbol import nesting
from ...symbol.symbol import Symbol
from .hybrid import HybridBlock
from .parameter_dict import ParameterDict

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block that runs a symbol. Variables that are not inputs become parameters.

    Args:
        outputs: the symbol, or a list of them.
        inputs: the variables that take the inputs.
        params: parameters to share.
    """

    @staticmethod
    def imports(
        symbol_file: str,
        input_names: str | list[str],
        param_file: str | None = None,
        ctx: ContextLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> "SymbolBlock":
        """The block in the files that `HybridBlock.export` wrote, here or in MXNet.

        Raises:
            MXNetError: for a missing or damaged file, or operators that anygru does not have.
        """
        output = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else input_names
        block = SymbolBlock(output, [symbol.var(name) for name in names])
        if param_file is not None:
            # The dtypes come from the file, because the graph may lack them.
            block.collect_params().load(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        if isinstance(inputs, Symbol) and len(inputs) == 1:
            inputs = [inputs]
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        variables, self._in_format = nesting.flatten(inputs, nesting.INPUT)
        results, self._out_format = nesting.flatten(outputs, nesting.OUTPUT)
        for variable in variables:
            assert len(variable.get_internals()) == 1, (
                f"Input symbols must be variable, but {variable} is an output of operators"
            )
        group = symbol.Group(results) if len(results) > 1 else results[0]
        names = {variable.name for variable in variables}
        types, _, state_types = group.infer_type_partial()
        for name, dtype in zip(group.list_arguments(), types, strict=True):
            if name not in names:
                self.params.get(name, allow_deferred_init=True, dtype=dtype or mx_real_t)
        for name, dtype in zip(group.list_auxiliary_states(), state_types, strict=True):
            if name not in names:
                self.params.get(name, grad_req="null", allow_deferred_init=True, dtype=dtype or mx_real_t)
        self._cached_graph = (variables, group)
        common = len(_common_beginning(list(self._params.keys())))
        self._reg_params = {name[common:]: parameter for name, parameter in self._params.items()}

    def __repr__(self) -> str:
        inputs, output = self._cached_graph
        return f"{type(self).__name__}(\n{output} : {len(inputs)} -> {len(output)}\n)"

    def forward(self, x: Any, *args: Any) -> Any:
        """Run the graph on arrays, or replace its inputs by symbols."""
        if isinstance(x, NDArray):
            with x.context:
                return self._call_cached_op(x, *args)
        assert isinstance(x, Symbol), (
            f"HybridBlock requires the first argument to forward be either Symbol or NDArray, but got {type(x)}"
        )
        flat, form = nesting.flatten([x, *args], nesting.INPUT)
        assert form == self._in_format, "Invalid input format"
        inputs, output = self._cached_graph
        composed = output.compose({v.name: value for v, value in zip(inputs, flat, strict=True)})
        return nesting.regroup(list(composed), self._out_format)

    def _clear_cached_op(self) -> None:
        kept = self.__dict__.get("_cached_graph", ())
        super()._clear_cached_op()
        self._cached_graph = kept

    def hybrid_forward(self, F: ModuleType, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Refused: a SymbolBlock computes its graph."""
        raise NotImplementedError

    def reset_ctx(self, ctx: ContextLike) -> None:
        """Move the parameters to other contexts."""
        self.collect_params().reset_ctx(ctx)


def _common_beginning(names: list[str]) -> str:
    if not names:
        return ""
    first, last = min(names), max(names)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]
