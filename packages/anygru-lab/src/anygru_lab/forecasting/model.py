"""The forecaster: a GRU reads a series, and at each step a head gives quantiles of all channels for the whole horizon.

After Wen et al. 2017, "A multi-horizon quantile recurrent forecaster". The quantiles are offsets from the mean of
the last seasons, and the untrained model gives that mean with the band of its errors.
"""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, softplus

from anygru import GRU

QUANTILES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BATCH = 32
STEPS_EACH = 8  # of a window, from which it is forecast: most of the time goes there
SEASONS = 7  # whose mean is the forecast that the model begins with
PEAK = 5e-3  # of the learning rate, which falls along half a cosine


class Forecaster(nn.Module):
    """Quantiles of the next steps of scaled series.

    Args:
        channels: numbers a step.
        horizon: steps to forecast.
        season: steps after which the course repeats.
        hidden: hidden size of the GRU.
        band: quantiles of the error of the mean of the last seasons [horizon, channels, quantiles].
    """

    def __init__(self, channels: int, horizon: int, season: int, hidden: int, band: Tensor) -> None:
        super().__init__()
        self.channels, self.horizon, self.season = channels, horizon, season
        self.gru = GRU(2 * channels + 2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon * channels * len(QUANTILES))
        nn.init.zeros_(self.head.weight)
        with torch.no_grad():
            steps = band.diff(dim=-1).clamp(min=1e-4)
            inverse_softplus = steps + torch.log(-torch.expm1(-steps))
            self.head.bias.copy_(torch.cat([band[..., :1], inverse_softplus], -1).flatten())

    def forward(self, series: Sequence[Tensor], starts: Sequence[int], at: Sequence[Tensor]) -> Tensor:
        """Forecasts after chosen steps.

        Args:
            series: tensors [steps, C] of any lengths above the season.
            starts: the number of the first step of each, for its place in the season.
            at: int64 [count] for each, the steps after which to forecast, from `season` on.

        Returns:
            [all counts together, horizon, C, quantiles], the quantiles rising.
        """
        outputs, _ = self.gru([self._features(each, start) for each, start in zip(series, starts, strict=True)])
        rows = torch.cat([output[steps - self.season] for output, steps in zip(outputs, at, strict=True)])
        rows = dropout(rows, 0.1, self.training)
        before = torch.cat(
            [naive(each, steps, self.horizon, self.season, SEASONS) for each, steps in zip(series, at, strict=True)]
        )
        raw = self.head(rows).view(len(rows), self.horizon, self.channels, len(QUANTILES))
        offsets = torch.cat([raw[..., :1], softplus(raw[..., 1:])], -1).cumsum(-1)
        return before.unsqueeze(-1) + offsets

    def _features(self, series: Tensor, start: int) -> Tensor:
        """Return [steps - season, 2 C + 2]: the values, how they differ from the last seasons, and the place in the season."""
        now = series[self.season :]
        usual = _mean_over_seasons(series, torch.arange(len(now)), self.season, SEASONS)
        place = 2 * math.pi * (torch.arange(len(now)) + start + self.season) / self.season
        return torch.cat([now, now - usual, torch.stack([place.sin(), place.cos()], 1)], 1)


def naive(series: Tensor, at: Tensor, horizon: int, season: int, seasons: int = 1) -> Tensor:
    """The seasonal naive forecast after each of the steps `at`, all from `season` on: [count, horizon, C].

    With several `seasons` it is the mean over so many of the last ones, as far as they are known.
    """
    ahead = torch.arange(1, horizon + 1)
    last = at[:, None] + ahead - season * torch.div(ahead + season - 1, season, rounding_mode="floor")
    return _mean_over_seasons(series, last, season, seasons)


def _mean_over_seasons(series: Tensor, last: Tensor, season: int, seasons: int) -> Tensor:
    places = last.unsqueeze(-1) - season * torch.arange(seasons)
    known = (places >= 0).unsqueeze(-1).to(series.dtype)
    return (series[places.clamp(min=0)] * known).sum(-2) / known.sum(-2)


def pinball(quantiles: Tensor, actual: Tensor) -> Tensor:
    """The quantile loss of each forecast [..., quantiles] of the values [...]; its mean over quantiles, twice, is the CRPS."""
    error = actual.unsqueeze(-1) - quantiles
    levels = torch.tensor(QUANTILES, dtype=quantiles.dtype)
    return torch.maximum(levels * error, (levels - 1) * error)


def train(
    model: Forecaster,
    series: Sequence[np.ndarray],
    context: int,
    steps: int | None,
    seconds: float,
    seed: int,
    show: Callable[[str], None],
) -> int:
    """Train on windows of the scaled series; return the number of steps made.

    Args:
        model: changed in place.
        series: float64 [steps, C] each; those too short for a season, a step and the horizon are left out.
        context: steps that a window shows after its first season.
        steps: training steps; None: as many as fit into `seconds`.
        seconds: see above; without `steps` the result depends on the machine's speed.
        seed: of the windows.
        show: gets a line now and then.
    """
    tensors = [torch.from_numpy(each).float() for each in series if len(each) > model.season + model.horizon]
    random = np.random.default_rng(seed)
    weights = np.array([len(each) for each in tensors], dtype=np.float64)
    weights /= weights.sum()
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, weight_decay=1e-4)
    begin, step, losses = time.monotonic(), 0, []
    model.train()
    while step == 0 or _share(step, steps, begin, seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = PEAK * 0.5 * (1 + math.cos(math.pi * _share(step, steps, begin, seconds))) + 1e-5
        loss = _loss(model, *_windows(model, tensors, context, weights, random), random)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        step += 1
        if step % 100 == 0:
            show(f"step {step:,}  quantile loss {np.mean(losses[-100:]):.4f}")
    model.eval()
    return step


def _share(step: int, steps: int | None, begin: float, seconds: float) -> float:
    return min(1.0, step / steps if steps is not None else (time.monotonic() - begin) / seconds)


def _windows(
    model: Forecaster, tensors: Sequence[Tensor], context: int, weights: np.ndarray, random: np.random.Generator
) -> tuple[list[Tensor], list[int]]:
    """Draw windows from all series; a series shorter than a window is taken whole, so the batch is ragged."""
    whole = SEASONS * model.season + context + model.horizon
    windows, starts = [], []
    for index in random.choice(len(tensors), BATCH, p=weights):
        series = tensors[index]
        start = int(random.integers(0, max(1, len(series) - whole + 1)))
        windows.append(series[start : start + whole])
        starts.append(start)
    return windows, starts


def _first(model: Forecaster, window: Tensor) -> int:
    """Return the first step of a window from which it is forecast: once the seasons are known, if it is so long."""
    return min(SEASONS * model.season, len(window) - model.horizon - 1)


def _loss(model: Forecaster, windows: Sequence[Tensor], starts: Sequence[int], random: np.random.Generator) -> Tensor:
    """The mean quantile loss after some steps of each window, whose whole horizon lies in it."""
    ahead = torch.arange(1, model.horizon + 1)
    at = [
        torch.from_numpy(random.integers(_first(model, each), len(each) - model.horizon, STEPS_EACH))
        for each in windows
    ]
    forecasts = model([window[: -model.horizon] for window in windows], starts, at)
    actual = torch.cat([window[steps[:, None] + ahead] for window, steps in zip(windows, at, strict=True)])
    return pinball(forecasts, actual).mean()
