"""Results of loaders, `Model` and `LookAhead`, compared with answers recorded from Paddle 2.6.2."""

import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import nn
from anygru_paddle.io import DataLoader, Dataset, SubsetRandomSampler, TensorDataset


class Chance(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return np.random.rand(), random.random(), paddle.rand([1])


def test_workers_draw_the_numbers_of_the_original():
    np.random.seed(7)
    loader = DataLoader(Chance(), batch_size=None, num_workers=2, return_list=False)
    rounds = [[[float(x) for x in batch] for batch in loader] for _ in range(2)]
    assert np.array(rounds) == pytest.approx(
        np.array(
            [
                [
                    [0.0354154, 0.9290633, 0.4547802],
                    [0.2407154, 0.5574194, 0.7503707],
                    [0.2915959, 0.1024378, 0.1654665],
                ],
                [
                    [0.0768662, 0.7309069, 0.1991035],
                    [0.8194142, 0.4353743, 0.9926747],
                    [0.8248584, 0.6554103, 0.3587469],
                ],
            ]
        ),
        abs=1e-6,
    )


def test_a_random_subset_has_the_order_of_the_original():
    paddle.seed(3)
    sampler = SubsetRandomSampler([3, 1, 4, 1, 5, 9])
    assert [list(sampler), list(sampler)] == [[1, 5, 9, 1, 4, 3], [1, 4, 5, 3, 9, 1]]


def test_batches_are_lists_of_tensors_without_gradient():
    trained = paddle.ones([2, 3])
    trained.stop_gradient = False
    ((batch, (number, array)),) = DataLoader(
        TensorDataset([trained]), batch_size=2, collate_fn=lambda b: (b[0][0], (7, np.zeros(2)))
    )
    assert batch.stop_gradient
    assert number == 7
    assert array.shape == [2]
    (sample,) = DataLoader(TensorDataset([paddle.ones([1, 3])]), batch_size=None)
    assert isinstance(sample, list)


class Log(paddle.callbacks.Callback):
    def on_train_end(self, logs=None):
        self.logs = logs


def test_a_model_prints_its_evaluation_at_the_end():
    model = paddle.Model(nn.Linear(3, 2))
    model.prepare(paddle.optimizer.SGD(0.0, parameters=model.parameters()), nn.CrossEntropyLoss())
    train, test = (TensorDataset([paddle.ones([n, 3]) * n, paddle.zeros([n], "int64")]) for n in (2, 5))
    log = Log()
    model.fit(train, test, batch_size=2, verbose=0, callbacks=log)
    assert (log.logs["step"], log.logs["batch_size"]) == (2, 1)
    assert log.logs["loss"] == model.eval_batch([paddle.ones([1, 3]) * 5], [paddle.zeros([1], "int64")])


def test_a_model_without_sizes_takes_those_of_its_first_batch(tmp_path):
    model = paddle.Model(nn.Linear(3, 2))
    with pytest.raises(RuntimeError, match="inputs"):
        model.save(str(tmp_path / "m"), training=False)
    x = paddle.rand([4, 3])
    (expected,) = model.predict_batch([x])
    assert model.summary()["total_params"] == 8
    model.save(str(tmp_path / "m"), training=False)
    assert (paddle.jit.load(str(tmp_path / "m"))(x).numpy() == expected).all()


def test_look_ahead_keeps_its_slow_parameters_as_an_optimizer_does():
    p = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
    inner = paddle.optimizer.SGD(0.3, parameters=[p])
    ahead = paddle.incubate.LookAhead(inner, alpha=0.25, k=2)
    seen = []
    for _ in range(4):
        (p * p).sum().backward()
        ahead.step()
        ahead.clear_grad()
        seen.append(p.item())
    assert seen == pytest.approx([0.4, 0.34, 0.136, 0.2686], rel=1e-6)
    ((name, slow),) = ahead.state_dict().items()
    assert name == f"{p.name}_slow_0"
    assert slow.item() == p.item()
    assert ahead.get_lr() == 0.25


def test_the_likeliest_tags_and_norms_to_clip_by():
    scores = paddle.rand([1, 3, 4])
    scores.stop_gradient = False
    total, _ = paddle.text.viterbi_decode(scores, paddle.rand([4, 4]), paddle.to_tensor([3]))
    assert total.stop_gradient  # recorded, 2.6.2
    with pytest.raises(ValueError, match="norm_type only support"):
        nn.utils.clip_grad_norm_([paddle.create_parameter([1], "float32")], 1.0, norm_type=3)


def test_the_area_has_the_last_digit_of_the_original():
    area = paddle.metric.Auc()
    chances, labels = np.linspace(0.1, 0.9, 8), np.array([1, 0, 0, 0, 0, 0, 1, 1])
    area.update(np.stack([1 - chances, chances], 1), labels)
    assert area.accumulate() == 0.6666666666666667  # recorded, 2.6.2


def test_visualdl_writes_the_values_of_training_and_evaluation(tmp_path, monkeypatch):
    """The tags and steps of Paddle 2.6.2 (read)."""
    written = []

    class SummaryWriter:
        def __init__(self, folder):
            written.append(folder)

        def add_scalar(self, tag, value, step):
            assert isinstance(value, float)
            written.append((tag, step))

        def close(self):
            written.append("closed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=SummaryWriter))
    data = TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1], "int64")])
    model = paddle.Model(paddle.nn.Linear(2, 2))
    model.prepare(paddle.optimizer.SGD(0.1, model.parameters()), paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    callback = paddle.callbacks.VisualDL(log_dir=str(tmp_path))
    model.fit(data, data, batch_size=2, epochs=2, verbose=0, callbacks=callback)
    trained = [
        ("train/loss", 1), ("train/acc", 1), ("train/loss", 2), ("train/acc", 2), ("eval/loss", 0), ("eval/acc", 0),
    ]  # fmt: skip
    later = [
        ("train/loss", 3), ("train/acc", 3), ("train/loss", 4), ("train/acc", 4), ("eval/loss", 1), ("eval/acc", 1),
    ]  # fmt: skip
    assert written == [str(tmp_path), *trained, *later, "closed"]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.warns(UserWarning, match="pip install tensorboard"):
        model.evaluate(data, batch_size=2, verbose=0, callbacks=callback)
