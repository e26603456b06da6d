"""Numbers as constants of C."""

from collections.abc import Iterable

import torch
from torch import Tensor

from ..facts.quantization import Stored
from .functions import DOT_BELOW, PANEL

_WIDTH = 120


def in_words(matrix: Tensor) -> Tensor:
    """[rows, columns] of narrow numbers as int32 [rows, words]: the columns that share a word from its lowest bits on.

    bfloat16: neighbours share a word. int8: columns that are a quarter of the row apart do, so that four vectors of factors
    become one, and 128 is added to each number. The row is filled up with zeros.
    """
    bits, kind = (8, torch.int8) if matrix.dtype is torch.int8 else (16, torch.int16)
    together = 32 // bits
    values = torch.nn.functional.pad(matrix.contiguous().view(kind).to(torch.int64), (0, -matrix.shape[1] % together))
    if bits == 8:
        shared = (values + 128).view(len(values), together, -1).mT
    else:
        shared = (values & 0xFFFF).view(len(values), -1, together)
    return (shared << torch.arange(0, 32, bits)).sum(-1).to(torch.int32)


def in_panels(matrix: Tensor, groups: list[int] | None = None) -> Tensor:
    """[rows, columns] in the layout of the C functions: panels of 16 rows, each stored column by column.

    The last panel of each group (all rows, if there are no groups) has up to 31 rows, so that it is seldom short.
    """
    panels: list[int] = []
    for rows in groups or [len(matrix)]:
        whole = rows // PANEL - (rows % PANEL > 0)
        panels += [PANEL] * whole
        panels += [rows - PANEL * max(whole, 0)] * (rows % PANEL > 0)
    return torch.cat([panel.T.reshape(-1) for panel in matrix.split(panels)])


class ConstantTable:
    """The arrays of a file: their text, and the bytes that they take."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.bytes = 0

    def add(self, name: str, values: Tensor, comment: str) -> str:
        """Declares an array, and gives its name."""
        flat = values.reshape(-1)
        floats = flat.dtype is torch.float32
        kind = "float" if floats else "uint32_t"
        words = map(literal, flat.tolist()) if floats else (f"0x{word & 0xFFFFFFFF:08x}" for word in flat.tolist())
        self.bytes += 4 * flat.numel()
        self.text.append(f"/* {comment} */\nstatic const @@_FLASH {kind} {name}[{flat.numel()}] = {{\n")
        self.text += [f"    {line}\n" for line in _wrapped(words)]
        self.text.append("};\n")
        return name

    def add_vector(self, name: str, values: Tensor | None) -> str | None:
        """Declares a vector [n]; None if there is none."""
        return None if values is None else self.add(name, values, f"[{len(values)}]")

    def add_matrix(self, name: str, stored: Stored, groups: list[int] | None = None) -> tuple[str, str | None]:
        """Declares a matrix of a GRU in panels of rows and, for int8, its scales."""
        rows, columns = stored.values.shape
        narrow = stored.values.dtype is not torch.float32
        matrix = in_words(stored.values) if narrow else stored.values
        shape = f"[{rows}][{columns}]" + f", {4 // stored.values.element_size()} columns in each number" * narrow
        weight = self.add(name, in_panels(matrix, groups), f"{shape}, {PANEL} rows at a time, column by column")
        return weight, None if stored.scale is None else self.add(f"{name}_scale", stored.scale, f"[{rows}]")

    def add_linear(self, name: str, weight: Tensor) -> str:
        """Declares the matrix of a linear layer, row by row if it has few rows."""
        rows, columns = weight.shape
        if rows < DOT_BELOW:
            return self.add(name, weight, f"[{rows}][{columns}], row by row")
        return self.add_matrix(name, Stored(weight))[0]


def literal(value: float) -> str:
    """A float32 that C reads back exactly; nine digits are enough."""
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _wrapped(words: Iterable[str]) -> Iterable[str]:
    """Lines of words with commas between them; every comma but the last, which would be one too many for some compilers."""
    line: list[str] = []
    length = 0
    for word in words:
        if length + len(word) + 2 > _WIDTH - 4 and line:
            yield ", ".join(line) + ","
            line, length = [], 0
        line.append(word)
        length += len(word) + 2
    yield ", ".join(line)
