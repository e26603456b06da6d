"""The progress line of an epoch. It has the form of Paddle 2.6 (recorded): `step 10/20 - loss: 0.5000 - 3ms/step`."""

import shutil
import sys
import time
from collections.abc import Sequence

import numpy as np

__all__ = ["ProgressBar"]

Values = Sequence[tuple[str, object]]


def _spelled(value: object) -> str:
    """Numbers with four places, small ones with an exponent, the items of a list after one another."""
    items = value if isinstance(value, list) else [value]
    texts = []
    for item in items:
        number = item.item() if isinstance(item, np.ndarray) and item.size == 1 else item
        if isinstance(number, (float, np.floating)):
            texts.append(f"{number:.4f}" if abs(number) > 1e-3 else f"{number:.4e}")
        else:
            texts.append(str(number))
    return " ".join(texts)


def _left(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest}s"


class ProgressBar:
    """Prints the steps done, values and the time a step.

    Args:
        num: steps in all, None if unknown.
        width: characters of the bar, fewer in a narrow terminal.
        verbose: 1 redraws a bar; 2 and 3 print a line.
        name: the word for a step.

    Raises:
        TypeError: for a number of steps that is not above 0.
    """

    def __init__(self, num: int | None = None, width: int = 30, verbose: int = 1, name: str = "step") -> None:
        if isinstance(num, int) and num <= 0:
            raise TypeError("num should be None or integer (> 0)")
        columns = shutil.get_terminal_size().columns or 80
        self._num, self._verbose, self.name = num, verbose, name
        self._width = min(width, int(columns * 0.6), columns - 50)
        self._drawn = 0
        self._began = time.time()

    def _count(self, current: int) -> str:
        if self._num is None:
            return f"{self.name} {current:3d}"
        return f"{self.name} {current:{len(str(self._num))}d}/{self._num}"

    def _bar(self, current: int) -> str:
        if self._num is None:
            return ""
        done = int(self._width * current / self._num)
        head = "" if done == 0 else "=" * (done - 1) + (">" if current < self._num else "=")
        return f" [{head}{'.' * (self._width - done)}]"

    def update(self, current_num: int, values: Values = ()) -> None:
        """Print that `current_num` steps are done, with names and values."""
        each = (time.time() - self._began) / current_num if current_num else 0.0
        info = "".join(f" - {name}: {_spelled(value)}" for name, value in values)
        if self._verbose == 1 and self._num is not None and current_num < self._num:
            info += f" - ETA: {_left(each * (self._num - current_num))}"
        if each >= 1 or each == 0:
            info += f" - {each:.0f}s/{self.name}"
        else:
            info += f" - {each * 1e3:.0f}ms/{self.name}" if each >= 1e-3 else f" - {each * 1e6:.0f}us/{self.name}"
        text = self._count(current_num)
        if self._verbose == 1:
            text += self._bar(current_num) + info
            line = "\b" * self._drawn + "\r" + text.ljust(self._drawn)
            self._drawn = len(text)
            sys.stdout.write(line + ("\n" if self._num is None or current_num >= self._num else ""))
        elif self._verbose in (2, 3):
            sys.stdout.write(text + info + "\n")
        sys.stdout.flush()
