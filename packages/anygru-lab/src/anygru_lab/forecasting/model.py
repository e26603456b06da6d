"""The network: a GRU reads a series; a small head forecasts every step ahead from its state and the step's known covariates.

After Wen et al. 2017, "A multi-horizon quantile recurrent forecaster" (arXiv:1711.11053). The quantiles are offsets from the
level of the last season with the course of the seasons before, and the untrained network gives that with the band of its errors.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, silu, softplus

from anygru import GRU

from .problem import MIDDLE, QUANTILES
from .store import SHORT, Store, squeezed

CONTEXT = 12  # numbers that the GRU's state tells each step ahead
LAGS = 2  # last seasons whose course a step ahead is told
BAND = (0.05, 3.0)  # least and most distance of two quantiles that the network begins with


@dataclass(frozen=True)
class Shape:
    """The sizes of a network.

    base: the season whose course the forecasts begin with; 1 without one.
    drift: the share of the last season's growth that they begin with.
    features: of the calendar, known ahead, and past covariates.
    """

    channels: int
    horizon: int
    seasons: tuple[int, ...]
    base: int
    hidden: int
    context: int
    features: tuple[int, int, int]
    drift: float = 0.0

    @property
    def first(self) -> int:
        """The first step after which a series can be forecast."""
        return self.base - 1


class Network(nn.Module):
    """Quantiles of the next steps of scaled series.

    Args:
        shape: the sizes.
        band: quantiles of the error of the forecasts it begins with [horizon, channels, quantiles].
    """

    def __init__(self, shape: Shape, band: Tensor) -> None:
        super().__init__()
        self.shape = shape
        calendar, known, past = shape.features
        channels, seasons = shape.channels, len(shape.seasons)
        self.gru = GRU((4 + seasons) * channels + calendar + known + past, shape.hidden, batch_first=True)
        self.context = nn.Linear(shape.hidden, shape.horizon * CONTEXT)
        self.inner = nn.Linear(CONTEXT + calendar + 2 * known + LAGS * max(1, seasons) + channels, shape.hidden)
        self.outer = nn.Linear(shape.hidden, len(QUANTILES))
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)
        steps = band.diff(dim=-1).clamp(*BAND)
        self.centre = nn.Parameter(torch.zeros(band.shape[:-1]))
        self.steps = nn.Parameter(steps + torch.log(-torch.expm1(-steps)))

    def forward(self, store: Store, rows: Tensor, counts: Tensor, at: Tensor) -> Tensor:
        """Forecasts after chosen steps of windows.

        Args:
            store: the series.
            rows: int64 [windows, steps], rows of the store; those behind `counts` are not read.
            counts: int64 [windows], the steps of each.
            at: int64 [windows, origins], steps of the windows after which to forecast.

        Returns:
            [windows, origins, horizon, C, quantiles], the quantiles rising.
        """
        shape = self.shape
        outputs, _ = self.gru(self._read(store, rows), lengths=counts)
        chosen = outputs.gather(1, at.unsqueeze(-1).expand(-1, -1, shape.hidden))
        told = self.context(dropout(chosen, 0.1, self.training)).view(*at.shape, shape.horizon, 1, CONTEXT)
        origin = rows.gather(1, at)
        ahead = origin.unsqueeze(-1) + torch.arange(1, shape.horizon + 1)
        lagged, last = self._courses(store, origin)
        parts = [
            told.expand(*at.shape, shape.horizon, shape.channels, CONTEXT),
            _each(torch.cat([store.calendar[ahead], store.known[ahead], store.known[last]], -1), shape.channels),
            squeezed(lagged),
            torch.eye(shape.channels).expand(*at.shape, shape.horizon, -1, -1),
        ]
        raw = self.outer(silu(self.inner(torch.cat(parts, -1))))
        return self._quantiles(raw) + self.start(store, origin).unsqueeze(-1)

    def _quantiles(self, raw: Tensor) -> Tensor:
        """Turn the head's numbers into quantiles that rise: the middle one, and distances from it to both sides."""
        steps = softplus(torch.cat([raw[..., :MIDDLE], raw[..., MIDDLE + 1 :]], -1) + self.steps)
        middle = (raw[..., MIDDLE] + self.centre).unsqueeze(-1)
        below = steps[..., :MIDDLE].flip(-1).cumsum(-1).flip(-1)
        return torch.cat([middle - below, middle, middle + steps[..., MIDDLE:].cumsum(-1)], -1)

    def _read(self, store: Store, rows: Tensor) -> Tensor:
        """The inputs of the GRU [windows, steps, features]."""
        now, level, begin = store.values[rows], store.level[rows], store.begin[rows]
        parts = [store.place[rows], now - level, level - store.short[rows]]
        parts += [now - store.values[torch.maximum(rows - lag, begin)] for lag in (1, *self.shape.seasons)]
        return torch.cat(
            [squeezed(torch.cat(parts, -1)), store.calendar[rows], store.known[rows], store.past[rows]], -1
        )

    def _courses(self, store: Store, origin: Tensor) -> tuple[Tensor, Tensor]:
        """Deviations from the level at the same places of the last seasons [..., horizon, C, lags], and the last such rows."""
        begin, found = store.begin[origin].unsqueeze(-1), []
        for season in self.shape.seasons or (1,):
            last = _last(origin, season, self.shape.horizon)
            for number in range(LAGS):
                row = torch.maximum(last - number * season, begin)
                found.append(store.values[row] - store.level[origin].unsqueeze(-2))
        return torch.stack(found, -1), torch.maximum(_last(origin, self.shape.base, self.shape.horizon), begin)

    def start(self, store: Store, origin: Tensor) -> Tensor:
        """The level at each origin with its growth and the course of the last base season: [..., horizon, C]."""
        lag = max(self.shape.base, SHORT)
        before = torch.maximum(origin - lag, store.begin[origin])
        growth = (store.level[origin] - store.level[before]) / (origin - before).clamp(min=1).unsqueeze(-1)
        ahead = torch.arange(1, self.shape.horizon + 1).unsqueeze(-1)
        level = store.level[origin].unsqueeze(-2) + self.shape.drift * growth.unsqueeze(-2) * ahead
        if self.shape.base == 1:
            return level
        row = torch.maximum(_last(origin, self.shape.base, self.shape.horizon), store.begin[origin].unsqueeze(-1))
        return level + store.values[row] - store.level[row]


def _last(origin: Tensor, season: int, horizon: int) -> Tensor:
    """The last known rows at the same place of the season as each step ahead: [..., horizon]."""
    ahead = torch.arange(1, horizon + 1)
    return origin.unsqueeze(-1) + ahead - season * torch.div(ahead + season - 1, season, rounding_mode="floor")


def _each(features: Tensor, channels: int) -> Tensor:
    return features.unsqueeze(-2).expand(*features.shape[:-1], channels, features.shape[-1])


def pinball(quantiles: Tensor, actual: Tensor) -> Tensor:
    """The quantile loss of each forecast [..., quantiles] of the values [...]; its mean over quantiles, twice, is the CRPS."""
    error = actual.unsqueeze(-1) - quantiles
    levels = torch.tensor(QUANTILES, dtype=quantiles.dtype)
    return torch.maximum(levels * error, (levels - 1) * error)


@torch.no_grad()
def forecast(network: Network, store: Store, numbers: np.ndarray, origins: np.ndarray, chunk: int = 256) -> np.ndarray:
    """Scaled quantiles [count, horizon, C, quantiles] after `origins` steps of the series `numbers`."""
    network.eval()
    found = []
    for begin in range(0, len(numbers), chunk):
        rows, counts = windows(
            store, numbers[begin : begin + chunk], origins[begin : begin + chunk] - 1, network.shape.context
        )
        found.append(network(store, rows, counts, counts.unsqueeze(1) - 1)[:, 0].double().numpy())
    return np.concatenate(found)


def windows(store: Store, numbers: np.ndarray, last: np.ndarray, length: int) -> tuple[Tensor, Tensor]:
    """Rows [windows, length] that end with the steps `last`, and how many steps each has: fewer where a series begins."""
    first = np.maximum(last - length + 1, 0)
    counts = last - first + 1
    steps = np.minimum(np.arange(int(counts.max()))[None], counts[:, None] - 1) + first[:, None]
    return torch.from_numpy(store.offsets[numbers][:, None] + steps), torch.from_numpy(counts)
