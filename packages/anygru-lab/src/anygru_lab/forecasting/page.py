"""The forecast as one HTML file with everything inside, to send to somebody: pictures, scores, numbers, the command's report."""

import base64
from html import escape

import numpy as np

from anygru.errors import printable

from .pipeline import Result
from .problem import HIGH, LOW, MIDDLE
from .verdict import verdict

MOST_ROWS = 200  # of the forecast; the rest is in forecast.csv
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
img { width: 100%; min-width: 40rem; } .picture { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; }
th, td { text-align: right; padding: .15rem .8rem; border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } tr.used { background: #fbeee6; font-weight: 600; }
.verdict { font-size: 1.1rem; } pre { white-space: pre-wrap; color: #555; }
"""


def written(result: Result, drawn: bytes, bars: bytes, lines: list[str]) -> str:
    """Return the page.

    Args:
        result: of a run.
        drawn, bars: the pictures, PNG.
        lines: the command's report.
    """
    names = ", ".join(result.problem.table.channels)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Forecast of {_safe(names)}</title><style>{_STYLE}</style></head><body>
<h1>Forecast of {_safe(names)}</h1>
<p>{_safe(result.problem.table.describe())}</p>
<p class="verdict">{_sentence(verdict(result))}</p>
{_picture("history, back-test and forecast", drawn)}
<h2>The forecast</h2>
{_numbers(result)}
<h2>The back-test</h2>
<p>{result.problem.folds} forecasts of {result.problem.horizon} steps for each series, from origins at its end, by methods that
had not seen what came.</p>
{_scores(result)}
{_picture("errors of the methods", bars)}
<p>Error: of the median, in units of the seasonal naive error in training (MASE). CRPS: of the whole band, in the same units. In
band: values between the 10 % and the 90 % quantile, ideally 80 %; the bands of each fold are calibrated on the others.</p>
<h2>What was done</h2>
<pre>{_safe(chr(10).join(lines), keep_lines=True)}</pre>
</body></html>
"""


def _picture(alt: str, png: bytes) -> str:
    data = base64.b64encode(png).decode()
    return f'<div class="picture"><img alt="{alt}" src="data:image/png;base64,{data}"></div>'


def _sentence(text: str) -> str:
    return f"{_safe(text[:1].upper() + text[1:])}."


def _safe(text: str, keep_lines: bool = False) -> str:
    lines = text.split("\n") if keep_lines else [text]
    return "\n".join(escape(printable(line)) for line in lines)


def _numbers(result: Result) -> str:
    """The quantiles after the end of the data."""
    table, future = result.problem.table, result.future[result.used]
    found: list[tuple[str, str, list[str]]] = []
    for number, series in enumerate(table.series):
        times = table.clock.texts(table.clock.later(series.times[-1], result.problem.horizon))
        for channel, name in enumerate(table.channels):
            label = " ".join(filter(None, [series.name, name if len(table.channels) > 1 else ""]))
            rows = _alike(future[number][:, channel][:, [LOW, MIDDLE, HIGH]])
            found += [(label, time, row) for time, row in zip(times, rows, strict=True)]
    several = any(label for label, _, _ in found)  # a series alone needs no name
    head = f"<tr>{'<th>series</th>' * several}<th>time</th><th>10 %</th><th>median</th><th>90 %</th></tr>"
    body = ""
    for label, time, row in found[:MOST_ROWS]:
        cells = "".join(f"<td>{each}</td>" for each in row)
        body += f"<tr>{f'<td>{_safe(label)}</td>' * several}<td>{_safe(time)}</td>{cells}</tr>"
    more = f"<p>{len(found) - MOST_ROWS:,} more rows are in forecast.csv.</p>" if len(found) > MOST_ROWS else ""
    return f"<table>{head}{body}</table>{more}"


def _alike(numbers: np.ndarray) -> list[list[str]]:
    """Write numbers with as many decimals as give the largest of them four digits, so that they are under each other."""
    largest = float(np.abs(numbers).max())
    if 0 < largest < 1e-4:
        return [[f"{each:.3e}" for each in row] for row in numbers]
    decimals = max(0, 3 - int(np.floor(np.log10(largest)))) if largest else 0
    return [[f"{each:,.{decimals}f}" for each in row] for row in numbers]


def _scores(result: Result) -> str:
    head = "<tr><th>method</th><th>error</th><th>CRPS</th><th>in band</th></tr>"
    body = ""
    for each in sorted(result.tested, key=lambda each: each.scores.error):
        cells = f"<td>{each.scores.error:.3f}</td><td>{each.scores.crps:.3f}</td><td>{each.scores.coverage:.1%}</td>"
        body += f"<tr{' class=used' if each.name == result.used else ''}><td>{_safe(each.name)}</td>{cells}</tr>"
    return f"<table>{head}{body}</table>"
