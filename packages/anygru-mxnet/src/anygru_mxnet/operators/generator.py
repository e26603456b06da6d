"""Random numbers as MXNet 1.9.1 draws them on a CPU (recorded), so that a seed gives the same numbers.

MXNet has two generators, both of the C++ library's `mt19937`. Operators of the older kind draw from 1,024 states, so that each
state draws 64 numbers or more of an array. Other operators draw from one state. Uniform and normal numbers are made as in
libstdc++, with the C library's logarithm.

Sources: M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998); ISO C++ [rand.eng.mers]; G. Marsaglia, T. Bray, "A convenient
method for generating normal variables" (1964).
"""

import math
from collections.abc import Callable

import numpy as np

from anygru.extend import cpp_numbers

from ..base import MXNetError

# The constants of mt19937, named in the standard.
_WORDS, _FAR = 624, 397
_UPPER, _LOWER, _MATRIX = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
_ONE = np.uint32(1)
# MXNet 1.9.1: states of a generator, the least numbers for which it takes another one, and the factor of a seed (recorded).
_STATES, _LEAST, _FACTOR = 1024, 64, 127


# The number of words of a state that are read together. Two refills of a state contain them at any position.
_MOST = _WORDS


def _twist(near: np.ndarray, following: np.ndarray, far: np.ndarray) -> np.ndarray:
    joined = (near & _UPPER) | (following & _LOWER)
    return far ^ (joined >> _ONE) ^ ((joined & _ONE) * _MATRIX)


def _refilled(state: np.ndarray) -> np.ndarray:
    """The next 624 words of each state `[states, 624]`."""
    new = np.empty_like(state)
    step = _WORDS - _FAR
    # Each word depends on the word 397 positions later. For the first 227 words it is a word of the old state.
    new[:, :step] = _twist(state[:, :step], state[:, 1 : step + 1], state[:, _FAR:])
    for first in (step, 2 * step):
        last = min(first + step, _WORDS - 1)
        new[:, first:last] = _twist(
            state[:, first:last], state[:, first + 1 : last + 1], new[:, first - step : last - step]
        )
    new[:, -1] = _twist(state[:, -1], new[:, 0], new[:, _FAR - 1])
    return new


def _tempered(x: np.ndarray) -> np.ndarray:
    x = x ^ (x >> np.uint32(11))
    x ^= (x << np.uint32(7)) & np.uint32(0x9D2C5680)
    x ^= (x << np.uint32(15)) & np.uint32(0xEFC60000)
    return x ^ (x >> np.uint32(18))


class States:
    """States of mt19937 that draw in parallel.

    Args:
        seeds: a number for each.
    """

    def __init__(self, seeds: np.ndarray) -> None:
        self._seeds = seeds.astype(np.uint32)
        self._state = np.empty((0, _WORDS), np.uint32)
        self._ready = np.empty((0, 2 * _WORDS), np.uint32)
        self._place = np.empty(0, np.int64)

    def _start(self, count: int) -> None:
        """Create missing states up to `count`."""
        have = len(self._state)
        if count <= have:
            return
        words = np.empty((_WORDS, count - have), np.uint32)
        words[0] = self._seeds[have:count]
        for place in range(1, _WORDS):
            before = words[place - 1]
            words[place] = (before ^ (before >> np.uint32(30))) * np.uint32(1812433253) + np.uint32(place)
        first = _refilled(np.ascontiguousarray(words.T))
        second = _refilled(first)
        self._state = np.concatenate([self._state, second])
        self._ready = np.concatenate([self._ready, np.concatenate([_tempered(first), _tempered(second)], 1)])
        self._place = np.concatenate([self._place, np.zeros(count - have, np.int64)])

    def look(self, states: np.ndarray, count: int) -> np.ndarray:
        """The next words, at most 624, of these states, without advancing them: `[states, count]`."""
        self._start(int(states[-1]) + 1)
        return self._ready[states[:, None], self._place[states, None] + np.arange(count)]

    def advance(self, states: np.ndarray, used: np.ndarray | int) -> None:
        """Advance these states by the used words."""
        self._place[states] += used
        done = states[self._place[states] >= _WORDS]
        if len(done):
            self._state[done] = new = _refilled(self._state[done])
            self._ready[done, :_WORDS] = self._ready[done, _WORDS:]
            self._ready[done, _WORDS:] = _tempered(new)
            self._place[done] -= _WORDS

    def words(self, states: np.ndarray, count: int) -> np.ndarray:
        """The next words of these states, which advance: `[states, count]`."""
        parts = [np.empty((len(states), 0), np.uint32)]
        for first in range(0, count, _MOST):
            part = min(_MOST, count - first)
            parts.append(self.look(states, part))
            self.advance(states, part)
        return parts[1] if len(parts) == 2 else np.concatenate(parts, 1)


class Generator:
    """MXNet's two generators; `mx.random.seed` restarts both.

    Methods with names that begin with "one" draw from the generator with one state.
    """

    def __init__(self) -> None:
        self.seed(
            0
        )  # MXNet 1.9.1 starts with this seed, so that programs without a seed repeat their numbers (recorded)

    def seed(self, seed: int) -> None:
        """Restart from the lower 32 bits of `seed`."""
        start = np.array([seed * _FACTOR & 0xFFFFFFFF], np.uint32)
        self._many = States(start + np.arange(_STATES, dtype=np.uint32))
        self._one = States(start)

    def uniform(self, count: int, kind: type[np.floating] = np.float32) -> np.ndarray:
        """Uniform numbers from [0, 1)."""
        each = 1 if kind is np.float32 else 2
        return self._shared(
            count, lambda states, share: cpp_numbers.fractions(self._many.words(states, each * share), kind)
        )

    def normal(self, count: int, kind: type[np.floating] = np.float32) -> np.ndarray:
        """Normal numbers. The second number of each pair is discarded, as in MXNet."""
        return self._shared(count, lambda states, share: _normals(self._many, states, share, kind))

    def integers(self, count: int, low: int, high: int) -> np.ndarray:
        """Integers from [low, high), each from 63 random bits."""

        def draw(states: np.ndarray, share: int) -> np.ndarray:
            words = self._many.words(states, 2 * share).astype(np.uint64)
            return ((words[:, 0::2] << np.uint64(31)) + words[:, 1::2]) % np.uint64(high - low)

        return self._shared(count, draw).astype(np.int64) + low

    def one_by_one(self, count: int, draw: Callable[["Lanes", np.ndarray], np.ndarray]) -> np.ndarray:
        """Numbers that need a variable count of words. `draw(lanes, places)` returns the numbers at some positions."""
        found = np.empty(count, np.float64)
        share, threads = _share(count)
        for place in range(share):
            states = np.arange(threads)
            places = states * share + place
            inside = places < count
            found[places[inside]] = draw(Lanes(self._many, states[inside]), places[inside])
        return found

    def lane(self, state: int) -> "Lanes":
        """The words of one of the 1,024 states."""
        return Lanes(self._many, np.array([state]))

    def one_words(self, count: int) -> np.ndarray:
        """Words of 32 bits, as integers."""
        return self._one.words(_FIRST, count)[0].astype(np.int64)

    def one_uniform(self, count: int, kind: type[np.floating] = np.float32) -> np.ndarray:
        """Uniform numbers from [0, 1)."""
        return cpp_numbers.fractions(self._one.words(_FIRST, count if kind is np.float32 else 2 * count)[0], kind)

    def one_normal(self, count: int) -> np.ndarray:
        """Normal numbers, in float32; both numbers of each pair."""
        return _normals(self._one, _FIRST, count, np.float32, both=True)[0]

    def one_below(self, limit: int) -> int:
        """An integer from [0, limit), as libstdc++ draws it."""
        size = 0xFFFFFFFF // limit
        while (word := int(self._one.words(_FIRST, 1)[0, 0])) >= size * limit:
            pass
        return word // size

    def one_order(self, count: int, upward: bool) -> np.ndarray:
        """The numbers 0 to count - 1 in random order. MXNet shuffles vectors `upward`, and rows downward."""
        order = list(range(count))
        for place in range(1, count) if upward else range(count - 1, 0, -1):
            other = self.one_below(place + 1)
            order[place], order[other] = order[other], order[place]
        return np.array(order, np.int64)

    @staticmethod
    def _shared(count: int, draw: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
        """`count` numbers, divided evenly among the states. The last state may draw fewer."""
        share, _ = _share(count)
        full, rest = divmod(count, share)
        parts = [draw(np.arange(full), share)] if full or not rest else []
        if rest:
            parts.append(draw(np.array([full]), rest))
        return np.concatenate([part.reshape(-1) for part in parts])


def _share(count: int) -> tuple[int, int]:
    """The largest count of numbers from a state, and the number of states that draw."""
    threads = max(min(-(-count // _LEAST), _STATES), 1)
    return max(-(-count // threads), 1), threads


def _normals(source: States, states: np.ndarray, share: int, kind: type[np.floating], both: bool = False) -> np.ndarray:
    """Normal numbers `[states, share]`, from points in the unit circle: one number per point, or `both`."""
    each = 2 if kind is np.float32 else 4
    wanted = -(-share // 2) if both else share
    found = np.empty((len(states), wanted, 2), kind)
    have = np.zeros(len(states), np.int64)
    while (have < wanted).any():
        rows = np.flatnonzero(have < wanted)
        missing = wanted - have[rows]
        pairs = min(_MOST // each, int(missing.max() * 1.4) + 8)
        numbers = kind(2) * cpp_numbers.fractions(source.look(states[rows], each * pairs), kind) - kind(1)
        points = numbers.reshape(len(rows), pairs, 2)
        x, y = points[..., 0], points[..., 1]
        squared = x * x + y * y
        inside = (squared <= 1) & (squared > 0)
        number = np.cumsum(inside, 1)
        row, column = np.nonzero(inside & (number <= missing[:, None]))
        chosen = squared[row, column]
        factor = np.sqrt(kind(-2) * cpp_numbers.logarithms(chosen) / chosen)
        found[rows[row], have[rows[row]] + number[row, column] - 1] = points[row, column, ::-1] * factor[:, None]
        # A state advances past the pair of its last number, or past all pairs that were read.
        ended = number[:, -1] >= missing
        used = np.where(ended, np.argmax(number >= missing[:, None], 1) + 1, pairs)
        source.advance(states[rows], each * used)
        have[rows] += np.minimum(number[:, -1], missing)
    return found.reshape(len(states), -1)[:, :share] if both else found[..., 0]


class Lanes:
    """Some states that draw numbers one at a time."""

    def __init__(self, source: States, states: np.ndarray) -> None:
        self._source, self._states = source, states

    def uniform(self, rows: np.ndarray, kind: type[np.floating] = np.float32) -> np.ndarray:
        """A uniform number from [0, 1) for each of the given lanes."""
        return cpp_numbers.fractions(self._source.words(self._states[rows], 1 if kind is np.float32 else 2), kind)[:, 0]

    def normal(self, rows: np.ndarray, kind: type[np.floating] = np.float32) -> np.ndarray:
        """A normal number for each of the given lanes."""
        return _normals(self._source, self._states[rows], 1, kind)[:, 0]

    def gamma(self, alpha: np.ndarray, beta: np.ndarray, kind: type[np.floating] = np.float32) -> np.ndarray:
        """A gamma number for each lane, with a shape and a scale (G. Marsaglia, W. Tsang, 2000).

        Raises:
            MXNetError: for a shape below 0, for which MXNet does not terminate.
        """
        if not (alpha >= 0).all():
            raise MXNetError(f"random.gamma: alpha must be at least 0, got {alpha[~(alpha >= 0)][0]}")
        wide = alpha.astype(np.float64)  # C computes these in double precision
        d = np.where(alpha < 1, wide + 2.0 / 3.0, wide - 1.0 / 3.0).astype(kind)
        k = np.sqrt(9.0 * d.astype(np.float64)).astype(kind)
        c = (1.0 / k.astype(np.float64)).astype(kind)
        found = np.empty(len(d), kind)
        waiting = np.arange(len(d))
        while len(waiting):
            z = self.normal(waiting, kind)
            fits = z > -k[waiting]
            tried, z = waiting[fits], z[fits]
            v = (1.0 + (c[tried] * z).astype(np.float64)).astype(kind)
            v = v * v * v
            bound = 0.5 * z.astype(np.float64) * z + d[tried] * (1.0 - v.astype(np.float64) + np.log(v))
            taken = np.log(1.0 - self.uniform(tried, kind).astype(np.float64)) < bound if len(tried) else fits[:0]
            found[tried[taken]] = d[tried[taken]] * v[taken] * beta[tried[taken]]
            waiting = np.setdiff1d(waiting, tried[taken])
        small = np.flatnonzero(alpha < 1)
        if len(small):
            exponent = (1.0 / wide[small]).astype(kind).astype(np.float64)
            found[small] = found[small] * np.power(self.uniform(small, kind).astype(np.float64), exponent)
        return found

    def poisson(self, rate: np.ndarray) -> np.ndarray:
        """A Poisson number for each lane."""
        found = np.zeros(len(rate), np.float32)
        rate = rate.astype(np.float32)
        low = np.flatnonzero(rate < 12)
        if len(low):
            limit, product = np.exp(-rate[low]), self.uniform(low)
            while (going := product > limit).any():
                low, limit, product = low[going], limit[going], product[going]
                found[low] += 1
                product = product * self.uniform(low)
        for row in np.flatnonzero(rate >= 12):
            found[row] = self._many_events(np.array([row]), rate[row])
        return found

    def _many_events(self, row: np.ndarray, rate: np.float32) -> float:
        """A Poisson number for a large rate, by rejection from a Lorentzian (Press et al., Numerical Recipes)."""
        root, log_rate = np.float32(math.sqrt(2.0 * rate)), np.float32(math.log(rate))
        start = np.float32(rate * log_rate - np.float32(math.lgamma(rate + 1.0)))
        while True:
            y = np.tan(np.float32(3.1415926) * self.uniform(row)[0])
            events = root * y + rate
            if events < 0:
                continue
            events = np.floor(events)
            power = np.exp(np.float32(events * log_rate - np.float32(math.lgamma(events + 1.0)) - start))
            if not self.uniform(row)[0] > np.float32(0.9 * (1.0 + float(y * y)) * float(power)):
                return float(events)


_FIRST = np.arange(1)
generator = Generator()
