"""Seeds, examples that are the same at every run, one thread, no width of a terminal, and memory that is NaN until somebody
writes it."""

import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
from warm_python import WarmPythons

from anygru.facts import torch_private

collect_ignore_glob = ["packages/*/src/*"]
"""A dialect has a module named `test_utils`, which pytest would import a second time."""

# What another version of anygru compiled may lie in torch's caches, which know nothing of how an operator works inside.
os.environ.update(TORCHINDUCTOR_FX_GRAPH_CACHE="0", TORCHINDUCTOR_AUTOGRAD_CACHE="0")
torch.set_num_threads(1)
# No time limit and no new examples at every run: a slow machine or a rare example must not decide. `--hypothesis-profile
# default` looks for new ones.
hypothesis.settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("same")
# Workers and child processes inherit this: OpenMP's threads sleep between loops. Spinning, two on a busy core take five times
# as long, and that is how most tests of the kernels spent their time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# torch's compiler compiles in the process itself; else each worker starts a pool of processes that import torch.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.pop("COLUMNS", None)  # pytest-xdist's workers have it, and then printed lines would be cut


# torch's own keeps a traceback at each call for every kind of accelerator that is not there: a millisecond a test.
_has_accelerator = torch.cuda.is_available() or torch.backends.mps.is_available()
_manual_seed = torch.manual_seed if _has_accelerator else torch.default_generator.manual_seed


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this torch or this machine cannot do; `docs/versions.py` counts the reasons."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    for marker in item.iter_markers("needs_torch"):
        if not torch_private.at_least(*marker.args):
            pytest.skip(f"needs torch {'.'.join(map(str, marker.args))}: {marker.kwargs['because']}")


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Seed everything that tests or dialects draw from; Paddle's dialect has a generator of its own."""
    random.seed(0)
    np.random.seed(0)
    _manual_seed(0)
    paddle = sys.modules.get("anygru_paddle")
    if paddle is not None:
        paddle.seed(0)


def _poisoned(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        tensor = function(*args, **kwargs)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if (
            caller.partition(".")[0].partition("_")[0] == "anygru"
            and tensor.is_floating_point()
            and tensor.device.type in ("cpu", "cuda")
        ):
            with torch.no_grad():
                tensor.fill_(float("nan"))
        return tensor

    return call


@pytest.fixture(autouse=True)
def _poison(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.empty and its kin give NaN to anygru, so that an element which a kernel forgets is seen at once."""
    if request.node.get_closest_marker("compiles"):
        return  # torch's compiler cannot trace the patched functions
    for owner, name in ((torch, "empty"), (torch, "empty_like"), (torch.Tensor, "new_empty")):
        monkeypatch.setattr(owner, name, _poisoned(getattr(owner, name)))


@pytest.fixture(autouse=True)
def _exact_products(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU cuDNN multiplies float32 in tf32 unless told otherwise."""
    if request.node.get_closest_marker("gpu"):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


@pytest.fixture(scope="session")
def warm_pythons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPythons]:
    """Processes that have imported torch; `warm_python.py` says which tests may use them."""
    pythons = WarmPythons(tmp_path_factory.mktemp("warm"))
    yield pythons
    pythons.close()


@pytest.fixture
def warm_python(warm_pythons: WarmPythons, monkeypatch: pytest.MonkeyPatch) -> str:
    """`sys.executable`, for a test whose programs need no start of their own: they begin with torch imported."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(sys, "executable", warm_pythons.start(os.environ))
    return sys.executable


@pytest.fixture(autouse=True)
def _world_ends_with_the_test() -> Iterator[None]:
    """A global tensor, or a layer made parallel, starts a world of one process; the next test must find none."""
    yield
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
