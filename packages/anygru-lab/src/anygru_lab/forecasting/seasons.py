"""Seasons: candidates from the step of the times, and a test whether the data have them.

The test compares the power of the series at the harmonics of a season with that at the frequencies around them, so neither a
trend nor noise that lasts is taken for a season. A longer season counts only harmonics that no shorter one has (the divisor
rule): a daily course repeats every week, too, and is no weekly one. In turn a course of the year has harmonics of a quarter,
which count as a quarter's own only if the year's other harmonics are much weaker.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .tables.clock import Clock
from .tables.table import Series

SURE = 1e-2  # of chance, for all harmonics of a candidate together
SHARE = 0.02  # of the variance, at least
CYCLES = 2  # that a series must show
MOST_SERIES = 200  # that the test reads
INDEPENDENT = 20  # series whose noise is taken as independent, at most
NEARLY = 0.8  # multiples of a season are often as high as the season itself
ROUNDING = 1e-12  # of the span of the values; what is left of a straight line is no season
LONGEST = 1000  # steps of a season that is looked for without the help of the times

_SECONDS = {"hour": 3600, "day": 86_400, "week": 604_800, "year": 31_536_000}
_WEEKS_OF_A_YEAR = 365.2425 / 7
_WEEKS = [(13, "quarter"), (26, "half year"), (52, "year")]


@dataclass(frozen=True)
class Finding:
    """A candidate, and the chance that noise shows as much; `why` says it in words."""

    season: int
    found: bool
    why: str


def candidates(clock: Clock) -> list[tuple[int, str]]:
    """Return the steps of the seasons that times of this step usually have, and the seasons' names."""
    if not clock.dated or not clock.step:
        return []
    if clock.unit == "weekdays":
        days = clock.week.count("1")
        return [(days, "week"), (round(days * _WEEKS_OF_A_YEAR), "year")]
    if clock.unit == "months":
        step = round(clock.step)
        return [(12 // step, "year")] if step < 12 and 12 % step == 0 else []
    length = clock.step / 1e6
    if length == _SECONDS["week"]:
        return _WEEKS
    found = []
    for name, seconds in _SECONDS.items():
        wide = (name == "hour" and length > 60) or (name == "year" and length < _SECONDS["day"])
        number = seconds / length
        if not wide and number >= 2 and number == int(number):
            found.append((int(number), name))
    return found


def find(series: Sequence[Series], clock: Clock) -> list[Finding]:
    """Test the candidates, the shortest first; without any from the times, the peaks of the autocorrelation."""
    chosen = series[:: max(1, len(series) // MOST_SERIES)]
    values = [each.values[:, c] for each in chosen for c in range(each.values.shape[1])]
    values = [each / np.ptp(each) for each in values if len(each) > 3 and np.ptp(each) > 0]
    known = candidates(clock)
    findings: list[Finding] = []
    seasons: list[int] = []
    year = next((season for season, name in known if name == "year"), 0)
    for season, name in known:
        findings.append(_tested(values, season, seasons, name, 1, year))
        seasons += [season] if findings[-1].found else []
    if not known:
        peaks = _peaks(values)
        for season, whole in peaks.items():
            finding = _tested(values, season, seasons, "autocorrelation", max(1, len(peaks)) * 10, whole)
            if finding.found and not any(_repeats(season, each) for each in seasons):
                findings.append(finding)
                seasons.append(season)
    return findings


def _repeats(season: int, shorter: int) -> bool:
    """Whether a season is a shorter one (several times), whose true length is a fraction of a step off, or more if it is long."""
    times = round(season / shorter)
    return abs(season - times * shorter) <= max(0.5 * times, season / 12)


def _tested(
    values: Sequence[np.ndarray], season: int, shorter: Sequence[int], name: str, looks: int, year: int = 0
) -> Finding:
    label = f"{season} ({name})"
    if not values:
        return Finding(season, False, f"{label}: no, the values are all equal, or fewer than 4")
    long = [each for each in values if len(each) >= CYCLES * season]
    if not long:
        longest = max(map(len, values))
        return Finding(
            season, False, f"{label}: no, {CYCLES * season} steps are needed to see it, and {longest} are there"
        )
    chance, share = chance_of(long, season, shorter, year)
    chance = min(1.0, chance * looks)
    words = f"chance below {max(chance, 1e-9):.0e}" if chance < SURE else f"chance {chance:.2g}"
    if chance < SURE and share >= SHARE:
        return Finding(season, True, f"{label}: yes, {share:.0%} of the variance, {words}")
    divided = any(season % each == 0 for each in shorter)
    nothing = "nothing beside shorter seasons" if divided else "no more than noise"
    return Finding(season, False, f"{label}: no, {nothing} ({share:.1%} of the variance, {words})")


def chance_of(
    values: Sequence[np.ndarray], season: int, shorter: Sequence[int] = (), year: int = 0
) -> tuple[float, float]:
    """Return the chance that series without the season show so much of it, and its share of their variance.

    Args:
        values: series of at least two seasons each.
        season: steps.
        shorter: seasons that the series have already; harmonics of theirs do not count.
        year: a longer season that may have these harmonics, too; 0 without one.
    """
    harmonics = [j for j in range(1, season // 2 + 1) if not any(j * each % season == 0 for each in shorter)]
    if not harmonics:
        return 1.0, 0.0
    power, around, width, shares = np.zeros(len(harmonics)), np.zeros(len(harmonics)), 0, []
    for each in values:
        cycles = len(each) // season
        spectrum = _spectrum(each[len(each) - cycles * season :])
        places = cycles * np.array(harmonics)
        near = max(1, min(cycles - 1, 8))
        beside = np.array([d for d in range(-near, near + 1) if d])
        index = np.clip(places[:, None] + beside, 1, len(spectrum) - 1)
        there = (index % cycles != 0) | (cycles == 1)
        background = np.where(there, spectrum[index], 0).sum(1) / np.maximum(there.sum(1), 1)
        background = np.maximum(background, _others(each, season, year))
        power += spectrum[places]
        around += background
        width = max(width, int(there.sum(1).max()))
        shares.append(np.maximum(spectrum[places] - background, 0).sum())
    ratio = power / np.maximum(around, 1e-30 * max(1.0, float(power.max())))
    independent = min(len(values), INDEPENDENT)
    one = min(_exceeds(float(ratio.max()), independent, width * independent) * len(harmonics), 1.0)
    return one, float(np.mean(shares))


def _others(values: np.ndarray, season: int, year: int) -> float:
    """The power (root mean square: one strong harmonic counts) of those harmonics of a year that a part of it does not have."""
    if year <= season or year % season or len(values) < CYCLES * year:
        return 0.0
    cycles = len(values) // year
    power = _spectrum(values[len(values) - cycles * year :])[cycles : cycles * (year // 2 + 1) : cycles]
    return float(np.sqrt(np.mean(power[np.arange(1, len(power) + 1) % (year // season) > 0] ** 2)))


def _spectrum(values: np.ndarray) -> np.ndarray:
    """The shares of the variance by frequency, after a straight line through the values is taken off."""
    time = np.arange(len(values)) - (len(values) - 1) / 2
    slope = (time @ values) / (time @ time)
    rest = values - values.mean() - slope * time
    rest[np.abs(rest) < ROUNDING * np.ptp(values)] = 0
    power = np.abs(np.fft.rfft(rest)) ** 2
    power[1:-1] *= 2
    total = power[1:].sum()
    return np.asarray(power / total if total > 0 else power)


def _exceeds(ratio: float, own: int, beside: int) -> float:
    """The chance that a mean of `own` powers of noise is `ratio` times a mean of `beside` others.

    Exact for a series alone, where it is a quantile of Fisher's F with 2 degrees of freedom; Chernoff's bound for several.
    """
    if ratio <= 1 or not beside:
        return 1.0
    if own == 1:
        return float((1 + ratio / beside) ** -beside)
    exponent = (own + beside) * math.log((own * ratio + beside) / (own + beside)) - own * math.log(ratio)
    return math.exp(-min(exponent, 700.0))


def _peaks(values: Sequence[np.ndarray]) -> dict[int, int]:
    """Return the shortest lags at which the autocorrelation has peaks nearly as high as its highest, and fractions of these.

    A fraction may have its harmonics from the lag that it is a fraction of, which is its value; that of others is 0.
    """
    long = [each for each in values if len(each) >= 8]
    if not long:
        return {}
    most = min(max(map(len, long)) // 3, LONGEST)
    total, weight = np.zeros(most + 1), np.zeros(most + 1)
    for each in long:
        time = np.arange(len(each)) - (len(each) - 1) / 2
        rest = each - each.mean() - (time @ each) / (time @ time) * time
        size = 1 << (2 * len(rest) - 1).bit_length()
        found = np.fft.irfft(np.abs(np.fft.rfft(rest, size)) ** 2, size)[: min(most, len(rest) // 3) + 1]
        total[: len(found)] += found / max(found[0], 1e-300) * len(rest)
        weight[: len(found)] += len(rest) - np.arange(len(found))
    correlation = total / np.maximum(weight, 1)
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner >= correlation[2:]) & (inner > 0)) + 1
    high = peaks[correlation[peaks] >= NEARLY * correlation[peaks].max()] if len(peaks) else peaks
    # Noise may hide the first peak, and show its multiples.
    lags = {int(each): 0 for each in high[:5]}
    for one in list(lags):
        lags |= {one // part: one for part in (2, 3) if one % part == 0 and one > part and one // part not in lags}
    return dict(sorted(lags.items()))
