"""Training the network: windows of all series, a validation that stops it, and a limit of time."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from .model import Network, Shape, forecast, pinball, windows
from .problem import QUANTILES
from .store import Store

BATCH = 32  # windows
EACH = 8  # origins of a window
PEAK = 6e-3  # of the learning rate, which falls along half a cosine
STEPS = 800  # at most, unless it is said
DRIFTS = (0.0, 0.5, 0.9)  # shares of the growth that forecasts may begin with
WORTH = 0.67  # of the error without growth, that growth must reach: a past trend often ends
KEPT = 0.97  # of the mean of the weights over the last steps, at each step
EVERY = 20  # steps between two validations
PATIENCE = 8  # validations without a better one
AGAIN = 0.25  # of the steps, made once more with what validation or back-test held out
EXACT = 1e-4  # of a scaled value, which single precision rounds
MOST_VALIDATED = 512  # origins of a validation


@dataclass(frozen=True)
class Plan:
    """How to train: `steps` exactly, or with a stop by validation until `seconds` are over."""

    steps: int | None = None
    seconds: float = 60.0
    hidden: int = 32
    context: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Notice:
    """What a run tells: the step, how much of the run is over, and the loss of validation so far."""

    step: int
    share: float
    validation: float | None
    doing: str = "training"


@dataclass(frozen=True)
class Trained:
    network: Network
    steps: int
    validation: float | None
    why: str


def base_season(store: Store, ends: Sequence[int]) -> int:
    """Return the season whose last course is the best forecast of the known values; 1 where the last value is better."""
    lags = {1: max(1, store.horizon // 2), **{season: season for season in store.seasons}}  # how old the value is
    errors: dict[int, list[float]] = {season: [] for season in lags}
    for offset, end in zip(store.offsets[:500], ends[:500], strict=True):
        values = store.values[offset : offset + end]
        if end > max(lags.values()):
            for season, lag in lags.items():
                errors[season].append(float((values[lag:] - values[:-lag]).abs().mean()))
    means = {season: float(np.mean(each)) for season, each in errors.items() if each}
    return min(means, key=means.__getitem__, default=store.seasons[0] if store.seasons else 1)


def make(store: Store, ends: Sequence[int], channels: int, plan: Plan) -> Network:
    """Return an untrained network for the series of a store, whose values are known up to `ends`."""
    base = base_season(store, ends)
    context = plan.context or min(max(2 * base, 24), 192)
    sizes = store.calendar.shape[1], store.known.shape[1], store.past.shape[1]
    shape = Shape(channels, store.horizon, store.seasons, base, plan.hidden, context, sizes)
    torch.manual_seed(plan.seed)
    band = torch.linspace(-1, 1, len(QUANTILES)).expand(store.horizon, channels, -1)
    sampler = Sampler(store, ends, shape, np.random.default_rng(plan.seed))
    if not sampler.usable:
        return Network(shape, band)
    windows = [sampler.draw() for _ in range(4)]
    errors = {}
    for drift in DRIFTS:
        network = Network(replace(shape, drift=drift), band)
        errors[drift] = torch.cat([_errors(network, store, *each) for each in windows]).flatten(0, 1)
    means = {drift: float(each.abs().mean()) for drift, each in errors.items()}
    drift = min(DRIFTS, key=means.__getitem__)
    drift = drift if means[drift] < WORTH * means[0.0] else 0.0
    torch.manual_seed(plan.seed)
    found = torch.quantile(errors[drift][:4096], torch.tensor(QUANTILES), dim=0).permute(1, 2, 0)
    return Network(replace(shape, drift=drift), found)


@torch.no_grad()
def _errors(network: Network, store: Store, rows: Tensor, counts: Tensor, at: Tensor) -> Tensor:
    origin = rows.gather(1, at)
    return _actual(store, origin) - network.start(store, origin)


def _actual(store: Store, origin: Tensor) -> Tensor:
    return store.values[origin.unsqueeze(-1) + torch.arange(1, store.horizon + 1)]


class Sampler:
    """Draws windows of all series, the longer ones more often; origins whose whole horizon is known."""

    def __init__(self, store: Store, ends: Sequence[int], shape: Shape, random: np.random.Generator) -> None:
        self.store, self.shape, self.random = store, shape, random
        last = np.array(ends) - store.horizon - 1  # the last step that can be an origin
        self.first = np.minimum(max(shape.first, 0), np.maximum(last, 0))
        self.numbers = np.flatnonzero(last >= 0)
        self.last = last
        weights = np.maximum(last - self.first + 1, 1)[self.numbers].astype(np.float64)
        self.usable = len(self.numbers) > 0
        self.weights = np.cumsum(weights / weights.sum()) if self.usable else weights

    def draw(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return rows and counts of windows, and the places of their origins; see `Network.forward`."""
        chosen = np.searchsorted(self.weights, self.random.random(BATCH)).clip(max=len(self.numbers) - 1)
        numbers = self.numbers[chosen]
        first, last = self.first[numbers], self.last[numbers]
        end = first + np.floor(self.random.random(BATCH) * (last - first + 1)).astype(np.int64)
        rows, counts = windows(self.store, numbers, end, self.shape.context)
        # Origins early in a window would see little of the series; those of the second half see enough.
        begin = np.maximum(counts.numpy() // 2, np.maximum(first - (end - counts.numpy() + 1), 0))
        begin = np.minimum(begin, counts.numpy() - 1)
        spread = self.random.random((BATCH, EACH)) * (counts.numpy() - begin)[:, None]
        at = begin[:, None] + np.floor(spread).astype(np.int64)
        return rows, counts, torch.from_numpy(at)


def train(
    network: Network,
    store: Store,
    ends: Sequence[int],
    plan: Plan,
    show: Callable[[Notice], None] = lambda notice: None,
) -> Trained:
    """Train on the steps up to `ends`; the last ones serve for validation first, and for training at the end.

    Args:
        network: changed in place.
        store: the series.
        ends: of each series, how many steps are known.
        plan: how long.
        show: told about every validation.
    """
    if _repeated(network.shape.base, store, ends):
        return Trained(network, 0, None, "the values of each series repeat exactly")
    horizon = store.horizon
    held = horizon + min(horizon, 24)
    enough = np.array(ends) >= network.shape.first + 2 * held + 1
    inner = [end - held if there else end for end, there in zip(ends, enough, strict=True)]
    validation = _validation(store, ends, np.flatnonzero(enough), held)
    if plan.steps is not None or validation is None:
        steps = plan.steps or STEPS // 4
        made = learn(network, store, ends, plan, steps, plan.seconds, PEAK, show)
        why = "as asked for" if plan.steps else "the series are too short for a validation"
        return Trained(network, made, None, why)
    begin = time.monotonic()
    steps, least, why = _until_no_better(
        _Run(network, store, inner, plan, STEPS, plan.seconds * 0.75), validation, show
    )
    rest = max(1.0, plan.seconds - (time.monotonic() - begin))
    made = learn(network, store, ends, plan, int(AGAIN * steps), rest) if steps else 0
    return Trained(network, steps + made, least, why)


def _until_no_better(
    run: "_Run", validation: tuple[np.ndarray, np.ndarray], show: Callable[[Notice], None]
) -> tuple[int, float, str]:
    """Train until validation gets no better; return the best step, whose weights the network gets, its loss, and why it ended."""
    best, best_step, worse = copy.deepcopy(run.network.state_dict()), 0, 0
    least = _score(run.smooth, run.store, validation)
    while not run.over and worse < PATIENCE:
        run.steps(EVERY)
        score = _score(run.smooth, run.store, validation)
        worse = 0 if score < least else worse + 1
        if score < least:
            best, least, best_step = copy.deepcopy(run.smooth.state_dict()), score, run.step
        show(Notice(run.step, run.share, least))
    run.network.load_state_dict(best)
    if worse >= PATIENCE:
        return best_step, least, f"no better validation in {PATIENCE}"
    return best_step, least, "the time is over" if run.step < STEPS else "all steps are made"


def _repeated(base: int, store: Store, ends: Sequence[int]) -> bool:
    """Whether the forecasts that the network begins with have no error: values never change, or only with the season."""
    known = (store.values[offset : offset + end] for offset, end in zip(store.offsets, ends, strict=True))
    return all(bool(((each[base:] - each[:-base]).abs() < EXACT).all()) for each in known)


def learn(
    network: Network,
    store: Store,
    ends: Sequence[int],
    plan: Plan,
    steps: int,
    seconds: float,
    peak: float = PEAK / 3,
    show: Callable[[Notice], None] = lambda notice: None,
) -> int:
    """Make so many steps, or as many as fit into the time; return their number."""
    run = _Run(network, store, ends, plan, max(steps, 1), seconds, peak)
    while not run.over:
        run.steps(min(EVERY, max(steps, 1) - run.step))
        show(Notice(run.step, run.share, None))
    network.load_state_dict(run.smooth.state_dict())
    network.eval()
    return run.step


class _Run:
    """Steps of an optimizer whose rate falls with the steps made or the time used, whichever is further.

    `smooth` is a network with the mean of the weights over the last steps, to be used afterwards.
    """

    def __init__(
        self,
        network: Network,
        store: Store,
        ends: Sequence[int],
        plan: Plan,
        most: int,
        seconds: float,
        peak: float = PEAK,
    ) -> None:
        self.network, self.store, self.most, self.seconds, self.peak = network, store, most, seconds, peak
        self.sampler = Sampler(store, ends, network.shape, np.random.default_rng(plan.seed + most))
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=peak, weight_decay=1e-3)
        self.begin, self.step = time.monotonic(), 0
        self.smooth = copy.deepcopy(network)
        torch.manual_seed(plan.seed)  # of dropout

    @property
    def share(self) -> float:
        return min(1.0, max(self.step / self.most, (time.monotonic() - self.begin) / self.seconds))

    @property
    def over(self) -> bool:
        return self.share >= 1 or not self.sampler.usable

    def steps(self, number: int) -> None:
        self.network.train()
        for _ in range(number):
            rate = self.peak * (0.5 * (1 + math.cos(math.pi * self.share)) + 1e-3) * min(1.0, (self.step + 1) / 20)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            rows, counts, at = self.sampler.draw()
            loss = pinball(self.network(self.store, rows, counts, at), _actual(self.store, rows.gather(1, at))).mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimizer.step()
            self.step += 1
            self._smooth()
            if self.over:
                return

    @torch.no_grad()
    def _smooth(self) -> None:
        """The mean of the weights over the last steps forecasts better than those of one step."""
        kept = min(KEPT, self.step / (self.step + 9))
        for mean, weight in zip(self.smooth.parameters(), self.network.parameters(), strict=True):
            mean.lerp_(weight, 1 - kept)


def _validation(
    store: Store, ends: Sequence[int], numbers: np.ndarray, held: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Series and origins whose horizon is within the last `held` known steps."""
    if not len(numbers):
        return None
    ahead = np.arange(held - store.horizon + 1)
    origins = (np.array(ends)[numbers][:, None] - held + ahead).ravel()
    found = np.repeat(numbers, len(ahead))
    chosen = np.linspace(0, len(found) - 1, min(len(found), MOST_VALIDATED)).astype(np.int64)
    return found[chosen], origins[chosen]


def _score(network: Network, store: Store, validation: tuple[np.ndarray, np.ndarray]) -> float:
    quantiles = torch.from_numpy(forecast(network, store, *validation))
    origin = torch.from_numpy(store.offsets[validation[0]] + validation[1] - 1)
    return 2 * float(pinball(quantiles, _actual(store, origin).double()).mean())
