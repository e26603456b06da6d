"""`anygru forecast`: tables, seasons, quantiles, rivals, and a data set whose best forecast is known."""

import csv
import json
import re

import numpy as np
import pytest
import torch

from anygru.cli import UsageError, main
from anygru_lab.forecasting import backtest, model, rivals, series
from anygru_lab.forecasting.series import Series, Table


def waves(steps=300, season=12, seed=0, name="a"):
    random = np.random.default_rng(seed)
    time = np.arange(steps)
    values = np.stack([np.sin(2 * np.pi * time / season), np.cos(2 * np.pi * time / season)], 1)
    return Series(name, 5 + 3 * values + 0.1 * random.standard_normal(values.shape), tuple(map(str, time)))


def write(path, rows, header="day,city,power,heat"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


# Tables


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_of_a_table_are_series_in_the_order_of_time(tmp_path, kind):
    polars = pytest.importorskip("polars")
    rows = [
        [f"2024-01-{day:02}", city, 10 * day, -day]
        for city in ("b", "a")
        for day in (3, 1, 2)
        if (day, city) != (3, "a")
    ]
    path = write(tmp_path / "t.csv", rows)
    if kind == "parquet":
        polars.read_csv(path, try_parse_dates=True).write_parquet(tmp_path / "t.parquet")
        path = tmp_path / "t.parquet"
    table = series.read(str(path), None, "city", [])
    assert table.channels == ("power", "heat")
    assert [(each.name, each.values.tolist(), each.times) for each in table.series] == [
        ("a", [[10, -1], [20, -2]], ("2024-01-01", "2024-01-02")),
        ("b", [[10, -1], [20, -2], [30, -3]], ("2024-01-01", "2024-01-02", "2024-01-03")),
    ]
    assert table.describe() == "2 series of 2 to 3 steps, channels power, heat"
    assert series.read(str(path), "day", "city", ["heat"]).series[0].values.shape == (2, 1)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([[1, "a", 2, 3]], {"group": "town"}, "has no column 'town'; it has 'day', 'city', 'power', 'heat'"),
        (
            [[1, "a", 2, 3]],
            {"targets": ["city"]},
            "column 'city' of .* cannot be forecast: 'city' holds text, such as 'a'",
        ),
        (
            [[1, "a", 2, 3], [2, "a", "", 3]],
            {},
            "column 'power' of .* lacks 1 value, the first in row 2 .*; fill them first",
        ),
        ([[1, "a", 2, 3], [2, "a", "NaN", 3]], {}, "column 'power' of .* lacks 1 value"),
        ([[1, "a", 2, 3], [2, "a", 1e200, 3]], {}, "column 'power' of .* lacks 1 value"),
        ([[1, "a", "1.5", "x"], [2, "a", "-", "x"]], {"targets": ["power"]}, "'power' holds text, such as '-'"),
        ([[1, "a", 2, 3], [1, "a", 2, 3]], {"group": "city"}, "the time '1' stands twice in 'a'$"),
        ([[1, "a", 2, 3], [1, "b", 2, 3]], {}, "the time '1' stands twice in .*name the --group column"),
        ([[1, "a", 2, 3], ["", "a", 2, 3]], {}, "column 'day' of .* lacks 1 value, the first in row 2"),
        ([["day 9", "a", 2, 3], ["day 10", "a", 2, 3]], {}, "column 'day' of .* is text that would be sorted as words"),
        ([], {}, "has no rows"),
    ],
)
def test_a_table_that_cannot_be_forecast_is_named(tmp_path, rows, options, words):
    pytest.importorskip("polars")
    path = write(tmp_path / "t.csv", rows)
    with pytest.raises(UsageError, match=words):
        series.read(str(path), None, options.get("group"), options.get("targets", []))


@pytest.mark.parametrize(
    "text",
    [
        "t,power,heat\n1,1.5,2\n2,2.5,3\n",
        "t;power;heat\n1;1,5;2\r\n2;2,5;3\r\n",
        "t\tpower\theat\n1\t1.5\t2\n2\t2.5\t3\n",
    ],
)
def test_fields_end_with_commas_semicolons_or_tabs(tmp_path, text):
    pytest.importorskip("polars")
    (tmp_path / "t.csv").write_text(text)
    table = series.read(str(tmp_path / "t.csv"), None, None, [])
    assert (table.channels, table.series[0].values.tolist()) == (("power", "heat"), [[1.5, 2], [2.5, 3]])


def test_a_column_that_is_left_out_is_named(tmp_path):
    pytest.importorskip("polars")
    path = str(write(tmp_path / "t.csv", [[1, "a", 1, 2], [2, "a", "NA", 3]]))
    table = series.read(path, None, "city", [])
    assert table.channels == ("heat",)
    assert table.remark == "; not forecast, since they are no numbers: 'power'"
    (tmp_path / "t.csv").write_bytes("t,x\n1,2\n".encode("utf-16"))
    with pytest.raises(UsageError, match="it is UTF-16; write it as UTF-8"):
        series.read(path, None, None, [])


def days(*numbers, month=1):
    return [[f"2024-{month:02}-{day:02}", "a", day, -day] for day in numbers]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (days(1, 2, 4, 5, 8), "lacks 3 rows, the first at 2024-01-03 (a step is 1 day); --gaps fill repeats"),
        ([[t, "a", 1, 2] for t in (10, 20, 30, 50)], "lacks 1 row, the first at 40 (a step is 10)"),
        ([[t, "a", 1, 2] for t in (0.1, 0.2, 0.3, 0.5)], "lacks 1 row, the first at 0.4 (a step is 0.1)"),
        ([[t, "a", 1, 2] for t in (1, 2, 3, 3.5)], "not equally far apart: 3.5 follows 3.0, and a step is 1;"),
        (
            [[f"2024-01-01 {t}:00", "a", 1, 2] for t in ("00:00", "00:15", "00:30", "01:00")],
            "lacks 1 row, the first at 2024-01-01 00:45:00 (a step is 15 minutes)",
        ),
        (
            [[f"2024-{m:02}-01", "a", 1, 2] for m in (1, 2, 3, 5)],
            "lacks 1 row, the first at 2024-04-01 (a step is 1 month)",
        ),
        (
            [[f"2024-{day}", "a", 1, 2] for day in ("03-31", "06-30", "12-31")],
            "lacks 1 row, the first at 2024-09-30 (a step is 3 months)",
        ),
    ],
)
def test_a_missing_row_is_named(tmp_path, rows, words):
    pytest.importorskip("polars")
    with pytest.raises(UsageError, match=re.escape(words)):
        series.read(str(write(tmp_path / "t.csv", rows)), None, None, [])


@pytest.mark.parametrize(
    "times",
    [
        ["2023-11-30", "2023-12-31", "2024-01-31", "2024-02-29"],  # ends of months
        ["2020-05-01", "2021-05-01", "2022-05-01"],
        ["2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z", "2024-01-01T01:59:59Z"],  # a clock that is not exact
        [3, 1, 2],
        [7],
    ],
)
def test_equal_steps_miss_no_rows(tmp_path, times):
    pytest.importorskip("polars")
    table = series.read(str(write(tmp_path / "t.csv", [[t, "a", 1, 2] for t in times])), None, None, [])
    assert len(table.series[0]) == len(times)
    assert table.remark == "; not forecast, since they are no numbers: 'city'"


def test_gaps_are_filled_with_the_row_before_or_ignored(tmp_path):
    pytest.importorskip("polars")
    rows = [*days(1, 3, 4, 5), ["2024-01-06", "a", "", 0], *days(31), *[[d, "b", p, h] for d, _, p, h in days(8, 9)]]
    rows[5][0] = "2024-01-07"
    path = str(write(tmp_path / "t.csv", rows))
    table = series.read(path, None, "city", [], "fill")
    assert table.remark == "; filled 1 row; filled 1 value"
    assert table.series[0].values.tolist() == [[1, -1], [1, -1], [3, -3], [4, -4], [5, -5], [5, 0], [31, -31]]
    assert table.series[0].times == tuple(f"2024-01-0{day}" for day in range(1, 8))
    assert len(table.series[1]) == 2
    with pytest.raises(UsageError, match="column 'power' of .* lacks 1 value"):
        series.read(path, None, "city", [], "ignore")
    assert series.read(path, None, "city", ["heat"], "ignore").series[0].values[:, 0].tolist() == [
        -1,
        -3,
        -4,
        -5,
        0,
        -31,
    ]
    months = write(tmp_path / "m.csv", [[f"2024-{day}", "a", 1, 2] for day in ("01-31", "02-29", "03-31", "05-31")])
    filled = series.read(str(months), None, None, [], "fill").series[0].times
    assert filled == ("2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31")


def test_times_that_are_durations_or_no_times(tmp_path):
    polars = pytest.importorskip("polars")
    path = str(tmp_path / "t.parquet")
    lists = polars.Series([[1], [2], [3]])
    frame = polars.DataFrame({"t": polars.Series([10, 20, 40]).cast(polars.Duration("ms")), "l": lists, "x": [1, 2, 3]})
    frame.write_parquet(path)
    with pytest.raises(UsageError, match=r"lacks 1 row, the first at 0.03 \(a step is 0.01\)"):
        series.read(path, None, None, [])
    with pytest.raises(UsageError, match=r"column 'l' of .* holds no times but List\(Int64\)"):
        series.read(path, "l", None, [])


def test_what_cannot_be_filled_is_refused_and_words_are_remarked(tmp_path):
    pytest.importorskip("polars")
    path = str(write(tmp_path / "t.csv", [[t, "a", 1, 2] for t in (1, 2, 3, 1000)]))
    with pytest.raises(UsageError, match="lacks 996 rows, the first at 4: more than it has"):
        series.read(path, None, None, [], "fill")
    path = str(write(tmp_path / "t.csv", [[1, "a", "", 2], [2, "a", 1, 2]]))
    with pytest.raises(UsageError, match="begins with a missing value"):
        series.read(path, None, None, [], "fill")
    words = series.read(str(write(tmp_path / "t.csv", [["w1", "a", 1, 2], ["w3", "a", 1, 2]])), None, None, [])
    assert (
        words.remark
        == "; missing rows are not noticed, since 'day' holds text; not forecast, since they are no numbers: 'city'"
    )


def test_a_target_named_twice_is_one(tmp_path):
    pytest.importorskip("polars")
    path = write(tmp_path / "t.csv", [[1, "a", 2, 3], [2, "a", 4, 5]])
    assert series.read(str(path), None, None, ["heat", "heat"]).channels == ("heat",)


@pytest.mark.parametrize(
    ("name", "contents"), [("t.parquet", b"PAR1 nothing"), ("t.csv", b""), ("t.csv", b"a,b\n1,2,3,4\n")]
)
def test_a_damaged_file_is_one_line(tmp_path, capsys, name, contents):
    pytest.importorskip("polars")
    (tmp_path / name).write_bytes(contents)
    assert main(["forecast", str(tmp_path / name), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"anygru forecast: error: cannot read '{tmp_path / name}'")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_small_file_of_a_huge_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(series, "MOST_BYTES", 1 << 20)
    polars = pytest.importorskip("polars")
    polars.select(polars.repeat(0, 4_000_000, dtype=polars.Int8).alias("a")).write_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 1 << 20
    with pytest.raises(UsageError, match="holds 4,000,000 numbers, more than fit into"):
        series.read(str(tmp_path / "t.parquet"), None, None, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--horizon", "0"], "--horizon must be from 1"),
        (["--out", ""], "--out is empty"),
        (["--seconds", "0"], "--seconds must be above 0"),
        (["--time", "day"], "--time, --group and --target name columns of a FILE"),
        (["absent.csv"], "there is no file 'absent.csv'"),
        (["--folds", "1000"], "are needed for 1000 folds"),
    ],
)
def test_bad_arguments_are_named(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["forecast", *arguments]) == 2
    assert words in capsys.readouterr().err


# The parts

BAND = torch.linspace(-1, 1, len(model.QUANTILES)).expand(4, 1, -1)


def test_the_season_is_found():
    assert backtest.guess_season([waves(season=12), waves(200, season=12, seed=1)]) == 12
    assert backtest.guess_season(series.generated().series) == series.SEASON
    ramp = Series("a", np.arange(100.0)[:, None], ())
    with pytest.raises(UsageError, match="show no season"):
        backtest.guess_season([ramp])


def test_the_mean_of_the_last_seasons_takes_those_that_are_known():
    values = torch.arange(20.0)[:, None]
    found = model.naive(values, torch.tensor([3, 19]), horizon=2, season=3, seasons=3)
    assert found[:, :, 0].tolist() == [[1, 2], [14, 15]]


def test_the_naive_forecast_repeats_the_last_season():
    values = torch.arange(20.0)[:, None]
    found = model.naive(values, torch.arange(3, 20), horizon=5, season=3)
    assert found.shape == (17, 5, 1)
    assert found[-1, :, 0].tolist() == [17, 18, 19, 17, 18]
    assert found[0, :, 0].tolist() == [1, 2, 3, 1, 2]


def test_an_untrained_model_is_the_naive_forecast_with_its_band_and_quantiles_rise():
    torch.manual_seed(0)
    band = torch.randn(5, 2, len(model.QUANTILES)).sort(-1).values
    forecaster = model.Forecaster(2, 5, 3, 8, band)
    values = torch.randn(20, 2)
    at = torch.arange(3, 20)
    found = forecaster([values], [0], [at])
    expected = model.naive(values, at, 5, 3, model.SEASONS)
    assert found.shape == (17, 5, 2, len(model.QUANTILES))
    torch.testing.assert_close(found, expected[..., None] + band, atol=2e-3, rtol=0)
    forecaster.eval()
    for parameter in forecaster.parameters():
        torch.nn.init.normal_(parameter)
    found = forecaster([values], [0], [at])
    assert (found.diff(dim=-1) > 0).all()


def test_a_forecast_does_not_see_the_future():
    torch.manual_seed(0)
    forecaster = model.Forecaster(1, 4, 3, 8, BAND).eval()
    torch.nn.init.normal_(forecaster.head.weight)
    values = torch.randn(30, 1)
    changed = values.clone()
    changed[20:] += 1
    at = torch.arange(3, 30)
    before, after = forecaster([values], [0], [at]), forecaster([changed], [0], [at])
    assert torch.equal(before[:17], after[:17])  # after the steps 3 to 19
    assert not torch.equal(before[17:], after[17:])


def test_the_place_in_the_season_goes_on_in_a_window():
    torch.manual_seed(0)
    forecaster = model.Forecaster(1, 4, 3, 8, BAND)
    features = forecaster._features(torch.randn(30, 1), 0)
    later = forecaster._features(torch.randn(20, 1), 10)
    torch.testing.assert_close(features[10:, 2:], later[:, 2:], atol=1e-5, rtol=0)


def test_the_quantile_loss_is_least_at_the_quantiles():
    values = torch.from_numpy(np.random.default_rng(0).standard_normal(20_000))
    best = torch.quantile(values, torch.tensor(model.QUANTILES, dtype=torch.float64))
    least = model.pinball(best.expand(len(values), -1), values).mean(0)
    for shift in (-0.1, 0.1):
        assert (model.pinball((best + shift).expand(len(values), -1), values).mean(0) > least).all()
    # The CRPS of a normal distribution at its own values is 1 / sqrt(pi); eleven quantiles come near it.
    assert 2 * float(least.mean()) == pytest.approx(1 / np.sqrt(np.pi), rel=0.05)


def test_the_linear_model_finds_an_autoregression():
    random = np.random.default_rng(0)
    values = np.zeros((3000, 1))
    for step in range(1, len(values)):
        values[step] = 0.8 * values[step - 1] + 0.1 * random.standard_normal()
    found = rivals.Linear([values], horizon=3, season=4).forecast(values)
    middle = found[:, 0, model.QUANTILES.index(0.5)]
    np.testing.assert_allclose(middle, values[-1, 0] * 0.8 ** np.arange(1, 4), atol=0.02)
    deviations = 0.1 * np.sqrt(np.cumsum(0.64 ** np.arange(3)))
    width = found[:, 0, model.QUANTILES.index(0.9)] - found[:, 0, model.QUANTILES.index(0.1)]
    np.testing.assert_allclose(width, 2 * 1.2816 * deviations, rtol=0.1)


def test_scores_are_those_of_the_formulas():
    data = backtest.Scaled(Table((waves(200),), ("x", "y")), horizon=6, folds=3, season=12)
    values = data.values(data.table.series[0])

    def perfect(number, seen, origin):
        return np.repeat(values[origin : origin + 6, :, None], len(model.QUANTILES), -1)

    found = backtest.score(data, perfect)
    assert (found.error, found.crps, found.coverage) == (0, 0, 1)
    known = values[: 200 - 18]
    unit = np.abs(known[12:] - known[:-12]).mean(0)
    off = backtest.score(data, lambda *call: perfect(*call) + unit[:, None])
    assert off.error == pytest.approx(1)
    assert off.crps == pytest.approx(1)
    assert off.coverage == 0


def test_no_model_sees_what_it_is_tested_on():
    one, other = waves(200), waves(200)
    other.values[200 - 18 :] += 100
    for changed in (one, other):
        data = backtest.Scaled(Table((changed,), ("x", "y")), horizon=6, folds=3, season=12)
        assert len(data.training()[0]) == 200 - 18
    first, second = (backtest.Scaled(Table((each,), ("x", "y")), 6, 3, 12).training()[0] for each in (one, other))
    assert np.array_equal(first, second)


def test_the_generating_process_beats_the_rivals_on_its_own_data():
    from anygru_lab import forecast

    data = backtest.Scaled(series.generated(), 12, 4, series.SEASON)
    linear = rivals.Linear(data.training(), 12, series.SEASON)
    naive = rivals.SeasonalNaive(data.training(), 12, series.SEASON)
    ideal, lin, nai = (
        backtest.score(data, each).crps
        for each in (
            forecast._ideal(data),
            lambda number, values, origin: linear.forecast(values[:origin]),
            lambda number, values, origin: naive.forecast(values[:origin]),
        )
    )
    assert ideal < 0.95 * lin < lin < nai


# The whole


def test_the_job_learns_and_writes_its_results(tmp_path, capsys):
    pytest.importorskip("polars")
    random = np.random.default_rng(0)
    rows, lasting = [], np.zeros(2)
    for number, city in enumerate(("one", "two")):
        for step, values in enumerate(waves(400 + 60 * number, 8, number).values):
            lasting = 0.95 * lasting + 0.5 * random.standard_normal(2)  # what the naive forecast is a season late for
            rows.append([step, city, *(values + lasting)])
    path = write(tmp_path / "t.csv", rows)
    command = ["forecast", path, "--group", "city", "--steps", 60, "--hidden", 16, "--folds", 4, "--threads", 1]
    assert main(list(map(str, [*command, "--out", tmp_path / "out"]))) == 0
    printed = capsys.readouterr().out
    assert (
        "2 series of 400 to 460 steps, channels power, heat; a season has 8 steps; forecasts reach 8 steps ahead"
        in printed
    )
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert list(scores) == ["GRU", "linear", "seasonal naive"]
    assert scores["GRU"]["crps"] < 0.95 * scores["seasonal naive"]["crps"]
    with open(tmp_path / "out" / "forecast.csv") as lines:
        found = list(csv.DictReader(lines))
    assert len(found) == 2 * 5 * 8 * 2
    last = [row for row in found if row["series"] == "two" and row["after"] == "459" and row["channel"] == "power"]
    course = np.sin(2 * np.pi * np.arange(460, 468) / 8)
    assert np.corrcoef([float(row["q0.5"]) for row in last], course)[0, 1] > 0.9
    assert (tmp_path / "out" / "forecast.png").read_bytes().startswith(b"\x89PNG")
    again = tmp_path / "again"
    assert main(list(map(str, [*command, "--out", again]))) == 0
    assert (again / "forecast.csv").read_text() == (tmp_path / "out" / "forecast.csv").read_text()
