"""Prints the inputs and gradients of functions."""

import sys
from typing import Any

from .. import backend
from ..function_hook import FunctionHook
from ..types import NdArray
from ..variable import Variable


class PrintHook(FunctionHook):
    """Prints the inputs of each function before it runs, forward and backward.

    Args:
        sep, end, file, flush: as in `print`.
    """

    name = "PrintHook"

    def __init__(self, sep: Any = None, end: str = "\n", file: Any = None, flush: bool = True) -> None:
        self.sep = sep
        self.end = end
        self.file = sys.stdout if file is None else file
        self.flush = flush

    def _print(self, text: str) -> None:
        print(text, sep=self.sep, end=self.end, file=self.file, flush=self.flush)

    def _show(self, in_data: tuple[NdArray, ...]) -> None:
        self._print("input data")
        for array in in_data:
            self._print("(removed)" if array is None else Variable(array).debug_print())

    def forward_preprocess(self, function: Any, in_data: tuple[NdArray, ...]) -> None:
        self._print(f"function\t{function.label}")
        self._show(in_data)

    def backward_preprocess(self, function: Any, in_data: tuple[NdArray, ...], out_grad: tuple[NdArray, ...]) -> None:
        self.forward_preprocess(function, in_data)
        self._print("output gradient")
        for gradient in out_grad:
            zeros = None if gradient is None else backend.get_array_module(gradient).zeros_like(gradient)
            shown = Variable(zeros, grad=gradient)
            self._print(shown.debug_print())
