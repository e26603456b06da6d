"""The operators of torch that join, cut, sum and multiply numbers; convolutions are in another file."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .elementwise import Elementwise
from .functions import DOT_BELOW
from .tensors import Operand, Value
from .units import start


class Operators(Elementwise):
    """A method `op_NAME` for each operator of torch; its arguments are of that operator, tensors of weights or values."""

    def op_index(self, value: Operand, indices: list[Operand | None]) -> Value:
        """The places that one constant list of integers names on one axis."""
        axes = [axis for axis, each in enumerate(indices) if each is not None]
        places = indices[axes[0]]
        if len(axes) != 1 or not isinstance(places, Tensor) or places.dtype is torch.bool:
            raise self.refusal("an index must be one list of constant integers")
        return self.op_index_select(value, axes[0], places)

    def op_index_select(self, value: Operand, axis: int, places: Operand) -> Value:
        source, numbers = self.value(value), self.numbers(places)
        if numbers.dim() != 1:
            raise self.refusal(f"an index must have one axis, got {list(numbers.shape)}")
        size = source.shape[axis]
        return self.op_cat([Value(source.place, source.view.narrow(axis, int(at) % size, 1)) for at in numbers], axis)

    def op_flip(self, value: Operand, axes: list[int]) -> Value:
        found = self.value(value)
        for axis in axes:
            found = self.op_index_select(found, axis % len(found.shape), torch.arange(found.shape[axis]).flip(0))
        return found

    def op_cat(self, tensors: list[Operand], axis: int = 0) -> Value:
        values = [value for value in map(self.value, tensors) if value.view.numel()]
        first = values[0].shape
        axis %= len(first)
        out = self.new(
            [sum(each.shape[axis] for each in values) if i == axis else size for i, size in enumerate(first)]
        )
        at = 0
        for value in values:
            part = Value(out.place, out.view.narrow(axis, at, value.shape[axis]))
            self.compute(part, "{0} = {1};", value)
            at += value.shape[axis]
        return out

    def op_stack(self, tensors: list[Operand], axis: int = 0) -> Value:
        values = [self.value(each) for each in tensors]
        axis %= len(values[0].shape) + 1
        return self.op_cat([Value(value.place, value.view.unsqueeze(axis)) for value in values], axis)

    def op_constant_pad_nd(self, value: Operand, padding: list[int], number: float = 0.0) -> Value:
        return self.pad(self.value(value), padding, number)

    def op_pad(self, value: Operand, padding: list[int], mode: str = "constant", number: float | None = None) -> Value:
        if mode != "constant":
            raise self.refusal(f"mode must be 'constant', got {mode!r}")
        return self.pad(self.value(value), padding, number or 0.0)

    def linear(self, source: Value, weight: Tensor, bias: Tensor | None) -> Value:
        """The products of each row [..., I] with a matrix [O, I]."""
        source = self.contiguous(source)
        after, before = weight.shape
        rows = source.view.numel() // before
        self.values += 1
        own = f"@_linear{self.values}"
        matrix = self.constants.add_linear(f"{own}_weight", weight.detach().cpu().float().contiguous())
        vector = None if bias is None else self.constants.add_vector(f"{own}_bias", bias.detach().cpu().float())
        few = after < DOT_BELOW
        self.wanted.append("dots" if few else "products_float32")
        out = self.new([*source.shape[:-1], after])
        x, y = source.text, out.text
        if rows > 1:
            x, y = f"{x} + r * {before}", f"{y} + r * {after}"
        product = f"@_add_{'dots' if few else 'rows'}({matrix}, {x}, {y}, {after}, {before});"
        each = f"{start(y, vector, after)} {product}"
        self.line(f"for (size_t r = 0; r < {rows}; ++r) {{ {each} }}" if rows > 1 else each, source, out)
        return out

    def op_linear(self, value: Operand, weight: Operand, bias: Operand | None = None) -> Value:
        return self.linear(self.value(value), self.numbers(weight), None if bias is None else self.numbers(bias))

    def op_mm(self, first: Operand, second: Operand) -> Value:
        """The product of two matrices, of which one is of weights."""
        if isinstance(second, Tensor):
            return self.linear(self.value(first), self.numbers(second).T, None)
        found = self.linear(Value(second.place, second.view.T), self.numbers(first), None)
        return Value(found.place, found.view.T)

    def op_bmm(self, first: Operand, second: Operand) -> Value:
        def part(of: Operand, number: int) -> Operand:
            return of[number] if isinstance(of, Tensor) else Value(of.place, of.view[number])

        return self.op_stack([self.op_mm(part(first, at), part(second, at)) for at in range(first.shape[0])])

    def op_copy(self, value: Operand, source: Operand) -> Value:
        return self.compute(self.new(value.shape), "{0} = {1};", self.value(source))

    def op_slice_scatter(
        self,
        value: Operand,
        source: Operand,
        axis: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
    ) -> Value:
        """The value with other numbers in a slice, which a program wrote in place."""
        return self._written(value, source, (*[slice(None)] * (axis % len(value.shape)), slice(start, end, step)))

    def op_select_scatter(self, value: Operand, source: Operand, axis: int, index: int) -> Value:
        return self._written(value, source, (*[slice(None)] * (axis % len(value.shape)), index))

    def _written(self, value: Operand, source: Operand, place: tuple[slice | int, ...]) -> Value:
        out = self.op_copy(value, value)
        self.compute(Value(out.place, out.view[place]), "{0} = {1};", self.value(source))
        return out

    def op_native_batch_norm_legit_no_training(
        self,
        value: Operand,
        weight: Operand | None,
        bias: Operand | None,
        mean: Operand,
        variance: Operand,
        momentum: float,
        epsilon: float,
    ) -> list[Value]:
        """One factor and one summand for each channel."""
        factor = (self.numbers(variance).double() + epsilon).rsqrt()
        factor = factor if weight is None else factor * self.numbers(weight).double()
        shift = -self.numbers(mean).double() * factor
        shift = shift if bias is None else shift + self.numbers(bias).double()
        source = self.value(value)
        shape = [1, -1] + [1] * (len(source.shape) - 2)
        both = [self.value(each.float().reshape(shape)) for each in (factor, shift)]
        return [self.compute(self.new(source.shape), "{0} = {1} * {2} + {3};", source, *both)]

    def op_layer_norm(
        self,
        value: Operand,
        sizes: Sequence[int],
        weight: Operand | None = None,
        bias: Operand | None = None,
        epsilon: float = 1e-5,
        cudnn: bool = False,
    ) -> Value:
        source = self.value(value)
        out = self.compute(self.new(source.shape), "{0} = {1};", source)
        count = math.prod(sizes)
        vectors = [
            "NULL" if each is None else self.value(self.numbers(each).reshape(-1)).text for each in (weight, bias)
        ]
        self.wanted.append("layer_norm")
        call = f"@_layer_norm({out.text} + r * {count}, {', '.join(vectors)}, {self.literal(epsilon)}, {count});"
        self.line(f"for (size_t r = 0; r < {out.view.numel() // count}; ++r) {call}", out)
        return out

    def op_group_norm(
        self,
        value: Operand,
        groups: int,
        weight: Operand | None = None,
        bias: Operand | None = None,
        epsilon: float = 1e-5,
        cudnn: bool = False,
    ) -> Value:
        source = self.value(value)
        shape = [1, -1] + [1] * (len(source.shape) - 2)
        rows = self.reshaped(source, [source.shape[0] * groups, -1])
        found = self.reshaped(self.op_layer_norm(rows, rows.shape[1:], None, None, epsilon), source.shape)
        for vector, expression in ((weight, "{0} = {1} * {2};"), (bias, "{0} = {1} + {2};")):
            if vector is not None:
                found = self.compute(found, expression, found, self.value(self.numbers(vector).reshape(shape)))
        return found

    def _rows(self, value: Operand, axes: list[int] | None) -> tuple[Value, list[int], list[int]]:
        """The value with the axes last, one number after another; the other axes, and the axes."""
        source = self.value(value)
        count = len(source.shape)
        last = sorted(axis % count for axis in axes) if axes else list(range(count))
        first = [axis for axis in range(count) if axis not in last]
        return self.contiguous(Value(source.place, source.view.permute(first + last))), first, last

    def _reduced(self, value: Operand, axes: list[int] | None, keep: bool, start: str, each: str, end: str) -> Value:
        rows, first, last = self._rows(value, axes)
        count = math.prod(rows.shape[len(first) :])
        out = self.new(rows.shape[: len(first)])
        step = each.format(x=f"{rows.place.name}[{rows.view.storage_offset()} + r * {count} + k]")
        body = f"float sum = {start.format(x=f'{rows.place.name}[{rows.view.storage_offset()} + r * {count}]')}; "
        body += f"for (size_t k = 0; k < {count}; ++k) {step} {out.place.name}[r] = {end.format(count=count)};"
        self.line(f"for (size_t r = 0; r < {out.view.numel()}; ++r) {{ {body} }}", rows, out)
        view = out.view
        if keep:
            for axis in last:
                view = view.unsqueeze(axis)
        return Value(out.place, view)

    def op_mean(
        self, value: Operand, axes: list[int] | None = None, keep: bool = False, dtype: torch.dtype | None = None
    ) -> Value:
        return self._reduced(value, axes, keep, "0.0f", "sum += {x};", "sum / {count}.0f")

    def op_sum(
        self, value: Operand, axes: list[int] | None = None, keep: bool = False, dtype: torch.dtype | None = None
    ) -> Value:
        value = self.op_to_copy(value, dtype)  # before the sum, as in torch
        return self.added(self._reduced(value, axes, keep, "0.0f", "sum += {x};", "sum"))

    def op_amax(self, value: Operand, axes: list[int] | None = None, keep: bool = False) -> Value:
        return self._reduced(value, axes, keep, "{x}", "sum = {x} > sum ? {x} : sum;", "sum")

    def op_amin(self, value: Operand, axes: list[int] | None = None, keep: bool = False) -> Value:
        return self._reduced(value, axes, keep, "{x}", "sum = {x} < sum ? {x} : sum;", "sum")

    def op_softmax(self, value: Operand, axis: int, *options: float) -> Value:
        rows, first, last = self._rows(value, [axis])
        out = self.new(rows.shape)
        self.wanted.append("softmax")
        count = rows.shape[-1]
        call = f"@_softmax({rows.text} + r * {count}, {out.text} + r * {count}, {count});"
        self.line(f"for (size_t r = 0; r < {out.view.numel() // count}; ++r) {call}", rows, out)
        back = [0] * len(rows.shape)
        for place, axis in enumerate(first + last):
            back[axis] = place
        return Value(out.place, out.view.permute(back))

    def op_embedding(self, weight: Operand, indices: Operand, *options: float) -> Value:
        table = self.value(self.numbers(weight))
        places = self.contiguous(self.value(indices))
        rows, size = table.shape
        out = self.new([*places.shape, size])
        self.wanted.append("embedding")
        call = f"@_embedding({table.text}, {places.text}, {out.text}, {places.view.numel()}, {rows}, {size});"
        self.line(call, places, out)
        return out

    def op_im2col(
        self, value: Operand, kernel: list[int], dilation: list[int], padding: list[int], stride: list[int]
    ) -> Value:
        """The patches as another view of the padded value, copied."""
        source = self.value(value)
        high, wide = padding
        source = self.contiguous(self.pad(source, [wide, wide, high, high]))
        patches = self.patches(source, kernel, dilation, stride)
        found = self.contiguous(patches)
        batch, channels, height, width, *out = found.shape
        return Value(found.place, found.view.reshape(batch, channels * height * width, math.prod(out)))

    def patches(self, source: Value, kernel: list[int], dilation: list[int], stride: list[int]) -> Value:
        """A view [B, C, KH, KW, OH, OW] of a value [B, C, H, W]."""
        batch, channels, height, width = source.view.stride()
        counts = [
            (size - gap * (count - 1) - 1) // step + 1
            for size, gap, count, step in zip(source.shape[2:], dilation, kernel, stride, strict=True)
        ]
        strides = (batch, channels, height * dilation[0], width * dilation[1], height * stride[0], width * stride[1])
        view = source.view.as_strided((*source.shape[:2], *kernel, *counts), strides, source.view.storage_offset())
        return Value(source.place, view)
