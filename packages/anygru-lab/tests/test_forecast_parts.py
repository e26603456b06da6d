"""The parts of a forecast: seasons, the calendar, the network, rivals, calibration, and the scores of the back-test."""

import argparse
import itertools
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import anygru_lab
from anygru.cli import UsageError
from anygru_lab.forecasting import (
    arguments,
    backtest,
    calendar,
    conformal,
    generated,
    model,
    pipeline,
    problem,
    results,
    rivals,
    seasons,
    statistical,
    store,
    training,
    verdict,
)
from anygru_lab.forecasting.problem import HIGH, LOW, MIDDLE, QUANTILES
from anygru_lab.forecasting.tables import clock, table
from anygru_lab.forecasting.tables.clock import Clock

HOUR, DAY = 3_600_000_000, 86_400_000_000
HOURLY, DAILY, MONTHLY = Clock("time", HOUR), Clock("date", DAY), Clock("date", 1, "months")
WEEKLY = Clock("date", 7 * DAY)
NUMBERS = Clock("number", 1)
MODELS = ["AutoETS", "AutoTheta", "MSTL", "MSTL damped", "MSTL recent"]
NO_CALENDAR = calendar.Calendar()


def series(values, name="", found=NUMBERS, start="2024-01-01"):
    values = np.asarray(values, float)
    values = values[:, None] if values.ndim == 1 else values
    times = np.arange(len(values))
    if found.unit == "months":
        times = (np.datetime64(start, "M") + times).astype("datetime64[us]")
    elif found.dated:
        times = np.datetime64(start, "us") + times * np.timedelta64(int(found.step), "us")
    return table.Series(name, values, times, np.zeros((len(values), 0)), np.zeros((len(values), 0)))


def waves(steps=300, season=12, seed=0, channels=1):
    random = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(steps)[:, None] / season + np.arange(channels)
    return 5 + 3 * np.sin(angles) + 0.1 * random.standard_normal((steps, channels))


def made(*values, horizon=6, folds=3, found=(12,), its_clock=NUMBERS):
    all_series = tuple(series(each, f"s{n}", its_clock) for n, each in enumerate(values))
    channels = tuple("xyz"[: all_series[0].values.shape[1]])
    return problem.Problem(table.Table(all_series, channels, its_clock), horizon, folds, found)


def stored(task, logs=(False,), its_calendar=NO_CALENDAR):
    ends = [task.first_origin(n) for n in range(len(task.table.series))]
    return store.Store(task.table.series, ends, task.table.clock, its_calendar, task.seasons, task.horizon, logs), ends


# Seasons


def found(values, its_clock):
    return [each.season for each in seasons.find([series(values, found=its_clock)], its_clock) if each.found]


def noise(steps, seed=0):
    return np.random.default_rng(seed).standard_normal(steps)


@pytest.mark.parametrize(
    ("its_clock", "expected"),
    [
        (HOURLY, [24, 168, 8760]),
        (Clock("time", HOUR // 2), [48, 336, 17520]),
        (DAILY, [7, 365]),
        (WEEKLY, [13, 26, 52]),
        (MONTHLY, [12]),
        (Clock("date", 3, "months"), [4]),
        (Clock("date", 1, "weekdays"), [5, 261]),
        (NUMBERS, []),
        (Clock("word"), []),
    ],
)
def test_candidates_come_from_the_step_of_the_times(its_clock, expected):
    found = [season for season, name in seasons.candidates(its_clock) if not (name == "year" and season > 1000)]
    assert found == [each for each in expected if each < 1000]


def test_a_daily_course_and_a_weekend_effect_are_two_seasons():
    hours = np.arange(24 * 56)
    course = 10 + 3 * np.sin(2 * np.pi * hours / 24) + noise(len(hours))
    assert found(course, HOURLY) == [24]
    assert found(course + 2 * (hours // 24 % 7 > 4), HOURLY) == [24, 168]
    why = [each.why for each in seasons.find([series(course, found=HOURLY)], HOURLY)]
    assert why[0].startswith("24 (day): yes, ")
    assert why[1].startswith("168 (week): no, nothing beside shorter seasons")


@pytest.mark.parametrize("its_clock", [HOURLY, DAILY, MONTHLY, NUMBERS], ids=["hours", "days", "months", "numbers"])
def test_noise_and_walks_have_no_season(its_clock):
    wrong = sum(bool(found(noise(n, seed), its_clock)) for n in (60, 700) for seed in range(25))
    wrong += sum(bool(found(noise(n, seed).cumsum(), its_clock)) for n in (60, 700) for seed in range(25))
    assert wrong <= 2


def test_a_season_is_found_in_values_of_any_size_and_not_in_equal_ones():
    week = 10 + 3.0 * (np.arange(60) % 7 == 2) + 0.3 * noise(60)
    assert [found(week * size, DAILY) for size in (1e-300, 1e-9, 1.0, 1e90)] == 4 * [[7]]
    equal = seasons.find([series(np.full(60, 5.0), found=DAILY)], DAILY)
    assert equal[0].why == "7 (week): no, the values are all equal, or fewer than 4"


def test_short_series_have_the_seasons_of_their_times():
    days, months = np.arange(30), np.arange(48)
    weekly = np.array([0, 0, 0, 0, 1, 3, 2])[days % 7]
    assert found(10 + weekly + 0.5 * noise(30), DAILY) == [7]
    assert found(10 + 0.1 * months + 3 * np.sin(2 * np.pi * months / 12) + 0.7 * noise(48), MONTHLY) == [12]


@pytest.mark.parametrize(("season", "steps"), [(13, 156), (26, 156), (52, 260)])
def test_weeks_may_have_a_course_of_a_quarter_or_half_a_year(season, steps):
    assert found(2 * np.sin(2 * np.pi * np.arange(steps) / season) + noise(steps), WEEKLY) == [season]


def test_harmonics_of_a_year_are_no_quarter():
    weeks = np.arange(520)
    assert found(3.0 * (weeks % 52 == 50) + 0.3 * noise(520), WEEKLY) == [52]
    two = 3 * np.sin(2 * np.pi * weeks / 52) + np.sin(2 * np.pi * weeks / 26)
    assert found(two + 0.3 * noise(520), WEEKLY) == [52]


def test_a_season_that_noise_hides_once_is_still_the_short_one():
    right = 0
    for season, seed in itertools.product((5, 8, 9, 12), range(10)):
        lasting = noise(100, seed)
        for step in range(1, 100):
            lasting[step] += 0.6 * lasting[step - 1]
        right += found(2 * np.sin(2 * np.pi * np.arange(100) / season) + lasting, NUMBERS) == [season]
    assert right >= 38  # of 40


def test_without_times_the_season_is_found_by_autocorrelation():
    assert found(waves(300, 12)[:, 0], NUMBERS) == [12]
    assert found(waves(400, 8)[:, 0], NUMBERS) == [8]
    assert found(np.arange(100.0), NUMBERS) == []
    assert found(np.sin(np.arange(300) / 3) + 0.1 * noise(300), NUMBERS) == [19]  # 18.85 steps, and no multiple of them
    assert [each.season for each in seasons.find(generated.generated().series, HOURLY) if each.found] == [24]


# The calendar


def test_features_of_the_times():
    its = calendar.Calendar(hours=True, weekdays=True)
    at = np.array(["2024-01-01T06:00", "2024-01-07T12:00"], "datetime64[us]")  # a Monday and a Sunday
    features = its.features(HOURLY, at)
    np.testing.assert_allclose(features[0, :4], [1, 0, 0, -1], atol=1e-6)  # sin and cos of a quarter, then of a half
    assert features[:, 4:].tolist() == [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]]
    chosen = calendar.Calendar.of(DAILY, (series(np.arange(100), found=DAILY),), (7,), None)
    assert (chosen.hours, chosen.weekdays, chosen.years) == (False, True, False)
    assert calendar.Calendar.of(MONTHLY, (series(np.arange(40), found=MONTHLY),), (12,), None).years


def test_holidays_need_dates_and_a_country_that_has_some():
    with pytest.raises(UsageError, match="--country needs dates whose steps are a day or less"):
        calendar.Calendar.of(NUMBERS, (series(np.arange(9)),), (), "DE")
    pytest.importorskip("holidays")
    its = calendar.Calendar(country="DE")
    days = np.array(["2024-12-24", "2024-12-25", "2024-12-26", "2024-12-28"], "datetime64[us]")
    assert its.features(DAILY, days).tolist() == [[0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]]
    with pytest.raises(UsageError, match="--country XX has no holidays in the package"):
        calendar.Calendar.of(DAILY, (series(np.arange(9), found=DAILY),), (), "XX")


# The store and the network


def test_levels_and_courses_do_not_see_the_future_or_other_series():
    one, other = waves(60), waves(60)
    other[40:] += 100
    first, _ = stored(made(one, waves(60, seed=5)))
    changed = store.Store(
        (series(other), series(waves(60, seed=5) * 9)), [40, 40], NUMBERS, calendar.Calendar(), (12,), 6, (False,)
    )
    same = store.Store(
        (series(one), series(waves(60, seed=5))), [40, 40], NUMBERS, calendar.Calendar(), (12,), 6, (False,)
    )
    for name in ("values", "level", "short", "place"):
        assert torch.equal(getattr(changed, name)[:40], getattr(same, name)[:40]), name
    assert first.offsets.tolist() == [0, 66]


def test_a_channel_is_logged_where_its_noise_grows_with_it():
    growing = 100 * 1.02 ** np.arange(120) * (1 + 0.3 * np.sin(np.arange(120) * np.pi / 6)) * np.exp(0.05 * noise(120))
    steady = 1000 + np.arange(120) + 5 * noise(120)
    assert store.choose_logs([np.stack([growing, steady], 1)], 12) == (True, False)
    assert store.choose_logs([np.stack([growing - growing.min(), steady], 1)], 12) == (False, False)
    scale = store.Scale.of(np.stack([growing, steady], 1), 12, (True, False))
    values = np.stack([growing, steady], 1)
    np.testing.assert_allclose(scale.unscaled(scale.scaled(values)[..., None])[..., 0], values)


def test_an_untrained_network_repeats_the_last_season_around_the_level_with_rising_quantiles():
    task = made(waves(120), horizon=18)
    its, ends = stored(task)
    network = training.make(its, ends, 1, training.Plan(hidden=8))
    numbers, origins = np.array([0]), np.array([60])
    quantiles = model.forecast(network, its, numbers, origins)[0, :, 0]
    values = its.values[:60, 0].double().numpy()
    np.testing.assert_allclose(quantiles[:12, MIDDLE], values[48:60], atol=1.5)
    np.testing.assert_allclose(quantiles[12:, MIDDLE], values[48:54], atol=1.5)
    assert (np.diff(quantiles, axis=-1) > 0).all()


def test_a_forecast_does_not_see_the_future():
    task = made(waves(120))
    its, ends = stored(task)
    network = training.make(its, ends, 1, training.Plan(hidden=8))
    torch.nn.init.normal_(network.outer.weight)
    before = model.forecast(network, its, np.array([0, 0]), np.array([50, 60]))
    its.values[60:] += 1
    its.level[60:] += 1
    its.short[60:] += 1
    its.place[60:] += 1
    after = model.forecast(network, its, np.array([0, 0, 0]), np.array([50, 60, 61]))
    np.testing.assert_allclose(before, after[:2], rtol=1e-5)
    assert np.abs(after[2] - after[1]).max() > 0.1


def test_short_windows_are_read_as_they_are():
    """The forecast of a series does not depend on what else is in the batch, longer or shorter."""
    task = made(waves(120), waves(60, seed=1), folds=1)
    its, ends = stored(task)
    network = training.make(its, ends, 1, training.Plan(hidden=8))
    torch.nn.init.normal_(network.outer.weight)
    together = model.forecast(network, its, np.array([0, 1]), np.array([100, 15]))
    for number, origin in ((0, 100), (1, 15)):
        alone = model.forecast(network, its, np.array([number]), np.array([origin]))
        np.testing.assert_allclose(alone[0], together[number], atol=1e-5)


def test_training_stops_by_validation_and_repeats_itself():
    task = made(waves(200))
    its, ends = stored(task)
    plan = training.Plan(hidden=8, seconds=1e6)
    notices = []
    runs = []
    for _ in range(2):
        network = training.make(its, ends, 1, plan)
        runs.append(training.train(network, its, ends, plan, notices.append))
    assert runs[0].steps < training.STEPS
    assert runs[0].steps == runs[1].steps
    assert runs[0].validation == runs[1].validation == min(notice.validation for notice in notices)
    for one, other in zip(runs[0].network.parameters(), runs[1].network.parameters(), strict=True):
        assert torch.equal(one, other)
    exact = training.train(training.make(its, ends, 1, plan), its, ends, training.Plan(steps=7, hidden=8))
    assert exact.steps == 7


def test_the_quantile_loss_is_least_at_the_quantiles():
    values = torch.from_numpy(noise(20_000))
    best = torch.quantile(values, torch.tensor(QUANTILES, dtype=torch.float64))
    least = model.pinball(best.expand(len(values), -1), values).mean(0)
    for shift in (-0.1, 0.1):
        assert (model.pinball((best + shift).expand(len(values), -1), values).mean(0) > least).all()
    # The CRPS of a normal distribution at its own values is 1 / sqrt(pi); eleven quantiles come near it.
    assert 2 * float(least.mean()) == pytest.approx(1 / np.sqrt(np.pi), rel=0.05)


# Rivals


def test_the_rules_are_those_of_the_textbook_and_their_median_is_not_moved():
    values = np.arange(30.0) ** 2
    task = made(values, horizon=4, folds=1, found=(3,))
    at = np.array([0]), np.array([20])
    rules = {each.name: each.forecast(*at)[0, :, 0] for each in rivals.simple(task, [7])}
    assert set(rules) == {"naive", "drift", "seasonal naive (3)", "seasonal naive (7)"}
    assert rules["naive"][:, MIDDLE].tolist() == [361] * 4
    assert rules["drift"][:, MIDDLE].tolist() == [380, 399, 418, 437]
    assert rules["seasonal naive (3)"][:, MIDDLE].tolist() == [289, 324, 361, 289]
    assert rules["seasonal naive (7)"][:, MIDDLE].tolist() == [169, 196, 225, 256]
    for quantiles in rules.values():
        np.testing.assert_allclose(quantiles[:, HIGH] - quantiles[:, MIDDLE], quantiles[:, MIDDLE] - quantiles[:, LOW])


def test_the_linear_model_finds_an_autoregression():
    random = np.random.default_rng(0)
    values = np.zeros((3000, 1))
    for step in range(1, len(values)):
        values[step] = 0.8 * values[step - 1] + 0.1 * random.standard_normal()
    task = made(values, horizon=3, folds=1, found=())
    its, ends = stored(task)
    forecast = rivals.Linear(task, its, ends).forecast(np.array([0]), np.array([2990]))[0, :, 0]
    np.testing.assert_allclose(forecast[:, MIDDLE], values[2989, 0] * 0.8 ** np.arange(1, 4), atol=0.02)
    deviations = 0.1 * np.sqrt(np.cumsum(0.64 ** np.arange(3)))
    np.testing.assert_allclose(forecast[:, HIGH] - forecast[:, LOW], 2 * 1.2816 * deviations, rtol=0.1)


def test_bands_of_a_linear_model_hold_although_it_has_few_rows_to_learn_from():
    held = []
    for seed in range(20):
        task = made(noise(80, seed)[:, None], horizon=6, folds=2)
        tested = backtest.tried(rivals.Linear(task, *stored(task)), backtest.Places.of(task))
        held.append(tested.scores.raw_coverage)
    assert 0.72 <= np.mean(held) <= 0.88


def test_models_of_statsforecast_are_rivals_where_it_is_installed():
    pytest.importorskip("statsforecast")
    task = made(waves(120), found=(12,))
    told = []
    models = statistical.rivals(task, 60, False, told.append)
    assert [each.name for each in models] == ["AutoETS", "AutoTheta", "MSTL", "MSTL damped", "MSTL recent"]
    assert told.pop() == "AutoARIMA is left out: with a season it takes long (--rivals slow)"
    for each in models:
        quantiles = each.forecast(np.array([0]), np.array([108]))[0, :, 0]
        assert np.abs(quantiles[:, MIDDLE] - waves(120)[108:114, 0]).mean() < 0.5
        assert (np.diff(quantiles, axis=-1) >= 0).all()
    assert statistical.rivals(task, 1e-9, False, told.append) == []
    assert told[0].startswith("AutoETS is left out: its back-test would take about")


def test_mstl_forecasts_a_series_that_is_too_short_for_a_season(capfd):
    pytest.importorskip("statsforecast")
    task = made(waves(120), waves(60), found=(40,), horizon=3, folds=1)
    model = statistical.Statistical("MSTL", task)
    growing = np.arange(60.0)[:, None]
    assert model.fitted(growing[:, 0])[:, MIDDLE] == pytest.approx([60, 61, 62], abs=0.5)
    assert model.failures == 0
    assert "supersmoother" not in "".join(capfd.readouterr())


def test_a_model_that_is_too_slow_is_not_fitted_to_a_long_series(monkeypatch):
    """The longest series decides, and the fit of its end tells that the whole would take too long."""
    pytest.importorskip("statsforecast")
    fitted = []

    def slow(self, values):
        fitted.append(len(values))
        end = time.process_time() + 1e-5 * len(values)
        while time.process_time() < end:
            pass
        return np.zeros((self.horizon, len(QUANTILES)))

    monkeypatch.setattr(statistical.Statistical, "fitted", slow)
    task = made(waves(60), waves(2900), found=(12,), horizon=6, folds=4)
    told = []
    assert statistical.rivals(task, 0.05, False, told.append) == []
    assert [line.partition(" is")[0] for line in told] == [*MODELS[:3], "AutoARIMA"]
    assert max(fitted) == statistical.PROBE
    assert [each.name for each in statistical.rivals(task, 60, False, told.append)] == MODELS[:3]
    short = made(waves(60), waves(problem.MANY // 2), found=(12,), horizon=6, folds=4)
    assert [each.name for each in statistical.rivals(short, 60, False, told.append)] == MODELS


def test_a_damped_trend_ends_and_a_recent_one_forgets_what_was_before():
    pytest.importorskip("statsforecast")
    task = made(waves(150)[:, 0] + np.arange(150) / 2, horizon=24, folds=1)
    found = {name: statistical.Statistical(name, task)._one(0, 126)[:, 0] for name in MODELS[2:]}
    assert found["MSTL damped"][-1, MIDDLE] < found["MSTL"][-1, MIDDLE] - 0.5
    last = task.table.series[0].values[126 - 4 * 12 - 8 : 126, 0]
    assert found["MSTL recent"].tolist() == statistical.Statistical("MSTL", task).fitted(last).tolist()


def test_arima_is_a_rival_without_a_season():
    pytest.importorskip("statsforecast")
    task = made(waves(60), found=())
    assert [each.name for each in statistical.rivals(task, 60, False, print)] == ["AutoETS", "AutoTheta", "AutoARIMA"]


# Calibration and scores


def test_conformal_bands_hold_what_they_promise():
    levels = torch.distributions.Normal(0.0, 1.0).icdf(torch.tensor(QUANTILES, dtype=torch.float64)).numpy()
    for width in (0.3, 1.0, 4.0):
        quantiles = np.broadcast_to(width * levels, (4000, len(levels)))
        factor = conformal.factors(quantiles, noise(4000), 4000)
        found = conformal.applied(quantiles, factor)
        held = ((found[:, LOW] <= noise(4000, 1)) & (noise(4000, 1) <= found[:, HIGH])).mean()
        assert held == pytest.approx(0.8, abs=0.02)
        np.testing.assert_allclose(found[0], levels, atol=0.1)
    assert conformal.factors(np.zeros((3, len(levels))), np.zeros(3), 3).tolist() == [1.0] * MIDDLE


def test_bands_hold_what_they_promise_where_the_steps_of_an_origin_go_together():
    """Two origins with 12 steps each say little more than two values; seen from four origins each, they say no more."""
    normal = torch.distributions.Normal(0.0, 1.0)
    levels = normal.icdf(torch.tensor(QUANTILES, dtype=torch.float64))
    for kept, origins, seen, off in ((0.0, 8, 1, 0.025), (0.8, 2, 1, 0.03), (0.8, 2, 4, 0.03), (0.8, 8, 4, 0.015)):
        held = []
        for seed in range(200):
            random = np.random.default_rng(seed)
            own, common = random.standard_normal((origins, 12)), random.standard_normal((origins, 1))
            came = (kept**0.5 * common + (1 - kept) ** 0.5 * own).repeat(seen, axis=0)
            quantiles = np.broadcast_to(levels.numpy(), (*came.shape, len(levels)))
            factor = conformal.factors(quantiles, came, origins)[1]
            held.append(2 * float(normal.cdf(factor * levels[HIGH])) - 1)
        assert np.mean(held) == pytest.approx(0.8, abs=off), (kept, origins, seen)


def test_quantiles_have_the_digits_that_tell_them_apart():
    assert results._texts(np.array([1e9 + 1.25, 1e9 + 2.5])) == ["1000000001.25", "1000000002.5"]
    assert results._texts(np.array([1 / 3, 2 / 3])) == ["0.333333", "0.666667"]
    assert results._texts(np.array([5.0, 5.0])) == ["5", "5"]


def test_calibrated_quantiles_rise():
    quantiles = np.sort(noise(50 * len(QUANTILES)).reshape(50, -1), axis=-1)
    factor = np.array([0.1, 3.0, 0.2, 1.0, 5.0])
    assert (np.diff(conformal.applied(quantiles, factor), axis=-1) >= 0).all()


class Perfect:
    name = "perfect"

    def __init__(self, task, off=0.0):
        self.task, self.off = task, off

    def forecast(self, numbers, origins):
        actual = [self.task.actual(n, o) + self.off for n, o in zip(numbers, origins, strict=True)]
        return np.repeat(np.stack(actual)[..., None], len(QUANTILES), -1)


def test_forecasts_of_counts_are_not_negative():
    counts = np.random.default_rng(0).poisson(0.5, 200).astype(float)
    for values, least in ((counts, 0.0), (counts - 1, -np.inf), (counts + 1, -np.inf)):
        task = made(values, horizon=6, folds=4)
        assert task.floor.tolist() == [least]
        found = backtest.tried(rivals.Naive(task), backtest.Places.of(task))
        assert (found.raw < 0).any()
        assert (found.quantiles.min() >= 0) == (least == 0)


def test_scores_are_those_of_the_formulas():
    values = waves(200, channels=2)
    task = made(values, horizon=6, folds=3)
    places = backtest.Places.of(task)
    perfect = backtest.tried(Perfect(task), places).scores
    assert (perfect.error, perfect.crps, perfect.raw_coverage) == (0, 0, 1)
    known = values[: 200 - 18]
    unit = np.abs(known[12:] - known[:-12]).mean(0)
    off = backtest.tried(Perfect(task, unit), places).scores
    assert (off.error, off.crps) == (pytest.approx(1), pytest.approx(1))
    assert off.raw_coverage == 0


def test_a_fold_is_not_calibrated_on_itself():
    """Bands that fit each fold by looking at it would hold 80 %; those of the other folds hold what they hold."""
    task = made(np.concatenate([noise(100), [1000.0] * 10, [-1000.0] * 10]), horizon=10, folds=2, found=())
    scores = backtest.tried(rivals.Naive(task), backtest.Places.of(task)).scores
    assert scores.coverage < 0.6
    other = backtest.between(task, 100)
    assert other is not None
    raw = np.zeros((2, 10, 1, len(QUANTILES)))
    seen, _, spans = backtest._without(
        1, raw, backtest.Places.of(task), (other, np.ones((len(other.folds), 10, 1, len(QUANTILES))))
    )
    assert len(seen) == spans == 1  # all places between two folds reach into one of them


def off_by(places, **offs):
    """Methods that are off by so much at each origin."""
    found = []
    for name, off in offs.items():
        raw = np.repeat((places.actual + np.array(off)[:, None, None])[..., None], len(QUANTILES), -1)
        found.append(backtest.of_quantiles(name.replace("_", " "), raw, places))
    return found


def test_the_average_is_of_those_that_the_folds_cannot_tell_from_the_best():
    places = backtest.Places.of(made(waves(200), horizon=6, folds=4))
    tested = off_by(
        places,
        best=[1.0, 1.0, 1.0, 1.0],
        as_good=[-0.4, -1.8, -0.5, -1.6],
        a_little_worse_on_every_fold=[1.2, 1.21, 1.19, 1.2],
        usually_worse=[1.4, 1.5, 1.4, 0.9],
        lucky_with_a_disaster=[9.0, 0.1, 0.1, 0.1],
    )
    average, names = backtest.averaged(tested, places)
    assert names == ("as good", "best")
    assert average.scores.error == pytest.approx(tested[0].scores.error * np.mean([0.3, 0.4, 0.25, 0.3]))
    assert backtest.best(tested).name == "best"


def test_an_origin_before_a_break_does_not_choose_the_method():
    """Where all fail, luck makes the largest differences: the naive one of these has the least mean error."""
    places = backtest.Places.of(made(waves(200), horizon=6, folds=4))
    tested = off_by(places, model=[1.0, 20.0, 1.0, 1.0], other=[3.0, 11.0, 3.0, 3.0])
    assert backtest.best(tested).name == "other"
    assert backtest.averaged(tested, places)[1] == ("model",)


def test_a_method_whose_bands_go_astray_does_not_forecast():
    places = backtest.Places.of(made(waves(200), horizon=6, folds=4))
    tested = off_by(places, sound=[1.0, 1.0, 1.0, 1.0], astray=[0.9, 1.1, 0.9, 1.1])
    wide = replace(tested[1], scores=replace(tested[1].scores, crps=50.0))
    assert backtest.averaged(tested, places)[1] == ("astray", "sound")
    assert backtest.averaged([tested[0], wide], places)[1] == ("sound",)


def test_rules_forecast_only_where_they_are_far_better_than_the_models():
    places = backtest.Places.of(made(waves(200), horizon=6, folds=2))
    for error, chosen in ((0.6, "model"), (0.4, "rule")):
        tested = off_by(places, model=[1.0, 1.0], rule=[error, error])
        assert backtest.averaged(tested, places, ["rule"])[1] == (chosen,)


def test_a_single_origin_does_not_choose_among_models():
    """Whatever is best there, all models forecast; with a second origin, or a rule that is far better, some do."""
    for count, many, error, chosen in ((1, 1, 0.9, ["other", "model"]), (2, 1, 0.9, ["other"]), (1, 2, 0.9, ["other"]),
                                       (1, 1, 0.4, ["rule"])):  # fmt: skip
        places = backtest.Places.of(made(*[waves(200)] * many, horizon=6, folds=count))
        offs = {"model": 3.0, "other": 1.0, "rule": error}
        tested = off_by(places, **{name: [off] * count * many for name, off in offs.items()})
        assert list(backtest.averaged(tested, places, ["rule"])[1]) == chosen


def test_a_doubted_method_must_be_clearly_better():
    places = backtest.Places.of(made(waves(200), horizon=6, folds=2))
    for error, chosen in ((0.9, "model"), (0.8, "network")):
        tested = off_by(places, model=[1.0, 1.0], network=[error, error])
        assert backtest.averaged(tested, places, doubted=["network"])[1][0] == chosen


def test_a_network_of_few_values_is_doubted_and_the_chosen_method_forecasts(monkeypatch):
    doubts = []

    def averaged(tested, places, rules, doubted, nearby):
        doubts.append(doubted)
        naive = next(each for each in tested if each.name == "naive")
        return naive, ("naive",)

    monkeypatch.setattr(backtest, "averaged", averaged)
    options = pipeline.Options(rivals="simple", plan=training.Plan(steps=2))
    result = pipeline.run(made(waves(120)).table, options)
    assert backtest.best(result.tested).name != "naive"
    assert result.used == "naive"
    monkeypatch.setattr(problem, "MANY", 50)
    pipeline.run(made(waves(120)).table, options)
    assert doubts == [(pipeline.GRU,), ()]


@pytest.mark.parametrize(
    ("gru", "words"),
    [(1.5, "is 50% larger"), (3.0, "is 3.0 times as large"), (500.0, "is far larger")],
)
def test_the_verdict_says_how_much_larger_the_error_is(gru, words):
    places = backtest.Places.of(made(waves(200), horizon=6, folds=2))
    tested = [replace(each, name=each.name.replace("network", pipeline.GRU))
              for each in off_by(places, model=[1.0, 1.0], network=[gru, gru])]  # fmt: skip
    found = SimpleNamespace(tested=tested, used="model", model=SimpleNamespace(chosen=("model",)))
    assert verdict.verdict(found).endswith(f"model is, and the GRU's error {words}; the forecast is by: model")
    tested[0] = replace(tested[0], scores=replace(tested[0].scores, error=0.0))
    assert "the GRU's error is far larger" in verdict.verdict(found)


def test_rounding_is_no_band():
    assert results._texts(np.array([5 - 3e-15, 5.0, 5 + 3e-15])) == ["5", "5", "5"]
    assert results._texts(np.array([1e9 - 0.5, 1e9 + 0.5])) == ["999999999.5", "1000000000.5"]


def test_few_short_series_are_compared_from_more_origins_than_the_folds():
    task = made(waves(200), horizon=8, folds=3)
    nearby = backtest.quarters(task)
    assert (nearby.origins - task.first_origin(0)).tolist() == [14, 12, 10, 6, 4, 2, *range(-2, -33, -2)]
    method = rivals.SeasonalNaive(task, 12)
    found = backtest.tried(method, backtest.Places.of(task), nearby=nearby)
    there = np.abs(method.forecast(nearby.numbers, nearby.origins)[..., MIDDLE] - nearby.actual) / task.unit(0)
    assert found.errors[3:] == pytest.approx(there.mean((1, 2))[::-1])
    assert backtest.quarters(made(*[waves(200)] * 5, horizon=8, folds=3)) is None
    assert backtest.quarters(made(waves(200), horizon=8, folds=8)) is None
    short = made(waves(60), horizon=8, folds=1)
    assert min(backtest.quarters(short).origins) >= 60 // 2
    assert backtest.quarters(made(waves(40), horizon=8, folds=1)) is None


def test_a_method_that_learned_from_earlier_steps_is_not_tested_on_them():
    task = made(waves(200), horizon=8, folds=3)
    places, nearby = backtest.Places.of(task), backtest.quarters(task)
    linear = backtest.tried(rivals.Linear(task, *stored(task)), places, nearby=nearby)
    assert np.isnan(linear.errors).tolist() == [False] * 3 + [True] * 16 + [False] * 6


def test_bands_of_few_short_series_are_calibrated_on_more_origins_than_the_folds():
    """One fold of 12 steps has too few scores; those of the walk from earlier origins tell that bands are too narrow."""
    task = made(np.cumsum(noise(120)), horizon=12, folds=1, found=())
    places, nearby = backtest.Places.of(task), backtest.quarters(task)
    narrow, learned = rivals.Naive(task), rivals.Drift(task)
    narrow.forecast = lambda *there: conformal.applied(rivals.Naive(task).forecast(*there), np.full(MIDDLE, 0.1))
    learned.refits = False
    one, other = (backtest.tried(each, places, nearby=nearby) for each in (narrow, learned))
    assert one.factor[1] == pytest.approx(10, rel=0.4)
    assert (other.factor == 1).all()
    average, names = backtest.averaged([one, other], places, nearby=nearby)
    assert average.factor.tolist() == pytest.approx(one.factor.tolist(), rel=0.4)
    assert len(names) == 2


def test_methods_are_compared_as_if_they_had_been_tested_from_the_same_origins():
    """The one tested only where all have large errors is not worse for that."""
    places = backtest.Places.of(made(waves(200), horizon=6, folds=4))
    tested = off_by(places, everywhere=[1.0, 2.0, 40.0, 30.0], hard_ones=[5.0, 5.0, 30.0, 22.0])
    both = [tested[0], replace(tested[1], errors=np.where([True, True, False, False], np.nan, tested[1].errors))]
    usual = backtest._usual(both)
    assert np.exp(usual["hard ones"] - usual["everywhere"]) == pytest.approx((30 * 22 / 40 / 30) ** 0.5, rel=1e-3)
    usual = backtest._usual(tested)
    assert np.exp(usual["hard ones"] - usual["everywhere"]) == pytest.approx(
        (5 * 5 * 30 * 22 / 2 / 40 / 30) ** 0.25, rel=1e-2
    )


def test_no_model_sees_what_it_is_tested_on():
    one, other = waves(200), waves(200)
    other[200 - 18 :] += 100
    (first, ends), (second, _) = (stored(made(each)) for each in (one, other))
    assert ends == [200 - 18]
    assert torch.equal(first.values[: ends[0]], second.values[: ends[0]])
    assert first.scales[0].unit == second.scales[0].unit


def test_the_generating_process_beats_the_rivals_on_its_own_data():
    data = generated.generated()
    task = problem.Problem(data, 12, 4, (24,))
    its, ends = stored(task, (False, False))
    places = backtest.Places.of(task)
    methods = (generated.Process(task), rivals.Linear(task, its, ends), rivals.SeasonalNaive(task, 24))
    ideal, linear, naive = (backtest.tried(each, places).scores.crps for each in methods)
    assert ideal < 0.95 * linear < linear < naive


def test_short_series_are_forecast_and_not_tested():
    task = made(waves(200), waves(20))
    assert task.tested == [0]
    assert task.first_origin(1) == 20
    with pytest.raises(UsageError, match="the longest series has 20 steps; 37 are needed for 3 folds of 6 steps"):
        made(waves(20)).check()
    assert clock.Clock("number", 1).name() == "1"


def test_a_run_tells_what_it_does():
    seen = []
    options = pipeline.Options(horizon=6, folds=2, rivals="simple", plan=training.Plan(steps=2))
    pipeline.run(made(waves(120)).table, options, show=seen.append)
    assert [each.doing for each in seen if each.doing != "training"][:2] == ["back-test of naive", "back-test of drift"]
    assert [each.step for each in seen if each.doing == "training"] == [2]


@pytest.mark.parametrize(("minutes", "training", "rival"), [(None, 60, 20), ("0.5", 15, 1.5), ("10", 300, 20)])
def test_minutes_limit_all_that_a_run_does(minutes, training, rival):
    parser = argparse.ArgumentParser()
    arguments.add_arguments(parser)
    options = arguments.options(parser.parse_args(["--minutes", minutes] if minutes else []))
    assert (options.plan.seconds, options.rival_seconds) == (training, rival)
    of_python = anygru_lab.Forecaster(minutes=minutes and float(minutes))._options()
    assert (of_python.plan.seconds, of_python.rival_seconds) == (training, rival)
    given = arguments.options(parser.parse_args(["--minutes", "1", "--rival-seconds", "9"]))
    assert (given.plan.seconds, given.rival_seconds) == (30, 9)
