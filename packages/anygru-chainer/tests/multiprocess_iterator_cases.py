"""`MultiprocessIterator`: forked workers that read ahead, and what happens when they fail."""

import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import anygru_chainer.functions as F
from anygru_chainer import datasets, iterators

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="the datasets here cannot be pickled"
)


def make(dataset, batch_size=2, **options):
    options = {"shuffle": False, "n_processes": 2} | options
    return iterators.MultiprocessIterator(dataset, batch_size, **options)


def test_a_dataset_with_a_lambda_is_read():
    dataset = datasets.TransformDataset(list(range(5)), lambda i: (np.full(i, i, "f"), {"i": i}))
    with make(dataset, repeat=False, shared_mem=100) as iterator:
        assert (iterator.repeat, iterator.shuffle) == (False, False)
        batches = [[(x.tolist(), y) for x, y in batch] for batch in iterator]
    expected = [([float(i)] * i, {"i": i}) for i in range(5)]
    assert batches == [expected[:2], expected[2:4], expected[4:]]


def test_workers_compute_after_the_parent_has_used_its_threads():
    big = np.ones((400, 400), "f")
    F.matmul(big, big)  # starts torch's threads, which a forked child does not have
    dataset = datasets.TransformDataset([0, 1, 2, 3], lambda i: float(F.sum(F.matmul(big, big)).array) + i)
    with make(dataset, shared_mem=8) as iterator:
        assert next(iterator) == [400.0**3, 400.0**3 + 1]


class Watched:
    """Counts the examples that were read, in memory that the workers share."""

    def __init__(self, n=100):
        self.n = n
        self.read = multiprocessing.get_context("fork").Value("i", 0)

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        with self.read.get_lock():
            self.read.value += 1
        return np.full(3, index)


def wait_for(condition):
    deadline = time.monotonic() + 300
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def test_batches_are_read_ahead_and_no_further():
    dataset = Watched()
    with make(dataset, n_prefetch=3, shared_mem=24) as iterator:
        next(iterator)
        # Three batches wait, and a fourth is in the thread's hands, as in Chainer 7.8.1 (its `_Communicator.put`, read).
        wait_for(lambda: dataset.read.value == 10)
        time.sleep(0.2)
        assert dataset.read.value == 10
        assert iterator.current_position == 2


def test_a_killed_worker_is_an_error():
    with make(Watched(), shared_mem=0) as iterator:
        next(iterator)
        for pid in iterator._prefetcher._workers.pids:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match=r"worker process \d+ died while it read an example"):
            list(iterator)


def test_errors_of_the_dataset_are_raised():
    def fail(index):
        raise KeyError(f"example {index}")

    with (
        make(datasets.TransformDataset([0, 1], fail), shared_mem=0) as iterator,
        pytest.raises(KeyError, match="example"),
    ):
        next(iterator)


@pytest.mark.parametrize("shared_mem", [None, 0], ids=["read here", "read by workers"])
def test_a_late_batch_warns(shared_mem):
    """The batch comes after the warning."""
    warned = multiprocessing.get_context("fork").Event()
    dataset = datasets.TransformDataset([0, 1], lambda i: warned.wait(300))
    with (
        make(dataset, dataset_timeout=0.01, shared_mem=shared_mem) as iterator,
        warnings.catch_warnings(record=True) as seen,
    ):
        warnings.simplefilter("always")
        letting_go = threading.Thread(target=lambda: (wait_for(lambda: len(seen)), warned.set()))
        letting_go.start()
        assert next(iterator) == [True, True]
        letting_go.join()
    assert {warning.category for warning in seen} == {iterators.MultiprocessIterator.TimeoutWarning}


@pytest.mark.filterwarnings("default")
def test_shared_memory_that_is_too_small_still_gives_the_examples():
    with make(Watched(), shared_mem=10) as iterator:
        np.testing.assert_array_equal(next(iterator), [[0] * 3, [1] * 3])


def test_workers_are_replaced():
    with make(list(range(6)), maxtasksperchild=2, shared_mem=0) as iterator:
        next(iterator)
        before = set(iterator._prefetcher._workers.pids)
        assert [next(iterator) for _ in range(4)] == [[2, 3], [4, 5], [0, 1], [2, 3]]
        assert before != set(iterator._prefetcher._workers.pids)


def test_reset_pickles_and_positions():
    iterator = make(list(range(5)), repeat=False)
    first = next(iterator)
    again = pickle.loads(pickle.dumps(iterator))
    assert next(again) == next(iterator) == [2, 3]
    assert (again.current_position, again.epoch) == (4, 0)
    iterator.reset()
    assert next(iterator) == first
    workers = iterator._prefetcher._workers._workers
    again.finalize()
    reference = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert reference() is None
    assert not any(worker.process.is_alive() for worker in workers if not worker.process._closed)
    with pytest.raises(NotImplementedError):
        again.reset()
