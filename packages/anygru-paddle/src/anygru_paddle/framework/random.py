"""Random numbers as Paddle 2.6.2 draws them on a CPU (recorded), so that a seed gives the numbers it gives there.

Paddle's CPU generator is the C++ library's `mt19937_64`, started through `std::seed_seq`; uniform, normal and integer
draws follow libstdc++. A script with `paddle.seed(100)` therefore starts from the same weights here.
anygru's native module draws them, equal to Paddle's to the last bit. Without it NumPy does, 156 at a time, the most that
the recurrence allows; its logarithm differs in the last place of one float32 in ten, and large dropout masks are drawn by
torch.

Source: M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998), 64-bit version of 2004; ISO C++ [rand.util.seedseq],
[rand.eng.mers]; G. Marsaglia, T. Bray, "A convenient method for generating normal variables" (1964).
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from .recording import recording, refuse_to_record

if TYPE_CHECKING:
    from anygru.extend import native
else:
    try:
        from anygru.extend import native
    except ImportError:  # installed without a compiler
        native = None

__all__ = ["get_cuda_rng_state", "get_rng_state", "seed", "set_cuda_rng_state", "set_rng_state"]

# The constants of mt19937_64, named in the standard: it has 312 words and mixes the upper 33 and the lower 31 bits.
_WORDS = 312
_HALF = 156
_UPPER = np.uint64(0xFFFFFFFF80000000)
_LOWER = np.uint64(0x7FFFFFFF)
_MATRIX = np.uint64(0xB5026F5AA96619E9)
_ONE = np.uint64(1)
# Elements of a mask that NumPy may draw where the native module is missing.
_EXACT_LIMIT = 1 << 16


def _seed_words(seed: int, count: int) -> list[int]:
    """`count` 32-bit words from one seed by the standard's `seed_seq::generate`."""
    mask = 0xFFFFFFFF
    # The constants of this function are in the standard's text.
    words = [0x8B8B8B8B] * count
    tail = 11 if count >= 623 else 7
    first = (count - tail) // 2
    second = first + tail

    def mix(word: int) -> int:
        return word ^ (word >> 27)

    for k in range(count):
        r1 = 1664525 * mix(words[k] ^ words[(k + first) % count] ^ words[k - 1]) & mask
        r2 = (r1 + (1 if k == 0 else k + seed if k == 1 else k)) & mask
        words[(k + first) % count] = (words[(k + first) % count] + r1) & mask
        words[(k + second) % count] = (words[(k + second) % count] + r2) & mask
        words[k] = r2
    for k in range(count):
        r3 = 1566083941 * mix((words[k] + words[(k + first) % count] + words[k - 1]) & mask) & mask
        r4 = (r3 - k) & mask
        words[(k + first) % count] ^= r3
        words[(k + second) % count] ^= r4
        words[k] = r4
    return words


def _twist(near: np.ndarray, following: np.ndarray, far: np.ndarray) -> np.ndarray:
    joined = (near & _UPPER) | (following & _LOWER)
    return far ^ (joined >> _ONE) ^ ((joined & _ONE) * _MATRIX)


class Generator:
    """A stream of random numbers; `paddle.seed` restarts the default stream, from which the whole dialect draws."""

    def __init__(self, seed: int | None = None) -> None:
        self.manual_seed(int.from_bytes(os.urandom(4), "little") if seed is None else seed)

    def manual_seed(self, seed: int) -> "Generator":
        """Start again from `seed`, using the lower 32 bits."""
        self._seed = int(seed)
        words = np.array(_seed_words(self._seed & 0xFFFFFFFF, 2 * _WORDS), np.uint64)
        self._state = words[0::2] | (words[1::2] << np.uint64(32))
        self._position = _WORDS
        return self

    @classmethod
    def started_plainly(cls, seed: int) -> "Generator":
        """A stream started without `seed_seq`: as Paddle makes for an operation's `seed`."""
        state = [seed & 0xFFFFFFFFFFFFFFFF]
        for place in range(1, _WORDS):
            before = state[-1]
            state.append((6364136223846793005 * (before ^ (before >> 62)) + place) & 0xFFFFFFFFFFFFFFFF)
        generator = cls(seed)
        generator._state = np.array(state, np.uint64)
        return generator

    def initial_seed(self) -> int:
        """The seed that the stream was started from."""
        return self._seed

    def random(self) -> int:
        """One 64-bit number."""
        return int(self.words(1)[0])

    def get_state(self) -> "GeneratorState":
        """Where the stream is."""
        return GeneratorState(self._state.copy(), self._position, self._seed)

    def set_state(self, state: "GeneratorState") -> None:
        """Continue from where `get_state` was called."""
        self._state, self._position, self._seed = state.words.copy(), state.position, state.seed

    def _refill(self) -> None:
        state = self._state
        following = np.append(state[1:], state[:1])
        low = _twist(state[:_HALF], following[:_HALF], state[_HALF:])
        following[-1] = low[0]
        high = _twist(state[_HALF:], following[_HALF:], low)
        self._state = np.concatenate([low, high])
        self._position = 0

    def words(self, count: int) -> np.ndarray:
        """The next `count` 64-bit numbers."""
        if native is None:
            return self._words_of_numpy(count)
        return self._drawn(np.empty(count, np.uint64), "words")

    def _drawn(self, out: np.ndarray, kind: str, first: float = 0.0, second: float = 0.0) -> np.ndarray:
        """`out`, filled by the native module."""
        refuse_to_record("random numbers")
        state = self._state.ctypes.data, self._state.nbytes
        filled = out.ctypes.data, out.nbytes
        self._position = native.mersenne(state, self._position, filled, len(out), kind, first, second)
        return out

    def _words_of_numpy(self, count: int) -> np.ndarray:
        refuse_to_record("random numbers")
        parts, missing = [], count
        while missing > 0:
            if self._position == _WORDS:
                self._refill()
            part = self._state[self._position : self._position + missing]
            self._position += len(part)
            missing -= len(part)
            parts.append(part)
        x = np.concatenate(parts) if parts else np.empty(0, np.uint64)
        # The tempering of mt19937_64; the masks and shifts are the standard's.
        x = x ^ ((x >> np.uint64(29)) & np.uint64(0x5555555555555555))
        x = x ^ ((x << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000))
        x = x ^ ((x << np.uint64(37)) & np.uint64(0xFFF7EEE000000000))
        return x ^ (x >> np.uint64(43))

    def canonical(self, count: int, kind: type[np.floating] = np.float32) -> np.ndarray:
        """Numbers from 0 up to, not including, 1."""
        # Rounding to float32 may give 1, which libstdc++ replaces by the next lower number.
        values = self.words(count).astype(kind) / kind(2.0**64)
        return np.minimum(values, np.nextafter(kind(1), kind(0)))

    def uniform(self, count: int, low: float, high: float, kind: type[np.floating] = np.float32) -> np.ndarray:
        """Numbers from `low` up to `high`."""
        if native is not None:
            return self._drawn(np.empty(count, kind), f"uniform{8 * np.dtype(kind).itemsize}", low, high)
        return self.canonical(count, kind) * (kind(high) - kind(low)) + kind(low)

    def normal(self, count: int, mean: float, std: float, kind: type[np.floating] = np.float32) -> np.ndarray:
        """Normal numbers by the polar method: pairs of points; points outside the circle are rejected."""
        if native is not None:
            return self._drawn(np.empty(count, kind), f"normal{8 * np.dtype(kind).itemsize}", mean, std)
        pairs: list[np.ndarray] = []
        have = 0
        while have < (count + 1) // 2:
            missing = (count + 1) // 2 - have
            points = kind(2) * self.canonical(2 * missing, kind).reshape(-1, 2) - kind(1)
            squared = (points**2).sum(axis=1, dtype=kind)
            inside = (squared <= 1) & (squared > 0)
            points, squared = points[inside], squared[inside]
            # libstdc++ gives the second number of a pair first.
            pairs.append(points[:, ::-1] * np.sqrt(kind(-2) * np.log(squared) / squared)[:, None])
            have += len(points)
        values = np.concatenate(pairs).ravel()[:count] if pairs else np.empty(0, kind)
        return (values * kind(std) + kind(mean)).astype(kind)

    def integers(self, count: int, low: int, high: int) -> np.ndarray:
        """Integers from `low` up to, not including, `high`."""
        return _scaled(self.words(count), np.uint64(high - low)).astype(np.int64) + low

    def permutation(self, count: int) -> np.ndarray:
        """0 .. count - 1 in random order: the C++ library's shuffle, which takes two places from one number."""
        order = list(range(count))
        first = 1
        if count > 1 and count % 2 == 0:
            # One place alone, so that the others are pairs.
            other = int(self.integers(1, 0, 2)[0])
            order[1], order[other] = order[other], order[1]
            first = 2
        places = np.arange(first, count, 2, dtype=np.uint64)
        both = _scaled(self.words(len(places)), (places + _ONE) * (places + np.uint64(2)))
        partners = np.stack(np.divmod(both, places + np.uint64(2)), 1).ravel().tolist()
        for place, other in enumerate(partners, first):
            order[place], order[other] = order[other], order[place]
        return np.array(order, np.int64)


def _scaled(words: np.ndarray, spans: np.ndarray | np.uint64) -> np.ndarray:
    """Integers from 0 up to, not including, `spans`: the upper half of each product of 128 bits."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    upper, lower, span_upper, span_lower = words >> shift, words & low, spans >> shift, spans & low
    middle = upper * span_lower + (lower * span_lower >> shift)
    other = lower * span_upper + (middle & low)
    return upper * span_upper + (middle >> shift) + (other >> shift)


class GeneratorState:
    """A place in a generator's stream."""

    def __init__(self, words: np.ndarray, position: int, seed: int) -> None:
        self.words, self.position, self.seed = words, position, seed

    def current_seed(self) -> int:
        """The seed of the stream."""
        return self.seed


default_generator = Generator()


def use_exact(count: int) -> bool:
    """Whether `count` numbers in the middle of a computation can be drawn by Paddle's algorithm without slowing it down."""
    return not recording.is_on and (native is not None or count <= _EXACT_LIMIT)


def seed(seed: int) -> Generator:
    """Restart the random numbers of the dialect, and torch's, from `seed`."""
    number = int(seed)
    # For random numbers drawn by torch: Poisson numbers, Dirichlet, large masks without the native module.
    torch.manual_seed(number)
    return default_generator.manual_seed(number)


def get_rng_state(device: str | None = None) -> list[GeneratorState]:
    """Where the random numbers are, for `set_rng_state`."""
    return [default_generator.get_state()]


def set_rng_state(state_list: Sequence[GeneratorState], device: str | None = None) -> None:
    """Continue from a state that `get_rng_state` gave."""
    if len(state_list) != 1:
        raise ValueError(f"set_rng_state: one state is expected, got {len(state_list)}")
    default_generator.set_state(state_list[0])


def get_cuda_rng_state() -> list[torch.Tensor]:
    """The states of torch's CUDA generators."""
    return torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def set_cuda_rng_state(state_list: Sequence[torch.Tensor]) -> None:
    """Continue from the states that `get_cuda_rng_state` gave."""
    if state_list:
        torch.cuda.set_rng_state_all(list(state_list))
