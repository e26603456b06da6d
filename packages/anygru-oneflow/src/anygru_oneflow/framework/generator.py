"""Random numbers as OneFlow 0.9.0 draws them on a CPU, so that one seed gives the same numbers in both.

A generator there has two engines with one seed, each an mt19937: `exponential_` and `multinomial` draw from PyTorch's engine.
All other functions draw from the C++ library's, by the distributions of libstdc++ (GCC before 11). Recorded from 0.9.0, where
the numbers do not depend on the number of threads or on the run. NumPy has the same engine.

Sources: M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998); G. Marsaglia, T. Bray, "A convenient method for generating
    normal
variables" (1964); ISO C++ [rand.dist].
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from anygru.extend import cpp_numbers

from .dressing import dress
from .dtype import DeviceLike, indexed, plain

_WORDS = 624
_SPAN = 1 << 32  # the numbers that the engine gives
_UNSEEDED = 67280421310721
"""The seed of a generator that a program makes and does not seed."""

Real = type[np.floating]


class _Engine:
    """An mt19937."""

    def __init__(self, seed: int) -> None:
        self._engine = np.random.RandomState(seed % _SPAN)

    def words(self, count: int) -> np.ndarray:
        """The next `count` numbers, as uint32."""
        return self._engine.randint(0, _SPAN, count, dtype=np.uint32)

    def block(self) -> np.ndarray:
        """The state without the position in it."""
        return self._engine.get_state(legacy=False)["state"]["key"]

    def start_after(self, block: np.ndarray) -> None:
        """Continue behind the numbers of a state."""
        self._engine.set_state({"bit_generator": "MT19937", "state": {"key": block, "pos": _WORDS}})


class Generator(torch.Generator):
    """A source of random numbers. "auto", the default device, is the CPU.

    On a GPU, and where torch's own code takes it, it is a torch.Generator with the same seed.
    """

    def __new__(cls, device: DeviceLike | None = None) -> "Generator":
        place = torch.device("cpu" if device in (None, "auto", "auto:0") else plain(device))
        return super().__new__(cls, plain(indexed(place)))  # type: ignore[call-arg]

    def __init__(self, device: DeviceLike | None = None) -> None:
        self._is_auto = device in (None, "auto", "auto:0")
        self.manual_seed(_UNSEEDED)

    def manual_seed(self, seed: int) -> "Generator":
        """Restart from a seed. On a CPU only its lower 32 bits count. Raises RuntimeError above 2^63 - 1."""
        number = int(seed)
        if not -(1 << 63) <= number < 1 << 63:
            raise RuntimeError(f"manual_seed: the seed must have 64 bits, got {number}")
        super().manual_seed(number)
        self._seed = number % (1 << 64)
        self._engine, self._torch_engine, self._has_drawn = _Engine(number), _Engine(number), False
        return self

    def seed(self) -> int:
        """Restart from a seed that the system draws, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(6), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed of the last restart."""
        return self._seed

    def get_state(self) -> Any:
        """The state as bytes, in the form of OneFlow 0.9.0. It has no position in the 624 numbers of a block."""
        block = np.append(self._engine.block().astype(np.uint64), np.uint64(self._seed)).tobytes()
        if self._is_auto:
            devices = int(self._has_drawn)
            sizes = [self._seed, devices, 5 * devices, len(block) * devices, *[len(block)] * devices]
            block = np.array(sizes, np.uint64).tobytes() + (b"cpu:0" + block) * devices
        return dress(torch.frombuffer(bytearray(block), dtype=torch.uint8))

    def set_state(self, new_state: torch.Tensor) -> "Generator":
        """Continue behind the block of a state, as OneFlow 0.9.0 does.

        Raises:
            RuntimeError: the state is not from `get_state`.
        """
        state = new_state.detach().cpu().numpy().tobytes()
        size, header = 8 * (_WORDS + 1), 8 * 4 if self._is_auto else 0
        if len(state) not in (size, header, header + 8 + 5 + size) or not state:
            raise RuntimeError(f"set_state: {len(state)} bytes are not a state of a generator of {self.device}")
        if len(state) == header:
            self.manual_seed(int(np.frombuffer(state, np.int64, 1)[0]))
            return self
        numbers = np.frombuffer(state[-size:], np.uint64)
        self._seed, self._has_drawn = int(numbers[-1]), True
        self._engine.start_after(numbers[:-1].astype(np.uint32))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ("auto" if self._is_auto else str(self.device), self.get_state().numpy())

    # Distributions

    def _words(self, count: int) -> np.ndarray:
        self._has_drawn = True
        return self._engine.words(count)

    def canonical(self, count: int, kind: Real) -> np.ndarray:
        """Numbers from 0 up to 1, which is excluded."""
        return cpp_numbers.fractions(self._words(count if kind is np.float32 else 2 * count), kind)

    def uniform(self, count: int, low: float, high: float, kind: Real) -> np.ndarray:
        """Numbers from `low` up to `high`."""
        return self.canonical(count, kind) * (kind(high) - kind(low)) + kind(low)

    def normal(self, count: int, mean: float, std: float, kind: Real) -> np.ndarray:
        """Normal numbers by the polar method; `mean` and `std` are float32 in any type."""
        parts: list[np.ndarray] = []
        missing = (count + 1) // 2
        while missing:
            points = kind(2) * self.canonical(2 * missing, kind).reshape(-1, 2) - kind(1)
            squares = (points**2).sum(axis=1, dtype=kind)
            inside = (squares <= 1) & (squares > 0)
            points, squares = points[inside], squares[inside]
            factors = np.sqrt(kind(-2) * cpp_numbers.logarithms(squares) / squares)
            parts.append(points[:, ::-1] * factors[:, None])
            missing -= len(points)
        values = np.concatenate(parts).ravel()[:count] if parts else np.empty(0, kind)
        return values * kind(np.float32(std)) + kind(np.float32(mean))

    def integers(self, count: int, low: int, high: int) -> np.ndarray:
        """Whole numbers from `low` up to `high`, which is excluded, as int64."""
        span = high - low
        if span > _SPAN:
            return np.array([low + self._integer(span) for _ in range(count)], np.int64)
        parts = [np.empty(0, np.int64)]
        step = (_SPAN - 1) // span if span < _SPAN else 1
        missing = count
        while missing:
            words = self._words(missing)
            kept = words[words < span * step] if span < _SPAN else words
            parts.append((kept // step).astype(np.int64))
            missing -= len(kept)
        return np.concatenate(parts) + low

    def _integer(self, span: int) -> int:
        """A whole number from 0 up to `span`, which is above 2^32: the upper bits first."""
        while True:
            number = _SPAN * int(self.integers(1, 0, (span - 1 >> 32) + 1)[0]) + int(self._words(1)[0])
            if number < span:
                return number

    def permutation(self, count: int) -> np.ndarray:
        """0 .. count - 1 in random order: the C++ library's shuffle, which takes two places from one number if it can."""
        order = list(range(count))
        in_pairs = count > 0 and (_SPAN - 1) // count >= count
        if in_pairs and count % 2 == 0:  # one place alone, so that the rest are pairs
            first = int(self.integers(1, 0, 2)[0])
            order[1], order[first] = order[first], order[1]
        if not in_pairs:
            for place, other in zip(range(1, count), self._numbers_below(range(2, count + 1)), strict=True):
                order[place], order[other] = order[other], order[place]
            return np.array(order, np.int64)
        places = range(1 + (count % 2 == 0), count, 2)
        for place, both in zip(places, self._numbers_below([(k + 1) * (k + 2) for k in places]), strict=True):
            for at, other in zip((place, place + 1), divmod(both, place + 2), strict=True):
                order[at], order[other] = order[other], order[at]
        return np.array(order, np.int64)

    def _numbers_below(self, spans: Any) -> list[int]:
        """A whole number from 0 up to each of the spans."""
        found: list[int] = []
        while len(found) < len(spans):
            for word in self._words(len(spans) - len(found)).tolist():
                step = (_SPAN - 1) // spans[len(found)]
                if word < spans[len(found)] * step:
                    found.append(word // step)
        return found

    def _torch_fractions(self, count: int) -> np.ndarray:
        """Numbers from 0 up to 1 with 53 bits, from PyTorch's engine."""
        pairs = self._torch_engine.words(2 * count).astype(np.uint64)
        return ((pairs[0::2] << np.uint64(32) | pairs[1::2]) & np.uint64((1 << 53) - 1)) * 2.0**-53

    def kept(self, count: int, probability: float) -> np.ndarray:
        """The factors of a dropout: zeros with a probability, and the rest 1 / (1 - probability)."""
        threshold = np.float32(probability)
        scale = np.float32(1) / (np.float32(1) - threshold) if threshold < 1 else np.float32(0)
        return (self.canonical(count, np.float32) > threshold) * scale

    def exponential(self, count: int, rate: float, kind: Real) -> np.ndarray:
        """Exponential numbers; the rate is float32."""
        rest = kind(1) - self._torch_fractions(count).astype(kind)
        return kind(-1) / kind(np.float32(rate)) * cpp_numbers.logarithms(rest)

    def choices(self, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
        """`count` places of each row of weights [rows, places]."""
        if not replacement:
            shares = weights / self.exponential(weights.size, 1.0, weights.dtype.type).reshape(weights.shape)
            return np.argsort(-shares, axis=1, kind="stable")[:, :count]
        sums = np.cumsum(weights, axis=1, dtype=weights.dtype)
        fractions = self._torch_fractions(count * len(weights)).reshape(len(weights), count)
        rows = zip(sums / sums[:, -1:], fractions, strict=True)
        return np.array([np.searchsorted(row, drawn) for row, drawn in rows], np.int64).reshape(len(weights), count)


def _restored(device: str, state: np.ndarray) -> Generator:
    return Generator(device).set_state(torch.from_numpy(state))


default_generator = Generator("cpu")
default_generator.seed()

Draw = Callable[..., np.ndarray]


def drawn(generator: torch.Generator | None, draw: str, shape: tuple[int, ...], *given: Any) -> torch.Tensor:
    """A tensor of torch with numbers of a distribution: `draw` is the name of a method of `Generator`."""
    source = default_generator if generator is None else generator
    count = int(np.prod(shape, dtype=np.int64))
    values = np.ascontiguousarray(getattr(source, draw)(count, *given)).reshape(shape)
    return torch.from_numpy(values)


def is_drawn_here(device: Any, generator: torch.Generator | None = None) -> bool:
    """Whether numbers for a device are drawn here: for a CPU, unless the generator is torch's own."""
    on_cpu = device is None or torch.device(device).type == "cpu"
    return on_cpu and (generator is None or isinstance(generator, Generator))
