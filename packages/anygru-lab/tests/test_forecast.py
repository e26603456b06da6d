"""`anygru forecast` and `anygru_lab.forecast`: what they print, write and return."""

import base64
import contextlib
import csv
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

import anygru_lab
from anygru.cli import UsageError, main
from anygru.errors import how_to_install

FAST = ["--steps", 30, "--hidden", 8, "--rivals", "simple"]


def wave(steps, season=7, seed=0, lasting=0.0):
    random = np.random.default_rng(seed)
    values, rest = np.empty(steps), 0.0
    for step in range(steps):
        rest = lasting * rest + 0.3 * random.standard_normal()
        values[step] = 10 + 3 * np.sin(2 * np.pi * step / season) + rest
    return values


def days(steps, start="2024-01-01"):
    return [str(each) for each in np.datetime64(start) + np.arange(steps)]


@pytest.fixture
def sales(tmp_path):
    """Two shops of 120 and 140 days with a weekly course, and two weeks of known prices beyond them."""
    path = tmp_path / "sales.csv"
    with open(path, "w") as out:
        out.write("date,shop,sales,price\n")
        for number, shop in enumerate(("north", "south")):
            steps = 120 + 20 * number
            price = np.random.default_rng(number).integers(0, 2, steps + 14)
            values = wave(steps, seed=number) + 5 * price[:steps]
            for step, day in enumerate(days(steps + 14)):
                out.write(f"{day},{shop},{f'{values[step]:.4f}' if step < steps else ''},{price[step]}\n")
    return path


@pytest.fixture
def command(tmp_path, capsys):
    pytest.importorskip("polars")

    def call(*arguments, status=0):
        assert main(["forecast", *map(str, arguments)]) == status
        said = capsys.readouterr()
        return said.out if status == 0 else said.err

    return call


def rows(path):
    with open(path, newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_command_learns_and_writes_its_results(command, sales, tmp_path):
    out = tmp_path / "out"
    arguments = [sales, "--by", "shop", "--known", "price", "--horizon", 7, "--folds", 3, *FAST, "--out", out]
    said = command(*arguments)
    assert "data: 2 series of 120 to 140 steps of 1 day, sales" in said
    assert "season 7 (week): yes, " in said
    assert "season 365 (year): no, 730 steps are needed to see it, and 140 are there" in said
    assert "forecasts reach 7 steps ahead; back-test of 3 origins a series" in said
    for name in ("GRU", "naive", "seasonal naive (7)", "drift", "linear"):
        assert re.search(rf"^{re.escape(name)} +\d\.\d+ +\d\.\d+ +[\d.]+%", said, re.MULTILINE), name
    assert "the forecast is by: " in said
    found = rows(out / "forecast.csv")
    assert len(found) == 2 * (3 + 1) * 7
    last = found[-1]
    assert (last["series"], last["part"], last["time"], last["after"]) == (
        "south",
        "forecast",
        "2024-05-26",
        "2024-05-19",
    )
    assert [row["value"] == "" for row in found] == [row["part"] == "forecast" for row in found]
    tested = next(row for row in found if row["part"] == "back-test" and row["series"] == "north")
    assert tested["time"] == days(120)[120 - 21]
    levels = [float(last[name]) for name in last if name.startswith("q")]
    assert levels == sorted(levels)
    scores = json.loads((out / "scores.json").read_text())
    errors = {name: each["error"] for name, each in scores["scores"].items()}
    assert scores["used"] == ("median of the best" if "median of the best" in errors else min(errors, key=errors.get))
    page = (out / "forecast.html").read_text()
    pictures = [base64.b64decode(each) for each in re.findall(r"data:image/png;base64,([^\"]+)", page)]
    assert pictures == [(out / name).read_bytes() for name in ("forecast.png", "scores.png")]
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    body = page.partition("<h2>The forecast</h2>")[2].partition("<h2>")[0]
    numbers = [re.findall(r"<td>(-?[\d,]+\.?\d*)</td>", row) for row in body.split("<tr>")[2:]]
    assert {len(row) for row in numbers} == {3}
    assert len({len(each.partition(".")[2]) for each in numbers[0]}) == 1
    again = tmp_path / "again"
    command(*arguments[:-1], again)
    assert (again / "forecast.csv").read_text() == (out / "forecast.csv").read_text()


def test_known_prices_make_the_forecast_better(command, sales, tmp_path):
    errors = {}
    for name, options in (("with", ["--known", "price"]), ("without", ["--target", "sales"])):
        path = sales
        if name == "without":
            path = tmp_path / "values.csv"
            kept = [line for line in sales.read_text().splitlines() if ",," not in line]
            path.write_text("\n".join(kept) + "\n")
        command(path, "--by", "shop", *options, "--horizon", 7, "--folds", 3, "--steps", 150, "--hidden", 16, "--rivals",
                "simple", "--out", tmp_path / name)  # fmt: skip
        errors[name] = json.loads((tmp_path / name / "scores.json").read_text())["scores"]["GRU"]["error"]
    assert errors["with"] < 0.7 * errors["without"]


def test_the_best_is_used_and_the_command_says_whether_it_is_the_gru(command, tmp_path):
    path = tmp_path / "walk.csv"
    walk = np.random.default_rng(0).standard_normal(200).cumsum()
    path.write_text("t,x\n" + "".join(f"{t},{x}\n" for t, x in zip(days(200), walk, strict=True)))
    said = command(path, *FAST, "--best", "--out", tmp_path / "best")
    best = json.loads((tmp_path / "best/scores.json").read_text())
    alone = {name: each["error"] for name, each in best["scores"].items() if name != "median of the best"}
    first = min(alone, key=alone.get)
    assert best["used"] == first
    if first == "GRU":
        assert "the GRU is the best single method here" in said
    else:
        assert f"the GRU is not the best here: {first} is, and the GRU's error is " in said
    assert "by: GRU\n" in command(path, *FAST, "--use", "gru", "--out", tmp_path / "gru")
    assert "by: median of the best of " in command(path, *FAST, "--out", tmp_path / "average")


def test_a_model_forecasts_new_rows_and_goes_on_learning(command, tmp_path):
    values = wave(200)

    def write(name, steps):
        path = tmp_path / name
        path.write_text("t,x\n" + "".join(f"{t},{x}\n" for t, x in zip(days(steps), values[:steps], strict=True)))
        return path

    out = tmp_path / "out"
    command(write("old.csv", 150), "--use", "gru", *FAST, "--out", out)
    before = rows(out / "forecast.csv")[-7:]
    said = command(write("same.csv", 150), "--model", out, "--out", tmp_path / "same")
    assert "forecast without training 7 steps ahead, by: GRU" in said
    after = rows(tmp_path / "same/forecast.csv")
    assert [row["time"] for row in after] == [row["time"] for row in before]
    np.testing.assert_allclose([float(row["q0.5"]) for row in after], [float(row["q0.5"]) for row in before], rtol=1e-4)
    new = write("new.csv", 200)
    command(new, "--model", out)
    plain = rows(out / "forecast.csv")
    assert (plain[0]["after"], plain[0]["time"]) == (days(200)[-1], "2024-07-19")
    assert "trained on, and forecast 7 steps ahead" in command(new, "--model", out, "--update", "--steps", 5)
    updated = rows(out / "forecast.csv")
    assert [row["q0.5"] for row in updated] != [row["q0.5"] for row in plain]
    assert "leave out --horizon" in command(new, "--model", out, "--horizon", 3, status=2)
    hourly = tmp_path / "hours.csv"
    hourly.write_text("t,x\n" + "".join(f"2024-01-01 {hour:02}:00,1\n" for hour in range(24)))
    assert "the model's steps are 1 day, and those of" in command(hourly, "--model", out, status=2)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "cannot read"),
        (b"not a model", "holds no model of `anygru forecast`, or a damaged one"),
    ],
)
def test_a_damaged_model_is_one_line(command, tmp_path, contents, words):
    (tmp_path / "t.csv").write_text("t,x\n1,2\n")
    (tmp_path / "model.safetensors").write_bytes(contents)
    error = command(tmp_path / "t.csv", "--model", tmp_path, status=2)
    assert words in error or "damaged" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "contents"), [("t.parquet", b"PAR1 nothing"), ("t.csv", b""), ("t.csv", b"a,b\n1,2,3,4\n")]
)
def test_a_damaged_file_is_one_line(command, tmp_path, name, contents):
    (tmp_path / name).write_bytes(contents)
    error = command(tmp_path / name, "--out", tmp_path / "out", status=2)
    assert error.startswith(f"anygru forecast: error: cannot read '{tmp_path / name}'")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["2024-01-01,1"], "the longest series has 1 step; "),
        ([f"{day},NA" for day in days(30)], "column 'x' of .* has no values at all"),
        ([f"{day}," for day in days(30)], "column 'x' of .* has no values at all"),
    ],
)
def test_tables_without_enough_are_one_line(command, tmp_path, lines, words):
    (tmp_path / "t.csv").write_text("t,x\n" + "\n".join(lines) + "\n")
    error = command(tmp_path / "t.csv", status=2)
    assert re.search(words, error)
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "values", [np.full(60, 5.0), 1e9 + 1e8 * wave(60), 1e-9 * wave(60), np.r_[np.zeros(50), wave(10)]]
)
def test_odd_values_are_forecast(command, tmp_path, values):
    (tmp_path / "t.csv").write_text(
        "t,x\n" + "".join(f"{t},{x!r}\n" for t, x in zip(days(60), values.tolist(), strict=True))
    )
    command(tmp_path / "t.csv", *FAST, "--out", tmp_path / "out")
    found = rows(tmp_path / "out/forecast.csv")
    middle = np.array([float(row["q0.5"]) for row in found])
    assert np.isfinite(middle).all()
    assert (np.abs(middle - values[-10:].mean()) <= 4 * np.ptp(values)).all()


def test_results_are_there_although_nobody_reads_the_scores(tmp_path, monkeypatch):
    from anygru_lab.forecasting import verdict

    def closed(result):
        raise BrokenPipeError

    monkeypatch.setattr(verdict, "table_of_scores", closed)
    (tmp_path / "t.csv").write_text("t,x\n" + "".join(f"{day},7\n" for day in days(60)))
    with contextlib.suppress(BrokenPipeError):
        main(["forecast", str(tmp_path / "t.csv"), *map(str, FAST), "--out", str(tmp_path / "out"), "--no-progress"])
    assert {each.name for each in (tmp_path / "out").iterdir()} >= {
        "forecast.html",
        "forecast.csv",
        "model.safetensors",
    }


def test_nothing_is_learned_from_values_that_never_change(command, tmp_path):
    (tmp_path / "t.csv").write_text("t,x\n" + "".join(f"{day},7\n" for day in days(60)))
    said = command(tmp_path / "t.csv", "--rivals", "simple", "--out", tmp_path / "out")
    assert "trained 0 steps: the values of each series repeat exactly" in said
    assert "all methods are equally good here" in said


def test_series_that_are_too_short_for_the_back_test_are_told(command, tmp_path):
    rows = [f"{day},{shop},{n % 5}\n" for shop, number in (("a", 60), ("b", 4)) for n, day in enumerate(days(number))]
    (tmp_path / "t.csv").write_text("t,shop,x\n" + "".join(rows))
    said = command(tmp_path / "t.csv", "--by", "shop", "--rivals", "simple", "--steps", 5, "--out", tmp_path / "out")
    assert "left out of the back-test: 1 series of fewer than" in said


@pytest.mark.parametrize("size", [1e9, 1e-9])
def test_nothing_is_learned_from_values_that_repeat_but_for_rounding(size, command, tmp_path):
    values = [size * (2 + math.sin(2 * math.pi * n / 7)) for n in range(600)]
    (tmp_path / "t.csv").write_text("t,x\n" + "".join(f"{d},{v!r}\n" for d, v in zip(days(600), values, strict=True)))
    said = command(tmp_path / "t.csv", "--rivals", "simple", "--out", tmp_path / "out")
    assert "trained 0 steps: the values of each series repeat exactly" in said
    rows = (tmp_path / "out" / "forecast.csv").read_text().splitlines()[-7:]
    assert [float(row.split(",")[12]) for row in rows] == pytest.approx(values[600 % 7 :][:7], rel=1e-4)


def test_what_is_wrong_with_a_table_is_said_before_torch_is_loaded(tmp_path):
    (tmp_path / "t.csv").write_text("t,x\n1,a\n2,b\n")
    code = ("import sys; from anygru.cli import main; main(['forecast', 't.csv']); "
            "assert 'polars' in sys.modules and 'torch' not in sys.modules")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "holds 'a'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--horizon", "0"], "--horizon must be from 1"),
        (["--out", ""], "--out is empty"),
        (["--seconds", "0"], "--seconds must be above 0"),
        (["--minutes", "1", "--seconds", "9"], "--minutes and --seconds both limit the time"),
        (["--season", "x"], "--season must be whole numbers from 1"),
        (["--time", "day"], "--time, --by, --target, --known and --past name columns of a FILE"),
        (["--update"], "--update goes on with a model"),
        (["--model", "x"], "--model needs the FILE"),
        (["absent.csv"], "there is no file 'absent.csv'"),
        (["--folds", "1000"], "are needed for 1,000 folds"),
        (["--country", "XX"], "XX|holidays"),
    ],
)
def test_bad_arguments_are_named(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["forecast", *arguments]) == 2
    assert re.search(words, capsys.readouterr().err)


def test_a_missing_package_is_named_with_the_way_to_install_it(tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    (tmp_path / "t.csv").write_text("t,x\n1,2\n")
    assert main(["forecast", str(tmp_path / "t.csv")]) == 2
    error = capsys.readouterr().err
    assert f"needs the package polars: {how_to_install('forecast')}" in error


# Python


def frame(steps=150, **columns):
    polars = pytest.importorskip("polars")
    start = np.datetime64("2024-01-01", "us")
    times = polars.Series(start + np.arange(steps) * np.timedelta64(1, "D")).cast(polars.Date)
    return polars.DataFrame({"day": times, "x": wave(150)[:steps], **columns})


def forecaster(**options):
    return anygru_lab.Forecaster(**{"steps": 30, "hidden": 8, "rivals": "simple", "use": "gru"} | options)


def test_a_frame_is_forecast_as_a_frame():
    polars = pytest.importorskip("polars")
    given = frame()
    fitted = forecaster(horizon=7).fit(given)
    found = fitted.predict()
    assert found.columns[:2] == ["day", "q0.05"]
    assert found["day"].dtype == polars.Date
    assert str(found["day"][0]) == "2024-05-30"
    assert found.height == 7
    assert fitted.scores_["GRU"].error > 0
    assert fitted.predict(given.head(140)).height == 7
    assert len(fitted.plot().axes) == 1
    assert fitted.update(given, steps=2).predict().height == 7
    weeks = given.gather_every(7)
    for again in (fitted.predict, fitted.update):
        with pytest.raises(UsageError, match="the model's steps are 1 day, and those of the frame are 7 days"):
            again(weeks)


def test_a_frame_of_pandas_gives_one_of_pandas():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=150, freq="D")
    found = forecaster().fit(pandas.DataFrame({"x": wave(150)}, index=index)).predict()
    assert type(found) is pandas.DataFrame
    assert found["index"].iloc[0] == pandas.Timestamp("2024-05-30")
    polars = pytest.importorskip("polars")
    naive = polars.DataFrame({"t": index.to_numpy(), "x": wave(150)})
    assert forecaster(steps=1).fit(naive).predict().schema["t"] == naive.schema["t"]


@pytest.mark.parametrize("step", ["h", "D"])
def test_times_of_a_forecast_have_the_zone_of_the_frame(step):
    pandas = pytest.importorskip("pandas")
    times = pandas.date_range("2024-03-28", periods=62, freq=step, tz="Europe/Berlin")
    fitted = forecaster(horizon=2, steps=1).fit(pandas.DataFrame({"t": times[:60], "x": wave(60)}))
    assert fitted.predict()["t"].tolist() == times[60:].tolist()
    assert str(fitted.predict()["t"].dt.tz) == "Europe/Berlin"


def test_frames_of_pandas_with_several_indices_and_series_are_taken():
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-01", periods=60, freq="D")
    found = forecaster(steps=1, horizon=2).fit(pandas.Series(wave(60), index=days, name="sold")).predict()
    assert found["index"].iloc[0] == pandas.Timestamp("2024-03-01")
    index = pandas.MultiIndex.from_product([[1, 10], ["x", "y"], days], names=["shop", "item", "day"])
    given = pandas.DataFrame({"sold": np.tile(wave(60), 4)}, index=index)
    found = forecaster(steps=1, horizon=2, by=["shop", "item"], time="day").fit(given).predict()
    assert found.columns[:3].tolist() == ["shop", "item", "day"]
    assert found[["shop", "item"]].drop_duplicates().values.tolist() == [[1, "x"], [1, "y"], [10, "x"], [10, "y"]]
    assert found["shop"].dtype == given.reset_index()["shop"].dtype
    with pytest.raises(UsageError, match="has several columns 'x'"):
        forecaster().fit(pandas.DataFrame(np.ones((9, 3)), columns=["t", "x", "x"]))
    with pytest.raises(UsageError, match="the frame has one column, 'x'; a table has times and values"):
        forecaster().fit(pandas.DataFrame({"x": wave(60)}))


def test_a_forecaster_is_an_estimator_of_scikit_learn():
    made = forecaster(season=(7, 30), known=["promo"])
    again = type(made)(**made.get_params()).set_params(horizon=3)
    assert (again.season, again.known, again.horizon, made.horizon) == ((7, 30), ["promo"], 3, None)
    with pytest.raises(UsageError, match="has no argument 'horizn'; it has horizon, known"):
        made.set_params(horizn=3)


def test_several_series_and_channels_are_rows():
    polars = pytest.importorskip("polars")
    both = polars.concat([frame(y=-wave(150), shop=["a"] * 150), frame(y=-wave(150), shop=["b"] * 150)])
    found = forecaster(by="shop", horizon=3).fit(both).predict()
    assert found.select("shop", "channel").rows() == [(s, c) for s in "ab" for c in "xy" for _ in range(3)]


def test_a_saved_forecaster_goes_on(tmp_path):
    given = frame()
    fitted = forecaster(horizon=7, zone="Europe/Berlin", last=100).fit(given)
    fitted.save(tmp_path / "model")
    loaded = anygru_lab.Forecaster.load(tmp_path / "model")
    assert loaded.predict(given).equals(fitted.predict(given))
    assert (loaded.horizon, loaded.zone, loaded.last) == (7, "Europe/Berlin", 100)


def test_texts_of_a_frame_are_read_as_those_of_a_file():
    polars = pytest.importorskip("polars")
    texts = polars.Series([f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in days(30)])
    given = polars.DataFrame({"day": texts, "x": [f"$1,{value:06.2f}" for value in wave(30)]})
    assert str(forecaster(horizon=2, folds=1).fit(given).predict()["day"][0]) == "2024-01-31"
    with pytest.raises(UsageError, match="can be read in two ways"):
        forecaster().fit(given.head(9))
    assert forecaster(horizon=1, folds=1, day_first=True).fit(given.head(9)).predict().height == 1


def test_one_call_does_it():
    found = anygru_lab.forecast(frame(60), horizon=2, season=7)
    assert found.height == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"use": "worst"}, "use must be one of average, best, gru, got 'worst'"),
        ({"horizon": 0}, "horizon must be a whole number from 1, got 0"),
        ({"known": "price"}, "known and past are lists of columns"),
        ({"season": "7"}, "season must be whole numbers from 1, as 24 or .*, got '7'"),
        ({"season": 0}, "season must be whole numbers from 1, as 24 or .*, got 0"),
        ({"minutes": 0}, "minutes must be above 0"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(UsageError, match=words):
        forecaster(**options).fit(frame())
    from anygru_lab.forecasting.api import NotFitted

    with pytest.raises(NotFitted, match=r"call fit\(frame\) first"):
        forecaster().predict()


# The bands


def test_bands_hold_what_they_promise_on_data_of_a_known_process():
    """Calibrated bands hold 80 % of the values that the process makes next, within five points, and so says the back-test."""
    from anygru_lab.forecasting import pipeline
    from anygru_lab.forecasting.tables.clock import Clock
    from anygru_lab.forecasting.tables.table import Series, Table
    from anygru_lab.forecasting.training import Plan

    series = []
    values = [wave(480 + 12, 12, seed, lasting=0.7) for seed in range(16)]
    for number, each in enumerate(values):
        series.append(Series(f"s{number}", each[:480, None], np.arange(480), np.zeros((480, 0)), np.zeros((480, 0))))
    task = Table(tuple(series), ("x",), Clock("number", 1))
    options = pipeline.Options(
        season=(12,), horizon=12, folds=8, use="gru", rivals="simple", plan=Plan(steps=40, hidden=8)
    )
    result = pipeline.run(task, options)
    low, high = result.future["GRU"][:, :, 0, 1], result.future["GRU"][:, :, 0, -2]
    next_values = np.stack([each[480:] for each in values])
    assert ((low <= next_values) & (next_values <= high)).mean() == pytest.approx(
        0.8, abs=0.07
    )  # of 192 that go together
    for each in result.tested:
        assert each.scores.coverage == pytest.approx(0.8, abs=0.05), each.name
