"""Datasets, iterators, reports and the training loop."""

import copy
import io
import json
import os
import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

import anygru_chainer as chainer
import anygru_chainer.links as L
from anygru_chainer import dataset, datasets, functions, iterators, serializers, training
from anygru_chainer.training import extensions, triggers
from anygru_chainer.training.extensions import snapshots as snapshot_writers
from anygru_chainer.training.extensions.reports import new_figure, save_figure
from anygru_chainer.training.extensions.util import IteratorProgressBar
from anygru_chainer.training.updaters import multiprocess_parallel_updater

X = np.random.RandomState(0).randn(12, 3).astype("f")
T = np.random.RandomState(1).randint(0, 2, 12).astype("i")


def make_trainer(out, stop=(3, "epoch"), shuffle=False):
    model = L.Classifier(L.Linear(3, 2, initialW=0.1))
    optimizer = chainer.optimizers.Adam(0.1).setup(model)
    iterator = iterators.SerialIterator(datasets.TupleDataset(X, T), 5, shuffle=shuffle)
    trainer = training.Trainer(training.StandardUpdater(iterator, optimizer), stop, out=str(out))
    return trainer, model


def test_a_trainer_does_what_a_loop_does(tmp_path):
    trainer, model = make_trainer(tmp_path, (4, "iteration"))
    trainer.run()
    by_hand = L.Classifier(L.Linear(3, 2, initialW=0.1))
    optimizer = chainer.optimizers.Adam(0.1).setup(by_hand)
    order = np.arange(24) % 12
    for start in range(0, 20, 5):
        rows = order[start : start + 5]
        optimizer.update(by_hand, X[rows], T[rows])
    np.testing.assert_array_equal(model.predictor.W.array, by_hand.predictor.W.array)


def test_reports_are_logged_printed_and_plotted(tmp_path):
    trainer, model = make_trainer(tmp_path)
    shown = io.StringIO()
    test_iterator = iterators.SerialIterator(datasets.TupleDataset(X, T), 5, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(test_iterator, model))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(["epoch", "main/loss", "validation/main/accuracy"], out=shown))
    trainer.extend(extensions.ProgressBar(update_interval=1, out=io.StringIO()))
    trainer.extend(extensions.PlotReport(["main/loss"], "epoch", filename="loss.png"))
    trainer.run()
    log = json.loads((tmp_path / "log").read_text())
    assert [entry["epoch"] for entry in log] == [1, 2, 3]
    assert {"main/loss", "main/accuracy", "validation/main/loss", "elapsed_time"} <= set(log[0])
    assert log[-1]["main/loss"] < log[0]["main/loss"]
    assert len(shown.getvalue().splitlines()) == 4
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:matplotlib is not installed")
def test_without_matplotlib_nothing_is_plotted(tmp_path, monkeypatch):
    monkeypatch.setattr("anygru_chainer.training.extensions.reports._is_installed", lambda: False)
    with pytest.warns(UserWarning, match="matplotlib is not installed on your environment, so nothing will be plotted"):
        report = extensions.PlotReport(["main/loss"], "epoch")
    assert not report.available()
    trainer, model = make_trainer(tmp_path)
    trainer.extend(report)
    trainer.extend(extensions.VariableStatisticsPlot(model))
    trainer.run()
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize(("shuffle", "compared"), [(False, 6), (True, 2)])
def test_a_snapshot_resumes_the_same_curve(shuffle, compared, tmp_path):
    """With shuffling the order of the current epoch is saved; the order of the next epoch is drawn again."""

    def run(name, snapshot=None):
        trainer, _ = make_trainer(tmp_path / name, (6, "iteration"), shuffle)
        trainer.extend(extensions.LogReport(trigger=(1, "iteration")))
        trainer.extend(extensions.snapshot(filename="at_{.updater.iteration}"), trigger=(1, "iteration"))
        if snapshot is not None:
            serializers.load_npz(str(snapshot), trainer)
            assert trainer.updater.iteration == 1
        trainer.run()
        return [entry["main/loss"] for entry in trainer.get_extension("LogReport").log]

    whole = run("whole")
    resumed = run("resumed", tmp_path / "whole" / "at_1")
    assert len(resumed) == 6
    assert resumed[:compared] == whole[:compared]


def fired(trigger, tmp_path):
    trainer, _ = make_trainer(tmp_path, (8, "iteration"))
    at = []
    trainer.extend(lambda trainer: at.append(trainer.updater.iteration), name="note", trigger=trigger)
    trainer.run()
    return at


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ((3, "iteration"), [3, 6]),
        ((1, "epoch"), [3, 5, 8]),
        (triggers.ManualScheduleTrigger([2, 5], "iteration"), [2, 5]),
        (triggers.OnceTrigger(), [1]),
        (lambda trainer: trainer.updater.iteration == 4, [4]),
    ],
)
def test_triggers_fire_in_time(trigger, expected, tmp_path):
    assert fired(trigger, tmp_path) == expected


def test_training_stops_when_nothing_gets_better(tmp_path):
    trigger = triggers.EarlyStoppingTrigger((1, "iteration"), patience=2, max_trigger=(50, "iteration"))
    trainer, _ = make_trainer(tmp_path, trigger)
    trainer.updater.get_optimizer("main").alpha = 5.0
    trainer.run()
    assert trainer.updater.iteration < 50


def test_a_subclass_decides_when_to_stop(tmp_path):
    class AtOnce(triggers.EarlyStoppingTrigger):
        def _stop_condition(self):
            return True

    trainer, _ = make_trainer(tmp_path, AtOnce((2, "iteration")))
    trainer.run()
    assert trainer.updater.iteration == 2


def test_extensions_run_by_priority_and_end_even_after_an_error(tmp_path, capsys):
    log = []

    class Note(training.Extension):
        priority = training.PRIORITY_WRITER

        def initialize(self, trainer):
            log.append("initialize")

        def __call__(self, trainer):
            log.append("writer")

        def on_error(self, trainer, exc, tb):
            log.append(type(exc).__name__)

        def finalize(self):
            log.append("finalize")

    trainer, _ = make_trainer(tmp_path)
    trainer.extend(lambda trainer: 1 / 0, name="fail")
    trainer.extend(Note())
    with pytest.raises(ZeroDivisionError):
        trainer.run()
    assert log == ["initialize", "writer", "ZeroDivisionError", "finalize"]
    assert "Exception in main training loop" in capsys.readouterr().err


def test_a_batch_may_reach_into_the_next_epoch():
    iterator = iterators.SerialIterator(list(range(5)), 3, shuffle=False)
    seen = [(iterator.next(), iterator.epoch, iterator.is_new_epoch) for _ in range(3)]
    assert seen == [([0, 1, 2], 0, False), ([3, 4, 0], 1, True), ([1, 2, 3], 1, False)]


def test_shuffling_follows_numpys_seed():
    np.random.seed(3)
    expected = np.random.permutation(6).tolist()
    np.random.seed(3)
    assert iterators.SerialIterator(list(range(6)), 6).next() == expected


@pytest.mark.parametrize("make", [iterators.MultithreadIterator, iterators.MultiprocessIterator])
def test_iterators_with_helpers_give_the_same(make):
    iterator = make(list(range(7)), 3, repeat=False, shuffle=False)
    try:
        assert list(iterator) == [[0, 1, 2], [3, 4, 5], [6]]
    finally:
        iterator.finalize()


def test_examples_become_arrays():
    a, b = dataset.concat_examples([(np.ones(1), 1), (np.ones(3), 2)], padding=(0, None))
    np.testing.assert_array_equal(a, [[1, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(b, [1, 2])
    with pytest.raises(ValueError, match="batch is empty"):
        dataset.concat_examples([])
    with pytest.raises(IndexError):  # and not a result without the second column
        dataset.concat_examples([(np.ones(1), 1)], padding=(0,))


@pytest.mark.parametrize("value", [np.int8(100), np.uint8(200), np.array(100000, "i"), np.float16(300)])
def test_small_numbers_add_up_in_64_bits(value):
    """Chainer 7.8.1 gives the same means and deviations (recorded): NumPy 1 adds scalars so."""
    summary = chainer.reporter.DictSummary()
    for _ in range(5):
        summary.add({"x": value, "weighted": (value, np.int8(100))})
    means = summary.make_statistics()
    assert {name: float(mean) for name, mean in means.items()} == {
        "x": value, "x.std": 0, "weighted": value, "weighted.std": 0,
    }  # fmt: skip


def test_reports_need_a_name():
    reporter = chainer.Reporter()
    with pytest.raises(KeyError, match="not registered"):
        reporter.report({"x": 1}, L.Linear(1, 1))


class Sum(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(2, 1, initialW=1))

    def forward(self, x):
        loss = functions.sum(self.fc(x))
        chainer.report({"loss": loss}, self)
        return loss


def make_parallel_updater():
    data = np.arange(20, dtype=np.float32).reshape(10, 2)
    optimizer = chainer.optimizers.SGD(0.1).setup(Sum())
    iterator = iterators.SerialIterator(data, 4, shuffle=False)
    return training.updaters.ParallelUpdater(iterator, optimizer, devices={"main": -1, "second": -1})


def test_copies_of_a_model_report_under_their_own_names(tmp_path):
    updater, seen = make_parallel_updater(), []
    trainer = training.Trainer(updater, (1, "iteration"), out=str(tmp_path))

    @training.make_extension(trigger=(1, "iteration"))
    def look(trainer):
        seen.append({name: float(value.array) for name, value in trainer.observation.items()})

    trainer.extend(look)
    trainer.run()
    assert seen == [{"main/loss": 10.0, "second/loss": 18.0}]


def test_a_parallel_updater_needs_no_trainer():
    updater = make_parallel_updater()
    updater.update()
    target = updater.get_optimizer("main").target
    np.testing.assert_allclose(target.fc.W.array, [[1 - 0.1 * 12, 1 - 0.1 * 16]], rtol=1e-6)


def listening():
    """The addresses and ports at which this process listens for TCP, as Linux writes them: 0100007F:PORT is 127.0.0.1."""
    own = {os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.islink(entry.path)}
    lines = [
        line.split() for table in ("tcp", "tcp6") for line in Path("/proc/net", table).read_text().splitlines()[1:]
    ]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in own]


@pytest.mark.skipif(torch.cuda.is_available(), reason="autograd's threads for a GPU do not survive a fork")
def test_processes_of_their_own_add_up_their_gradients(monkeypatch):
    monkeypatch.setattr(training.updaters.MultiprocessParallelUpdater, "available", staticmethod(lambda: True))
    data = np.arange(20, dtype=np.float32).reshape(10, 2)
    optimizer = chainer.optimizers.SGD(0.2).setup(Sum())
    halves = [iterators.SerialIterator(part, 2, shuffle=False) for part in (data[::2], data[1::2])]
    with pytest.warns(UserWarning, match=r"optimizer.lr is changed to 0.1 by MultiprocessParallelUpdater"):
        updater = training.updaters.MultiprocessParallelUpdater(halves, optimizer, devices=[-1, -1])
    before = listening() if sys.platform == "linux" else []
    updater.update()
    new = set(listening()) - set(before) if sys.platform == "linux" else set()
    np.testing.assert_allclose(optimizer.target.fc.W.array, [[1 - 0.1 * 12, 1 - 0.1 * 16]], rtol=1e-6)
    updater.update()
    np.testing.assert_allclose(optimizer.target.fc.W.array, [[1 - 0.1 * 56, 1 - 0.1 * 64]], rtol=1e-6)
    updater.finalize()
    assert {address.partition(":")[0] for address in new} <= {"0100007F"}  # other machines cannot connect
    assert new or sys.platform != "linux"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_processes_of_their_own_need_nccl_and_gathering_a_gpu():
    assert not training.updaters.MultiprocessParallelUpdater.available()
    with pytest.raises(Exception, match="NCCL is not enabled"):
        training.updaters.MultiprocessParallelUpdater([], None)
    link = L.Linear(2, 1, initialW=1)
    with pytest.raises(RuntimeError, match="gather_grads works only on GPU"):
        multiprocess_parallel_updater.gather_grads(link)
    multiprocess_parallel_updater.scatter_params(link, np.arange(3, dtype="f"))
    assert (link.W.array.tolist(), link.b.array.tolist()) == ([[0, 1]], [2])
    assert multiprocess_parallel_updater.size_num_grads(link) == (3, 2)


def test_a_parallel_updater_needs_a_main_device():
    with pytest.raises(KeyError, match="must contain a 'main' key"):
        training.updaters.ParallelUpdater(None, chainer.optimizers.SGD(), devices={"second": -1})


@pytest.mark.parametrize("shuffle", [1, 2, "yes"])
@pytest.mark.parametrize("make", [iterators.SerialIterator, iterators.MultithreadIterator])
def test_all_that_is_true_shuffles(make, shuffle):
    np.random.seed(0)
    with make(list(range(7)), 7, shuffle=shuffle) as iterator:
        assert iterator.next() == [6, 2, 1, 3, 0, 5, 4]  # Chainer 7.8.1, recorded


@pytest.mark.parametrize(("order", "line"), [(None, "         2 / 4 iterations"), ([0, 2], "         2 iterations")])
def test_a_bar_of_an_iterator_shows_its_attributes(order, line):
    iterator = iterators.SerialIterator([1, 2, 3, 4], 2, repeat=False, shuffle=False)
    iterator.next()
    if order is not None:  # a user-defined iterator with the two required attributes
        iterator = types.SimpleNamespace(current_position=2, epoch_detail=0.5)
    assert line + "\n" in IteratorProgressBar(iterator).get_lines()


def test_iterators_are_copied_with_their_place():
    iterator = iterators.SerialIterator(list(range(6)), 2)
    iterator.next()
    copies = copy.deepcopy(iterator), pickle.loads(pickle.dumps(iterator))
    expected = iterator.next()
    assert [other.next() for other in copies] == [expected, expected]


@pytest.mark.parametrize(
    "writer",
    [
        snapshot_writers.ThreadWriter,
        snapshot_writers.ThreadQueueWriter,
        snapshot_writers.ProcessWriter,
        snapshot_writers.ProcessQueueWriter,
    ],
)
def test_snapshots_written_by_a_thread_are_those_of_their_moment(writer, tmp_path):
    trainer, model = make_trainer(tmp_path, (4, "iteration"))
    weights = []
    trainer.extend(lambda trainer: weights.append(model.predictor.W.array.copy()), "keep", trigger=(1, "iteration"))
    snapshot = extensions.snapshot(target=model, filename="{.updater.iteration}", writer=writer())
    trainer.extend(snapshot, trigger=(1, "iteration"))
    trainer.run()
    for iteration, expected in enumerate(weights, start=1):
        with np.load(tmp_path / str(iteration)) as file:
            np.testing.assert_array_equal(file["predictor/W"], expected)


def test_tasks_of_a_queue_are_chainers():
    """Subclasses of Chainer's time read `[function, file name, folder, dictionary]` from the queue."""

    class Recorder(snapshot_writers.ThreadQueueWriter):
        def consume(self, q):
            while (task := q.get()) is not None:
                seen.append(task)
                q.task_done()
            q.task_done()

    seen = []
    writer = Recorder(task=print)
    writer("name", "folder", {"x": np.ones(1)})
    writer.finalize()
    assert [task[:3] for task in seen] == [[print, "name", "folder"]]


def test_a_polynomial_shift_with_a_negative_rate_rises():
    optimizer = chainer.optimizers.SGD(2.0).setup(L.Linear(1, 1))
    shift = extensions.PolynomialShift("lr", -0.5, 10, init=2.0, target=2.2, optimizer=optimizer)
    shift.initialize(None)
    values = [optimizer.lr]
    for _ in range(3):
        shift(None)
        values.append(optimizer.lr)
    # Recorded from Chainer 7.8.1.
    np.testing.assert_allclose(values, [2.0, 2.1081851067789197, 2.2, 2.2], rtol=1e-12)


def test_statistics_of_parameters_are_reported_by_name(tmp_path):
    trainer, model = make_trainer(tmp_path, (2, "iteration"))
    model.name = "model"
    statistics = extensions.ParameterStatistics(model, trigger=(1, "iteration"), prefix="p", report_grads=False)
    statistics.register_statistics("first", lambda x: x[0])
    trainer.extend(statistics, trigger=(1, "iteration"))
    seen = {}
    trainer.extend(lambda trainer: seen.update(trainer.observation), "look", trigger=(1, "iteration"), priority=-1)
    trainer.run()
    W = model.predictor.W.array.ravel()
    name = "p/model/predictor/W/data/"
    assert seen[name + "first"] == W[0]
    np.testing.assert_allclose(seen[name + "mean"], W.mean())
    np.testing.assert_allclose(
        [seen[f"{name}percentile/{i}"] for i in range(7)],
        np.percentile(W, (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)),
    )
    assert seen[name + "zeros"] == 0


def test_any_true_flag_requests_statistics_once(tmp_path):
    trainer, model = make_trainer(tmp_path, (1, "iteration"))
    statistics = extensions.ParameterStatistics(
        model, {"first": lambda x: x[0]}, report_params=2, report_grads=None, trigger=(1, "iteration")
    )
    trainer.extend(statistics, trigger=(1, "iteration"))
    seen = {}
    trainer.extend(lambda trainer: seen.update(trainer.observation), "look", trigger=(1, "iteration"), priority=-1)
    trainer.run()
    assert {name for name in seen if "first" in name} == {
        f"None/predictor/{name}/data/first" for name in ("W", "b")
    }  # fmt: skip


def test_a_reservoir_keeps_all_rows_alike():
    from anygru_chainer.training.extensions.statistics import Reservoir

    np.random.seed(0)
    counts = np.zeros(10)
    for _ in range(2000):
        reservoir = Reservoir(3, (1,))
        for i in range(10):
            reservoir.add(np.array([i]), idx=i)
        idxs, data = reservoir.get_data()
        assert (np.diff(idxs) > 0).all()
        np.testing.assert_array_equal(data[:, 0], idxs)
        counts[idxs] += 1
    np.testing.assert_allclose(counts, 600, rtol=0.15)


def test_statistics_are_plotted(tmp_path):
    trainer, model = make_trainer(tmp_path, (3, "iteration"))
    plot = extensions.VariableStatisticsPlot(model, trigger=(1, "iteration"), max_sample_size=2)
    trainer.extend(plot, trigger=(1, "iteration"))
    trainer.run()
    assert (tmp_path / "statistics.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="Nothing to plot"):
        extensions.VariableStatisticsPlot(model, plot_mean=False, plot_std=False, percentile_sigmas=())


def test_a_figure_is_written_whole_or_not_at_all(tmp_path):
    figure = new_figure()
    save_figure(figure, str(tmp_path / "plot"))  # Matplotlib's rule for a name without an ending
    written = (tmp_path / "plot.png").read_bytes()
    with pytest.raises(ValueError, match="dpi must be positive"):
        save_figure(figure, str(tmp_path / "plot.png"), dpi=-1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"plot.png": written}
    os.mkfifo(tmp_path / "fifo.png")
    with pytest.raises(ValueError, match="not a regular file"):
        save_figure(figure, str(tmp_path / "fifo.png"))


def test_kept_graphs_are_let_go(tmp_path):
    x = chainer.Variable(np.ones(2, "f"))
    y = functions.sum(x * 2)
    extension = extensions.unchain_variables()
    trainer, _ = make_trainer(tmp_path, (1, "iteration"))
    trainer.observation = {"loss": y, "number": 3}
    with chainer.using_config("keep_graph_on_report", True):
        extension.initialize(trainer)
    assert extension.trigger(trainer)
    assert not extension.trigger(trainer)
    extension(trainer)
    assert y.creator is None


def test_the_graph_of_the_first_iteration_is_written(tmp_path):
    trainer, _ = make_trainer(tmp_path, (3, "iteration"))
    trainer.extend(extensions.DumpGraph("main/loss"))
    kept = []
    trainer.extend(
        lambda trainer: kept.append(trainer.observation["main/loss"].creator is not None),
        "look",
        trigger=(1, "iteration"),
    )
    trainer.run()
    assert kept == [True, False, False]
    dot = (tmp_path / "cg.dot").read_text()
    assert dot.startswith("digraph")
    assert "SoftmaxCrossEntropy" in dot
    assert "LinearFunction" in dot
    assert not chainer.config.keep_graph_on_report
