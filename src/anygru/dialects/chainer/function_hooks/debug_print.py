"""Printing what goes through functions."""

import sys
from typing import Any

from ..function_hook import FunctionHook
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

    def _show(self, title: str, arrays: Any) -> None:
        self._print(title)
        for array in arrays:
            self._print("(removed)" if array is None else Variable(array).debug_print())

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        self._print(f"function\t{function.label}")
        self._show("input data", in_data)

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self._print(f"function\t{function.label}")
        self._show("input data", in_data)
        self._show("output gradient", out_grad)
