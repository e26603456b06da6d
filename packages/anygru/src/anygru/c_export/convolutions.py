"""Convolutions of a graph, over one axis or two."""

from collections.abc import Sequence

from torch import Tensor

from .operators import Operators
from .tensors import Operand, Value

Sizes = int | Sequence[int] | str


class Convolutions(Operators):
    """A method `op_NAME` for each convolution of torch."""

    def convolution(
        self,
        value: Operand,
        weight: Operand,
        bias: Operand | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Value:
        """A convolution over one or two axes, computed as one over two."""
        source, kernel = self._plane(value, weight)
        sizes = [each.shape[2] for each in (kernel, kernel.transpose(2, 3))]
        stride, dilation = _pair(stride, 1), _pair(dilation, 1)
        if padding == "same":
            total = [gap * (size - 1) for gap, size in zip(dilation, sizes, strict=True)]
            sides = [total[1] // 2, total[1] - total[1] // 2, total[0] // 2, total[0] - total[0] // 2]
        else:
            high, wide = (0, 0) if padding == "valid" else _pair(padding, 0)
            sides = [wide, wide, high, high]
        source = self.contiguous(self.pad(source, sides))
        patches = self.patches(source, sizes, dilation, stride)
        counts = patches.shape[4:]
        if counts == [1, 1] and groups == 1:
            rows = self.contiguous(patches)
            rows = Value(rows.place, rows.view.reshape(rows.shape[0], -1))
            found = self.linear(rows, kernel.reshape(len(kernel), -1), None if bias is None else self.numbers(bias))
            return self._line(Value(found.place, found.view.reshape(*found.shape, 1, 1)), value)
        out = self._filled([source.shape[0], len(kernel), *counts], bias)
        self.wanted.append("convolution")
        sizes += [kernel.shape[1], len(kernel) // groups, groups]
        return self._line(self._convolved("convolution", source, out, kernel, sizes, stride, dilation), value)

    def convolution_transposed(
        self,
        value: Operand,
        weight: Operand,
        bias: Operand | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Value:
        """A transposed convolution: every number of the input is added to its places of the output, which is then cut."""
        source, kernel = self._plane(value, weight)
        sizes = list(kernel.shape[2:])
        stride, dilation = _pair(stride, 1), _pair(dilation, 1)
        padding, more = _pair(padding, 0), _pair(output_padding, 0)
        source = self.contiguous(source)
        whole = [
            (size - 1) * step + gap * (count - 1) + 1 + after
            for size, step, gap, count, after in zip(source.shape[2:], stride, dilation, sizes, more, strict=True)
        ]
        out = self._filled([source.shape[0], kernel.shape[1] * groups, *whole], bias)
        self.wanted.append("convolution_transposed")
        sizes += [len(kernel) // groups, kernel.shape[1], groups]
        out = self._convolved("convolution_transposed", source, out, kernel, sizes, stride, dilation)
        for axis, cut in enumerate(padding):
            out = Value(out.place, out.view.narrow(axis + 2, cut, whole[axis] - 2 * cut))
        return self._line(out, value)

    def _plane(self, value: Operand, weight: Operand) -> tuple[Value, Tensor]:
        """The input as [B, C, H, W], and the weights likewise."""
        source, kernel = self.value(value), self.numbers(weight)
        if kernel.dim() not in (3, 4) or len(source.shape) != kernel.dim():
            raise self.refusal(f"a file in C has convolutions over one or two axes of a batch, got {source.shape}")
        if kernel.dim() == 4:
            return source, kernel
        return Value(source.place, source.view.unsqueeze(2)), kernel.unsqueeze(2)

    def _line(self, found: Value, value: Operand) -> Value:
        """The output with as many axes as the input."""
        return found if len(value.shape) == 4 else Value(found.place, found.view.squeeze(2))

    def _filled(self, shape: list[int], bias: Operand | None) -> Value:
        """A value that holds the bias of each channel."""
        if bias is None:
            return self.compute(self.new(shape), "{0} = 0.0f;")
        return self.compute(self.new(shape), "{0} = {1};", self.value(self.numbers(bias).reshape(1, -1, 1, 1)))

    def _convolved(
        self, name: str, source: Value, out: Value, kernel: Tensor, sizes: list[int], stride: list[int], gaps: list[int]
    ) -> Value:
        """Adds the products; sizes: of the kernel, inputs and outputs of a group, groups."""
        weight = self.value(kernel.contiguous())
        shapes = [*source.shape[2:], *out.shape[2:]]
        arguments = ", ".join(map(str, [*sizes, *shapes, *stride, *gaps]))
        for number in range(source.shape[0]):
            x, y = (Value(each.place, each.view[number]).text for each in (source, out))
            self.line(f"@_{name}({weight.text}, {x}, {y}, {arguments});", source, out)
        return out

    op_conv1d = op_conv2d = convolution
    op_conv_transpose1d = op_conv_transpose2d = convolution_transposed


def _pair(given: Sizes, usual: int) -> list[int]:
    """Two numbers, for the height and the width, from one, from the width alone, or from both."""
    found = [given] * 2 if isinstance(given, int) else list(map(int, given))
    return found if len(found) == 2 else [usual, *(found or [usual])]
