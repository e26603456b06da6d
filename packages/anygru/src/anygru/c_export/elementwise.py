"""The operators of torch that compute each number of their output from one number of each input."""

import torch
from torch import Tensor

from .functions import APPLY
from .lines import Lines
from .tensors import Operand, Value


class Elementwise(Lines):
    """A method `op_NAME`, with the operator's arguments, for each operator that is not a row of `expressions.py`."""

    def expression(self, text: str, *arguments: Operand | float) -> Value:
        """A value; each of its numbers is an expression of the arguments' numbers, {1} the first; they are
        broadcast."""
        tensors = [each for each in arguments if isinstance(each, Value | Tensor)]
        places, values = ["{0}"], []
        for each in arguments:
            if isinstance(each, Value | Tensor):
                values.append(self.value(each))
                places.append(f"{{{len(values)}}}")
            else:
                places.append(self.literal(each))
        self.math |= "f(" in text
        out = self.new(torch.broadcast_shapes(*(each.shape for each in tensors)))
        return self.compute(out, f"{{0}} = {text.format(*places)};", *values)

    def lanes(self, name: str, value: Operand) -> Value:
        """An activation of `functions.py`."""
        source = self.contiguous(self.value(value))
        self.wanted.append(name)
        self.own.setdefault(f"apply_{name}", APPLY.replace("<activation>", name))
        out = self.new(source.shape)
        self.line(f"@_apply_{name}({source.text}, {out.text}, {out.view.numel()});", source, out)
        return out

    def op_add(self, value: Operand, other: Operand | float, alpha: float = 1) -> Value:
        return self.added(
            self.expression("{1} + {2}", value, other)
            if alpha == 1
            else self.expression("{1} + {3} * {2}", value, other, alpha)
        )

    def added(self, value: Value) -> Value:
        """A sum; a sum of truth values with the dtype bool is at most 1."""
        assert self.node is not None
        return self.truth(value) if self.node.meta["val"].dtype is torch.bool else value

    def truth(self, value: Operand) -> Value:
        """1 for a number other than 0."""
        return self.expression("{1} != 0.0f ? 1.0f : 0.0f", value)

    def op_sub(self, value: Operand | float, other: Operand | float, alpha: float = 1) -> Value:
        return (
            self.expression("{1} - {2}", value, other)
            if alpha == 1
            else self.expression("{1} - {3} * {2}", value, other, alpha)
        )

    def op_rsub(self, value: Operand, other: Operand | float, alpha: float = 1) -> Value:
        return self.op_sub(other, value, alpha)

    def op_pow(self, value: Operand, power: Operand | float) -> Value:
        usual = {1: "{1}", 2: "{1} * {1}", 3: "{1} * {1} * {1}", 0.5: "sqrtf({1})", -1: "1.0f / {1}"}
        if not isinstance(power, Value | Tensor) and power in usual:
            return self.expression(usual[power], value)
        return self.expression("powf({1}, {2})", value, power)

    def op_leaky_relu(self, value: Operand, slope: float = 0.01) -> Value:
        return self.expression("{1} > 0.0f ? {1} : {2} * {1}", value, slope)

    def op_prelu(self, value: Operand, weight: Operand) -> Value:
        shape = [1, -1] + [1] * (len(value.shape) - 2)
        slopes = self.numbers(weight)
        return self.expression(
            "{1} > 0.0f ? {1} : {2} * {1}", value, slopes if slopes.numel() == 1 else slopes.reshape(shape)
        )

    def op_clamp(
        self, value: Operand, least: Operand | float | None = None, most: Operand | float | None = None
    ) -> Value:
        found = self.value(value)
        if least is not None:
            found = self.expression("{1} < {2} ? {2} : {1}", found, least)
        return found if most is None else self.expression("{1} > {2} ? {2} : {1}", found, most)

    def op_clamp_min(self, value: Operand, least: Operand | float | None) -> Value:
        return self.op_clamp(value, least)

    def op_clamp_max(self, value: Operand, most: Operand | float | None) -> Value:
        return self.op_clamp(value, None, most)

    def op_hardtanh(self, value: Operand, least: float = -1.0, most: float = 1.0) -> Value:
        return self.op_clamp(value, least, most)

    def op_elu(self, value: Operand, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
        if (alpha, scale, input_scale) == (1, 1, 1):
            return self.lanes("elu", value)
        return self.expression(
            "{1} > 0.0f ? {3} * {1} : {2} * {3} * expm1f({4} * {1})", value, alpha, scale, input_scale
        )

    def op_selu(self, value: Operand) -> Value:
        return self.op_elu(value, 1.6732632423543772, 1.0507009873554805)

    def op_softplus(self, value: Operand, beta: float = 1.0, threshold: float = 20.0) -> Value:
        return self.expression("{1} * {2} > {3} ? {1} : log1pf(expf({1} * {2})) / {2}", value, beta, threshold)

    def op_gelu(self, value: Operand, approximate: str = "none") -> Value:
        if approximate == "none":
            return self.lanes("gelu", value)
        text = "0.5f * {1} * (1.0f + tanhf(0.797884561f * ({1} + 0.044715f * {1} * {1} * {1})))"
        return self.expression(text, value)

    def op_glu(self, value: Operand, axis: int = -1) -> Value:
        source = self.value(value)
        first, second = (Value(source.place, each) for each in source.view.chunk(2, axis))
        return self.expression("{1} / (1.0f + expf(-{2}))", first, second)

    def op_to_copy(self, value: Operand, dtype: torch.dtype | None = None, **options: object) -> Value:
        """Numbers of another dtype: all are floats in C, so that only the fraction goes, and bool is 0 or 1."""
        source = self.value(value)
        assert self.node is not None
        before = self.node.args[0].meta["val"].dtype  # type: ignore[union-attr]
        if dtype is torch.bool:
            return source if before is torch.bool else self.truth(source)
        if dtype is None or dtype.is_floating_point or not before.is_floating_point:
            return source
        return self.expression("truncf({1})", source)
